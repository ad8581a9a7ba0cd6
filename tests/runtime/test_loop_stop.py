"""Stopping the loop from outside: what runs ends or is in doubt, what is known is kept, the run can go on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentctl.models.protocol import Answer, OnText, Request
from agentctl.runtime import loop as loop_module
from agentctl.runtime import views
from agentctl.runtime.events import Event
from agentctl.runtime.world import Stop
from agentctl.tools.tool import CallInfo, Outcome, Succeeded
from support.stage import PlayedTool, Stage, ask, say, until

Json = dict[str, Any]
READ = PlayedTool("read")

INTERRUPT = Stop("Stopped by SIGINT", "interrupted", cancel=True, wait=True)
TIMEOUT = Stop("The time limit ran out", "timeout", cancel=True, wait=False)
READER_LEFT = Stop("The reader left", "interrupted", cancel=False, wait=True)


def status(stage: Stage) -> str:
    return views.status_of(stage.loop.run, driven=False)


class Gate:
    """A tool that runs until it is let go, or cancelled."""

    def __init__(self) -> None:
        self.running = False
        self.let_go = asyncio.Event()
        self.cancelled = False

    async def body(self, args: Json, call: CallInfo) -> Outcome:
        self.running = True
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return Succeeded("through")


def running(stage: Stage, *gates: Gate, stop: Stop, then_let_go: bool = True) -> Stage:
    """Drive; once all the tools run, stop, and then let them go."""

    async def scene(stage: Stage) -> None:
        await until(lambda: all(gate.running for gate in gates))
        stage.loop.stop(stop)
        await asyncio.sleep(0.01)
        for gate in gates:
            if then_let_go:
                gate.let_go.set()

    return stage.play(scene)


def one_call(gate: Gate, **tool: Any) -> Stage:
    return Stage([PlayedTool("work", gate.body, **tool)], [ask(("c1", "work", {})), say("Done")])


# Tools


def test_an_async_tool_is_cancelled_and_then_in_doubt() -> None:
    gate = Gate()
    stage = running(one_call(gate), gate, stop=INTERRUPT)
    assert gate.cancelled
    assert status(stage) == "in_doubt"
    [suspension] = stage.told("tool-call-suspended")
    assert suspension["kind"] == "in_doubt" and "cancelled" in suspension["reason"]
    assert stage.again().ran() == ["c1"]


def test_a_stop_is_heard_at_once_whatever_the_loop_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "POLL_SECONDS", 3600.0)
    gate = Gate()

    async def scene(stage: Stage) -> None:
        await until(lambda: gate.running)
        stage.loop.stop(INTERRUPT)
        await until(lambda: gate.cancelled)

    assert status(one_call(gate).play(scene)) == "in_doubt"


def test_a_sync_tool_cannot_be_stopped_so_it_is_waited_for() -> None:
    gate = Gate()
    stage = running(one_call(gate, is_async=False), gate, stop=INTERRUPT)
    assert not gate.cancelled
    assert [each["result"] for each in stage.told("tool-result")] == ["through"]
    assert any("`work`" in note for note in stage.notes)
    assert status(stage) == "interrupted"
    assert status(stage.again()) == "completed"
    assert stage.ran() == ["c1"]


def test_of_two_tools_each_ends_in_its_own_way() -> None:
    one, other = Gate(), Gate()
    tools = [PlayedTool("now", one.body), PlayedTool("later", other.body, is_async=False)]
    stage = Stage(tools, [ask(("c1", "now", {}), ("c2", "later", {})), say("Done")])
    running(stage, one, other, stop=INTERRUPT)
    assert [each["tool_call_id"] for each in stage.told("tool-call-suspended")] == ["c1"]
    assert [each["tool_call_id"] for each in stage.told("tool-result")] == ["c2"]
    assert (status(stage), stage.ran()) == ("in_doubt", ["c1", "c2"])


def test_a_tool_that_may_be_repeated_is_repeated_by_the_next_process() -> None:
    gate = Gate()
    stage = running(one_call(gate, idempotent=True), gate, stop=INTERRUPT)
    assert status(stage) == "interrupted"
    gate.let_go.set()
    stage.tools["work"] = PlayedTool("work", idempotent=True)
    assert status(stage.again()) == "completed"
    assert stage.ran() == ["c1", "c1"]


def test_it_is_not_repeated_once_the_run_is_cancelled_nor_said_to_be_denied() -> None:
    gate = Gate()
    stage = running(one_call(gate, idempotent=True), gate, stop=INTERRUPT)
    stage.cancel()
    assert status(stage.again()) == "cancelled"
    assert (stage.ran(), stage.told("tool-output-denied")) == (["c1"], [])
    assert "had been started" in stage.told("tool-error")[0]["error"]


def test_a_tool_that_ends_although_it_is_cancelled_keeps_its_result() -> None:
    async def stubborn(args: Json, call: CallInfo) -> Outcome:
        gate.running = True
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
        return Succeeded("saved in time")

    gate = Gate()
    stage = Stage([PlayedTool("work", stubborn)], [ask(("c1", "work", {})), say("Done")])
    running(stage, gate, stop=INTERRUPT)
    assert [each["result"] for each in stage.told("tool-result")] == ["saved in time"]


def test_where_only_the_output_broke_tools_are_waited_for_and_not_cancelled() -> None:
    one, other = Gate(), Gate()
    tools = [PlayedTool("one", one.body), PlayedTool("other", other.body, is_async=False)]
    stage = Stage(tools, [ask(("c1", "one", {}), ("c2", "other", {})), say("Done")])
    running(stage, one, other, stop=READER_LEFT)
    assert not one.cancelled
    assert len(stage.kept("tool-result")) == 2
    assert status(stage) == "interrupted"


# Time limit


def test_at_the_time_limit_what_still_runs_is_in_doubt() -> None:
    gate, thread = Gate(), Gate()
    tools = [PlayedTool("task", gate.body), PlayedTool("thread", thread.body, is_async=False)]
    stage = Stage(tools, [ask(("c1", "task", {}), ("c2", "thread", {})), say("Done")])
    running(stage, gate, thread, stop=TIMEOUT, then_let_go=False)
    assert gate.cancelled
    doubts = {each["tool_call_id"]: each["reason"] for each in stage.kept("tool-call-suspended")}
    assert set(doubts) == {"c1", "c2"}
    assert doubts["c2"] == TIMEOUT.message
    assert status(stage) == "in_doubt"
    assert stage.told("error")[-1]["code"] == "timeout"


def test_each_of_several_cancelled_tools_may_say_what_became_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "CANCEL_SECONDS", 10.0)
    begun: list[str] = []

    async def cleaning(args: Json, call: CallInfo) -> Outcome:
        begun.append(call.tool_call_id)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(args["seconds"])
        return Succeeded("cleaned up")

    async def scene(stage: Stage) -> None:
        await until(lambda: len(begun) == 2)
        stage.loop.stop(TIMEOUT)

    calls = [("c1", "clean", {"seconds": 0}), ("c2", "clean", {"seconds": 0.05})]
    stage = Stage([PlayedTool("clean", cleaning)], [ask(*calls), say("Done")]).play(scene)
    assert [each["tool_call_id"] for each in stage.kept("tool-result")] == ["c1", "c2"]


def test_a_tool_that_does_not_end_when_cancelled_is_left_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_module, "CANCEL_SECONDS", 0.01)
    gate = Gate()

    async def deaf(args: Json, call: CallInfo) -> Outcome:
        gate.running = True
        while not gate.let_go.is_set():
            try:
                await asyncio.wait_for(gate.let_go.wait(), 60)
            except asyncio.CancelledError:
                gate.cancelled = True
        return Succeeded("too late")

    stage = Stage([PlayedTool("work", deaf)], [ask(("c1", "work", {})), say("Done")])

    async def scene(stage: Stage) -> None:
        await until(lambda: gate.running)
        stage.loop.stop(TIMEOUT)
        await until(lambda: stage.told("error"))
        gate.let_go.set()

    stage.play(scene)
    assert (gate.cancelled, stage.kept("tool-result")) == (True, [])
    assert status(stage) == "in_doubt"


# The model


def test_a_request_under_way_is_cut_off_and_made_again() -> None:
    asked = asyncio.Event()
    cut: list[bool] = []

    async def endless(request: Request, on_text: OnText) -> Answer:
        on_text("Half an ans")
        asked.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cut.append(True)
            raise
        raise AssertionError

    async def scene(stage: Stage) -> None:
        await asked.wait()
        stage.loop.stop(INTERRUPT)

    stage = Stage([], [endless, say("Whole")]).play(scene)
    assert cut and status(stage) == "interrupted"
    assert stage.told("error") == [
        {"code": "interrupted", "message": "Stopped by SIGINT", "hint": "agentctl resume run-1"}
    ]
    assert status(stage.again()) == "completed"
    first, second = stage.model.requests
    assert (first.messages, first.turn) == (second.messages, second.turn)
    assert stage.model.closed == 2


# Nothing more


@pytest.mark.parametrize(
    ("at", "requests", "ran"),
    [("step-start", 0, []), ("tool-call", 1, []), ("tool-result", 1, ["c1"]), ("step-finish", 1, ["c1"])],
)
def test_after_a_stop_nothing_starts(at: str, requests: int, ran: list[str]) -> None:
    stage = Stage([READ], [ask(("c1", "read", {})), say("Done")])
    stage.on_event = lambda event: stage.loop.stop(READER_LEFT) if event.type == at else None
    assert status(stage.drive()) == "interrupted"
    assert (len(stage.model.requests), stage.ran()) == (requests, ran)
    stage.on_event = lambda event: None
    assert status(stage.again()) == "completed"
    assert stage.ran() == ["c1"]


def test_of_several_calls_only_those_that_started_run() -> None:
    stage = Stage([READ, PlayedTool("ghostly")], [ask(("c1", "ghost", {}), ("c2", "read", {})), say("Done")])

    def stop(event: Event) -> None:
        if event.type == "tool-error":
            stage.loop.stop(READER_LEFT)

    stage.on_event = stop
    assert stage.drive().ran() == []
    stage.on_event = lambda event: None
    assert stage.again().ran() == ["c2"]


def test_the_first_reason_counts() -> None:
    gate = Gate()

    async def scene(stage: Stage) -> None:
        await until(lambda: gate.running)
        stage.loop.stop(READER_LEFT)
        stage.loop.stop(TIMEOUT)
        gate.let_go.set()

    stage = one_call(gate).play(scene)
    assert stage.told("error")[-1]["message"] == READER_LEFT.message
    assert len(stage.kept("tool-result")) == 1


def test_a_run_that_has_ended_is_not_interrupted() -> None:
    stage = Stage([], [say("Done")])
    stage.on_event = lambda event: stage.loop.stop(READER_LEFT) if event.type == "finish" else None
    assert status(stage.drive()) == "completed"
    assert stage.told("error") == []


def test_a_run_that_waits_still_waits_after_a_stop() -> None:
    stage = Stage([PlayedTool("delete", require_approval=True)], [ask(("c1", "delete", {})), say("Done")])
    stage.on_event = lambda event: (
        stage.loop.stop(READER_LEFT) if event.type == "tool-call-approval" else None
    )
    assert status(stage.drive()) == "suspended"
    stage.decide("c1", "approve")
    assert status(stage.again()) == "completed"
