"""Killed by SIGKILL at any instruction, a run goes on from what was announced, and ends the same way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from agentctl_store import LocalStore, UnknownRun

Act = Callable[..., CompletedProcess[str]]

STEPS = ["created", "stepped", "suspended", "decided", "ended", "put-away"]
QUESTION = "a" * 64


def failpoints(act: Act, tmp_path: Path) -> list[str]:
    """Every instruction that changes the store, on the way from nothing to an ended run."""
    log = tmp_path / "failpoints.log"
    done = act("proceed", tmp_path / "whole", env={"AGENTCTL_FAILPOINT_LOG": str(log)})
    assert done.stdout.split() == STEPS
    return log.read_text().split()


def announced_is_there(store: LocalStore, announced: list[str]) -> None:
    """Whatever the killed process announced can be read."""
    try:
        stored = store.load("run1")
    except UnknownRun:
        assert announced == []
        return
    assert stored.last_seq >= {"stepped": 2, "ended": 4}.get(announced[-1] if announced else "", 1)
    if "suspended" in announced and not stored.ended:
        assert stored.head is not None
        assert stored.head["status"] == "suspended"
        assert stored.body == {"messages": ["hello"]}
    if "decided" in announced:
        assert store.decision_ids("run1") == {QUESTION}
    assert stored.finished or "put-away" not in announced


def test_a_process_killed_at_any_failpoint_loses_nothing_it_announced(
    act: Act, proceed: Callable[[LocalStore], None], tmp_path: Path
) -> None:
    points = failpoints(act, tmp_path)
    assert {"journal.write-half:1", "snapshot.write-half:1", "decision.link:1", "rename:3"} <= set(points)
    for point in points:
        store = LocalStore(tmp_path / point)
        killed = act("proceed", store.path, env={"AGENTCTL_FAILPOINT": point})
        assert killed.returncode == -signal.SIGKILL, point
        announced_is_there(store, killed.stdout.split())

        proceed(LocalStore(store.path))
        assert [record["type"] for record in store.journal("run1")] == ["start", "step", "decision", "finish"]
        assert (store.verify("run1"), store.verify_store()) == ([], []), point


def test_a_snapshot_is_synced_before_it_gets_its_name_and_the_folder_after(act: Act, tmp_path: Path) -> None:
    points = [point.partition(":")[0] for point in failpoints(act, tmp_path)]
    start = points.index("snapshot.create")
    assert points[start : start + 6] == [
        "snapshot.create",
        "snapshot.write",
        "snapshot.write-half",
        "snapshot.fsync",
        "rename",
        "folder.fsync",
    ]


def test_an_interrupted_end_is_seen_as_ended_and_completed(store: LocalStore, run: str) -> None:
    store.append(run, [{"type": "finish"}])
    reopened = LocalStore(store.path)
    stored = reopened.load(run)
    assert (stored.ended, stored.finished) == (True, False)
    reopened.finish(run)
    reopened.finish(run)
    assert LocalStore(store.path).load(run).finished


def test_an_end_interrupted_after_the_snapshot_went_is_listed_as_finished(
    store: LocalStore, run: str, folder: Path
) -> None:
    store.append(run, [{"type": "finish"}])
    (folder / "snapshot.json").unlink()
    reopened = LocalStore(store.path)
    assert list(reopened.heads()) == []
    assert [run_id for run_id, _ in reopened.finished()] == [run]
    assert reopened.load(run).ended


def test_loading_under_the_lease_removes_what_a_crash_left_beside_the_snapshot(
    store: LocalStore, run: str, folder: Path
) -> None:
    left = folder / "snapshot.json.0123.tmp"
    left.write_text("half")
    store.load(run)
    assert left.exists()
    with store.lease(run, 0):
        store.load(run)
    assert not left.exists()


@pytest.mark.parametrize("age_h, remains", [(1, True), (25, False)])
def test_what_a_crash_left_in_tmp_goes_after_a_day(
    store: LocalStore, run: str, age_h: int, remains: bool
) -> None:
    left = store.path / "tmp" / "0123"
    left.mkdir()
    (left / "journal.jsonl").write_text("half")
    then = time.time() - age_h * 3600
    os.utime(left, (then, then))
    store.create("run2", {}, {}, [{"type": "start"}])
    assert left.exists() is remains
