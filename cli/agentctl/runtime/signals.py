"""Signals while a run is driven: the first saves and stops, the second leaves at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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
