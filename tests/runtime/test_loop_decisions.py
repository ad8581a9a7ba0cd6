"""The loop and humans: decisions taken while it drives, standing approvals, cancelling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentctl.models.protocol import Answer, OnText, Request
from agentctl.runtime import views
from agentctl.tools.tool import CallInfo, Outcome, Succeeded, Suspended
from agentctl_store.errors import Damaged
from support.stage import PlayedTool, Reply, Stage, ask, say, until
from support.story import AT

Json = dict[str, Any]
READ = PlayedTool("read")
DELETE = PlayedTool("delete", require_approval=True)


def status(stage: Stage) -> str:
    return views.status_of(stage.loop.run, driven=False)


def waiting(*tools: PlayedTool, replies: list[Reply] | None = None) -> Stage:
    """A run in which `delete` waits for its approval."""
    return Stage(
        [DELETE, READ, *tools], [ask(("c1", "delete", {"id": "a"})), *(replies or [say("Done")])]
    ).drive()


# Decisions


def test_without_a_decision_nothing_happens_however_often_it_is_resumed() -> None:
    stage = waiting()
    before = len(stage.model.requests)
    for _ in range(3):
        assert status(stage.again()) == "suspended"
    assert (stage.ran(), len(stage.model.requests)) == ([], before)
    assert len(stage.told("tool-call-approval")) == 1


def test_an_approved_call_runs_once_with_what_was_approved() -> None:
    stage = waiting()
    stage.decide("c1", "approve")
    assert status(stage.again()) == "completed"
    assert [each["args"] for each in stage.kept("tool-start")] == [{"id": "a"}]
    assert stage.ran() == ["c1"]


def test_a_declined_call_never_runs_and_the_model_hears_why() -> None:
    stage = waiting()
    stage.decide("c1", "decline", reason="Keep it, Zoë")
    assert status(stage.again()) == "completed"
    assert (stage.ran(), stage.said_to_model()) == ([], [("c1", "Keep it, Zoë")])
    [denied] = stage.told("tool-output-denied")
    assert (denied["reason"], denied["by"], denied["args"]) == ("Keep it, Zoë", "ada", {"id": "a"})


def test_edited_arguments_reach_the_tool_and_are_told() -> None:
    seen: list[Json] = []

    async def note(args: Json, call: CallInfo) -> Outcome:
        seen.append(args)
        return Succeeded("Deleted")

    stage = Stage(
        [PlayedTool("delete", note, require_approval=True)], [ask(("c1", "delete", {"id": "a"})), say("Done")]
    )
    stage.drive().decide("c1", "approve", args={"id": "b"})
    stage.again()
    assert seen == [{"id": "b"}]
    [(_, text)] = stage.said_to_model()
    assert '{"id": "b"}' in text and text.endswith("\nDeleted")
    assert [each["args"] for each in stage.told("tool-result")] == [{"id": "b"}]
    assert stage.kept("tool-call")[0]["args"] == {"id": "a"}


def test_a_decision_taken_while_a_tool_runs_is_seen_and_the_call_runs_beside_it() -> None:
    stage: Stage

    async def slow(args: Json, call: CallInfo) -> Outcome:
        stage.decide("c1", "approve")
        await until(lambda: "ran c1" in stage.log)
        return Succeeded("slow")

    stage = Stage(
        [DELETE, PlayedTool("slow", slow)], [ask(("c1", "delete", {}), ("c2", "slow", {})), say("Done")]
    )
    assert status(stage.drive()) == "completed"
    assert stage.ran() == ["c2", "c1"]


def test_decisions_are_seen_in_any_order_and_each_call_goes_on_by_itself() -> None:
    calls = [(f"c{n}", "delete", {"n": n}) for n in (1, 2, 3)]
    stage = Stage([DELETE], [ask(*calls), say("Done")]).drive()
    stage.decide("c3", "approve")
    assert stage.again().ran() == ["c3"]
    stage.decide("c1", "decline")
    assert status(stage.again()) == "suspended"
    assert len(stage.model.requests) == 1
    stage.decide("c2", "approve")
    assert status(stage.again()) == "completed"
    assert stage.ran() == ["c3", "c2"]
    assert [call_id for call_id, _ in stage.said_to_model()] == ["c1", "c2", "c3"]


def test_a_tool_that_asks_again_after_each_answer_gets_each_answer_once() -> None:
    async def wizard(args: Json, call: CallInfo) -> Outcome:
        heard.append((call.suspend_payload, call.resume_data))
        return Succeeded("Ordered") if len(heard) == 3 else Suspended(f"question {len(heard)}")

    heard: list[tuple[Any, Any]] = []
    stage = Stage([PlayedTool("order", wizard)], [ask(("c1", "order", {})), say("Done")]).drive()
    first = stage.question("c1")
    stage.decide("c1", "data", data="L")
    stage.again()
    assert stage.question("c1") != first
    stage.decide("c1", "data", data="red")
    assert status(stage.again()) == "completed"
    assert heard == [(None, None), ("question 1", "L"), ("question 2", "red")]


def test_a_later_call_with_the_same_arguments_waits_for_its_own_decision() -> None:
    stage = waiting(replies=[ask(("c1", "delete", {"id": "a"})), say("Done")])
    first = stage.question("c1")
    stage.decide("c1", "approve")
    assert status(stage.again()) == "suspended"
    assert stage.question("c1-2") != first
    assert stage.ran() == ["c1"]


@pytest.mark.parametrize("verdict", ["data", "retry", "result", "cancel", "true", 1, None])
def test_a_decision_that_does_not_answer_the_question_is_damage(verdict: Any) -> None:
    stage = waiting()
    stage.decide("c1", verdict, data=1)
    with pytest.raises(Damaged):
        stage.again()
    assert stage.ran() == []


# Standing approvals


def test_always_holds_for_later_calls_with_exactly_these_arguments() -> None:
    replies: list[Reply] = [
        ask(("c2", "delete", {"id": "a"})),
        ask(("c3", "delete", {"id": "b"})),
        say("Done"),
    ]
    stage = waiting(replies=replies)
    stage.decide("c1", "approve", always=True)
    assert status(stage.again()) == "suspended"
    assert stage.ran() == ["c1", "c2"]
    assert [(each["via"], each["by"]) for each in stage.told("decision")] == [
        ("cli", "ada"),
        ("always", "ada"),
    ]
    assert stage.question("c3")


@pytest.mark.parametrize("args", [{"n": 1.0}, {"n": "1"}, {"n": True}, {"n": 1, "m": None}, {}, {"N": 1}])
def test_always_does_not_hold_for_other_arguments(args: Json) -> None:
    replies: list[Reply] = [ask(("c1", "delete", {"n": 1})), ask(("c2", "delete", args)), say("Done")]
    stage = Stage([DELETE], replies).drive()
    stage.decide("c1", "approve", always=True)
    assert status(stage.again()) == "suspended"
    assert stage.ran() == ["c1"]


def test_always_with_no_arguments_holds_for_no_arguments_only() -> None:
    replies: list[Reply] = [ask(("c1", "delete", "")), ask(("c2", "delete", {"id": "a"})), say("Done")]
    stage = Stage([DELETE], replies).drive()
    stage.decide("c1", "approve", always=True)
    assert stage.again().ran() == ["c1"]


def test_always_does_not_hold_for_a_changed_tool() -> None:
    stage = waiting(
        PlayedTool("later"),
        replies=[ask(("x", "later", {})), ask(("c2", "delete", {"id": "a"})), say("Done")],
    )
    stage.tools["later"].require_approval = True
    stage.decide("c1", "approve", always=True)
    assert stage.again().ran() == ["c1"]
    stage.tools["delete"] = replace(DELETE, source="2")
    stage.decide("x", "approve")
    assert status(stage.again()) == "suspended"
    assert stage.ran() == ["c1", "x"]


def test_always_does_not_hold_for_another_tool() -> None:
    other = PlayedTool("erase", require_approval=True)
    stage = waiting(other, replies=[ask(("c2", "erase", {"id": "a"})), say("Done")])
    stage.decide("c1", "approve", always=True)
    assert stage.again().ran() == ["c1"]


def test_a_call_beside_it_that_waits_already_is_not_decided_by_always() -> None:
    replies: list[Reply] = [ask(("c1", "delete", {"id": "a"}), ("c2", "delete", {"id": "a"})), say("Done")]
    stage = Stage([DELETE], replies).drive()
    stage.decide("c1", "approve", always=True)
    assert stage.again().ran() == ["c1"]


def test_a_crash_at_any_record_does_not_lose_a_standing_approval() -> None:
    def told() -> Stage:
        stage = waiting(replies=[ask(("c2", "delete", {"id": "a"})), say("Done")])
        stage.decide("c1", "approve", always=True)
        return stage

    whole = told().again()
    assert status(whole) == "completed"
    for cut in range(len(told().journal.records), len(whole.journal.records)):
        stage = told().again()
        stage.journal.records = stage.journal.records[:cut]
        again_asks: list[Reply] = [ask(("c2", "delete", {"id": "a"})), say("Done")]
        stage.model.replies = again_asks[1:] if _answers(stage) >= 2 else again_asks
        stage.again()
        assert status(stage) in ("completed", "in_doubt"), f"after record {cut}"


def _answers(stage: Stage) -> int:
    return sum(record.type == "answer" for record in stage.journal.records)


# Cancelling


def test_a_run_that_waits_is_cancelled_and_what_waits_is_denied() -> None:
    stage = waiting()
    stage.cancel()
    assert status(stage.again()) == "cancelled"
    [denied] = stage.told("tool-output-denied")
    assert denied["by"] == "ada"
    assert (stage.ran(), len(stage.model.requests)) == ([], 1)


def test_a_question_that_a_cancelled_run_closed_can_no_longer_be_answered() -> None:
    stage = waiting()
    asked = stage.question("c1")
    stage.cancel()
    stage.again()
    assert stage.journal.decisions[asked]["verdict"] == "cancel"
    late = stage.journal.decide(asked, {"verdict": "approve"})
    assert late["verdict"] == "cancel"


def test_a_decision_that_no_driver_saw_is_kept_and_starts_nothing_once_the_run_is_cancelled() -> None:
    stage = waiting()
    stage.decide("c1", "approve")
    stage.cancel()
    assert status(stage.again()) == "cancelled"
    assert stage.ran() == []
    assert [each["verdict"] for each in stage.told("decision")] == ["approve", "cancel"]
    assert "before it ran" in stage.told("tool-error")[0]["error"]


def test_while_a_tool_runs_a_cancelled_run_waits_for_it_and_starts_nothing_more() -> None:
    stage: Stage

    async def slow(args: Json, call: CallInfo) -> Outcome:
        stage.decide("c1", "approve")
        stage.cancel()
        await until(lambda: stage.loop.run.cancellation)
        return Succeeded("slow")

    stage = Stage(
        [DELETE, PlayedTool("slow", slow)], [ask(("c1", "delete", {}), ("c2", "slow", {})), say("Done")]
    )
    assert status(stage.drive()) == "cancelled"
    assert stage.ran() == ["c2"]
    assert [each["result"] for each in stage.told("tool-result")] == ["slow"]
    assert len(stage.model.requests) == 1


def test_how_a_human_settled_a_lost_call_is_kept_although_the_run_was_cancelled_then() -> None:
    stage = Stage([PlayedTool("pay")], [ask(("c1", "pay", {}))])
    stage.journal.breaks_at = {"tool-result"}
    with pytest.raises(Exception, match="could not be saved"):
        stage.drive()
    stage.journal.breaks_at = set()
    [(_, lost)] = views.open_questions(stage.loop.run, driven=False)
    said = {"verdict": "result", "by": "ada", "at": AT, "via": "cli", "reason": None, "data": "Paid"}
    stage.journal.decide(lost.id, {"suspension_id": lost.id, **said})
    stage.cancel()
    assert status(stage.again()) == "cancelled"
    assert [each["result"] for each in stage.told("tool-result")] == ["Paid"]


def test_a_run_cancelled_while_the_model_is_asked_runs_nothing_of_the_answer() -> None:
    stage: Stage

    async def thinking(request: Request, on_text: OnText) -> Answer:
        stage.cancel()
        return ask(("c1", "read", {}), ("c2", "delete", {}))

    stage = Stage([READ, DELETE], [thinking])
    assert status(stage.drive()) == "cancelled"
    assert (stage.ran(), stage.told("tool-call-approval")) == ([], [])


def test_a_question_that_comes_up_in_a_cancelled_run_is_closed() -> None:
    stage: Stage

    async def asking(args: Json, call: CallInfo) -> Outcome:
        stage.cancel()
        await until(lambda: stage.loop.run.cancellation)
        return Suspended("Which?")

    stage = Stage([PlayedTool("ask", asking)], [ask(("c1", "ask", {}))])
    assert status(stage.drive()) == "cancelled"
    assert "Cancelled by ada" in stage.told("tool-error")[0]["error"]


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_lost_call_of_a_cancelled_run_is_kept_as_unknown(idempotent: bool) -> None:
    tool = PlayedTool("pay", idempotent=idempotent)
    stage = Stage([tool], [ask(("c1", "pay", {}))])
    stage.journal.breaks_at = {"tool-result"}
    with pytest.raises(Exception, match="could not be saved"):
        stage.drive()
    stage.journal.breaks_at = set()
    stage.cancel()
    assert status(stage.again()) == "cancelled"
    assert stage.ran() == ["c1"]
    assert "unknown" in stage.told("tool-error")[0]["error"]


def test_a_cancelled_run_needs_nothing_of_its_agent() -> None:
    stage = waiting()
    stage.cancel()
    stage.resume()
    stage.loop._loaded = None
    assert status(stage.drive()) == "cancelled"


def test_a_call_in_doubt_of_a_cancelled_run_stays_unknown_also_after_retry_was_decided() -> None:
    stage = Stage([PlayedTool("pay")], [ask(("c1", "pay", {}))])
    stage.journal.breaks_at = {"tool-result"}
    with pytest.raises(Exception, match="could not be saved"):
        stage.drive()
    stage.journal.breaks_at = set()
    stage.again()
    stage.decide("c1", "retry")
    stage.cancel()
    assert status(stage.again()) == "cancelled"
    assert "outcome is unknown" in stage.told("tool-error")[0]["error"]
    assert stage.told("tool-output-denied") == []
