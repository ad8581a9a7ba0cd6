"""The lease: one process drives, and the kernel takes it back from whoever dies, however that happens."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from subprocess import CompletedProcess, Popen

import pytest

from agentctl_store import LeaseHeld, LocalStore, NotSaved, Refused

Start = Callable[..., Popen[str]]
Act = Callable[..., CompletedProcess[str]]


def said(process: Popen[str]) -> str:
    """The next line of the process."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def survivor() -> Iterator[list[int]]:
    """Pids to end after the test."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def test_processes_that_drive_at_once_take_turns(store: LocalStore, run: str, start: Start) -> None:
    drivers = [start("drive-at-once", store.path, 10) for _ in range(4)]
    for driver in drivers:
        _, errors = driver.communicate(timeout=60)
        assert driver.returncode == 0, errors
    turns = [record for record in store.journal(run) if record["type"] == "turn"]
    assert len(turns) == 40
    assert all(turn["payload"]["seen"] == turn["seq"] - 1 for turn in turns)


def test_others_learn_who_holds_the_lease_and_wait_no_longer_than_told(
    store: LocalStore, run: str, start: Start
) -> None:
    holder = start("hold", store.path)
    assert said(holder) == "held"
    known = store.lease_holder(run)
    assert known is not None
    assert known["pid"] == holder.pid
    for timeout in (0, 0.2):
        with pytest.raises(LeaseHeld, match=f"pid {holder.pid} on") as caught, store.lease(run, timeout):
            pass
        assert caught.value.holder == known
    holder.communicate()
    assert store.lease_holder(run) is None
    with store.lease(run, 0):
        pass


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM])
def test_a_dead_holder_holds_nothing(store: LocalStore, run: str, start: Start, stop: signal.Signals) -> None:
    holder = start("hold", store.path)
    said(holder)
    holder.send_signal(stop)
    holder.wait()
    assert store.lease_holder(run) is None
    with store.lease(run, 0):
        pass


@pytest.mark.parametrize("action", ["hold-and-fork", "hold-and-start"])
@pytest.mark.parametrize("ending", ["killed", "ended"])
def test_a_child_that_outlives_the_holder_does_not_keep_the_lease(
    store: LocalStore, run: str, start: Start, survivor: list[int], action: str, ending: str
) -> None:
    holder = start(action, store.path)
    child = int(said(holder))
    survivor.append(child)
    assert store.lease_holder(run) is not None
    if ending == "killed":
        holder.kill()
    assert holder.stdin is not None
    holder.stdin.close()
    holder.wait()
    # A forked child lets go as the first thing it does, which need not be before its parent dies.
    with store.lease(run, 20):
        os.kill(child, 0)  # it is still there
    assert store.lease_holder(run) is None


def test_a_forked_child_that_leaves_the_block_does_not_end_the_lease_of_its_parent(
    store: LocalStore, run: str, start: Start
) -> None:
    holder = start("fork-inside", store.path)
    assert said(holder) == "child-left"
    known = store.lease_holder(run)
    assert known is not None
    assert known["pid"] == holder.pid
    with pytest.raises(LeaseHeld), store.lease(run, 0):
        pass


def test_the_lease_is_given_back_when_the_block_raises(store: LocalStore, run: str) -> None:
    with pytest.raises(KeyboardInterrupt), store.lease(run, 0):
        raise KeyboardInterrupt
    assert store.lease_holder(run) is None


def test_asking_who_holds_a_lease_creates_nothing(store: LocalStore, run: str) -> None:
    shutil.rmtree(store.path / "locks")
    assert store.lease_holder(run) is None
    assert not (store.path / "locks").exists()
    with store.lease(run, 0):
        assert store.lease_holder(run) is not None


@pytest.mark.parametrize("content", ["", "not json", "[1]", "\xff"])
def test_a_lock_file_that_says_nothing_is_held_all_the_same(
    store: LocalStore, run: str, content: str
) -> None:
    with store.lease(run, 0):
        (store.path / "locks" / f"{run}.lock").write_text(content, encoding="latin-1")
        assert store.lease_holder(run) == {"pid": None, "host": None, "since": None}
        with pytest.raises(LeaseHeld) as caught, LocalStore(store.path).lease(run, 0):
            pass
        assert caught.value.holder is None


def test_a_symlink_in_the_place_of_a_lock_is_refused(store: LocalStore, run: str) -> None:
    (store.path / "locks" / f"{run}.lock").symlink_to(store.path / "store.json")
    with pytest.raises(Refused, match="is a symlink"), store.lease(run, 0):
        pass
    with pytest.raises(Refused, match="is a symlink"):
        store.lease_holder(run)


def test_who_appends_without_having_seen_the_others_records_is_stopped(store: LocalStore, run: str) -> None:
    other = LocalStore(store.path)
    other.load(run)
    store.append(run, [{"type": "mine"}])
    with pytest.raises(NotSaved, match="changed since it was read"):
        other.append(run, [{"type": "theirs"}])
    with pytest.raises(NotSaved):
        other.append(run, [{"type": "theirs"}])
    other.load(run)
    other.append(run, [{"type": "theirs"}])
    assert [record["type"] for record in store.journal(run)][3:] == ["mine", "theirs"]
