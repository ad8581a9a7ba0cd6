"""The other process in the tests of the store: `store_process.py ACTION STORE ...`, started by a fixture."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agentctl_store import LocalStore, NotSaved, UnknownRun

RUN = "run1"
QUESTION = "a" * 64


def say(word: object) -> None:
    """Announce: after this line a kill may lose nothing of what it speaks of."""
    os.write(1, f"{word}\n".encode())


def proceed(store: LocalStore) -> None:
    """Bring the run from wherever it is to its end, and announce each step that this process did."""
    if not store.run_ids():
        store.create(RUN, {"status": "running"}, {}, [{"type": "start"}])
        say("created")
    stored = store.load(RUN)
    if stored.last_seq < 2:
        store.append(RUN, [{"type": "step", "payload": "x" * 20_000}])
        say("stepped")
    if not stored.finished and stored.head is not None and stored.head["status"] == "running":
        store.save(RUN, {"status": "suspended"}, {"messages": ["hello"]})
        say("suspended")
    if store.decision(RUN, QUESTION) is None:
        store.decide(RUN, QUESTION, {"verdict": "approve", "by": "me"})
        say("decided")
    if not store.load(RUN).ended:
        decided = {"suspension_id": QUESTION, "verdict": "approve"}
        store.append(RUN, [{"type": "decision", "payload": decided}, {"type": "finish"}])
        say("ended")
    store.finish(RUN)
    say("put-away")


def decide_at_once(store: LocalStore, processes: str, rounds: str) -> None:
    """Each round: so many processes decide one question; print `round verdict` for each that says it won.

    A reader looks on all the time; a decision that it cannot read ends it, and with it this program.
    """
    reader = fork(lambda: read_for_ever(store))
    for number in range(int(rounds)):
        gate, opened = os.pipe()
        decide = partial(decide_when_told, store, f"{number:064x}", gate, opened)
        children = [fork(partial(decide, each)) for each in range(int(processes))]
        os.close(gate)
        os.close(opened)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0, "a decider failed"
    assert os.waitpid(reader, os.WNOHANG) == (0, 0), "the reader saw a torn decision"
    os.kill(reader, signal.SIGKILL)


def decide_when_told(store: LocalStore, question: str, gate: int, opened: int, who: int) -> None:
    os.close(opened)
    os.read(gate, 1)
    decision, won = store.decide(RUN, question, {"verdict": "approve", "by": str(who), "pad": "x" * 5000})
    say(f"{question} {decision['by']} {'won' if won else 'lost'}")


def read_for_ever(store: LocalStore) -> None:
    while True:
        store.decisions(RUN)


def drive_at_once(store: LocalStore, turns: str) -> None:
    """So many times: take the lease, append one record to what the journal holds then."""
    for _ in range(int(turns)):
        with store.lease(RUN, 30):
            seen = store.load(RUN).last_seq
            store.append(RUN, [{"type": "turn", "payload": {"seen": seen}}])


def hold(store: LocalStore) -> None:
    """Hold the lease until standard input ends."""
    with store.lease(RUN, 0):
        say("held")
        sys.stdin.read()


def hold_and_fork(store: LocalStore) -> None:
    """Hold the lease, with a forked child that outlives this process."""
    with store.lease(RUN, 0):
        child = fork(lambda: time.sleep(60))
        say(child)
        sys.stdin.read()


def hold_and_start(store: LocalStore) -> None:
    """Hold the lease, with a started program that inherits what it can and outlives this process."""
    with store.lease(RUN, 0):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
        say(child.pid)
        sys.stdin.read()


def fork_inside(store: LocalStore) -> None:
    """A forked child leaves the block of the lease; that must not end the parent's."""
    with store.lease(RUN, 0):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            say("child-left")
            sys.stdin.read()


def step(store: LocalStore, name: str) -> None:
    """One write, and what became of it."""
    steps: dict[str, Callable[[], object]] = {
        "create": lambda: store.create("run2", {}, {}, [{"type": "start"}]),
        "append": lambda: store.append(RUN, [{"type": "late", "payload": "x" * 100_000}]),
        "save": lambda: store.save(RUN, {"status": "late"}, {"messages": ["x" * 100_000]}),
        "decide": lambda: store.decide(RUN, QUESTION, {"verdict": "approve", "pad": "x" * 100_000}),
        "finish": lambda: store.finish(RUN),
    }
    try:
        steps[name]()
    except NotSaved as error:
        say(f"not-saved {error}")
    except UnknownRun as error:
        say(f"unknown {error}")
    else:
        say("saved")


def fork(task: Callable[[], object]) -> int:
    """The pid of a child that does the task and exits: 0, or 1 if it raised."""
    if child := os.fork():
        return child
    status = 1
    try:
        task()
        status = 0
    finally:
        os._exit(status)


ACTIONS: dict[str, Callable[..., None]] = {
    action.__name__.replace("_", "-"): action
    for action in (
        proceed,
        decide_at_once,
        drive_at_once,
        hold,
        hold_and_fork,
        hold_and_start,
        fork_inside,
        step,
    )
}

if __name__ == "__main__":
    ACTIONS[sys.argv[1]](LocalStore(Path(sys.argv[2])), *sys.argv[3:])
