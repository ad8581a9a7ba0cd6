"""Every format that was ever released stays readable, and a newer one is refused."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from support.project import Project

ARCHIVES = sorted(Path(__file__).parent.glob("format-*.tar.gz"))
STATUSES = {
    "approval": "suspended",
    "question": "suspended",
    "decided": "interrupted",
    "completed": "completed",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "in-doubt": "in_doubt",
}


@pytest.fixture(params=ARCHIVES, ids=lambda archive: archive.name.partition(".")[0])
def old_store(project: Project, request: pytest.FixtureRequest) -> Project:
    with tarfile.open(request.param) as packed:
        packed.extractall(project.root, filter=lambda member, _: member.replace(uid=None, gid=None))
    return project


def test_every_run_of_an_old_store_is_listed_as_it_stands(old_store: Project) -> None:
    assert {run["run_id"]: run["status"] for run in old_store.runs()} == STATUSES
    waiting = {(each["run_id"], each["kind"]) for each in old_store.pending()}
    assert waiting == {("approval", "approval"), ("question", "data"), ("in-doubt", "in_doubt")}


@pytest.mark.parametrize("run_id", STATUSES)
def test_every_run_of_an_old_store_is_shown_whole(old_store: Project, run_id: str) -> None:
    shown = old_store.show(run_id)
    assert shown["run"]["status"] == STATUSES[run_id]
    assert shown["messages"][0]["role"] == "user"
    assert old_store.cli("log", run_id, status=0).stdout


def test_an_old_store_is_sound(old_store: Project) -> None:
    assert old_store.cli("verify", "--json", status=0).json == []


def test_what_waits_in_an_old_store_can_be_decided(old_store: Project) -> None:
    for verb, run_id, *answer in (
        ("decline", "approval"),
        ("resume", "question", "--data", '{"city": "Oslo"}'),
        ("resolve", "in-doubt", "--failed", "the power went"),
    ):
        done = old_store.cli(verb, run_id, *answer, "--no-drive", "--json", status=0)
        assert done.result["status"] == "decided"
    assert old_store.pending() == []
    assert old_store.cancel("interrupted", status=0).result["status"] == "cancelled"


def test_a_newer_format_is_refused_and_says_so(old_store: Project) -> None:
    store = old_store.store / "store.json"
    store.write_text(json.dumps({**json.loads(store.read_text()), "format": 99}))
    refused = old_store.cli("pending", status=1)
    assert "format" in refused.stderr
    assert "99" in refused.stderr
