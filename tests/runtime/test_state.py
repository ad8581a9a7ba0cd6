"""The run as a value: what a record changes in it, and what a record of another kind must not."""

from __future__ import annotations

from typing import Any

import pytest

from agentctl.models.messages import User
from agentctl.models.protocol import Usage
from agentctl.runtime import state
from agentctl.runtime.call import Contradiction
from agentctl.runtime.events import Record
from support.story import AT, PATH, RUN, Story, opening


def waiting(args: Any = None) -> Story:
    return Story().proposes(("c1", "delete", args or {"id": "a"})).judged("ask").asked()


# Beginning and going on


def test_a_run_begins_with_its_task() -> None:
    run = Story(input="Delete a", thread="t", resource="r", model="openai/x", max_steps=3).run
    assert (run.id, run.agent, run.prompt, run.root.messages) == (
        RUN,
        "records",
        "Delete a",
        (User("Delete a"),),
    )
    assert (run.thread, run.resource, run.model, run.max_steps) == ("t", "r", "openai/x", 3)
    assert (run.started_at, run.updated_at, run.finished_at) == (AT, AT, None)


@pytest.mark.parametrize("kind", ["step-start", "answer", "finish", "decision", "tool-start"])
def test_a_journal_begins_with_the_start_of_the_run(kind: str) -> None:
    with pytest.raises(Contradiction):
        state.begin(RUN, Record(kind, AT, opening().payload, PATH))


def test_a_journal_does_not_begin_with_a_later_process() -> None:
    with pytest.raises(Contradiction):
        state.begin(RUN, opening(resumed=True))


def test_a_later_process_may_bring_another_budget_and_model() -> None:
    run = (
        Story(max_steps=3, model="openai/x")
        .resumed(max_steps=5, model="scripted/y", agent_parts={"a": "1"})
        .run
    )
    assert (run.max_steps, run.model, run.agent_parts) == (5, "scripted/y", {"a": "1"})
    assert run.options == Story().run.options


def test_each_record_says_when_the_run_was_touched_last() -> None:
    later = "2026-12-02T00:00:00.000Z"
    run = state.apply(Story().run, Record("step-start", later, {"step": 1}, PATH))
    assert (run.started_at, run.updated_at) == (AT, later)


def test_a_record_changes_nothing_of_the_value_before_it() -> None:
    story = waiting()
    before, calls = story.run, story.run.root.calls
    story.decided("approve", args={"id": "b"}).started()
    assert before.root.calls is calls
    assert before == waiting().run


def test_a_run_is_cancelled_once() -> None:
    story = waiting().cancelled("Enough")
    assert story.run.cancellation == state.Cancellation("ada", "Enough")
    with pytest.raises(Contradiction):
        story.cancelled("Again")


# Standing approvals


def test_always_keeps_the_tool_the_arguments_and_the_definition() -> None:
    [grant] = waiting().decided("approve", always=True).run.grants
    assert (grant.tool, grant.args, grant.definition, grant.by) == ("delete", {"id": "a"}, "d1", "ada")


@pytest.mark.parametrize("always", [None, False, "true", "false", 1, 0, [True], {}])
def test_anything_but_true_keeps_nothing(always: Any) -> None:
    assert waiting().decided("approve", always=always).run.grants == ()


@pytest.mark.parametrize(
    ("verdict", "more"),
    [("decline", {}), ("approve", {"args": {"id": "b"}}), ("approve", {"args": {"id": "a"}})],
)
def test_only_an_approval_of_what_was_asked_may_be_kept(verdict: str, more: dict[str, Any]) -> None:
    with pytest.raises(Contradiction):
        waiting().decided(verdict, always=True, **more)


def test_an_answer_to_a_tool_is_never_kept() -> None:
    with pytest.raises(Contradiction):
        Story().proposes().judged("run").started().asks("Which?").decided("data", data=1, always=True)


@pytest.mark.parametrize(
    ("tool", "args", "digest", "granted"),
    [
        ("delete", {"id": "a"}, "d1", True),
        ("delete", {"id": "b"}, "d1", False),
        ("delete", {}, "d1", False),
        ("delete", {"id": "a", "force": True}, "d1", False),
        ("delete", {"id": "a"}, "d2", False),
        ("erase", {"id": "a"}, "d1", False),
    ],
)
def test_a_standing_approval_is_for_exactly_this_call(
    tool: str, args: Any, digest: str, granted: bool
) -> None:
    story = waiting().decided("approve", always=True).started().result(1).step_ends()
    story.proposes(("c2", tool, args)).judged("ask", "c2", digest=digest)
    assert (state.granted(story.run, story.call("c2")) is not None) == granted


# Results and usage


def test_results_join_the_conversation_in_call_order() -> None:
    story = Story().proposes(("c1", "read", {}), ("c2", "read", {}), ("c3", "ghost", {}))
    story.judged("refuse", "c3").judged("run", "c2").judged("run", "c1").started("c2").started("c1")
    story.settled("c3").result("two", "c2").result("one", "c1").step_ends()
    told = [message for message in story.run.root.messages if not isinstance(message, User)][1:]
    assert [(each.call_id, each.content) for each in told] == [  # type: ignore[union-attr]
        ("c1", "one"),
        ("c2", "two"),
        ("c3", "Error: There is no such tool"),
    ]


def test_usage_counts_answers_and_what_errors_cost() -> None:
    cut = {"total_tokens": 7, "requests": 1}
    story = Story().asks_model().interrupted(answered=True, usage=cut).resumed()
    story.asks_model().answers(text="Done", usage=Usage(input_tokens=2, total_tokens=5, requests=1))
    assert story.run.usage == Usage(input_tokens=2, total_tokens=12, requests=2)
    assert story.run.root.step_usage == Usage(input_tokens=2, total_tokens=5, requests=1)


@pytest.mark.parametrize(("answered", "turn"), [(True, 1), (False, 0)])
def test_a_turn_is_used_up_by_an_answer_or_a_recorded_error(answered: bool, turn: int) -> None:
    assert Story().asks_model().interrupted(answered=answered).run.root.answered == turn
    assert Story().interrupted(answered=answered).run.root.answered == 0
