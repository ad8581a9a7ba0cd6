"""A run and everything around it, for tests that let anything happen: processes, humans, model, tools.

Each step is made as the loop makes it, with the records that the loop writes; what happens where more
than one thing could is chosen by a function that the test gives.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from agentctl.models.messages import Assistant, ToolCall
from agentctl.models.protocol import Usage
from agentctl.runtime import body, records, state, views
from agentctl.runtime.actions import (
    Action,
    Ask,
    AskModel,
    Close,
    EndRun,
    FinishStep,
    Judge,
    Recover,
    Settle,
    StartCall,
    StepsUsedUp,
    next_actions,
)
from agentctl.runtime.call import Call
from agentctl.runtime.events import Record
from agentctl.runtime.suspensions import Suspension
from support.auditor import Auditor, text_of
from support.story import RUN, opening

Json = dict[str, Any]
T = TypeVar("T")

VALUES: Sequence[Any] = (
    *(None, True, False, 0, 1, 1.0, "1", "", "é\ud800", 2**70),
    *([], {}, {"b": [1.5, None], "a": "x"}),
)
ARGUMENTS = (
    *('{"id": "a"}', '{"id": "a"}', '{"id": "a"}', '{"id": "a"}', '{"id": "b"}', '{"n": 1}', '{"n": 1.0}'),
    *("{}", "", "null", "[1]", '{"id":', '{"x": NaN}'),
)
EDITS: Sequence[Json] = ({}, {"id": "a"}, {"id": "c"}, {"n": 1.0, "id": True}, {"n": True})
CALL_IDS = ("c1", "c1", "c2", "c1-2", "c1-2-2", "")
ASKED = ("free", "gated", "gated", "repeatable", "careful", "careful", "ghost")
VERDICTS = {
    "approval": ("approve", "approve", "decline"),
    "data": ("data",),
    "in_doubt": ("retry", "retry", "result", "failed"),
}


class Choose(Protocol):
    """Chooses one of several things that may happen."""

    def __call__(self, options: Sequence[T], what: str, /) -> T: ...


@dataclass(frozen=True)
class ToolFile:
    """A tool as it lies on disk; every edit is another definition."""

    gated: bool
    idempotent: bool
    edits: int = 0

    def frozen(self) -> Json:
        parts = {"source": str(self.edits)}
        return {"digest": f"d{self.edits}", "parts": parts, "idempotent": self.idempotent}


TOOLS = {
    "free": ToolFile(gated=False, idempotent=False),
    "gated": ToolFile(gated=True, idempotent=False),
    "repeatable": ToolFile(gated=False, idempotent=True),
    "careful": ToolFile(gated=True, idempotent=True),
}


def through_json(value: T) -> T:
    """What a process writes, as another process reads it: keys are sorted, tuples are lists."""
    read: T = json.loads(json.dumps(value, sort_keys=True))
    return read


def reloaded(run: state.Run) -> state.Run:
    """The run from its snapshot."""
    return body.decode(through_json(body.encode(run)))


class DrivenRun:
    """One run, the processes that drive it one after the other, the humans, and the tools on disk.

    `run` is how the process sees it that drives, `snapshot` the same through a snapshot after every
    record; an `Auditor` checks each record.
    """

    def __init__(self, max_steps: int) -> None:
        self.auditor = Auditor(RUN)
        self.decisions: dict[str, Json] = {}
        self.disk = dict(TOOLS)
        first = opening(max_steps=max_steps)
        self.journal = [Record.from_json(through_json(first.to_json()))]
        self.run = state.begin(RUN, first)
        self.snapshot = reloaded(state.begin(RUN, self.journal[0]))
        self.auditor.see(self.journal[0].to_json())
        self._begin_process(accepting=False)

    def _begin_process(self, *, accepting: bool) -> None:
        self.alive, self.accepting = True, accepting
        self.loaded = dict(self.disk)
        self.asking = False
        self.running: set[str] = set()
        self.held: set[str] = set()

    def now(self) -> str:
        return f"2026-12-01T00:{len(self.journal) // 60:02}:{len(self.journal) % 60:02}.000Z"

    def tell(self, *new: Record) -> None:
        """Record, as the loop does."""
        for each in new:
            self.run = state.apply(self.run, each)
            record = Record.from_json(through_json(each.to_json()))
            self.journal.append(record)
            self.snapshot = reloaded(state.apply(self.snapshot, record))
            self.auditor.see(record.to_json())
            self.check()

    def check(self) -> None:
        """The snapshot holds the run; a test may add to what must hold after each record."""
        assert self.snapshot == self.run
        assert text_of(body.encode(self.snapshot)) == text_of(body.encode(self.run))

    def proceed(self, choose: Choose) -> None:
        """What comes next if nothing goes wrong."""
        if not self.alive:
            self.resume(1, accepting=choose((False, True), "accepting"))
        elif self.asking:
            self.model_answers(choose)
        elif self.actions():
            self.go_on(choose)
        elif self.running:
            self.tool_ends(choose)
        elif self.questions():
            self.decide(choose)
        else:
            self.absorb()
            self.alive = bool(self.actions())

    # The process that drives

    def actions(self) -> list[Action]:
        """What the loop would do now."""
        if not self.alive or self.asking:
            return []
        found = next_actions(self.run, frozenset(self.running))
        return [each for each in found if not (isinstance(each, StartCall) and each.call.id in self.held)]

    def go_on(self, choose: Choose) -> None:
        """As far as possible, as the loop does."""
        for _ in range(40):
            self.absorb()
            for action in self.actions():
                self.do(action, choose)
            if not self.actions():
                return
        raise AssertionError("the run does not come to rest")

    def do(self, action: Action, choose: Choose) -> None:
        run, now = self.run, self.now()
        match action:
            case Judge(call):
                self._judge(call)
            case Ask(call):
                self._ask(call)
            case StartCall(call):
                self._start(call, choose)
            case Settle(call):
                self.tell(records.settlement(run, now, call))
            case Recover(call):
                self.tell(records.recovery(run, now, call))
            case Close(call):
                self._close(call)
            case FinishStep():
                self.tell(records.step_finish(run, now))
            case AskModel():
                if choose((*[True] * 9, False), "the model opens"):
                    self._tell("step-start", {"step": run.root.step + 1})
                    self.asking = True
                else:
                    self.interrupt("auth", answered=False)
            case StepsUsedUp():
                self.interrupt("interrupted")
            case EndRun(status, finish_reason):
                self.tell(records.finish(run, now, status, finish_reason, None))

    def _tell(self, kind: str, payload: Json) -> None:
        self.tell(records.of_step(self.run, self.now(), kind, payload))

    def _tell_of(self, call: Call, kind: str, payload: Json) -> None:
        self.tell(records.of_call(self.run, self.now(), call, kind, payload))

    def _judge(self, call: Call) -> None:
        tool = self.loaded.get(call.tool)
        if tool is None or call.args is None:
            self._tell_of(call, "tool-call", {"verdict": "refuse", "error": "no"})
            return
        frozen = {"reason": None, "definition": tool.frozen()}
        self._tell_of(call, "tool-call", {"verdict": "ask" if tool.gated else "run", **frozen})

    def _ask(self, call: Call) -> None:
        question = records.approval_question(self.run, self.now(), call)
        grant = state.granted(self.run, call)
        assert (grant is not None) == self.auditor.is_granted(self.auditor.call(call.id))
        if grant is not None:
            asked = question.payload["id"]
            said = {"verdict": "approve", "by": grant.by, "at": self.now(), "via": "always", "reason": None}
            self.decisions.setdefault(asked, {"suspension_id": asked, **said})
        self.tell(question)

    def _start(self, call: Call, choose: Choose) -> None:
        now = self.loaded[call.tool].frozen()
        assert call.definition is not None
        if now["digest"] == call.definition.digest:
            started = {"attempt": call.attempt + 1, "idempotency_key": "key", "pid": 1, "host": "host"}
            self._tell_of(call, "tool-start", started)
            self.running.add(call.id)
        elif not self.auditor.call(call.id).decided:
            self._judge(call)
        elif self.accepting or call.accepted == now["digest"]:
            gone = choose((False, True), "the tool is gone")
            after = {"error": "There is no such tool any more"} if gone else {"definition": now}
            self._tell_of(call, "tool-changed", {"changed": ["its source"], **after})
        else:
            self.held.add(call.id)

    def _close(self, call: Call) -> None:
        if call.suspension is not None:
            said = {"suspension_id": call.suspension.id, "verdict": "cancel", **self._signed(None)}
            self.decisions.setdefault(call.suspension.id, said)
        self.tell(records.closing(self.run, self.now(), call))

    def interrupt(self, code: str, **more: Any) -> None:
        self.asking = False
        told = {"code": code, "message": "no", "hint": None, "finish_reason": "error"}
        self._tell("error", {**told, **more})

    # The model

    def model_answers(self, choose: Choose) -> None:
        how_many = choose((0, 1, 1, 2, 2, 3, 4), "calls")
        asked = tuple(
            ToolCall(choose(CALL_IDS, "id"), choose(ASKED, "tool"), choose(ARGUMENTS, "arguments"))
            for _ in range(how_many)
        )
        self.asking = False
        message = state.with_unique_ids(self.run, Assistant("" if asked else "Done", calls=asked))
        reason = "tool_calls" if asked else "stop"
        self.tell(records.answer(self.run, self.now(), message, reason, Usage(total_tokens=3, requests=1)))

    def model_fails(self, how: str) -> None:
        """An `outage`, an answer that is `cut`, or the end of a script."""
        if how == "cut":
            usage = records.usage_json(Usage(total_tokens=2, requests=1))
            self.interrupt("failed", answered=True, usage=usage)
        elif how == "outage":
            self.interrupt("interrupted", answered=True)
        else:
            self.asking = False
            error = {"code": "failed", "message": "no turn is left", "hint": None}
            self.tell(records.finish(self.run, self.now(), "failed", "error", error))

    # The tools

    def tool_ends(self, choose: Choose) -> None:
        call = self._call(choose(sorted(self.running), "call"))
        self.running.remove(call.id)
        match choose(("result", "error", "asks", "asks", "unknown"), "it ends with"):
            case "result":
                self._tell_of(call, "tool-result", {"result": through_json(choose(VALUES, "result"))})
            case "error":
                self._tell_of(call, "tool-error", {"error": "it broke"})
            case "asks":
                self.tell(records.data_question(self.run, self.now(), call, choose(VALUES, "payload"), None))
            case _:
                self.tell(records.doubt(self.run, self.now(), call, "it ran too long"))

    def edit_a_tool(self, choose: Choose) -> None:
        names = sorted({call.tool for call in self.auditor.calls} & TOOLS.keys()) or sorted(TOOLS)
        name, gated = choose(names, "tool"), choose((False, True), "gated")
        self.disk[name] = replace(self.disk[name], gated=gated, edits=self.disk[name].edits + 1)

    def _call(self, call_id: str) -> Call:
        return next(call for call in self.run.root.calls if call.id == call_id)

    # The humans: a decision is a fact in the store, the first wins, and a driver sees it some time later

    def questions(self) -> dict[str, tuple[Call, Suspension]]:
        """What a human sees and nobody has decided."""
        shown = views.open_questions(self.run, driven=self.alive)
        return {asked.id: (call, asked) for call, asked in shown if asked.id not in self.decisions}

    def decide(self, choose: Choose) -> None:
        asked = self.questions()
        call, question = asked[choose(sorted(asked), "question")]
        verdict = choose(VERDICTS[question.kind], "verdict")
        reason = choose((None, " ", "Keep it"), "reason")
        said: Json = {"suspension_id": question.id, "verdict": verdict, **self._signed(reason)}
        if verdict == "approve":
            how = choose(("", "always", "args"), "how")
            said |= {"always": True} if how == "always" else {}
            said |= {"args": choose(EDITS, "args")} if how == "args" else {}
        if verdict in ("data", "result", "failed"):
            said["data"] = "It failed" if verdict == "failed" else choose(VALUES, "data")
        if verdict in ("approve", "data", "retry") and choose((False, True), "accepts changes"):
            said["accepted"] = self.disk[call.tool].frozen()["digest"]
        self.decisions[question.id] = through_json(said)

    def cancel(self) -> None:
        said = {"suspension_id": None, "verdict": "cancel", **self._signed(None)}
        self.decisions.setdefault("cancel", said)

    def _signed(self, reason: str | None) -> Json:
        return {"by": "ada", "at": self.now(), "via": "cli", "reason": reason}

    def absorb(self) -> None:
        """The driver sees the decisions, unless it asks the model; none counts once the run is cancelled."""
        if self.run.cancellation is not None or self.asking:
            return
        for call in state.waiting(self.run):
            if call.suspension is not None and call.suspension.id in self.decisions:
                self._tell("decision", self.decisions[call.suspension.id])
        if "cancel" in self.decisions:
            self._tell("decision", self.decisions["cancel"])

    # Processes come and go

    def crash(self, snapshot_after: int) -> None:
        """Killed; what the next process reads is a snapshot of some time ago and the records after it."""
        self.alive = False
        self.running.clear()
        before, after = self.journal[1:snapshot_after], self.journal[snapshot_after:]
        saved = reloaded(state.fold(state.begin(RUN, self.journal[0]), before))
        assert state.fold(saved, after) == self.run

    def stop(self) -> None:
        """Ctrl-C: what runs is given up, the run is interrupted, the process ends."""
        left = [self._call(call_id) for call_id in sorted(self.running)]
        self.tell(*[records.recovery(self.run, self.now(), call, "Stopped") for call in left])
        self.interrupt("interrupted")
        self.alive = False
        self.running.clear()

    def resume(self, more_steps: int, *, accepting: bool) -> None:
        """Another process drives on, from the snapshot."""
        self.run = self.snapshot
        self._begin_process(accepting=accepting)
        brings = {"max_steps": self.run.max_steps + more_steps, "model": None, "agent_parts": {"tools": "1"}}
        self._tell("start", {"resumed": True, **brings})

    def resume_to_cancel(self) -> None:
        """Another process ends the run; it brings nothing, so it records no start."""
        self.run = self.snapshot
        self._begin_process(accepting=False)
        self.cancel()
        self.absorb()
