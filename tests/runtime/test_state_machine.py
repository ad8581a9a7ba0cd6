"""Every interleaving: a run is driven, decided, stopped, crashed and forged upon, and the promises hold.

`Auditor` says what is permitted, from the contract alone; `forgeries` what must be refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agentctl.models.messages import Assistant, ToolCall, message_to_json
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
from agentctl.runtime.call import Call, Contradiction
from agentctl.runtime.events import Record
from support.auditor import Auditor, text_of
from support.forgery import forgeries

Json = dict[str, Any]
Draw = Callable[..., Any]
T = TypeVar("T")

RUN = "run-1"
PATH = ("records",)
VALUES = (None, True, False, 0, 1, 1.0, "1", "", "é\ud800", 2**70, [], {}, {"b": [1.5, None], "a": "x"})
GOOD_ARGUMENTS = (
    '{"id": "a"}',
    '{"id": "a"}',
    '{"id": "a"}',
    '{"id": "b"}',
    '{"n": 1}',
    '{"n": 1.0}',
    "{}",
    "",
    "null",
)
BAD_ARGUMENTS = ("[1]", '{"id":', '{"x": NaN}')
EDITS = ({}, {"id": "a"}, {"id": "c"}, {"n": 1.0, "id": True}, {"n": True})
CALL_IDS = ("c1", "c1", "c2", "c1-2", "c1-2-2", "")

usual_steps = st.integers(0, 3)
values = st.sampled_from(VALUES)
tool_endings = st.sampled_from(("result", "error", "asks", "asks", "unknown"))
asked_calls = st.lists(
    st.tuples(
        st.sampled_from(CALL_IDS),
        st.sampled_from(("free", "gated", "gated", "repeatable", "careful", "careful", "ghost")),
        st.sampled_from((*GOOD_ARGUMENTS, *GOOD_ARGUMENTS, *BAD_ARGUMENTS)),
    ),
    max_size=4,
)


@dataclass(frozen=True)
class Tool:
    """A tool file as it lies on disk; every edit is another definition."""

    gated: bool
    idempotent: bool
    edits: int = 0

    def frozen(self, name: str) -> Json:
        digest = f"{name}/{self.edits}"
        parts = {"source": str(self.edits)}
        return {"digest": digest, "parts": parts, "idempotent": self.idempotent, "input_schema": {}}


TOOLS = {
    "free": Tool(gated=False, idempotent=False),
    "gated": Tool(gated=True, idempotent=False),
    "repeatable": Tool(gated=False, idempotent=True),
    "careful": Tool(gated=True, idempotent=True),
}


def through_json(value: T) -> T:
    """What a process writes, as another process reads it: keys are sorted, tuples are lists."""
    read: T = json.loads(json.dumps(value, sort_keys=True))
    return read


def reloaded(run: state.Run) -> state.Run:
    """The run from its snapshot."""
    return body.decode(through_json(body.encode(run)))


class Runs(RuleBasedStateMachine):
    """One run, the processes that drive it one after the other, the humans, and the tools on disk."""

    @initialize(max_steps=st.integers(1, 6))
    def start(self, max_steps: int) -> None:
        self.clock = 0
        self.auditor = Auditor(RUN)
        self.journal: list[Record] = []
        self.decisions: dict[str, Json] = {}
        self.disk = dict(TOOLS)
        options = {"require_approval": [], "context": {}, "workspace": "/work"}
        payload = {"agent": "records", "input": "Do it", "thread": None, "resource": None, "model": None}
        brings = {"options": options, "max_steps": max_steps, "agent_parts": {"tools": "0"}}
        first = Record("start", self.now(), {**payload, **brings}, PATH)
        self.run = state.begin(RUN, first)
        self.journal.append(Record.from_json(through_json(first.to_json())))
        self.snapshot = reloaded(state.begin(RUN, self.journal[0]))
        self.auditor.see(self.journal[0].to_json())
        self._begin_process(accepting=False)

    def _begin_process(self, *, accepting: bool) -> None:
        self.alive, self.accepting = True, accepting
        self.loaded = dict(self.disk)
        self.running: set[str] = set()
        self.held: set[str] = set()

    def now(self) -> str:
        self.clock += 1
        return f"2026-12-01T00:{self.clock // 60:02}:{self.clock % 60:02}.000Z"

    def tell(self, *new: Record) -> None:
        """Record, as the loop does; the auditor and a process that reads the snapshot see it as it is kept."""
        for each in new:
            self.run = state.apply(self.run, each)
            record = Record.from_json(through_json(each.to_json()))
            self.journal.append(record)
            self.snapshot = reloaded(state.apply(self.snapshot, record))
            self.auditor.see(record.to_json())
            self.the_snapshot_holds_the_run()
            self.forged_records_are_refused()

    # Rules: what usually comes next, some times over, and then what the name says

    @rule(data=st.data(), steps=usual_steps)
    def all_goes_well(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps + 1, data.draw)

    @rule(data=st.data(), steps=usual_steps)
    def one_thing_of_several_happens(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data.draw)
        if actions := self.actions():
            self.do(data.draw(st.sampled_from(actions), label="action"), data.draw)

    @rule(data=st.data(), steps=usual_steps)
    def a_tool_ends(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data.draw)
        if self.alive and self.running:
            self._tool_ends(data.draw)

    @rule(data=st.data(), steps=usual_steps)
    def a_human_decides(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data.draw)
        if self.questions():
            self._decide(data.draw)

    @rule(data=st.data(), steps=usual_steps)
    def the_driver_sees_decisions(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data.draw)
        if self.alive:
            self._absorb()

    @rule(data=st.data(), steps=usual_steps, gated=st.booleans(), resumed=st.booleans())
    def someone_edits_a_tool(self, data: st.DataObject, steps: int, gated: bool, resumed: bool) -> None:
        self.proceed(steps, data.draw)
        if names := sorted({call.tool for call in self.auditor.calls} & TOOLS.keys()):
            name = data.draw(st.sampled_from(names), label="tool")
            self.disk[name] = replace(self.disk[name], gated=gated, edits=self.disk[name].edits + 1)
            if resumed:
                self._crash(len(self.journal))
                self._resume(0, accepting=False)

    @rule(data=st.data(), steps=usual_steps)
    def the_process_is_killed(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data.draw)
        if self.alive and not self.auditor.ended:
            self._crash(data.draw(st.integers(1, len(self.journal)), label="snapshot after"))

    @rule(data=st.data(), steps=usual_steps)
    def the_process_is_stopped(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data.draw)
        if self.alive and not self.auditor.ended:
            self._stop()

    @rule(data=st.data(), steps=usual_steps, accepting=st.booleans())
    def another_process_drives_on(self, data: st.DataObject, steps: int, accepting: bool) -> None:
        self.proceed(steps, data.draw)
        if not self.alive:
            self._resume(data.draw(st.integers(0, 2), label="more steps"), accepting=accepting)

    @rule(data=st.data(), steps=usual_steps, how=st.sampled_from(("outage", "cut", "script ends")))
    def the_model_fails(self, data: st.DataObject, steps: int, how: str) -> None:
        self.proceed(steps, data.draw)
        if self.alive and self.auditor.asking:
            self._model_fails(how)

    @rule(data=st.data(), steps=usual_steps, sure=st.integers(0, 9))
    def someone_cancels(self, data: st.DataObject, steps: int, sure: int) -> None:
        self.proceed(steps, data.draw)
        if sure == 9:
            self._cancel()

    def proceed(self, steps: int, draw: Draw) -> None:
        """What comes next if nothing goes wrong, `steps` times."""
        for _ in range(steps):
            if self.auditor.ended:
                self.teardown()
                self.start(draw(st.integers(1, 6), label="max steps"))
            elif not self.alive:
                self._resume(1, accepting=draw(st.booleans(), label="accepting"))
            elif self.auditor.asking:
                self._model_answers(draw(asked_calls, label="calls"))
            elif self.actions():
                self._go_on(draw)
            elif self.running:
                self._tool_ends(draw)
            elif self.questions():
                self._decide(draw)
            else:
                self._absorb()
                self.alive = bool(self.actions())

    # The driver

    def actions(self) -> list[Action]:
        if not self.alive or self.auditor.asking:
            return []
        found = next_actions(self.run, frozenset(self.running))
        return [each for each in found if not (isinstance(each, StartCall) and each.call.id in self.held)]

    def _go_on(self, draw: Draw) -> None:
        """As far as possible, as the loop does."""
        for _ in range(40):
            self._absorb()
            for action in self.actions():
                self.do(action, draw)
            if not self.actions():
                return
        raise AssertionError("the run does not come to rest")

    def do(self, action: Action, draw: Draw) -> None:
        run, now = self.run, self.now()
        match action:
            case Judge(call):
                self.tell(self._judgement(call))
            case Ask(call):
                self._ask(call)
            case StartCall(call):
                self._start(call, draw)
            case Settle(call):
                self.tell(records.settlement(run, now, call))
            case Recover(call):
                self.tell(records.recovery(run, now, call))
            case Close(call):
                self.tell(records.closing(run, now, call))
            case FinishStep():
                self.tell(records.step_finish(run, now))
            case AskModel() if draw(st.integers(0, 9), label="model opens"):
                self.tell(records.of_step(run, now, "step-start", {"step": run.root.step + 1}))
            case AskModel():
                self._interrupt("auth", answered=False)
            case StepsUsedUp():
                self._interrupt("interrupted")
            case EndRun(status, finish_reason):
                self.tell(records.finish(run, now, status, finish_reason, None))

    def _judgement(self, call: Call) -> Record:
        told = {"tool_call_id": call.id, "tool": call.tool, "args": records.shown_args(self.run, call)}
        tool = self.loaded.get(call.tool)
        if tool is None or call.args is None:
            return records.of_step(
                self.run, self.now(), "tool-call", {**told, "verdict": "refuse", "error": "no"}
            )
        judged = {
            "verdict": "ask" if tool.gated else "run",
            "reason": None,
            "definition": tool.frozen(call.tool),
        }
        return records.of_step(self.run, self.now(), "tool-call", {**told, **judged})

    def _ask(self, call: Call) -> None:
        question = records.approval_question(self.run, self.now(), call)
        grant = state.granted(self.run, call)
        assert (grant is not None) == self.auditor.is_granted(self.auditor.call(call.id))
        if grant is not None:
            asked = question.payload["id"]
            said = {"verdict": "approve", "by": grant.by, "at": self.now(), "via": "always", "reason": None}
            self.decisions.setdefault(asked, {"suspension_id": asked, **said})
        self.tell(question)

    def _start(self, call: Call, draw: Draw) -> None:
        tool = self.loaded[call.tool]
        now = tool.frozen(call.tool)
        assert call.definition is not None
        if now["digest"] == call.definition.digest:
            started = {"attempt": call.attempt + 1, "idempotency_key": "key", "pid": 1, "host": "host"}
            self.tell(records.of_call(self.run, self.now(), call, "tool-start", started))
            self.running.add(call.id)
        elif not self.auditor.call(call.id).decided:
            self.tell(self._judgement(call))
        elif self.accepting or call.accepted == now["digest"]:
            gone = draw(st.booleans(), label="the tool is gone")
            after = {"error": "There is no such tool any more"} if gone else {"definition": now}
            changed = {"changed": ["its source"], "before": call.definition.digest, **after}
            self.tell(records.of_call(self.run, self.now(), call, "tool-changed", changed))
        else:
            self.held.add(call.id)

    def _interrupt(self, code: str, **more: Any) -> None:
        told = {"code": code, "message": "no", "hint": None, "finish_reason": "error", **more}
        self.tell(records.of_step(self.run, self.now(), "error", told))

    # The model

    def _model_answers(self, asked: list[tuple[str, str, str]]) -> None:
        message = Assistant("" if asked else "Done", calls=tuple(ToolCall(*each) for each in asked))
        unique = state.with_unique_ids(self.run, message)
        assert [(each.tool, each.arguments) for each in unique.calls] == [each[1:] for each in asked]
        reason = "tool_calls" if asked else "stop"
        self.tell(records.answer(self.run, self.now(), unique, reason, Usage(total_tokens=3, requests=1)))

    def _model_fails(self, how: str) -> None:
        if how == "cut":
            usage = records.usage_json(Usage(total_tokens=2, requests=1))
            self._interrupt("failed", answered=True, usage=usage)
        elif how == "outage":
            self._interrupt("interrupted", answered=True)
        else:
            error = {"code": "failed", "message": "no turn is left", "hint": None}
            self.tell(records.finish(self.run, self.now(), "failed", "error", error))

    # The tools

    def _tool_ends(self, draw: Draw) -> None:
        call = self._call(draw(st.sampled_from(sorted(self.running)), label="call"))
        how, value = draw(tool_endings, label="how"), draw(values, label="value")
        self.running.remove(call.id)
        match how:
            case "result":
                self.tell(records.of_call(self.run, self.now(), call, "tool-result", {"result": value}))
            case "error":
                self.tell(records.of_call(self.run, self.now(), call, "tool-error", {"error": "it broke"}))
            case "asks":
                self.tell(records.data_question(self.run, self.now(), call, value, None))
            case _:
                self.tell(records.doubt(self.run, self.now(), call, "it ran too long"))

    def _call(self, call_id: str) -> Call:
        return next(call for call in self.run.root.calls if call.id == call_id)

    # The humans: a decision is a fact in the store, and first wins; a driver sees it some time later

    def questions(self) -> list[tuple[Call, Any]]:
        return [
            (call, question)
            for call, question in views.open_questions(self.run, driven=self.alive)
            if question.id not in self.decisions
        ]

    def _decide(self, draw: Draw) -> None:
        asked = {f"{call.id}: {question.id}": (call, question) for call, question in self.questions()}
        call, question = asked[draw(st.sampled_from(list(asked)), label="question")]
        verdict = draw(st.sampled_from(_VERDICTS[question.kind]), label="verdict")
        said: Json = {
            "suspension_id": question.id,
            "verdict": verdict,
            "by": "ada",
            "at": self.now(),
            "via": "cli",
        }
        reason = draw(st.sampled_from((None, " ", "Keep it")), label="reason")
        said["reason"] = reason
        if verdict == "approve":
            how = draw(st.sampled_from(("", "always", "args")), label="how")
            said |= {"always": True} if how == "always" else {}
            said |= {"args": draw(st.sampled_from(EDITS), label="args")} if how == "args" else {}
        if verdict in ("data", "result", "failed"):
            said["data"] = "It failed" if verdict == "failed" else draw(values, label="data")
        if verdict in ("approve", "data", "retry") and draw(st.booleans(), label="accepts"):
            said["accepted"] = self.disk[call.tool].frozen(call.tool)["digest"]
        self.decisions[question.id] = through_json(said)

    def _cancel(self) -> None:
        said = {"suspension_id": None, "verdict": "cancel", "by": "ada", "at": self.now(), "via": "cli"}
        self.decisions.setdefault("cancel", {**said, "reason": None})

    def _absorb(self) -> None:
        if self.auditor.ended:
            return
        if "cancel" in self.decisions and self.run.cancellation is None:
            self.tell(records.of_step(self.run, self.now(), "decision", self.decisions["cancel"]))
        for call in state.waiting(self.run):
            assert call.suspension is not None
            if call.suspension.id in self.decisions:
                self.tell(
                    records.of_step(self.run, self.now(), "decision", self.decisions[call.suspension.id])
                )

    # Processes come and go

    def _crash(self, snapshot_after: int) -> None:
        """Killed; the next process reads a snapshot of some time ago and the records after it."""
        self.alive = False
        before, after = self.journal[1:snapshot_after], self.journal[snapshot_after:]
        saved = reloaded(state.fold(state.begin(RUN, self.journal[0]), before))
        assert state.fold(saved, after) == self.run

    def _stop(self) -> None:
        """Ctrl-C: what runs is left in doubt, the run is interrupted, the process ends."""
        doubts = [
            records.doubt(self.run, self.now(), self._call(each), "Stopped") for each in sorted(self.running)
        ]
        self.tell(*doubts)
        self._interrupt("interrupted")
        self.alive = False

    def _resume(self, more_steps: int, *, accepting: bool) -> None:
        self._begin_process(accepting=accepting)
        payload = {
            "resumed": True,
            "max_steps": self.run.max_steps + more_steps,
            "model": None,
            "agent_parts": {"tools": "1"},
        }
        self.tell(Record("start", self.now(), payload, PATH))

    # What holds after each step

    def forged_records_are_refused(self) -> None:
        for why, forged in forgeries(self.auditor):
            try:
                state.apply(self.run, Record.from_json(forged))
            except Contradiction:
                continue
            raise AssertionError(f"{why}, but accepted: {forged}")

    def the_snapshot_holds_the_run(self) -> None:
        assert self.snapshot == self.run
        assert text_of(body.encode(self.snapshot)) == text_of(body.encode(self.run))

    @invariant()
    def the_conversation_is_what_was_said_and_done(self) -> None:
        for run in (self.run, self.snapshot):
            said = [message_to_json(message) for message in run.root.messages]
            assert text_of(said) == text_of(self.auditor.messages)
        assert self.run.usage.total_tokens == self.auditor.tokens
        assert self.run.root.answered + 1 == self.auditor.turn

    @invariant()
    def a_run_at_rest_says_what_it_waits_for(self) -> None:
        if self.alive and not (self.actions() or self.running or self.auditor.asking):
            waits = bool(state.waiting(self.run)) or bool(self.held)
            assert waits or self.run.interruption or self.run.outcome

    @invariant()
    def users_see_how_the_run_stands(self) -> None:
        status = views.status_of(self.run, driven=self.alive, decided=self.decisions.keys())
        if self.auditor.ended or self.alive:
            assert status == (self.auditor.ended or "running")
            return
        kinds = {question.kind for _, question in self.questions()}
        lost = [c for c in self.auditor.calls if c.stage == "started" and not c.idempotent]
        undecided = [c for c in lost if c.question_id(RUN, "in_doubt", None) not in self.decisions]
        assert bool(undecided) <= ("in_doubt" in kinds)
        assert status == ("in_doubt" if "in_doubt" in kinds else "suspended" if kinds else "interrupted")

    def teardown(self) -> None:
        """Wherever it stands, a run can be cancelled: it ends, and nothing starts on the way."""
        if not hasattr(self, "auditor"):
            return
        if self.auditor.ended:
            assert state.fold(state.begin(RUN, self.journal[0]), self.journal[1:]) == self.run
            return
        if not self.alive:
            self._resume(0, accepting=False)
        if self.auditor.asking:
            self._interrupt("interrupted")
        self._cancel()
        self._absorb()
        begun = sum(call.begun for call in self.auditor.calls)
        for call_id in sorted(self.running):
            self.running.remove(call_id)
            self.tell(
                records.of_call(self.run, self.now(), self._call(call_id), "tool-result", {"result": 1})
            )
        while actions := self.actions():
            assert not any(isinstance(action, StartCall | AskModel) for action in actions)
            self.do(actions[0], draw=_never)
            assert sum(call.begun for call in self.auditor.calls) in (begun, 0)
        assert self.auditor.ended == "cancelled"
        assert self.snapshot == self.run


_VERDICTS = {
    "approval": ("approve", "approve", "decline"),
    "data": ("data",),
    "in_doubt": ("retry", "retry", "result", "failed"),
}


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is left to chance")


TestEveryInterleaving = Runs.TestCase
TestEveryInterleaving.settings = settings(max_examples=100, stateful_step_count=50)


class LongRuns(Runs):
    """The same, for as long as a machine has time."""


@pytest.mark.soak
class TestManyInterleavings(LongRuns.TestCase):  # type: ignore[misc, name-defined]
    settings = settings(max_examples=3000, stateful_step_count=150)
