"""What ends driving from outside: signals, of which the second leaves at once, and the time limit."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from agentctl.exit_status import ExitStatus

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DieOf(Exception):
    """End the process by this signal, after everything is saved and shown."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def die_of(signum: int) -> None:
    """End this process by the signal itself, so that shells and callers see that it was one."""
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)


@contextmanager
def stopping_signals(on_first: Callable[[int], None]) -> Iterator[None]:
    """While the block runs, call `on_first` for the first stopping signal and die of the second.

    Plain handlers, not the event loop's: a tool that blocks the loop can still be left.
    A signal that the parent chose to ignore (`nohup`) stays ignored.
    """
    seen: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        if seen:
            die_of(signum)
        seen.append(signum)
        on_first(signum)

    before = {each: signal.getsignal(each) for each in STOPPING}
    caught = [each for each in STOPPING if before[each] is not signal.SIG_IGN]
    for each in caught:
        signal.signal(each, handle)
    try:
        yield
    finally:
        for each in caught:
            signal.signal(each, before[each])


# While tools run, `os._exit` is replaced by one that tells of them.
_leave = os._exit
# After the limit: enough for cancelled tools to end and for the state to be saved.
_GRACE_SECONDS = 5.0
# Years; beyond it, waiting fails.
_LONGEST_SECONDS = 1e8


@contextmanager
def time_limit(seconds: float | None, on_limit: Callable[[], object]) -> Iterator[None]:
    """Call `on_limit` if the block runs longer than `seconds`; end the process if it then does not stop.

    A thread of its own keeps the time: a tool that blocks the event loop must not stop the clock.
    """
    if seconds is None:
        yield
        return
    import threading

    done = threading.Event()

    def watch() -> None:
        if done.wait(min(seconds, _LONGEST_SECONDS)):
            return
        on_limit()
        if not done.wait(_GRACE_SECONDS):
            os.write(2, b"agentctl: a tool does not stop; it is left in doubt\n")
            _leave(int(ExitStatus.TIMEOUT))

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
