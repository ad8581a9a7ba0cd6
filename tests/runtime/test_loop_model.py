"""The loop and the model: what is sent, what is used of an answer, and what an error leaves behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentctl.errors import ModelError
from agentctl.exit_status import ExitStatus
from agentctl.models.messages import Assistant, ToolCall, ToolResult, User
from agentctl.models.protocol import Answer, FinishReason, OnText, Request, Usage
from agentctl.runtime import views
from support.stage import PlayedTool, Reply, Stage, ask, say

READ = PlayedTool("read")
DELETE = PlayedTool("delete", require_approval=True)


def status(stage: Stage) -> str:
    return views.status_of(stage.loop.run, driven=False)


# What is sent


def test_a_request_carries_the_conversation_and_the_tools_and_nothing_of_ours() -> None:
    stage = Stage(
        [READ, DELETE], [ask(("c1", "read", {"id": "a"}), text="Reading."), say("Done")], input="Read a"
    )
    first, second = stage.drive().model.requests
    assert (first.instructions, first.messages) == ("Keep records.", (User("Read a"),))
    assert [tool.id for tool in first.tools] == ["read", "delete"]
    assert first.parameters == {"temperature": 0}
    assert second.messages == (
        User("Read a"),
        Assistant("Reading.", calls=(ToolCall("c1", "read", '{"id": "a"}'),)),
        ToolResult("c1", "read", "ok"),
    )
    assert (first.turn, second.turn) == (1, 2)


def test_the_answer_is_sent_back_as_it_came() -> None:
    arguments = '{ "id":"a", "b" : 1.0 }'
    said = Assistant("Reading.", "because", (ToolCall("c1", "read", arguments),))
    stage = Stage([READ], [Answer(said, "tool_calls", Usage()), say("Done")]).drive()
    assert stage.model.requests[-1].messages[1] == said


def test_repeated_call_ids_are_made_unique_before_anything_sees_them() -> None:
    replies: list[Reply] = [
        ask(("c1", "delete", {"id": "a"}), ("c1", "delete", {"id": "b"})),
        ask(("c1", "read", {})),
        say("Done"),
    ]
    stage = Stage([READ, DELETE], replies).drive()
    assert [each["tool_call_id"] for each in stage.told("tool-call-approval")] == ["c1", "c1-2"]
    assert len({each["id"] for each in stage.told("tool-call-approval")}) == 2
    stage.decide("c1-2", "approve")
    assert stage.again().ran() == ["c1-2"]
    stage.decide("c1", "decline")
    assert stage.again().ran() == ["c1-2", "c1-3"]
    assert [call_id for call_id, _ in stage.said_to_model()] == ["c1", "c1-2", "c1-3"]


def test_text_is_told_as_it_streams_and_kept_once_it_is_whole() -> None:
    async def streaming(request: Request, on_text: OnText) -> Answer:
        on_text("Do")
        on_text("ne")
        return say("Done")

    stage = Stage([], [streaming]).drive()
    assert [each["text"] for each in stage.told("text-delta")] == ["Do", "ne"]
    assert stage.kept("text-delta") == []
    assert stage.kept("answer")[0]["message"]["text"] == "Done"


def test_the_model_is_opened_late_and_closed_once() -> None:
    stage = Stage([DELETE], [ask(("c1", "delete", {})), say("Done")]).drive()
    assert stage.model.closed == 1
    stage.again()
    assert (stage.model.closed, len(stage.model.requests)) == (1, 1)
    stage.decide("c1", "decline")
    assert stage.again().model.closed == 2


# Errors


def outage() -> ModelError:
    return ModelError("the server answered 503", "try again")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (outage(), "interrupted"),
        (ModelError("no key", status=ExitStatus.AUTH), "auth"),
        (ModelError("bad request", status=ExitStatus.FAILED), "failed"),
    ],
)
def test_a_model_error_interrupts_the_run(error: ModelError, code: str) -> None:
    stage = Stage([], [error, say("Done")]).drive()
    assert status(stage) == "interrupted"
    [told] = stage.told("error")
    assert (told["code"], told["message"]) == (code, error.message)
    assert status(stage.again()) == "completed"


def test_after_an_error_the_results_are_there_and_no_tool_runs_again() -> None:
    stage = Stage([READ], [ask(("c1", "read", {})), outage(), say("Done")]).drive()
    assert status(stage) == "interrupted"
    assert status(stage.again()) == "completed"
    assert stage.ran() == ["c1"]
    assert stage.said_to_model() == [("c1", "ok")]
    assert stage.model.requests[-1].messages == stage.model.requests[-2].messages


def test_a_model_that_cannot_be_opened_interrupts_and_costs_no_request() -> None:
    stage = Stage([], [say("Done")])
    stage.again(model_error=ModelError("no key", status=ExitStatus.AUTH))
    assert (status(stage), stage.kept("step-start")) == ("interrupted", [])
    assert status(stage.again()) == "completed"
    assert stage.model.requests[0].turn == 1


def test_a_script_without_a_next_turn_fails_the_run() -> None:
    ended = ModelError("no turn is left", status=ExitStatus.FAILED, ends_run=True)
    stage = Stage([READ], [ask(("c1", "read", {})), ended]).drive()
    assert status(stage) == "failed"
    assert views.error_view(stage.loop.run, "failed") == {
        "code": "failed",
        "message": "no turn is left",
        "hint": None,
    }
    assert stage.told("finish")[-1]["finish_reason"] == "error"


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_cut_answer_leaves_no_trace_and_its_calls_never_run(reason: FinishReason) -> None:
    cut = Answer(
        Assistant("I will del", calls=(ToolCall("c1", "read", '{"id": "a'), ToolCall("c2", "delete", "{}"))),
        reason,
        Usage(total_tokens=9, requests=1),
    )
    stage = Stage([READ, DELETE], [cut, ask(("c1", "read", {})), say("Done")]).drive()
    assert status(stage) == "interrupted"
    assert views.finish_reason(stage.loop.run, "interrupted") == reason
    assert stage.told("error")[0]["code"] == "failed"
    assert (stage.told("tool-call"), stage.kept("answer"), stage.ran()) == ([], [], [])
    assert status(stage.again()) == "completed"
    assert stage.ran() == ["c1"]
    first, second, _ = stage.model.requests
    assert first.messages == second.messages
    assert (first.turn, second.turn) == (1, 2)
    assert stage.loop.run.usage.total_tokens == 9 + 3 + 2


def test_what_streamed_before_an_error_is_not_kept() -> None:
    async def breaks_off(request: Request, on_text: OnText) -> Answer:
        on_text("Half an ans")
        raise outage()

    stage = Stage([], [breaks_off, say("Whole")]).drive()
    stage.again()
    assert stage.model.requests[-1].messages == (User("Delete it"),)
    assert "Half" not in str([record.payload for record in stage.journal.records])


# Turns and budget


def test_turns_count_what_came_to_an_end_over_all_processes() -> None:
    async def killed(request: Request, on_text: OnText) -> Answer:
        raise asyncio.CancelledError

    stage = Stage([READ], [ask(("c1", "read", {})), outage(), killed, say("Done")])
    stage.drive()
    stage.resume()
    with pytest.raises(asyncio.CancelledError):
        stage.drive()
    assert status(stage.again()) == "completed"
    assert [request.turn for request in stage.model.requests] == [1, 2, 3, 3]


def test_a_model_that_never_stops_is_stopped_by_the_budget_of_all_processes() -> None:
    replies: list[Reply] = [ask((f"c{n}", "read", {})) for n in range(20)]
    stage = Stage([READ], replies, max_steps=3).drive()
    assert (len(stage.model.requests), status(stage)) == (3, "interrupted")
    assert views.finish_reason(stage.loop.run, "interrupted") == "max_steps"
    assert len(stage.again().model.requests) == 3
    assert len(stage.again(max_steps=5).model.requests) == 5
    [*_, told] = stage.told("error")
    assert told["code"] == "interrupted" and "--max-steps" in told["hint"]


def test_the_calls_of_the_last_request_still_run() -> None:
    stage = Stage([READ], [ask(("c1", "read", {}))], max_steps=1).drive()
    assert stage.ran() == ["c1"]


def test_usage_is_summed_over_all_requests() -> None:
    replies: list[Reply] = [ask(("c1", "read", {})), say("Done")]
    usage: Any = Stage([READ], replies).drive().told("finish")[-1]["usage"]
    assert (usage["total_tokens"], usage["requests"]) == (5, 2)
