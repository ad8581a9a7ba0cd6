"""One tool call: the diagram at the head of `call.py`, row by row, and what the model is told at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentctl.runtime.call import DENIED, Contradiction, Phase, same_json
from support.story import Story

# How a call comes to each phase.
STANDING: dict[str, Callable[[], Story]] = {
    "proposed": lambda: Story().proposes(),
    "gated": lambda: Story().proposes().judged("ask"),
    "waiting": lambda: Story().proposes().judged("ask").asked(),
    "ready": lambda: Story().proposes().judged("run"),
    "ready, decided": lambda: Story().proposes().judged("ask").asked().decided("approve"),
    "started": lambda: Story().proposes().judged("run").started(),
    "started, idempotent": lambda: Story().proposes().judged("run", idempotent=True).started(),
    "settled": lambda: Story().proposes().judged("refuse"),
    "done": lambda: Story().proposes().judged("run").started().result("Deleted"),
}
HAPPENS: dict[str, Callable[[Story], Story]] = {
    "may run": lambda story: story.judged("run"),
    "must be asked": lambda story: story.judged("ask"),
    "cannot run": lambda story: story.judged("refuse"),
    "question": lambda story: story.asked(),
    "start": lambda story: story.started(),
    "new definition": lambda story: story.changed(),
    "tool is gone": lambda story: story.gone(),
    "retry": lambda story: story.retried(),
    "tool asks": lambda story: story.asks({"question": "Which?"}),
    "in doubt": lambda story: story.in_doubt(),
    "result": lambda story: story.result("Deleted"),
    "error": lambda story: story.error("It broke"),
    "denied": lambda story: story.denied("Keep it"),
    "settlement": lambda story: story.settled(),
}
ALLOWED = {
    ("proposed", "may run"): Phase.READY,
    ("proposed", "must be asked"): Phase.GATED,
    ("proposed", "cannot run"): Phase.SETTLED,
    ("gated", "question"): Phase.WAITING,
    ("ready", "may run"): Phase.READY,
    ("ready", "must be asked"): Phase.GATED,
    ("ready", "cannot run"): Phase.SETTLED,
    ("ready", "start"): Phase.STARTED,
    ("ready, decided", "start"): Phase.STARTED,
    ("ready, decided", "new definition"): Phase.READY,
    ("ready, decided", "tool is gone"): Phase.SETTLED,
    ("started", "tool asks"): Phase.WAITING,
    ("started", "in doubt"): Phase.WAITING,
    ("started", "result"): Phase.DONE,
    ("started", "error"): Phase.DONE,
    ("started, idempotent", "retry"): Phase.READY,
    ("started, idempotent", "tool asks"): Phase.WAITING,
    ("started, idempotent", "in doubt"): Phase.WAITING,
    ("started, idempotent", "result"): Phase.DONE,
    ("started, idempotent", "error"): Phase.DONE,
    ("settled", "settlement"): Phase.DONE,
}
# Only where there is a settlement is there a record of it.
PAIRS = [(now, next_) for now in STANDING for next_ in HAPPENS if next_ != "settlement" or now == "settled"]


@pytest.mark.parametrize(("standing", "happens"), PAIRS)
def test_only_what_the_diagram_shows_may_follow(standing: str, happens: str) -> None:
    story = STANDING[standing]()
    before = story.run
    expected = ALLOWED.get((standing, happens))
    if expected is None:
        with pytest.raises(Contradiction):
            HAPPENS[happens](story)
        assert story.run == before
    else:
        assert HAPPENS[happens](story).phase() is expected


# Once the run is cancelled

CLOSES = {
    "proposed": {"error", "denied"},
    "gated": {"error", "denied"},
    "waiting": {"error", "denied"},
    "ready": {"error", "denied"},
    "started": {"error", "result"},
    "settled": {"settlement"},
    "done": set(),
}


@pytest.mark.parametrize("standing", CLOSES)
@pytest.mark.parametrize("happens", ["start", "retry", "result", "error", "denied"])
def test_in_a_cancelled_run_calls_are_closed_and_nothing_starts(standing: str, happens: str) -> None:
    story = STANDING[standing]().cancelled()
    if happens in CLOSES[standing]:
        assert HAPPENS[happens](story).phase() is Phase.DONE
    else:
        with pytest.raises(Contradiction):
            HAPPENS[happens](story)


def test_an_idempotent_call_is_not_retried_in_a_cancelled_run() -> None:
    story = STANDING["started, idempotent"]().cancelled()
    with pytest.raises(Contradiction):
        story.retried()


# Decisions

ASKED: dict[str, Callable[[], Story]] = {
    "approval": STANDING["waiting"],
    "data": lambda: STANDING["started"]().asks({"question": "Which?"}),
    "in_doubt": lambda: STANDING["started"]().in_doubt(),
}
ANSWERS = {
    ("approval", "approve"): Phase.READY,
    ("approval", "decline"): Phase.SETTLED,
    ("data", "data"): Phase.READY,
    ("in_doubt", "retry"): Phase.READY,
    ("in_doubt", "result"): Phase.SETTLED,
    ("in_doubt", "failed"): Phase.SETTLED,
}
SAID = (
    "approve",
    "decline",
    "data",
    "retry",
    "result",
    "failed",
    "cancel",
    "true",
    "Approve",
    "",
    None,
    True,
    1,
)


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("verdict", SAID)
def test_only_the_verdicts_of_its_kind_answer_a_question(kind: str, verdict: Any) -> None:
    story = ASKED[kind]()
    expected = ANSWERS.get((kind, verdict))
    if expected is None:
        with pytest.raises(Contradiction):
            story.decided(verdict, data="said")
    else:
        assert story.decided(verdict, data="said").phase() is expected


@pytest.mark.parametrize("args", [None, [], [1], "{}", 0, True])
def test_edited_arguments_must_be_an_object(args: Any) -> None:
    with pytest.raises(Contradiction):
        STANDING["waiting"]().decided("approve", args=args)


@pytest.mark.parametrize("verdict", ["Run", "true", "yes", "approve", "", None, True, 1])
def test_a_judgement_that_is_none_lets_nothing_run(verdict: Any) -> None:
    with pytest.raises(Contradiction):
        STANDING["proposed"]().judged(verdict)


def test_one_permission_starts_one_execution() -> None:
    story = STANDING["ready, decided"]().started().in_doubt().decided("retry").started()
    assert story.call().attempt == 2
    with pytest.raises(Contradiction):
        story.started()


def test_a_later_question_needs_its_own_decision() -> None:
    story = STANDING["started"]().asks("Which size?")
    first = story.question()
    story.decided("data", data="L").started().asks("Which colour?")
    with pytest.raises(Contradiction):
        story.tell(
            "decision", {"suspension_id": first, "verdict": "data", "data": "L", "by": "ada", "reason": None}
        )
    assert story.phase() is Phase.WAITING


def test_a_call_that_was_decided_stays_bound_to_what_was_reviewed_when_it_is_retried() -> None:
    story = Story().proposes().judged("ask", idempotent=True).asked().decided("approve").started().retried()
    assert story.call().decided
    with pytest.raises(Contradiction):
        story.judged("run")


# Questions of a tool


@pytest.mark.parametrize("data", [False, 0, "", None, [], {}, "Oslo", {"city": "Oslo"}])
def test_every_json_value_is_an_answer(data: Any) -> None:
    call = STANDING["started"]().asks({"question": "Which?"}).decided("data", data=data).call()
    assert call.resumed
    assert same_json(call.resume_data, data)
    assert call.suspend_payload == {"question": "Which?"}


def test_a_tool_is_told_what_it_asked_last() -> None:
    story = (
        STANDING["started"]().asks("Which size?").decided("data", data="L").started().asks("Which colour?")
    )
    call = story.decided("data", data="red").call()
    assert (call.suspend_payload, call.resume_data) == ("Which colour?", "red")


# What the model is told

SHOWN = [
    ("Deleted", "Deleted"),
    ("", ""),
    (None, "null"),
    (True, "true"),
    (1.0, "1.0"),
    (2**70, "1180591620717411303424"),
    ({"b": 1, "a": ["é"]}, '{"a": ["é"], "b": 1}'),
    ("\ud800", "\ud800"),
]


@pytest.mark.parametrize(("result", "text"), SHOWN)
def test_a_result_is_told_as_text(result: Any, text: str) -> None:
    call = STANDING["started"]().result(result).call()
    assert (call.content, call.is_error) == (text, False)


def test_an_error_is_told_as_an_error() -> None:
    call = STANDING["started"]().error("It broke").call()
    assert (call.content, call.is_error) == ("Error: It broke", True)


@pytest.mark.parametrize(
    ("reason", "told"),
    [(None, DENIED), ("", DENIED), (" \n", DENIED), ("Keep it\nplease, Zoë ", "Keep it\nplease, Zoë ")],
)
def test_a_decline_is_told_with_its_reason_verbatim(reason: str | None, told: str) -> None:
    call = STANDING["waiting"]().decided("decline", reason=reason).settled().call()
    assert (call.content, call.is_error) == (told, False)
    assert DENIED == "Tool call was not approved by the user"


@pytest.mark.parametrize(("asked", "edit"), [(1, 1.0), (1, True), ("1", 1), (0, None)])
def test_a_value_of_another_type_is_a_change(asked: Any, edit: Any) -> None:
    story = Story().proposes(("c1", "delete", {"n": asked})).judged("ask").asked()
    content = story.decided("approve", args={"n": edit}).started().result("Deleted").call().content
    assert content != "Deleted"


def test_the_model_is_told_which_edited_arguments_ran() -> None:
    story = STANDING["waiting"]().decided("approve", args={"id": "b"}).started().result("Deleted b")
    told, result = story.call().content.split("\n", 1)
    assert '{"id": "b"}' in told
    assert result == "Deleted b"


@pytest.mark.parametrize("edit", [{"args": {"id": "a"}}, {}], ids=["equal", "none"])
def test_arguments_that_nobody_changed_are_not_told(edit: dict[str, Any]) -> None:
    story = STANDING["waiting"]().decided("approve", "c1", **edit).started().result("Deleted")
    assert story.call().content == "Deleted"


def test_edited_arguments_are_not_said_to_have_run_where_nothing_ran() -> None:
    story = STANDING["waiting"]().decided("approve", args={"id": "b"}).gone().settled()
    assert story.call().content == "Error: It is gone"


@pytest.mark.parametrize(
    ("verdict", "data", "told"),
    [
        ("result", {"id": "a"}, '{"id": "a"}'),
        ("result", None, "null"),
        ("failed", "No disk", "Error: No disk"),
    ],
)
def test_a_call_in_doubt_is_told_as_it_was_settled(verdict: str, data: Any, told: str) -> None:
    assert ASKED["in_doubt"]().decided(verdict, data=data).settled().call().content == told


def test_a_finished_call_keeps_nothing_but_its_result() -> None:
    call = STANDING["started"]().asks("Which?").decided("data", data="x" * 1000).started().result("ok").call()
    assert (call.args, call.definition, call.resume_data, call.suspend_payload) == (None, None, None, None)
    assert call.content == "ok"
