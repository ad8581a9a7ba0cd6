"""What every store of runs does, whatever it is made of; each rule holds for each implementation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agentctl_store import (
    LeaseHeld,
    LocalStore,
    Refused,
    RunEnded,
    RunExists,
    Store,
    UnknownRun,
)

QUESTION = "a" * 64
START = {"type": "start", "payload": {"input": "hi"}}


class Reopened:
    """A store that is opened anew for every call, as if each came from another process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(LocalStore(self._path), name)


MAKERS: dict[str, Callable[[Path], Store]] = {
    "local": LocalStore,
    "reopened": lambda path: cast("Store", Reopened(path)),
}


@pytest.fixture(params=MAKERS)
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MAKERS[request.param](tmp_path / "store")


def begin(store: Store, run_id: str = "run1") -> str:
    store.create(run_id, {"status": "running"}, {"messages": []}, [START])
    return run_id


def end(store: Store, run_id: str) -> str:
    store.append(run_id, [{"type": "finish"}])
    store.finish(run_id)
    return run_id


def test_a_store_without_runs_lists_nothing(any_store: Store) -> None:
    assert list(any_store.heads()) == []
    assert list(any_store.finished()) == []
    assert any_store.run_ids() == []
    assert any_store.verify_store() == []
    with pytest.raises(UnknownRun, match="no run `run1`"):
        any_store.load("run1")


def test_a_created_run_is_loaded_as_it_was_given(any_store: Store) -> None:
    records = any_store.create("run1", {"status": "running"}, {"m": [1, 1.0, "1"]}, [START, {"type": "step"}])
    stored = any_store.load("run1")
    assert stored.head is not None
    assert (stored.head["status"], stored.body, stored.records) == ("running", {"m": [1, 1.0, "1"]}, [])
    assert (stored.last_seq, stored.ended, stored.finished, stored.torn) == (2, False, False, False)
    assert records == list(any_store.journal("run1"))
    assert records[0] | START == records[0]
    assert [record["seq"] for record in records] == [1, 2]


@pytest.mark.parametrize("ended", [False, True])
def test_a_run_id_is_taken_once(any_store: Store, ended: bool) -> None:
    begin(any_store)
    if ended:
        end(any_store, "run1")
    with pytest.raises(RunExists):
        begin(any_store)
    assert any_store.load("run1").records[:1] == ([] if not ended else list(any_store.journal("run1"))[:1])


def test_a_snapshot_includes_what_was_appended_before_it_and_load_gives_the_rest(any_store: Store) -> None:
    run = begin(any_store)
    any_store.append(run, [{"type": "one"}])
    any_store.save(run, {"status": "suspended"}, {"messages": ["one"]})
    later = any_store.append(run, [{"type": "two"}, {"type": "three"}])
    stored = any_store.load(run)
    assert stored.head is not None
    assert (stored.head["status"], stored.head["seq"], stored.body) == ("suspended", 2, {"messages": ["one"]})
    assert stored.records == later
    assert stored.last_seq == 4


def test_a_head_is_current_until_something_is_appended(any_store: Store) -> None:
    run = begin(any_store)
    head = dict(any_store.heads())[run]
    assert isinstance(head, dict)
    assert any_store.is_current(run, head)
    any_store.append(run, [{"type": "one"}])
    assert not any_store.is_current(run, head)


def test_heads_lists_live_runs_and_finished_the_ended_ones_each_in_order(any_store: Store) -> None:
    for run in ("c", "a", "d", "b"):
        begin(any_store, run)
    end(any_store, "d")
    end(any_store, "b")
    heads = dict(any_store.heads())
    assert list(heads) == ["a", "c"]
    assert isinstance(heads["a"], dict)
    assert heads["a"]["status"] == "running"
    ends = dict(any_store.finished())
    assert list(ends) == ["b", "d"]
    assert isinstance(ends["b"], tuple)
    assert [record["type"] for record in ends["b"]] == ["start", "finish"]


def test_run_ids_finds_every_run_by_prefix(any_store: Store) -> None:
    for run in ("ab1", "ab2", "b"):
        begin(any_store, run)
    end(any_store, "ab2")
    assert any_store.run_ids("ab") == [("ab1", "active"), ("ab2", "finished")]
    assert [run for run, _ in any_store.run_ids()] == ["ab1", "ab2", "b"]


def test_an_ended_run_keeps_journal_and_decisions_and_loses_its_snapshot(any_store: Store) -> None:
    run = begin(any_store)
    decision, _ = any_store.decide(run, QUESTION, {"verdict": "approve"})
    end(any_store, run)
    stored = any_store.load(run)
    assert (stored.head, stored.body, stored.ended, stored.finished) == (None, None, True, True)
    assert [record["type"] for record in stored.records] == ["start", "finish"]
    assert any_store.decisions(run) == {QUESTION: decision}


def test_nothing_is_added_to_an_ended_run(any_store: Store) -> None:
    run = end(any_store, begin(any_store))
    with pytest.raises(RunEnded):
        any_store.append(run, [{"type": "late"}])
    with pytest.raises(RunEnded):
        any_store.save(run, {}, {})
    with pytest.raises(RunEnded):
        any_store.decide(run, QUESTION, {"verdict": "approve"})
    assert any_store.decision_ids(run) == set()


def test_nothing_is_appended_after_finish(any_store: Store) -> None:
    run = begin(any_store)
    any_store.append(run, [{"type": "finish"}])
    with pytest.raises(RunEnded):
        any_store.append(run, [{"type": "late"}])


