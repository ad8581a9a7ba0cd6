"""Executing tools: nothing blocks the loop, nothing escapes, and what is not known is not guessed."""

from __future__ import annotations

import asyncio
import contextvars
import io
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any

import pytest

from agentctl import ToolContext, tool
from agentctl.tools import execution
from agentctl.tools.execution import user_output_to_stderr
from agentctl.tools.python import PythonTool, python_tool
from agentctl.tools.tool import CallInfo, FailedCall, Outcome, Succeeded, Unknown

MakeCall = Callable[..., CallInfo]
PATIENCE = 30


@pytest.fixture
def go() -> Iterator[threading.Event]:
    """What a stuck tool waits for; released when the test ends."""
    event = threading.Event()
    yield event
    event.set()


# Errors


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Abort(BaseException):
    """Not an `Exception`."""


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such record"), "ValueError: no such record"),
        (ValueError("line one\nline two"), "ValueError: line one\nline two"),
        (KeyError("id"), "KeyError: 'id'"),
        (ValueError(), "ValueError"),
        (ValueError("\ud800"), "ValueError: \ud800"),
        (Silent(), "Silent"),
        (SystemExit(3), "SystemExit: 3"),
        (Abort("enough"), "Abort: enough"),
        (GeneratorExit(), "GeneratorExit"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (MemoryError(), "MemoryError"),
        (TimeoutError("slow"), "TimeoutError: slow"),
        (StopIteration("x"), "StopIteration: x"),
        (asyncio.CancelledError("by itself"), "CancelledError: "),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_whatever_a_tool_raises_is_a_tool_error(
    kind: str, error: BaseException, text: str, execute: Any
) -> None:
    def sync() -> None:
        raise error

    async def asynchronous() -> None:
        await asyncio.sleep(0)
        raise error

    outcome = execute(sync if kind == "sync" else asynchronous)
    assert isinstance(outcome, FailedCall)
    if kind == "async" and isinstance(error, StopIteration):
        assert outcome.error.startswith("RuntimeError")  # what Python makes of it in a coroutine
    else:
        assert outcome.error.startswith(text)


def test_a_keyboard_interrupt_that_a_tool_raises_is_a_tool_error(execute: Any) -> None:
    def sync() -> None:
        raise KeyboardInterrupt

    async def asynchronous() -> None:
        raise KeyboardInterrupt

    for function in (sync, asynchronous):
        assert execute(function).error.startswith("KeyboardInterrupt")


def test_endless_recursion_is_a_tool_error(execute: Any) -> None:
    def endless() -> None:
        endless()

    assert execute(endless).error.startswith("RecursionError")


# Concurrency


def test_many_sync_tools_run_at_once(call: MakeCall) -> None:
    together = threading.Barrier(60, timeout=PATIENCE)

    @tool
    def wait() -> int:
        return together.wait()

    async def all_at_once() -> list[Outcome]:
        made = python_tool(wait)
        return await asyncio.gather(*(made.execute({}, call()) for _ in range(60)))

    outcomes = asyncio.run(all_at_once())
    assert sorted(outcome.value for outcome in outcomes if isinstance(outcome, Succeeded)) == list(range(60))


def test_a_sync_tool_that_blocks_does_not_block_the_loop(call: MakeCall, go: threading.Event) -> None:
    @tool
    def block() -> str:
        return "released" if go.wait(PATIENCE) else "never"

    async def release_from_the_loop() -> Outcome:
        running = asyncio.create_task(python_tool(block).execute({}, call()))
        await asyncio.sleep(0.01)
        go.set()
        return await running

    assert asyncio.run(release_from_the_loop()) == Succeeded("released")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_context_variables_reach_the_tool_and_do_not_leave_it(kind: str, call: MakeCall) -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    def sync() -> str:
        seen = variable.get()
        variable.set("changed inside")
        return seen

    async def asynchronous() -> str:
        return sync()

    async def outside() -> tuple[Outcome, str]:
        variable.set("outside")
        made = python_tool(sync if kind == "sync" else asynchronous)
        return await made.execute({}, call()), variable.get()

    assert asyncio.run(outside()) == (Succeeded("outside"), "outside")


def test_an_async_tool_runs_in_the_running_loop(call: MakeCall) -> None:
    @tool
    async def which() -> bool:
        return asyncio.get_running_loop() is loop[0]

    loop: list[Any] = []

    async def compare() -> Outcome:
        loop.append(asyncio.get_running_loop())
        return await python_tool(which).execute({}, call())

    assert asyncio.run(compare()) == Succeeded(True)


def test_without_a_free_thread_the_tool_did_not_run(execute: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert execute(lambda_like).error == "RuntimeError: can't start new thread"


def lambda_like() -> str:
    raise AssertionError("it ran")


# Timeouts


def test_an_async_tool_is_cancelled_at_its_timeout(execute: Any) -> None:
    ended = []

    @tool(timeout="20ms")
    async def slow() -> None:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            ended.append("cancelled")

    assert execute(slow) == FailedCall("timed out after 0.02s; whether it took effect is not known")
    assert ended == ["cancelled"]


def test_an_async_tool_that_will_not_stop_is_unknown(call: MakeCall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_GRACE_SECONDS", 0.02)
    release: list[bool] = []

    @tool(timeout="20ms")
    async def stubborn() -> None:
        while not release:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.005)

    async def give_up_waiting() -> Outcome:
        outcome = await python_tool(stubborn).execute({}, call())
        release.append(True)
        await asyncio.sleep(0.05)
        return outcome

    assert asyncio.run(give_up_waiting()) == Unknown("it still ran after 0.02s, its timeout")


def test_a_sync_tool_at_its_timeout_is_unknown(execute: Any, go: threading.Event) -> None:
    @tool(timeout="20ms")
    def slow() -> None:
        go.wait(PATIENCE)

    assert execute(slow) == Unknown("it still ran after 0.02s, its timeout")


def test_a_tool_within_its_timeout_is_not_disturbed(execute: Any) -> None:
    @tool(timeout="1h")
    async def quick() -> str:
        await asyncio.sleep(0)
        return "done"

    assert execute(quick) == Succeeded("done")


# Cancellation


async def cancelled(made: PythonTool, call: CallInfo, times: int = 1) -> asyncio.Task[Outcome]:
    """The task of an execution that was cancelled so many times after it began."""
    task = asyncio.ensure_future(made.execute({}, call))
    await asyncio.sleep(0.02)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.01)
    return task


def test_cancelling_stops_an_async_tool(call: MakeCall) -> None:
    ended: list[str] = []

    @tool
    async def slow() -> None:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            await asyncio.sleep(0.05)
            ended.append("cleaned up")

    async def cancel() -> list[str]:
        task = await cancelled(python_tool(slow), call())
        with pytest.raises(asyncio.CancelledError):
            await task
        return list(ended)

    assert asyncio.run(cancel()) == ["cleaned up"]


def test_cancelling_waits_for_a_sync_tool_so_that_its_result_is_known(
    call: MakeCall, go: threading.Event
) -> None:
    @tool
    def slow() -> str:
        return "done" if go.wait(PATIENCE) else "never"

    async def cancel() -> Outcome:
        task = await cancelled(python_tool(slow), call())
        assert not task.done()
        go.set()
        return await task

    assert asyncio.run(cancel()) == Succeeded("done")


def test_cancelling_twice_leaves_a_sync_tool_behind(call: MakeCall, go: threading.Event) -> None:
    @tool
    def stuck() -> None:
        go.wait(PATIENCE)

    async def cancel() -> None:
        task = await cancelled(python_tool(stuck), call(), times=2)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def test_a_cancelled_sync_tool_still_has_its_timeout(call: MakeCall, go: threading.Event) -> None:
    @tool(timeout="60ms")
    def stuck() -> None:
        go.wait(PATIENCE)

    async def cancel() -> Outcome:
        return await (await cancelled(python_tool(stuck), call()))

    assert isinstance(asyncio.run(cancel()), Unknown)


def test_a_result_that_exists_survives_a_cancellation(call: MakeCall) -> None:
    @tool
    async def quick(ctx: ToolContext) -> str:
        ctx.emit("running")
        return "done"

    async def cancel_at_the_end() -> Outcome:
        task = asyncio.ensure_future(python_tool(quick).execute({}, call(emit=lambda text: cancel_soon())))

        def cancel_soon() -> None:
            asyncio.get_running_loop().call_soon(task.cancel)

        return await task

    assert asyncio.run(cancel_at_the_end()) == Succeeded("done")


def test_what_says_whether_cancelling_stops_it() -> None:
    async def asynchronous() -> None: ...

    def sync() -> None: ...

    assert python_tool(asynchronous).is_async
    assert not python_tool(sync).is_async


# The process


def python(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=PATIENCE
    )


def test_a_stuck_thread_does_not_keep_the_process_alive() -> None:
    ended = python(
        """
        import asyncio, time
        from agentctl.tools.execution import run_in_thread
        print(asyncio.run(run_in_thread(lambda: time.sleep(3600), 0.02, "stuck")))
        """
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("TimedOut(stopped=False)\n", "", 0)


def test_a_thread_that_ends_after_the_loop_says_nothing() -> None:
    ended = python(
        """
        import asyncio, threading
        from agentctl.tools.execution import run_in_thread
        go = threading.Event()
        asyncio.run(run_in_thread(go.wait, 0.02, "late"))
        late = [each for each in threading.enumerate() if each.name == "late"]
        go.set()
        late[0].join()
        """
    )
    assert (ended.stderr, ended.returncode) == ("", 0)


# What tools print


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_a_tool_prints_goes_to_stderr(kind: str, execute: Any) -> None:
    def sync() -> str:
        print("from the tool")
        return "done"

    async def asynchronous() -> str:
        return sync()

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        ours = sys.stdout
        with user_output_to_stderr():
            assert execute(sync if kind == "sync" else asynchronous) == Succeeded("done")
            print("from us", file=ours)
        print("afterwards")
    assert (out.getvalue(), err.getvalue()) == ("from us\nafterwards\n", "from the tool\n")


def test_standard_output_comes_back_after_an_error() -> None:
    before = sys.stdout
    with pytest.raises(ValueError, match="x"), user_output_to_stderr():
        raise ValueError("x")
    assert sys.stdout is before
