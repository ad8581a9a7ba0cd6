"""A tool that changed while its call waited: what was reviewed does not run as something else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentctl.runtime import records, views
from agentctl.tools.tool import CallInfo, Outcome, Succeeded, Suspended
from support.stage import PlayedTool, Reply, Stage, ask, say
from support.story import AT

Json = dict[str, Any]
READ = PlayedTool("read")
DELETE = PlayedTool("delete", require_approval=True)


def status(stage: Stage) -> str:
    return views.status_of(stage.loop.run, driven=False)


def waiting() -> Stage:
    """A run in which `delete` waits for its approval."""
    return Stage([DELETE, READ], [ask(("c1", "delete", {"id": "a"})), say("Done")]).drive()


# Calls that were decided


def changed(**how: Any) -> Stage:
    stage = waiting()
    stage.tools["delete"] = replace(DELETE, source="2", **how)
    return stage


def test_an_approved_call_whose_tool_changed_does_not_run() -> None:
    stage = changed()
    stage.decide("c1", "approve")
    assert stage.again().ran() == []
    assert stage.loop.changed == {"c1": ["its source"]}
    assert stage.kept("tool-start") == []
    assert stage.again().loop.changed == {"c1": ["its source"]}


def test_it_runs_once_someone_accepts_the_change_and_the_journal_says_what_changed() -> None:
    stage = changed()
    stage.decide("c1", "approve")
    assert status(stage.again(accept_changes=True)) == "completed"
    [record] = stage.kept("tool-changed")
    assert (record["changed"], record["before"], record["definition"]["digest"]) == (
        ["its source"],
        "d1",
        "d2",
    )
    assert stage.ran() == ["c1"]


def test_a_decision_that_accepts_this_very_change_is_enough() -> None:
    stage = changed()
    stage.decide("c1", "approve", accepted="d2")
    assert stage.again().ran() == ["c1"]


def test_a_decision_that_accepted_another_change_is_not_enough() -> None:
    stage = changed()
    stage.decide("c1", "approve", accepted="d3")
    assert stage.again().ran() == []


def test_a_gate_that_was_taken_away_opens_nothing_for_a_call_that_waits() -> None:
    stage = changed(require_approval=False)
    assert status(stage.again()) == "suspended"
    stage.decide("c1", "decline")
    assert status(stage.again()) == "completed"
    assert stage.ran() == []


def test_an_answer_to_a_tool_that_changed_is_held_too() -> None:
    async def asking(args: Json, call: CallInfo) -> Outcome:
        return Succeeded("ok") if call.resumed else Suspended("Which?")

    stage = Stage([PlayedTool("ask", asking)], [ask(("c1", "ask", {})), say("Done")]).drive()
    stage.tools["ask"] = PlayedTool("ask", asking, source="2")
    stage.decide("c1", "data", data="Oslo")
    assert stage.again().ran() == ["c1"]
    assert stage.again(accept_changes=True).ran() == ["c1", "c1"]


def test_a_tool_that_is_gone_holds_its_call_until_that_is_accepted() -> None:
    stage = waiting()
    del stage.tools["delete"]
    stage.decide("c1", "approve")
    assert stage.again().loop.changed == {"c1": ["the tool is gone"]}
    assert status(stage.again(accept_changes=True)) == "completed"
    assert stage.ran() == []
    assert stage.said_to_model() == [("c1", "Error: There is no tool `delete` any more")]


def test_a_held_call_does_not_hold_the_others() -> None:
    replies: list[Reply] = [ask(("c1", "delete", {}), ("c2", "erase", {})), say("Done")]
    stage = Stage([DELETE, PlayedTool("erase", require_approval=True)], replies).drive()
    stage.tools["delete"] = replace(DELETE, source="2")
    stage.decide("c1", "approve")
    stage.decide("c2", "approve")
    assert stage.again().ran() == ["c2"]
    assert list(stage.loop.changed) == ["c1"]


def test_an_approved_call_that_may_be_repeated_is_held_when_its_tool_changed_between_attempts() -> None:
    tool = PlayedTool("delete", require_approval=True, idempotent=True)
    stage = Stage([tool], [ask(("c1", "delete", {})), say("Done")]).drive()
    stage.decide("c1", "approve")
    stage.resume()
    stage.loop._absorb_decisions()
    stage.loop.record(
        records.of_call(stage.loop.run, AT, _call(stage), "tool-start", {"pid": 1, "host": "h", "attempt": 1})
    )
    stage.tools["delete"] = replace(tool, source="2", require_approval=False)
    assert stage.again().ran() == []
    assert list(stage.loop.changed) == ["c1"]


def _call(stage: Stage) -> Any:
    return next(call for call in stage.loop.run.root.calls if call.id == "c1")


# Calls that nobody decided


def undecided() -> Stage:
    """A call that need not be asked about, not started before its process was killed."""
    stage = Stage([READ], [ask(("c1", "read", {}))])
    stage.journal.breaks_at = {"tool-start"}
    with pytest.raises(OSError):
        stage.drive()
    stage.journal.breaks_at = set()
    stage.model.replies = [say("Done")]
    return stage


@pytest.mark.parametrize(("gated", "ran"), [(True, []), (False, ["c1"])])
def test_a_call_that_nobody_reviewed_is_judged_by_the_tool_as_it_is_now(gated: bool, ran: list[str]) -> None:
    stage = undecided()
    stage.tools["read"] = PlayedTool("read", source="2", require_approval=gated)
    assert stage.again().ran() == ran
    assert stage.loop.changed == {}
    assert [each["definition"]["digest"] for each in stage.kept("tool-call")] == ["d1", "d2"]


def test_a_call_that_nobody_reviewed_of_a_tool_that_is_gone_is_an_error() -> None:
    stage = undecided()
    del stage.tools["read"]
    assert status(stage.again()) == "completed"
    assert stage.said_to_model()[0][1].startswith("Error: There is no tool `read`")