def test_only_a_run_whose_journal_ends_with_finish_is_put_away(any_store: Store) -> None:
    run = begin(any_store)
    with pytest.raises(ValueError, match="no finish record"):
        any_store.finish(run)
    assert not any_store.load(run).finished


def test_the_first_decision_stands_and_the_second_learns_of_it(any_store: Store) -> None:
    run = begin(any_store)
    first, made = any_store.decide(run, QUESTION, {"verdict": "approve", "by": "ann", "args": {"n": 2**70}})
    assert made
    assert any_store.decide(run, QUESTION, {"verdict": "decline", "by": "bob"}) == (first, False)
    assert any_store.decision(run, QUESTION) == first
    assert (first["verdict"], first["by"], first["args"]) == ("approve", "ann", {"n": 2**70})


def test_decisions_are_found_by_id_and_a_whole_run_can_be_cancelled(any_store: Store) -> None:
    run = begin(any_store)
    assert any_store.decision(run, QUESTION) is None
    any_store.decide(run, QUESTION, {"verdict": "data", "data": None})
    any_store.decide(run, "cancel", {"verdict": "cancel"})
    assert any_store.decision_ids(run) == {QUESTION, "cancel"}
    assert any_store.decisions(run)[QUESTION]["data"] is None


def test_a_decision_is_taken_while_the_run_is_driven(any_store: Store) -> None:
    run = begin(any_store)
    with any_store.lease(run, 0):
        assert any_store.decide(run, QUESTION, {"verdict": "approve"})[1]


@pytest.mark.parametrize("verdict", ["true", "Approve", "", True, 1, None, ["approve"]])
def test_what_is_no_verdict_is_never_recorded(any_store: Store, verdict: object) -> None:
    run = begin(any_store)
    with pytest.raises(ValueError, match="not a verdict"):
        any_store.decide(run, QUESTION, {"verdict": verdict})
    assert any_store.decision_ids(run) == set()


def test_a_run_is_driven_by_one_at_a_time(any_store: Store) -> None:
    run = begin(any_store)
    assert any_store.lease_holder(run) is None
    with any_store.lease(run, 0):
        holder = any_store.lease_holder(run)
        assert holder is not None
        assert holder.keys() >= {"pid", "host", "since"}
        with pytest.raises(LeaseHeld) as caught, any_store.lease(run, 0):
            pass
        assert caught.value.holder == holder
        with any_store.lease("other", 0):
            pass
    assert any_store.lease_holder(run) is None
    with any_store.lease(run, 0):
        pass


def test_a_journal_can_be_followed(any_store: Store) -> None:
    run = begin(any_store)
    assert [record["seq"] for record in any_store.journal(run)] == [1]
    any_store.append(run, [{"type": "one"}, {"type": "two"}])
    assert [record["type"] for record in any_store.journal(run, after_seq=1)] == ["one", "two"]
    assert list(any_store.journal(run, after_seq=3)) == []
    end(any_store, run)
    assert [record["type"] for record in any_store.journal(run, after_seq=3)] == ["finish"]


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".", "-x", "a\n", "x" * 65, "é", "a b", "a\0"])
def test_ids_that_could_name_another_place_are_refused(any_store: Store, run_id: str) -> None:
    with pytest.raises(Refused):
        begin(any_store, run_id)
    with pytest.raises(Refused):
        any_store.load(run_id)
    with pytest.raises(Refused), any_store.lease(run_id, 0):
        pass
    assert any_store.run_ids() == []


@pytest.mark.parametrize("question", ["", "../x", "A" * 64, "a" * 63, "a" * 64 + "\n", "cancel2"])
def test_decisions_are_named_by_whole_suspension_ids(any_store: Store, question: str) -> None:
    run = begin(any_store)
    with pytest.raises(Refused):
        any_store.decide(run, question, {"verdict": "approve"})
    with pytest.raises(Refused):
        any_store.decision(run, question)


def test_the_fields_of_the_store_cannot_be_given(any_store: Store) -> None:
    run = begin(any_store)
    with pytest.raises(ValueError, match="belong to the store"):
        any_store.append(run, [{"type": "x", "seq": 7}])
    with pytest.raises(ValueError, match="belong to the store"):
        any_store.save(run, {"seq": 7}, {})
    with pytest.raises(ValueError, match="belong to the store"):
        any_store.decide(run, QUESTION, {"verdict": "approve", "id": "b" * 64})
    assert any_store.load(run).last_seq == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"bytes", {1, 2}])
def test_what_is_not_json_changes_nothing(any_store: Store, value: object) -> None:
    run = begin(any_store)
    with pytest.raises((ValueError, TypeError)):
        any_store.append(run, [{"type": "fine"}, {"type": "x", "payload": value}])
    with pytest.raises((ValueError, TypeError)):
        any_store.save(run, {"status": "x"}, value)
    any_store.append(run, [{"type": "next"}])
    assert [record["type"] for record in any_store.journal(run)] == ["start", "next"]


def test_a_whole_run_verifies(any_store: Store) -> None:
    run = begin(any_store)
    any_store.append(run, [{"type": "suspended", "payload": {"id": QUESTION}}])
    any_store.decide(run, QUESTION, {"verdict": "approve"})
    assert (any_store.verify(run), any_store.verify_store()) == ([], [])
    end(any_store, run)
    assert (any_store.verify(run), any_store.verify_store()) == ([], [])
