"""`verify` names everything that is wrong with a run and with the store, and mends nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentctl_store import LocalStore

QUESTION = "a" * 64
APPROVED = {"verdict": "approve", "by": "ann", "at": "2026-12-01T14:29:27.123Z"}


@pytest.fixture
def asked(store: LocalStore, run: str) -> str:
    """A run whose journal holds a question, its decision, and the decision's file."""
    store.append(run, [{"type": "tool-call-approval", "payload": {"id": QUESTION}}])
    store.decide(run, QUESTION, APPROVED)
    store.append(run, [{"type": "decision", "payload": {"suspension_id": QUESTION, **APPROVED}}])
    assert store.verify(run) == []
    return run


def problem(store: LocalStore, run: str) -> str:
    """The only problem of the run."""
    [found] = LocalStore(store.path).verify(run)
    assert f"`{run}`" in found
    assert found.isprintable()
    return found


def replace_decision(store: LocalStore, run: str, **changes: str) -> None:
    """Forge the decision with a checksum that fits."""
    (store.path / "active" / run / "decisions" / f"{QUESTION}.json").unlink()
    store.decide(run, QUESTION, {**APPROVED, **changes})


@pytest.mark.parametrize(
    "changes", [{"verdict": "decline"}, {"by": "bob"}, {"at": "2027-01-01T00:00:00.000Z"}]
)
def test_a_decision_that_is_not_the_one_in_the_journal_is_named(
    store: LocalStore, asked: str, changes: dict[str, str]
) -> None:
    replace_decision(store, asked, **changes)
    assert problem(store, asked).endswith(f"is not the one in the journal: {min(changes)}")


def test_a_decision_the_run_never_asked_for_is_named_as_forged(store: LocalStore, asked: str) -> None:
    stranger = "b" * 64
    store.decide(asked, stranger, {"verdict": "approve"})
    assert "forged" in problem(store, asked)
    assert store.verify(asked, known_ids={stranger}) == []


def test_cancelling_is_never_forged(store: LocalStore, asked: str) -> None:
    store.decide(asked, "cancel", {"verdict": "cancel"})
    assert store.verify(asked) == []


def test_a_damaged_decision_is_named(store: LocalStore, asked: str, folder: Path) -> None:
    path = folder / "decisions" / f"{QUESTION}.json"
    path.write_bytes(path.read_bytes().replace(b"ann", b"eve"))
    assert "does not match its checksum" in problem(store, asked)


def test_damage_is_named(store: LocalStore, asked: str, folder: Path) -> None:
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"text"', b'"next"'))
    assert "journal.jsonl line 2 does not match its checksum" in problem(store, asked)


OPENED: dict[str, Callable[[Path], Path]] = {
    "the run's folder": lambda folder: folder,
    "journal": lambda folder: folder / "journal.jsonl",
    "snapshot": lambda folder: folder / "snapshot.json",
    "decisions": lambda folder: folder / "decisions",
    "decision": lambda folder: folder / "decisions" / f"{QUESTION}.json",
}


@pytest.mark.parametrize("which", OPENED)
def test_what_is_open_to_others_is_named(store: LocalStore, asked: str, folder: Path, which: str) -> None:
    OPENED[which](folder).chmod(0o755)
    assert problem(store, asked).endswith("is open to others (mode 0755)")


def test_a_stranger_in_the_runs_folder_is_named(store: LocalStore, asked: str, folder: Path) -> None:
    (folder / "note\n.txt").touch(mode=0o600)
    assert problem(store, asked).endswith("does not belong there")


def test_an_ended_run_with_a_snapshot_is_named(store: LocalStore, asked: str, folder: Path) -> None:
    kept = (folder / "snapshot.json").read_bytes()
    store.append(asked, [{"type": "finish"}])
    store.finish(asked)
    path = store.path / "finished" / asked / "snapshot.json"
    path.write_bytes(kept)
    path.chmod(0o600)
    assert "still has a snapshot.json" in problem(store, asked)


def test_the_store_names_strangers_open_folders_and_what_is_no_run(store: LocalStore, run: str) -> None:
    (store.path / "stray").touch()
    (store.path / "locks").chmod(0o777)
    (store.path / "active" / "not a run").mkdir()
    (store.path / "finished" / run).mkdir()
    found = "\n".join(LocalStore(store.path).verify_store())
    for expected in (
        "`stray`",
        "`locks` is open",
        "not a run",
        f"run `{run}` is in active/ and in finished/",
    ):
        assert expected in found
    assert len(found.splitlines()) == 4
