"""While somebody else looks or decides, a run is put away: it is seen before or after, never in between."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentctl_store import LocalStore, RunEnded, atomic

QUESTION = "a" * 64

READS: dict[str, Callable[[LocalStore], object]] = {
    "load": lambda store: store.load("run1").ended,
    "journal": lambda store: [record["type"] for record in store.journal("run1")][-1],
    "decision": lambda store: (store.decision("run1", QUESTION) or {})["verdict"],
    "decisions": lambda store: list(store.decisions("run1")),
    "decision_ids": lambda store: store.decision_ids("run1"),
    "verify": lambda store: store.verify("run1", {QUESTION}),
}


@pytest.fixture
def ending(store: LocalStore, run: str) -> str:
    """A run whose journal has ended, and that somebody is about to put away."""
    store.decide(run, QUESTION, {"verdict": "approve"})
    store.append(run, [{"type": "finish"}])
    return run


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("read", READS)
def test_a_run_that_is_put_away_between_finding_and_reading_it_is_read_all_the_same(
    store: LocalStore, ending: str, monkeypatch: pytest.MonkeyPatch, read: str, nth: int
) -> None:
    reader, other = LocalStore(store.path), LocalStore(store.path)
    expected = READS[read](reader)
    find, found = reader._locate, []

    def find_then_put_away(run_id: str) -> tuple[str, bool]:
        found.append(find(run_id))
        if len(found) == nth:
            other.finish(run_id)
        return found[-1]

    monkeypatch.setattr(reader, "_locate", find_then_put_away)
    assert READS[read](reader) == expected


def test_a_decision_on_a_run_that_ends_meanwhile_says_so(
    store: LocalStore, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider, publish = LocalStore(store.path), atomic.publish

    def put_away_then_publish(path: str, data: bytes, tmp: str, name: str) -> bool:
        store.finish(ending)
        return publish(path, data, tmp, name)

    monkeypatch.setattr(atomic, "publish", put_away_then_publish)
    with pytest.raises(RunEnded):
        decider.decide(ending, "b" * 64, {"verdict": "approve"})
    assert decider.decision_ids(ending) == {QUESTION}
    assert list((store.path / "tmp").iterdir()) == []


def test_who_takes_the_lease_goes_on_from_what_others_wrote(store: LocalStore, run: str) -> None:
    store.load(run)
    with LocalStore(store.path).lease(run, 0):
        LocalStore(store.path).append(run, [{"type": "theirs"}])
    with store.lease(run, 0):
        store.append(run, [{"type": "mine"}])
    assert [record["type"] for record in store.journal(run)][3:] == ["theirs", "mine"]
