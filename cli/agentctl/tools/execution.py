"""Running the code of tools: async functions as tasks, all others in threads of their own.

The event loop is never blocked, and whatever that code raises is caught. Knows no tools and no runs.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# How long a cancelled task may take to clean up before it is left to itself.
_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Returned:
    """The code came to its end."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The code raised; `error` may be any `BaseException`. Ctrl-C is none: driving has its own handler."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The code took too long. `stopped` says that it runs no more."""

    stopped: bool


Ending = Returned | Raised | TimedOut


@contextlib.contextmanager
def user_output_to_stderr() -> Iterator[None]:
    """Within it `print` writes to standard error: standard output carries what was asked for only.

    Whoever writes answers keeps the stream object that `sys.stdout` was before.
    """
    stdout = sys.stdout
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = stdout


async def run_async(call: Callable[[], Awaitable[Any]], timeout: float | None) -> Ending:
    """Run a coroutine function in a task of its own. Cancelling this cancels the task."""
    import asyncio

    task = asyncio.create_task(_guarded(call))
    try:
        await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        if task.done() and not task.cancelled():
            return task.result()
        await _cancel(task)
        raise
    if task.done():
        return _ending(task)
    return TimedOut(stopped=await _cancel(task))


async def run_in_thread(call: Callable[[], Any], timeout: float | None, name: str) -> Ending:
    """Run a plain function in a daemon thread, with the caller's context variables.

    A thread cannot be stopped: the first cancellation is held back until the function is through, so
    that what it did is known; a second one leaves the thread behind.
    """
    import asyncio

    future = start_thread(call, name)
    started = time.monotonic()
    try:
        await asyncio.wait({future}, timeout=timeout)
    except asyncio.CancelledError:
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - started))
        await asyncio.wait({future}, timeout=left)
    return future.result() if future.done() else TimedOut(stopped=False)


def start_thread(call: Callable[[], Any], name: str) -> asyncio.Future[Ending]:
    """Start a daemon thread, which neither keeps the process alive nor waits for a free worker."""
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Ending] = loop.create_future()
    context = contextvars.copy_context()

    def settle(ending: Ending) -> None:
        if not future.done():
            future.set_result(ending)

    def work() -> None:
        ending = context.run(_called, call)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, ending)

    try:
        threading.Thread(target=work, daemon=True, name=name).start()
    except RuntimeError as error:
        future.set_result(Raised(error))
    return future


def finish(value: Any) -> Any:
    """In a thread: `value`, or what it comes to where it is a coroutine."""
    if not isinstance(value, Coroutine):
        return value
    import asyncio

    return asyncio.run(value)


def _called(call: Callable[[], Any]) -> Ending:
    process = os.getpid()
    try:
        return Returned(call())
    except BaseException as error:  # SystemExit in a tool is the end of the tool, not of the program
        return Raised(error)
    finally:
        end_forked_child(process)


def end_forked_child(process: int) -> None:
    """End this process at once if it is a child that user code forked from `process`.

    The child holds copies of everything, of the run and its event loop too: were it to go on, it
    would run calls a second time.
    """
    if os.getpid() != process:
        os._exit(1)


class _InOneProcess:
    """Awaits what user code gave, and ends a child that it forked as soon as that gives way."""

    def __init__(self, awaitable: Awaitable[Any], process: int) -> None:
        self._steps = awaitable.__await__()
        self._process = process

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = functools.partial(next, self._steps)
        while True:
            try:
                waits_for = step()
            except StopIteration as done:
                return done.value
            finally:
                end_forked_child(self._process)
            try:
                sent = yield waits_for
            except BaseException as error:
                step = functools.partial(self._throw, error)
            else:
                step = functools.partial(self._send, sent)

    def _send(self, value: Any) -> Any:
        if value is None or not isinstance(self._steps, Generator):
            return next(self._steps)
        return self._steps.send(value)

    def _throw(self, error: BaseException) -> Any:
        throw = getattr(self._steps, "throw", None)
        if throw is None:
            raise error
        return throw(error)


async def _guarded(call: Callable[[], Awaitable[Any]]) -> Ending:
    import asyncio

    try:
        return Returned(await _InOneProcess(call(), os.getpid()))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # asyncio would stop the event loop for SystemExit, KeyboardInterrupt
        return Raised(error)


def _ending(task: asyncio.Task[Ending]) -> Ending:
    import asyncio

    if task.cancelled():
        return Raised(asyncio.CancelledError("it cancelled itself"))
    return task.result()


async def _cancel(task: asyncio.Task[Ending]) -> bool:
    import asyncio

    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE_SECONDS)
    return task.done()
