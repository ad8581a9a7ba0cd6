"""Decisions as values: what is written down, what repeats what, and what answers which question."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentctl import deciding
from agentctl.deciding import Approve, Data, Decision, Decline, Failure, Result, Retry, Signature
from agentctl.errors import Conflict
from agentctl.exit_status import ExitStatus

ID = "ab" * 32
SIGNED = Signature("ada", "2026-12-01T14:29:27.123Z", "because")
WHO = {"by": "ada", "at": SIGNED.at, "via": "cli", "reason": "because"}


def written(decision: Decision, **more: Any) -> dict[str, Any]:
    return deciding.content(decision, ID, SIGNED, **more)


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        (Approve(), {"verdict": "approve"}),
        (Approve(args={}), {"verdict": "approve", "args": {}}),
        (Approve(args={"id": "b"}), {"verdict": "approve", "args": {"id": "b"}}),
        (Approve(always=True), {"verdict": "approve", "always": True}),
        (Decline(), {"verdict": "decline"}),
        (Data(None), {"verdict": "data", "data": None}),
        (Data(False), {"verdict": "data", "data": False}),
        (Retry(), {"verdict": "retry"}),
        (Result([]), {"verdict": "result", "data": []}),
        (Failure("No disk"), {"verdict": "failed", "data": "No disk"}),
    ],
)
def test_a_decision_says_who_what_when_and_why(decision: Decision, says: dict[str, Any]) -> None:
    assert written(decision) == {"suspension_id": ID, **WHO, **says}
    assert json.loads(json.dumps(written(decision))) == written(decision)


def test_consent_to_a_change_names_the_new_definition() -> None:
    assert written(Approve(), accepted="d2") == {**written(Approve()), "accepted": "d2"}


def test_consent_to_a_tool_that_is_gone_is_written_too() -> None:
    assert written(Decline(), accepted="")["accepted"] == ""


def test_a_cancellation_is_about_the_whole_run() -> None:
    assert deciding.cancellation(SIGNED) == {"suspension_id": None, "verdict": "cancel", **WHO}


# Repeating

SAME = [
    (Approve(), Approve()),
    (Approve(args={"a": 1, "b": 2}), Approve(args={"b": 2, "a": 1})),
    (Decline(), Decline()),
    (Data({"a": 1, "b": [None]}), Data({"b": [None], "a": 1})),
    (Retry(), Retry()),
    (Result(1), Result(1)),
    (Failure("x"), Failure("x")),
]
OTHERWISE = [
    (Approve(), Decline()),
    (Approve(), Approve(args={})),
    (Approve(args={}), Approve()),
    (Approve(args={"n": 1}), Approve(args={"n": 1.0})),
    (Approve(), Approve(always=True)),
    (Data(None), Data(False)),
    (Data(0), Data(False)),
    (Data(1), Data("1")),
    (Data(1), Data(1.0)),
    (Data([]), Data({})),
    (Data(None), Result(None)),
    (Retry(), Result(1)),
    (Result("x"), Failure("x")),
    (Failure("x"), Failure("y")),
]


@pytest.mark.parametrize(("first", "again"), SAME)
def test_the_same_verdict_again_is_no_other(first: Decision, again: Decision) -> None:
    later = deciding.content(again, ID, Signature("bob", "2027-01-01T00:00:00.000Z", None))
    assert deciding.same(later, written(first))


@pytest.mark.parametrize(("first", "again"), OTHERWISE)
def test_another_verdict_or_other_data_is_another_decision(first: Decision, again: Decision) -> None:
    assert not deciding.same(written(again), written(first))


def test_an_approval_for_later_calls_too_covers_one_that_is_not() -> None:
    assert deciding.same(written(Approve()), written(Approve(always=True)))


def test_who_was_first_is_told() -> None:
    told = deciding.already(written(Approve()), ID)
    assert all(part in told for part in (ID[:10], "approved", "ada", SIGNED.at))
    assert "always" in deciding.already({**written(Approve()), "via": "always"}, ID)


# Kinds

ANSWERS: dict[str, tuple[type, ...]] = {
    "approval": (Approve, Decline),
    "data": (Data,),
    "in_doubt": (Retry, Result, Failure),
}
DECISIONS: list[Decision] = [Approve(), Decline(), Data(1), Retry(), Result(1), Failure("x")]


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("decision", DECISIONS)
def test_only_the_right_kind_of_decision_answers_a_question(kind: str, decision: Decision) -> None:
    suspension = {"id": ID, "kind": kind, "tool": "delete"}
    if isinstance(decision, ANSWERS[kind]):
        deciding.check_kind(suspension, decision)
        return
    with pytest.raises(Conflict) as refused:
        deciding.check_kind(suspension, decision)
    assert refused.value.status is ExitStatus.CONFLICT
    assert ID[:10] in refused.value.message
    assert refused.value.hints and all(
        hint.startswith("agentctl ") and ID[:10] in hint for hint in refused.value.hints
    )
