"""Deciding takes no lock: the first wins, everyone learns who that is, nobody sees half a decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from subprocess import CompletedProcess

from agentctl_store import LocalStore

Act = Callable[..., CompletedProcess[str]]


def test_of_forty_processes_at_once_one_wins_and_all_name_it(store: LocalStore, run: str, act: Act) -> None:
    rounds, processes = 20, 40
    done = act("decide-at-once", store.path, processes, rounds)
    assert done.returncode == 0, done.stderr
    named: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in done.stdout.splitlines():
        question, by, outcome = line.split()
        named[question].append((by, outcome))
    assert len(named) == rounds
    for question, answers in named.items():
        assert len(answers) == processes
        assert [outcome for _, outcome in answers].count("won") == 1
        decision = store.decision(run, question)
        assert decision is not None
        assert {by for by, _ in answers} == {decision["by"]}


def test_deciding_leaves_no_temporary_files(store: LocalStore, run: str) -> None:
    for _ in range(2):
        store.decide(run, "a" * 64, {"verdict": "approve"})
    assert list((store.path / "tmp").iterdir()) == []
    assert [path.name for path in (store.path / "active" / run / "decisions").iterdir()] == [
        "a" * 64 + ".json"
    ]
