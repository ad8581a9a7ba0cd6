"""What may happen next, for each way a run can stand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
from agentctl.runtime.call import Contradiction
from support.story import Story

TWO = (("c1", "delete", {"id": "a"}), ("c2", "read", {"id": "b"}))


def what(story: Story, *running: str) -> list[str]:
    """The actions, in short: `Judge c1`."""
    return [_short(action) for action in next_actions(story.run, frozenset(running))]


def _short(action: Action) -> str:
    match action:
        case Judge(call) | Ask(call) | StartCall(call) | Settle(call) | Recover(call) | Close(call):
            return f"{type(action).__name__} {call.id}"
        case EndRun(status, _):
            return f"EndRun {status}"
        case FinishStep() | AskModel() | StepsUsedUp():
            return type(action).__name__


ONE_CALL: list[tuple[str, Callable[[], Story], list[str]]] = [
    ("a run begins with the model", Story, ["AskModel"]),
    ("a proposed call is judged", lambda: Story().proposes(), ["Judge c1"]),
    ("a gated call is asked about", lambda: Story().proposes().judged("ask"), ["Ask c1"]),
    ("a question waits", lambda: Story().proposes().judged("ask").asked(), []),
    ("a call that may run starts", lambda: Story().proposes().judged("run"), ["StartCall c1"]),
    (
        "an approved call starts",
        lambda: Story().proposes().judged("ask").asked().decided("approve"),
        ["StartCall c1"],
    ),
    (
        "a declined call is told",
        lambda: Story().proposes().judged("ask").asked().decided("decline"),
        ["Settle c1"],
    ),
    ("a call that cannot run is told", lambda: Story().proposes().judged("refuse"), ["Settle c1"]),
    ("a lost call is recovered", lambda: Story().proposes().judged("run").started(), ["Recover c1"]),
    (
        "a call in doubt waits",
        lambda: Story().proposes().judged("run").started().in_doubt(),
        [],
    ),
    (
        "a step ends when its calls have",
        lambda: Story().proposes().judged("run").started().result(1),
        ["FinishStep"],
    ),
    (
        "then the model is asked again",
        lambda: Story().proposes().judged("run").started().result(1).step_ends(),
        ["AskModel"],
    ),
    (
        "an answer without calls ends its step",
        lambda: Story().asks_model().answers(text="Done"),
        ["FinishStep"],
    ),
    (
        "and the run",
        lambda: Story().asks_model().answers(text="Done").step_ends(),
        ["EndRun completed"],
    ),
    ("an interrupted run waits for a new start", lambda: Story().interrupted(), []),
    ("and goes on after it", lambda: Story().interrupted().resumed(), ["AskModel"]),
    (
        "an error beside open calls does not hold them",
        lambda: Story().proposes().judged("run").interrupted(),
        ["StartCall c1"],
    ),
    (
        "a request that a crash cut off is made again",
        lambda: Story().asks_model().resumed(),
        ["AskModel"],
    ),
    ("after the end nothing follows", lambda: Story().asks_model().answers().step_ends().finished(), []),
]


@pytest.mark.parametrize(
    ("story", "actions"), [each[1:] for each in ONE_CALL], ids=[each[0] for each in ONE_CALL]
)
def test_what_may_happen_next(story: Callable[[], Story], actions: list[str]) -> None:
    assert what(story()) == actions


def test_calls_are_taken_in_call_order_whatever_came_first() -> None:
    story = Story().proposes(*TWO).judged("run", "c2")
    assert what(story) == ["Judge c1", "StartCall c2"]


def test_a_running_call_is_left_alone_while_others_go_on() -> None:
    story = Story().proposes(*TWO).judged("run", "c1").judged("ask", "c2").started("c1")
    assert what(story, "c1") == ["Ask c2"]


def test_the_model_is_not_asked_before_every_call_has_its_result() -> None:
    story = (
        Story()
        .proposes(*TWO)
        .judged("run", "c1")
        .judged("ask", "c2")
        .started("c1")
        .result(1, "c1")
        .asked("c2")
    )
    assert what(story) == []
    with pytest.raises(Contradiction):
        story.asks_model()


# Cancelled

CANCELLED: list[tuple[str, Callable[[], Story], list[str]]] = [
    ("proposed", lambda: Story().proposes(), ["Close c1"]),
    ("gated", lambda: Story().proposes().judged("ask"), ["Close c1"]),
    ("waiting", lambda: Story().proposes().judged("ask").asked(), ["Close c1"]),
    ("approved", lambda: Story().proposes().judged("ask").asked().decided("approve"), ["Close c1"]),
    ("in doubt", lambda: Story().proposes().judged("run").started().in_doubt(), ["Close c1"]),
    ("lost", lambda: Story().proposes().judged("run").started(), ["Recover c1"]),
    ("settled", lambda: Story().proposes().judged("refuse"), ["Settle c1"]),
    ("between steps", Story, ["EndRun cancelled"]),
    ("answered", lambda: Story().asks_model().answers(text="Done").step_ends(), ["EndRun cancelled"]),
    ("interrupted", lambda: Story().interrupted(), ["EndRun cancelled"]),
]


@pytest.mark.parametrize(
    ("story", "actions"), [each[1:] for each in CANCELLED], ids=[each[0] for each in CANCELLED]
)
def test_a_cancelled_run_closes_what_is_open_and_ends(story: Callable[[], Story], actions: list[str]) -> None:
    assert what(story().cancelled()) == actions


def test_a_cancelled_run_waits_for_what_it_runs() -> None:
    assert what(Story().proposes().judged("run").started().cancelled(), "c1") == []


# The budget


def spent(requests: int, max_steps: int) -> Story:
    story = Story(max_steps=max_steps)
    for number in range(requests):
        story.proposes((f"c{number}", "delete", {})).judged("refuse", f"c{number}").settled(
            f"c{number}"
        ).step_ends()
    return story


@pytest.mark.parametrize(("requests", "max_steps", "action"), [(0, 1, "AskModel"), (2, 3, "AskModel")])
def test_within_its_budget_a_run_goes_on(requests: int, max_steps: int, action: str) -> None:
    assert what(spent(requests, max_steps)) == [action]


@pytest.mark.parametrize(("requests", "max_steps"), [(1, 1), (3, 3)])
def test_a_budget_that_is_used_up_ends_the_asking(requests: int, max_steps: int) -> None:
    story = spent(requests, max_steps)
    assert what(story) == ["StepsUsedUp"]
    assert what(story.interrupted(finish_reason="max_steps").resumed()) == ["StepsUsedUp"]


def test_a_new_total_gives_the_difference() -> None:
    story = spent(3, 3).interrupted(finish_reason="max_steps").resumed(max_steps=4)
    assert what(story) == ["AskModel"]
    assert what(story.proposes(("c9", "delete", {})).judged("refuse", "c9").settled("c9").step_ends()) == [
        "StepsUsedUp"
    ]


def test_a_smaller_total_is_used_up_at_once() -> None:
    assert what(spent(3, 9).interrupted().resumed(max_steps=2)) == ["StepsUsedUp"]


def test_a_request_that_failed_or_was_cut_off_counts() -> None:
    story = Story(max_steps=2).asks_model().interrupted(answered=True).resumed().asks_model().resumed()
    assert what(story) == ["StepsUsedUp"]


def test_the_last_request_may_still_end_the_run() -> None:
    assert what(Story(max_steps=1).asks_model().answers(text="Done").step_ends()) == ["EndRun completed"]
