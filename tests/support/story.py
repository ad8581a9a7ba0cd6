"""A run told record by record, for tests of what may follow: `Story().proposes(("c1", "delete", {}))`."""

from __future__ import annotations

import json
from typing import Any

from agentctl.models.messages import Assistant, ToolCall
from agentctl.models.protocol import Usage
from agentctl.runtime import records, state
from agentctl.runtime.call import Call, Phase
from agentctl.runtime.events import Record

Json = dict[str, Any]

RUN = "run-1"
AT = "2026-12-01T14:29:27.123Z"
PATH = ("records",)


def opening(**changes: Any) -> Record:
    """The first record of a run."""
    payload: Json = {
        "agent": "records",
        "input": "Delete it",
        "thread": None,
        "resource": None,
        "options": {"require_approval": [], "context": {}, "workspace": "/work"},
        "max_steps": 20,
        "model": None,
        "agent_parts": {},
    }
    return Record("start", AT, {**payload, **changes}, PATH)


def definition(digest: str = "d1", *, idempotent: bool = False) -> Json:
    """A frozen definition, as the verdict on a call carries it."""
    return {"digest": digest, "parts": {"source": digest}, "idempotent": idempotent}


class Story:
    """Each method tells what happened next and returns the story; `run` is how it stands."""

    def __init__(self, **opening_changes: Any) -> None:
        self.records = [opening(**opening_changes)]
        self.run = state.begin(RUN, self.records[0])

    def tell(self, kind: str, payload: Json) -> Story:
        return self.record(records.of_step(self.run, AT, kind, payload))

    def record(self, record: Record) -> Story:
        self.run = state.apply(self.run, record)
        self.records.append(record)
        return self

    def call(self, call_id: str = "c1") -> Call:
        return next(call for call in self.run.root.calls if call.id == call_id)

    def phase(self, call_id: str = "c1") -> Phase:
        return self.call(call_id).phase

    def question(self, call_id: str = "c1") -> str:
        """The id of the question about the call."""
        suspension = self.call(call_id).suspension
        assert suspension is not None
        return suspension.id

    # The run

    def resumed(self, **changes: Any) -> Story:
        brings = {"max_steps": self.run.max_steps, "model": self.run.model, "agent_parts": {}, **changes}
        return self.tell("start", {"resumed": True, **brings})

    def interrupted(self, code: str = "interrupted", finish_reason: str = "error", **more: Any) -> Story:
        told = {
            "code": code,
            "message": "It stopped",
            "hint": "agentctl resume",
            "finish_reason": finish_reason,
        }
        return self.tell("error", {**told, **more})

    def cancelled(self, reason: str | None = None) -> Story:
        said = {"verdict": "cancel", "by": "ada", "at": AT, "via": "cli", "reason": reason}
        return self.tell("decision", {"suspension_id": None, **said})

    def finished(self, status: str = "completed", reason: str = "stop", error: Json | None = None) -> Story:
        return self.record(records.finish(self.run, AT, status, reason, error))

    # The model

    def asks_model(self) -> Story:
        return self.tell("step-start", {"step": self.run.root.step + 1})

    def answers(self, *calls: tuple[str, str, Any], text: str = "", usage: Usage | None = None) -> Story:
        """Calls are (id, tool, arguments); arguments that are text are the model's own text."""
        asked = tuple(
            ToolCall(call_id, tool, args if isinstance(args, str) else json.dumps(args))
            for call_id, tool, args in calls
        )
        message, reason = Assistant(text, calls=asked), "tool_calls" if calls else "stop"
        return self.record(records.answer(self.run, AT, message, reason, usage or Usage(requests=1)))

    def proposes(self, *calls: tuple[str, str, Any]) -> Story:
        return self.asks_model().answers(*(calls or [("c1", "delete", {"id": "a"})]))

    def step_ends(self) -> Story:
        return self.record(records.step_finish(self.run, AT))

    # Calls

    def judged(self, verdict: str, call_id: str = "c1", **frozen: Any) -> Story:
        told: Json = {
            "tool_call_id": call_id,
            "tool": self.call(call_id).tool,
            "args": self.call(call_id).args,
        }
        if verdict == "refuse":
            return self.tell("tool-call", {**told, "verdict": verdict, "error": "There is no such tool"})
        judged = {"verdict": verdict, "reason": None, "definition": definition(**frozen)}
        return self.tell("tool-call", {**told, **judged})

    def asked(self, call_id: str = "c1") -> Story:
        return self.record(records.approval_question(self.run, AT, self.call(call_id)))

    def decided(self, verdict: Any, call_id: str = "c1", **more: Any) -> Story:
        said = {
            "suspension_id": self.question(call_id),
            "verdict": verdict,
            "by": "ada",
            "at": AT,
            "via": "cli",
        }
        return self.tell("decision", {**said, "reason": None, **more})

    def changed(self, call_id: str = "c1", digest: str = "d2") -> Story:
        return self._of_call(
            "tool-changed", call_id, {"changed": ["its source"], "definition": definition(digest)}
        )

    def gone(self, call_id: str = "c1") -> Story:
        return self._of_call(
            "tool-changed", call_id, {"changed": ["the tool is gone"], "error": "It is gone"}
        )

    def started(self, call_id: str = "c1") -> Story:
        attempt = self.call(call_id).attempt + 1
        process = {"idempotency_key": f"{RUN}:{call_id}", "pid": 1, "host": "host"}
        return self._of_call("tool-start", call_id, {"attempt": attempt, **process})

    def retried(self, call_id: str = "c1") -> Story:
        return self._of_call("tool-retry", call_id, {})

    def asks(self, payload: Any, call_id: str = "c1", schema: Json | None = None) -> Story:
        return self.record(records.data_question(self.run, AT, self.call(call_id), payload, schema))

    def in_doubt(self, call_id: str = "c1") -> Story:
        return self.record(records.doubt(self.run, AT, self.call(call_id)))

    def result(self, value: Any, call_id: str = "c1") -> Story:
        return self._of_call("tool-result", call_id, {"result": value})

    def error(self, text: str, call_id: str = "c1") -> Story:
        return self._of_call("tool-error", call_id, {"error": text})

    def denied(self, reason: str, call_id: str = "c1") -> Story:
        return self._of_call("tool-output-denied", call_id, {"reason": reason, "by": "ada"})

    def settled(self, call_id: str = "c1") -> Story:
        return self.record(records.settlement(self.run, AT, self.call(call_id)))

    def closed(self, call_id: str = "c1") -> Story:
        return self.record(records.closing(self.run, AT, self.call(call_id)))

    def _of_call(self, kind: str, call_id: str, payload: Json) -> Story:
        return self.record(records.of_call(self.run, AT, self.call(call_id), kind, payload))
