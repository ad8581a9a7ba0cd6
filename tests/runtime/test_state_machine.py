"""Every interleaving: a run is driven, decided, stopped, killed and forged upon, and the promises hold.

`Auditor` says what is permitted, from the contract alone; `forgeries` what must be refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from agentctl.models.messages import message_to_json
from agentctl.runtime import state, views
from agentctl.runtime.actions import AskModel, StartCall
from agentctl.runtime.call import Contradiction
from agentctl.runtime.events import Record
from support.auditor import text_of
from support.driven_run import Choose, DrivenRun
from support.forgery import forgeries
from support.story import RUN

T = TypeVar("T")

usual_steps = st.integers(0, 3)
budgets = st.integers(1, 6)


class WatchedRun(DrivenRun):
    """After each record, everything that is forbidden is tried."""

    def check(self) -> None:
        super().check()
        for why, forged in forgeries(self.auditor):
            try:
                state.apply(self.run, Record.from_json(forged))
            except Contradiction:
                continue
            raise AssertionError(f"{why}, but accepted: {forged}")


def chooses(data: st.DataObject) -> Choose:
    def choose(options: Sequence[T], what: str, /) -> T:
        return data.draw(st.sampled_from(options), label=what)

    return choose


def nothing_is_left_to_chance(options: Sequence[Any], what: str, /) -> Any:
    raise AssertionError(what)


class Runs(RuleBasedStateMachine):
    """Each rule lets what usually comes next happen some times over, and then what its name says."""

    @initialize(max_steps=budgets)
    def begin(self, max_steps: int) -> None:
        self.it = WatchedRun(max_steps)

    def proceed(self, steps: int, data: st.DataObject) -> Choose:
        for _ in range(steps):
            if self.it.auditor.ended:
                self.teardown()
                self.it = WatchedRun(data.draw(budgets, label="max steps"))
            else:
                self.it.proceed(chooses(data))
        return chooses(data)

    @rule(data=st.data(), steps=usual_steps)
    def all_goes_well(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps + 1, data)

    @rule(data=st.data(), steps=usual_steps)
    def one_thing_of_several_happens(self, data: st.DataObject, steps: int) -> None:
        choose = self.proceed(steps, data)
        if actions := self.it.actions():
            self.it.do(choose(actions, "action"), choose)

    @rule(data=st.data(), steps=usual_steps)
    def a_tool_ends(self, data: st.DataObject, steps: int) -> None:
        choose = self.proceed(steps, data)
        if self.it.running:
            self.it.tool_ends(choose)

    @rule(data=st.data(), steps=usual_steps)
    def a_human_decides(self, data: st.DataObject, steps: int) -> None:
        choose = self.proceed(steps, data)
        if self.it.questions():
            self.it.decide(choose)

    @rule(data=st.data(), steps=usual_steps)
    def the_driver_sees_decisions(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data)
        if self.it.alive and not self.it.auditor.ended:
            self.it.absorb()

    @rule(data=st.data(), steps=usual_steps, resumed=st.booleans())
    def someone_edits_a_tool(self, data: st.DataObject, steps: int, resumed: bool) -> None:
        self.it.edit_a_tool(self.proceed(steps, data))
        if resumed and not self.it.auditor.ended:
            self.it.crash(len(self.it.journal))
            self.it.resume(0, accepting=False)

    @rule(data=st.data(), steps=usual_steps)
    def the_process_is_killed(self, data: st.DataObject, steps: int) -> None:
        choose = self.proceed(steps, data)
        if self.it.alive:
            self.it.crash(choose(range(1, len(self.it.journal) + 1), "snapshot after"))

    @rule(data=st.data(), steps=usual_steps)
    def the_process_is_stopped(self, data: st.DataObject, steps: int) -> None:
        self.proceed(steps, data)
        if self.it.alive and not self.it.auditor.ended:
            self.it.stop()

    @rule(data=st.data(), steps=usual_steps, accepting=st.booleans(), more_steps=st.integers(0, 2))
    def another_process_drives_on(
        self, data: st.DataObject, steps: int, accepting: bool, more_steps: int
    ) -> None:
        self.proceed(steps, data)
        if not self.it.alive and not self.it.auditor.ended:
            self.it.resume(more_steps, accepting=accepting)

    @rule(data=st.data(), steps=usual_steps, how=st.sampled_from(("outage", "cut", "script ends")))
    def the_model_fails(self, data: st.DataObject, steps: int, how: str) -> None:
        self.proceed(steps, data)
        if self.it.alive and self.it.asking:
            self.it.model_fails(how)

    @rule(data=st.data(), steps=usual_steps, sure=st.integers(0, 9))
    def someone_cancels(self, data: st.DataObject, steps: int, sure: int) -> None:
        self.proceed(steps, data)
        if sure == 9:
            self.it.cancel()

    @invariant()
    def the_conversation_is_what_was_said_and_done(self) -> None:
        auditor = self.it.auditor
        for run in (self.it.run, self.it.snapshot):
            said = [message_to_json(message) for message in run.root.messages]
            assert text_of(said) == text_of(auditor.messages)
            assert (run.usage.total_tokens, run.root.answered + 1) == (auditor.tokens, auditor.turn)

    @invariant()
    def a_run_at_rest_says_what_it_waits_for(self) -> None:
        it = self.it
        if it.alive and not (it.actions() or it.running or it.asking):
            assert state.waiting(it.run) or it.held or it.run.interruption or it.run.outcome

    @invariant()
    def users_see_how_the_run_stands(self) -> None:
        it = self.it
        status = views.status_of(it.run, driven=it.alive, decided=it.decisions.keys())
        if it.auditor.ended or it.alive:
            assert status == (it.auditor.ended or "running")
            return
        kinds = {question.kind for _, question in it.questions().values()}
        assert status == ("in_doubt" if "in_doubt" in kinds else "suspended" if kinds else "interrupted")
        lost = [call for call in it.auditor.calls if call.stage == "started" and not call.idempotent]
        shown = {call.id for call, question in it.questions().values() if question.kind == "in_doubt"}
        for call in lost:
            assert call.id in shown or call.question_id(RUN, "in_doubt", None) in it.decisions

    def teardown(self) -> None:
        """The journal tells the whole run; and wherever it stands, a run can be cancelled to its end."""
        if sys.exc_info()[0] is not None:
            return  # something failed already, and that is what must be reported
        it = self.it
        assert state.fold(state.begin(RUN, it.journal[0]), it.journal[1:]) == it.run
        if not it.auditor.ended:
            self._cancel_to_the_end()

    def _cancel_to_the_end(self) -> None:
        it = self.it
        it.resume_to_cancel()
        while actions := it.actions():
            assert not any(isinstance(action, StartCall | AskModel) for action in actions)
            it.do(actions[0], nothing_is_left_to_chance)
        assert it.auditor.ended == "cancelled"


def test_the_promises_hold_in_every_interleaving() -> None:
    run_state_machine_as_test(Runs, settings=settings(max_examples=75, stateful_step_count=30))


@pytest.mark.soak
def test_the_promises_hold_in_many_more_interleavings() -> None:
    run_state_machine_as_test(Runs, settings=settings(max_examples=1000, stateful_step_count=60))
