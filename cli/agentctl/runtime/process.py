"""This process while it drives a run: signals, the time limit, output that breaks, what tools see.

The loop knows one run and no process; this file knows the process and no run.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from agentctl.errors import Failed
from agentctl.exit_status import ExitStatus
from agentctl.runtime.events import Event
from agentctl.runtime.signals import stopping_signals, time_limit

if TYPE_CHECKING:
    from agentctl.runtime.loop import Loop

# What tools, and the programs they start, find in their environment.
RUN_ID = "AGENTCTL_RUN_ID"
RUN_IDS = "AGENTCTL_RUN_IDS"


class Process:
    """This process while it drives: how the outside stops the loop."""

    loop: Loop

    def __init__(self, announce: Callable[[Event], None]) -> None:
        self.status: ExitStatus | None = None
        self.signum: int | None = None
        self._announce = announce
        self._output_broke = False

    def announce(self, event: Event) -> None:
        """Show an event; output that breaks stops the run instead of tearing it."""
        from signal import SIGPIPE

        if self._output_broke:
            return
        try:
            self._announce(event)
        except BrokenPipeError:
            self._output_broke, self.signum = True, SIGPIPE
            self._stop("The reader of the output left", "interrupted", cancel=False)
        except OSError as error:
            self._output_broke, self.status = True, ExitStatus.FAILED
            self._stop(f"The output could not be written: {error.strerror}", "failed", cancel=False)

    def drive(self, timeout: float | None) -> None:
        """Run the loop to its end, with signals and the time limit in place.

        The event loop is made by hand: `asyncio.run` would wait for tools that were left behind.
        """
        import asyncio

        from agentctl.tools.execution import end_forked_child

        events = asyncio.new_event_loop()
        events.set_exception_handler(lambda *_: None)

        def on_signal(signum: int) -> None:
            self.signum = signum
            events.call_soon_threadsafe(self._stopped_by, signum)

        gc.enable()
        process = os.getpid()

        def on_limit() -> None:
            events.call_soon_threadsafe(self._timed_out, timeout)

        try:
            with stopping_signals(on_signal), time_limit(timeout, on_limit):
                events.run_until_complete(self.loop.drive())
        except (asyncio.CancelledError, RuntimeError) as error:
            end_forked_child(process)
            if isinstance(error, RuntimeError) and "Event loop stopped" not in str(error):
                raise
            raise Failed(
                "a tool stopped the event loop or cancelled what it did not start; what ran is in doubt",
                f"agentctl show {self.loop.run.id}",
                status=ExitStatus.IN_DOUBT,
            ) from error
        finally:
            end_forked_child(process)
            events.close()

    def _stopped_by(self, signum: int) -> None:
        from signal import Signals

        self._stop(f"Stopped by {Signals(signum).name}", "interrupted", cancel=True)

    def _timed_out(self, timeout: float | None) -> None:
        self.status = ExitStatus.TIMEOUT
        self._stop(f"The time limit of {timeout:g}s ran out", "timeout", cancel=True, wait=False)

    def _stop(self, message: str, code: str, *, cancel: bool, wait: bool = True) -> None:
        from agentctl.runtime.world import Stop

        self.loop.stop(Stop(message, code, cancel=cancel, wait=wait))


@contextmanager
def seen_by_tools(run_id: str) -> Iterator[None]:
    """What tools find: the ids of this run and of those above it, and no way to our own output."""
    from agentctl.tools.execution import user_output_to_stderr

    before = {name: os.environ.get(name) for name in (RUN_ID, RUN_IDS)}
    above = before[RUN_IDS]
    os.environ[RUN_ID] = run_id
    os.environ[RUN_IDS] = f"{above}:{run_id}" if above else run_id
    leave, process = os._exit, os.getpid()

    def leave_in_doubt(status: int) -> NoReturn:
        """A tool must not end this process as if the run had completed."""
        if os.getpid() == process:
            os.write(2, b"agentctl: a tool ended the process; what ran is in doubt\n")
            leave(int(ExitStatus.IN_DOUBT))
        leave(status)

    os._exit = leave_in_doubt
    try:
        with user_output_to_stderr():
            yield
    finally:
        os._exit = leave
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
