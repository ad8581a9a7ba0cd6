"""When the disk fails it is said, and what was saved stands; once it works, everything goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from agentctl_store import LocalStore, NotSaved
from support.disk import Disk
from support.needs import needs_strace

Act = Callable[..., CompletedProcess[str]]

BIG = "x" * 100_000
QUESTION = "a" * 64
WRITES: dict[str, Callable[[LocalStore], object]] = {
    "append": lambda store: store.append("run1", [{"type": "late", "payload": BIG}]),
    "save": lambda store: store.save("run1", {"status": "late"}, BIG),
    "decide": lambda store: store.decide("run1", QUESTION, {"verdict": "approve", "pad": BIG}),
    "create": lambda store: store.create("run2", {}, BIG, [{"type": "start"}]),
}


def begin(path: Path) -> LocalStore:
    store = LocalStore(path)
    store.create("run1", {"status": "suspended"}, {"messages": []}, [{"type": "start"}])
    return store


def content(store: LocalStore) -> dict[str, bytes]:
    """Every file of every run, and what is in `tmp/`."""
    places = [store.path / name for name in ("active", "finished", "tmp")]
    return {str(path): path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", WRITES)
def test_a_full_disk_is_told_and_changes_nothing(small_disk: Callable[..., Disk], write: str) -> None:
    disk = small_disk("512k")
    store = begin(disk.path / "store")
    before = content(store)
    disk.fill()
    with pytest.raises(NotSaved, match="No space left on device"):
        WRITES[write](store)
    assert content(store) == before
    assert store.verify("run1") == []
    disk.free()
    store.load("run1")
    WRITES[write](store)
    assert store.verify_store() == []
    assert all(store.verify(run_id, {QUESTION}) == [] for run_id, _ in store.run_ids())


def test_after_a_failed_append_nothing_is_appended_until_the_run_is_loaded(
    small_disk: Callable[..., Disk],
) -> None:
    disk = small_disk("512k")
    store = begin(disk.path / "store")
    disk.fill()
    with pytest.raises(NotSaved):
        WRITES["append"](store)
    disk.free()
    with pytest.raises(NotSaved):
        WRITES["append"](store)
    assert store.load("run1").last_seq == 1
    WRITES["append"](store)


@pytest.mark.parametrize("write", WRITES)
def test_a_read_only_disk_is_told_and_can_be_read(small_disk: Callable[..., Disk], write: str) -> None:
    disk = small_disk("512k")
    store = begin(disk.path / "store")
    disk.read_only()
    with pytest.raises(NotSaved, match="Read-only file system"):
        WRITES[write](store)
    reader = LocalStore(store.path)
    assert [run_id for run_id, _ in reader.heads()] == ["run1"]
    assert reader.load("run1").last_seq == 1
    assert reader.lease_holder("run1") is None
    with pytest.raises(NotSaved, match="the lease of run `run1`"), reader.lease("run1", 0):
        pass
    disk.writable()


def failing(call: str, nth: int, log: Path) -> tuple[str, ...]:
    """The command under which the n-th of these system calls fails with EIO."""
    inject = f"inject={call}:error=EIO:when={nth}"
    return ("strace", "-f", "--seccomp-bpf", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", inject)


@needs_strace
@pytest.mark.parametrize(
    "write, call",
    [
        *((write, "fsync") for write in WRITES),
        *((write, "write") for write in WRITES),
        ("save", "rename"),
        ("create", "rename"),
        ("create", "mkdir"),
        ("decide", "link"),
    ],
)
def test_every_failing_system_call_is_told_and_what_was_saved_stands(
    tmp_path: Path, act: Act, write: str, call: str
) -> None:
    # The program itself writes, too: to tell the outcome, after its first write.
    last = 1 if call == "write" else 20
    for nth in range(1, last + 1):
        store = begin(tmp_path / f"store{nth}")
        before = content(store)
        done = act(
            "step",
            store.path,
            write,
            under=failing(call, nth, tmp_path / "log"),
            env={"PYTHONDONTWRITEBYTECODE": "1"},
        )
        if "INJECTED" not in (tmp_path / "log").read_text():
            assert done.stdout == "saved\n", done
            assert nth > 1
            return
        assert done.stdout.startswith("not-saved could not save"), done
        assert "Input/output error (EIO)" in done.stdout
        now = content(store)
        assert now.keys() - before.keys() <= {str(store.path / f"active/run1/decisions/{QUESTION}.json")}
        if write == "append" or call != "fsync":
            assert now == before
        reopened = LocalStore(store.path)
        assert reopened.load("run1").last_seq == 1
        assert (reopened.verify("run1", {QUESTION}), reopened.verify_store()) == ([], [])
        WRITES[write](reopened)
    assert call == "write"


@needs_strace
@pytest.mark.parametrize(
    "write, named, folder", [("save", "rename(", "active/run1"), ("create", "rename(", "active")]
)
def test_a_name_is_on_the_disk_before_it_is_told(
    tmp_path: Path, act: Act, write: str, named: str, folder: str
) -> None:
    store = begin(tmp_path / "store")
    calls = traced(act, store, write, tmp_path / "log")
    given = max(nth for nth, call in enumerate(calls) if named in call)
    told = next(nth for nth, call in enumerate(calls) if "saved" in call)
    assert any(f"<{store.path}/{folder}>" in call for call in calls[given:told] if "fsync(" in call)
    # What gets the name was synced before, with all its files.
    assert [call for call in calls[:given] if "fsync(" in call]


@needs_strace
def test_a_decision_is_on_the_disk_before_it_is_told_also_by_the_loser(tmp_path: Path, act: Act) -> None:
    store = begin(tmp_path / "store")
    for _ in range(2):
        calls = traced(act, store, "decide", tmp_path / "log")
        linked = next(nth for nth, call in enumerate(calls) if "link(" in call)
        told = next(nth for nth, call in enumerate(calls) if "saved" in call)
        folder = f"<{store.path}/active/run1/decisions>"
        assert any(folder in call for call in calls[linked:told] if "fsync(" in call)


def traced(act: Act, store: LocalStore, write: str, log: Path) -> list[str]:
    """The system calls of a write that name things, sync them, or tell of them; with paths."""
    kinds = "fsync,rename,link,write"
    under = ("strace", "-f", "--seccomp-bpf", "-y", "-qq", "-o", str(log), "-e", f"trace={kinds}")
    done = act("step", store.path, write, under=under, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert done.stdout == "saved\n", done
    return log.read_text().splitlines()
