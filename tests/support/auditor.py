"""Reads the journal of a run as an auditor would: who permitted what, what started, what came of it.

Asserts the promises as it reads, from the contract alone: it knows nothing of the program's own code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Stage = Literal["new", "gated", "waiting", "ready", "started", "settled", "done"]

ANSWERS = {
    "approval": ("approve", "decline"),
    "data": ("data",),
    "in_doubt": ("retry", "result", "failed"),
}
DENIED = "Tool call was not approved by the user"


def text_of(value: Any) -> str:
    """One text for one JSON value: `1`, `1.0`, `true` and `"1"` have different ones."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_of(value: Any) -> str:
    """SHA-256 over the text of a JSON value."""
    return hashlib.sha256(text_of(value).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class AuditedCall:
    """One tool call, as far as the journal tells.

    `permits` counts the executions that are permitted and not begun; `running` says that one was begun
    and its end is not known; `outcome` is the type and payload of the record that ended the call.
    """

    id: str
    tool: str
    arguments: str
    args: Json | None
    judged: bool = False
    must_ask: bool = False
    definition: Json = field(default_factory=dict)
    asked: int = 0
    question: Json | None = None
    decided: bool = False
    edited: bool = False
    permits: int = 0
    begun: int = 0
    running: bool = False
    settled: tuple[str, Json] | None = None
    outcome: tuple[str, Json] | None = None

    @property
    def idempotent(self) -> bool:
        return bool(self.definition.get("idempotent"))

    @property
    def stage(self) -> Stage:
        """Where the call stands, in one word."""
        if self.outcome is not None:
            return "done"
        if self.settled is not None:
            return "settled"
        if self.question is not None:
            return "waiting"
        if self.running:
            return "started"
        if self.permits:
            return "ready"
        return "gated" if self.must_ask else "new"

    def question_id(self, run_id: str, kind: str, payload: Any) -> str:
        """The id that the next question about this call must have."""
        subject = payload if kind == "data" else self.args
        digest = self.definition.get("digest", "")
        parts = [run_id, [], self.id, self.asked + 1, kind, self.tool, subject, digest]
        return digest_of(["agentctl-suspension-1", *parts])


class Auditor:
    """Sees each record once, in order; `see` fails for one that breaks a promise."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.messages: list[Json] = []
        self.calls: list[AuditedCall] = []
        self.used_ids: set[str] = set()
        self.old_questions: list[str] = []
        self.grants: list[tuple[str, str, str]] = []
        self.max_steps = 0
        self.requests = 0
        self.turn = 1
        self.tokens = 0
        self.asking = False
        self.answered = False
        self.interrupted = False
        self.cancelled = False
        self.ended: str | None = None

    def see(self, record: Mapping[str, Any]) -> None:
        """Take note of one record."""
        assert self.ended is None, f"{record['type']} after the run ended"
        payload = record["payload"]
        handle = getattr(self, "_" + record["type"].replace("-", "_"))
        handle(payload)

    def call(self, call_id: str) -> AuditedCall:
        """The call of the step under way that has this id."""
        return next(call for call in self.calls if call.id == call_id)

    def is_granted(self, call: AuditedCall) -> bool:
        """Whether a human approved this very call for the rest of the run."""
        return (call.tool, text_of(call.args), call.definition["digest"]) in self.grants

    # The run

    def _start(self, payload: Json) -> None:
        assert bool(self.messages) == bool(payload.get("resumed")), "started twice"
        if not self.messages:
            self.messages.append({"role": "user", "text": payload["input"]})
        self.max_steps = payload["max_steps"]
        self.asking = self.interrupted = False

    def _error(self, payload: Json) -> None:
        self.turn += self.asking and bool(payload.get("answered"))
        self.tokens += payload.get("usage", {}).get("total_tokens", 0)
        self.asking, self.interrupted = False, True

    def _finish(self, payload: Json) -> None:
        assert not self.calls, "ended before every call had its result in the conversation"
        last = self.messages[-1]
        if payload["status"] == "completed":
            assert last["role"] == "assistant", "completed without an answer"
        if payload["status"] == "cancelled":
            assert self.cancelled, "cancelled by nobody"
        self.ended, self.asking = payload["status"], False

    # The model

    def _step_start(self, payload: Json) -> None:
        assert not self.calls, "the model is asked before every call has its result"
        assert not self.cancelled, "the model is asked in a cancelled run"
        assert not self.asking and not self.interrupted
        assert self.requests < self.max_steps, "the model is asked beyond the budget"
        self.requests += 1
        self.asking = True

    def _answer(self, payload: Json) -> None:
        assert self.asking, "an answer that nobody asked for"
        message = payload["message"]
        for asked in message.get("calls", ()):
            assert asked["id"] not in self.used_ids, "a call id is used twice"
            self.used_ids.add(asked["id"])
            args = _object(asked["arguments"])
            self.calls.append(AuditedCall(asked["id"], asked["tool"], asked["arguments"], args))
        self.messages.append(message)
        self.tokens += payload["usage"]["total_tokens"]
        self.turn += 1
        self.asking, self.answered = False, True

    def _step_finish(self, payload: Json) -> None:
        assert self.answered, "the step ends before it was answered"
        for call in self.calls:
            assert call.outcome is not None, "the step ends before every call has its result"
            self.messages.append(_result_message(call))
        self.calls, self.answered = [], False

    # Calls

    def _tool_call(self, payload: Json) -> None:
        call = self.call(payload["tool_call_id"])
        untouched = not call.judged or (call.permits == 1 and not call.decided)
        assert untouched and call.outcome is None, "judged again"
        call.judged, call.permits = True, 0
        match payload["verdict"]:
            case "refuse":
                call.settled = ("tool-error", {"error": payload["error"]})
                return
            case "ask":
                call.must_ask = True
            case "run":
                call.must_ask, call.permits = False, 1
            case verdict:
                raise AssertionError(f"{verdict!r} is no verdict")
        call.definition = payload["definition"]

    def _tool_call_approval(self, payload: Json) -> None:
        call = self.call(payload["tool_call_id"])
        assert payload["kind"] == "approval"
        assert call.must_ask and not call.permits and not call.running and not call.settled
        self._ask(call, payload)

    def _tool_call_suspended(self, payload: Json) -> None:
        call = self.call(payload["tool_call_id"])
        assert payload["kind"] in ("data", "in_doubt")
        assert call.running, "a question of a tool that does not run"
        call.running = False
        self._ask(call, payload)

    def _ask(self, call: AuditedCall, payload: Json) -> None:
        assert call.question is None and call.outcome is None
        expected = call.question_id(self.run_id, payload["kind"], payload["suspend_payload"])
        assert payload["id"] == expected, "the id of the question is not its fingerprint"
        assert payload["id"] not in self.old_questions, "two questions with one id"
        assert text_of(payload["args"]) == text_of(call.args), "shown are other arguments than will run"
        call.asked += 1
        call.question = payload

    def _decision(self, payload: Json) -> None:
        if payload["verdict"] == "cancel":
            assert not self.cancelled
            self.cancelled = True
            return
        call = next(
            call for call in self.calls if call.question and call.question["id"] == payload["suspension_id"]
        )
        assert call.question is not None
        assert payload["verdict"] in ANSWERS[call.question["kind"]], "the wrong kind of answer"
        if payload["via"] == "always":
            assert self.is_granted(call), "allowed by nobody"
        self.old_questions.append(call.question["id"])
        call.question = None
        self._decide(call, payload)

    def _decide(self, call: AuditedCall, payload: Json) -> None:
        match payload["verdict"]:
            case "approve" | "data" | "retry" as verdict:
                call.decided, call.permits = True, 1
                call.must_ask &= verdict != "approve"
                if payload.get("always") and verdict == "approve":
                    self.grants.append((call.tool, text_of(call.args), call.definition["digest"]))
                if "args" in payload:
                    call.edited = text_of(payload["args"]) != text_of(call.args)
                    call.args = payload["args"]
            case "decline":
                reason = payload["reason"] if (payload["reason"] or "").strip() else DENIED
                call.settled = ("tool-output-denied", {"reason": reason, "by": payload["by"]})
            case "result":
                call.settled = ("tool-result", {"result": payload["data"]})
            case "failed":
                call.settled = ("tool-error", {"error": payload["data"]})

    def _tool_changed(self, payload: Json) -> None:
        call = self.call(payload["tool_call_id"])
        assert call.decided and call.permits == 1, "nobody accepts a change of a call that was not decided"
        if "error" in payload:
            call.permits, call.settled = 0, ("tool-error", {"error": payload["error"]})
        else:
            call.definition = payload["definition"]

    def _tool_start(self, payload: Json) -> None:
        call = self.call(payload["tool_call_id"])
        assert not self.cancelled, "started in a cancelled run"
        assert call.permits == 1, "started without a permission, or twice with one"
        assert not call.must_ask, "started although a human must be asked"
        assert call.question is None and call.outcome is None and call.settled is None
        assert text_of(payload["args"]) == text_of(call.args), "started with other arguments than permitted"
        call.permits -= 1
        call.begun += 1
        call.running = True
        assert payload["attempt"] == call.begun

    def _tool_retry(self, payload: Json) -> None:
        call = self.call(payload["tool_call_id"])
        assert call.running and call.idempotent, "retried by itself"
        assert not self.cancelled, "retried in a cancelled run"
        call.running, call.permits = False, 1

    def _tool_result(self, payload: Json) -> None:
        self._end("tool-result", payload, "result")

    def _tool_error(self, payload: Json) -> None:
        self._end("tool-error", payload, "error")

    def _tool_output_denied(self, payload: Json) -> None:
        self._end("tool-output-denied", payload, "reason", "by")

    def _end(self, kind: str, payload: Json, *keys: str) -> None:
        call = self.call(payload["tool_call_id"])
        assert call.outcome is None, "two results for one call"
        told = {key: payload[key] for key in keys}
        if call.settled is not None:
            assert (kind, text_of(told)) == (call.settled[0], text_of(call.settled[1])), (
                "not what was settled"
            )
        elif kind == "tool-output-denied":
            assert self.cancelled and not call.begun, "denied, though it was started or nobody denied it"
        else:
            assert call.running or (self.cancelled and kind == "tool-error"), (
                "an outcome without an execution"
            )
        call.outcome, call.running, call.permits, call.question = (kind, told), False, 0, None


def _object(arguments: str) -> Json | None:
    if not arguments.strip():
        return {}
    try:
        value = json.loads(arguments, parse_constant=_refuse)
    except ValueError:
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _result_message(call: AuditedCall) -> Json:
    assert call.outcome is not None
    kind, told = call.outcome
    message: Json = {"role": "tool", "call_id": call.id, "tool": call.tool}
    match kind:
        case "tool-result":
            result = told["result"]
            content = result if isinstance(result, str) else _shown(result)
        case "tool-error":
            content = f"Error: {told['error']}"
            message["is_error"] = True
        case _:
            content = told["reason"]
    if call.edited and call.begun:
        ran = _shown(call.args)
        content = f"(The user changed the arguments; the tool ran with {ran}.)\n{content}"
    return {**message, "content": content}


def _shown(value: Any) -> str:
    """JSON as the model gets it: the same from every process, so sorted as the journal is."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
