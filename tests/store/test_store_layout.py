"""The store's folder: created by the first write, its user's alone, refused when it cannot be trusted."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentctl_store import Damaged, LocalStore, Refused, StoreError, UnknownRun

START = {"type": "start"}


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in [folder, *folder.rglob("*")]
    }


def test_reading_creates_nothing(store: LocalStore) -> None:
    assert [*store.heads(), *store.finished(), *store.run_ids(), *store.verify_store()] == []
    assert store.lease_holder("run1") is None
    with pytest.raises(UnknownRun):
        store.decide("run1", "a" * 64, {"verdict": "approve"})
    assert not store.path.exists()


def test_the_first_write_creates_the_store_with_an_id_and_git_ignores_it(store: LocalStore, run: str) -> None:
    names = {path.name for path in store.path.iterdir()}
    assert names == {"active", "finished", "threads", "locks", "tmp", "store.json", ".gitignore"}
    document = json.loads((store.path / "store.json").read_text())
    assert document.keys() == {"format", "id"}
    assert document["format"] == 1
    assert len(bytes.fromhex(document["id"])) == 16
    assert (store.path / ".gitignore").read_text() == "*\n"


def test_folders_above_the_store_are_made(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "a" / "b" / ".runs")
    store.create("run1", {}, {}, [START])
    assert store.load("run1").last_seq == 1


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_everything_is_its_users_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    store = LocalStore(tmp_path / ".runs")
    old = os.umask(umask)
    try:
        with store.lease("run1", 0):
            store.create("run1", {}, {}, [START])
            store.append("run1", [{"type": "step"}])
            store.save("run1", {}, {})
        store.decide("run1", "a" * 64, {"verdict": "approve"})
    finally:
        os.umask(old)
    for name, mode in modes(store.path).items():
        assert mode == (0o700 if (store.path / name).is_dir() else 0o600), name


@pytest.mark.parametrize("mode", [0o701, 0o750, 0o777])
def test_a_store_open_to_others_is_refused(store: LocalStore, run: str, mode: int) -> None:
    store.path.chmod(mode)
    with pytest.raises(Refused, match="open to others") as caught:
        list(LocalStore(store.path).heads())
    assert caught.value.hint == f"chmod 700 {store.path}"


def test_a_store_that_is_a_symlink_or_a_file_is_refused(store: LocalStore, run: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store.path)
    (tmp_path / "file").write_text("")
    for name, reason in (("link", "is a symlink"), ("file", "is not a folder")):
        for attempt in (lambda s: list(s.heads()), lambda s: s.create("run2", {}, {}, [START])):
            with pytest.raises(Refused, match=reason):
                attempt(LocalStore(tmp_path / name))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder to somebody else")
def test_a_store_of_somebody_else_is_refused(store: LocalStore, run: str) -> None:
    os.chown(store.path, 12345, -1)
    with pytest.raises(Refused, match="belongs to user 12345"):
        LocalStore(store.path).load(run)


@pytest.mark.parametrize("name", ["active", "finished", "locks", "tmp"])
def test_a_symlink_in_the_place_of_a_folder_of_the_store_is_refused(
    store: LocalStore, run: str, tmp_path: Path, name: str
) -> None:
    (store.path / name).rename(tmp_path / "elsewhere")
    (store.path / name).symlink_to(tmp_path / "elsewhere")
    reopened = LocalStore(store.path)
    with pytest.raises(Refused, match=f"{name}. is a symlink"):
        reopened.create("run2", {}, {}, [START])
    assert any("symlink" in problem or "neither" in problem for problem in reopened.verify_store())
    assert not (tmp_path / "elsewhere" / "run2").exists()


def test_a_folder_with_other_things_in_it_does_not_become_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir(mode=0o700)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(Refused, match=r"is not a store, and not empty: it holds `notes\.txt`"):
        LocalStore(folder).create("run1", {}, {}, [START])
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_an_empty_folder_and_one_half_made_by_a_crash_become_a_store(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    (tmp_path / "half").mkdir(mode=0o700)
    (tmp_path / "half" / "tmp").mkdir(mode=0o700)
    (tmp_path / "half" / ".gitignore").touch(mode=0o600)
    for name in ("empty", "half"):
        store = LocalStore(tmp_path / name)
        assert list(store.heads()) == []
        store.create("run1", {}, {}, [START])
        assert store.verify_store() == []


def test_a_store_that_lost_its_identity_is_damaged_and_gets_no_new_one(store: LocalStore, run: str) -> None:
    (store.path / "store.json").unlink()
    for attempt in (lambda s: list(s.heads()), lambda s: s.create("run2", {}, {}, [START])):
        with pytest.raises(Damaged, match=r"`store\.json` is missing"):
            attempt(LocalStore(store.path))
    assert not (store.path / "store.json").exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format":1,"id":7}', "{", '{"format":1,"id":"ab"}'])
def test_an_identity_that_cannot_be_read_is_damage(store: LocalStore, run: str, content: str) -> None:
    (store.path / "store.json").write_text(content)
    with pytest.raises(StoreError, match=r"store\.json"):
        LocalStore(store.path).load(run)


@pytest.mark.parametrize("name", ["locks", "tmp", "threads", "finished"])
def test_a_missing_folder_is_made_again_by_whoever_writes(store: LocalStore, run: str, name: str) -> None:
    shutil.rmtree(store.path / name)
    with store.lease(run, 0):
        store.append(run, [{"type": "finish"}])
    store.decide(run, "a" * 64, {"verdict": "approve"})
    shutil.rmtree(store.path / name)
    store.finish(run)
    assert store.load(run).finished
    assert store.verify_store() == []


def test_processes_that_create_the_store_at_once_agree_on_it(tmp_path: Path) -> None:
    script = (
        "import sys; from agentctl_store import LocalStore\n"
        "sys.stdin.read(); s = LocalStore(sys.argv[1])\n"
        "s.create(sys.argv[2], {}, {}, [{'type': 'start'}])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / ".runs")]
    processes = [
        subprocess.Popen([*command, f"run{each}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for each in range(8)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        assert process.wait() == 0, process.stderr and process.stderr.read()
        assert process.stderr is not None
        process.stderr.close()
    heads = dict(LocalStore(tmp_path / ".runs").heads())
    assert len(heads) == 8
    assert all(isinstance(head, dict) for head in heads.values())


def test_a_listing_reads_no_more_than_heads(store: LocalStore, run: str) -> None:
    """The bodies may be damaged: a listing does not see it, `load` does."""
    path = store.path / "active" / run / "snapshot.json"
    line, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(line + b"\n" + rest[:-3])
    assert isinstance(dict(store.heads())[run], dict)
    with pytest.raises(Damaged, match="checksum after line 1"):
        store.load(run)


@pytest.mark.parametrize("size", [10, 8192, 8193, 300_000])
def test_heads_of_any_length_are_read(store: LocalStore, run: str, size: int) -> None:
    store.save(run, {"status": "x" * size}, {"body": "y" * size})
    head = dict(store.heads())[run]
    assert isinstance(head, dict)
    assert head["status"] == "x" * size
    assert store.load(run).body == {"body": "y" * size}


@pytest.mark.parametrize("size", [10, 8192, 65_536, 300_000])
def test_first_and_last_records_of_any_length_are_read(store: LocalStore, size: int) -> None:
    first = {"type": "start", "payload": "x" * size}
    store.create("run1", {}, {}, [first, {"type": "middle", "payload": "y" * size}])
    store.append("run1", [{"type": "finish", "payload": "z" * size}])
    store.finish("run1")
    ends = dict(store.finished())["run1"]
    assert isinstance(ends, tuple)
    assert [record["payload"][0] for record in ends] == ["x", "z"]
    assert [len(record["payload"]) for record in ends] == [size, size]


def test_the_snapshot_is_one_json_document_with_the_head_on_line_1(store: LocalStore, run: str) -> None:
    text = (store.path / "active" / run / "snapshot.json").read_text()
    assert text.splitlines()[0].startswith('{"head":{')
    assert text.splitlines()[1].startswith('"body":')
    document = json.loads(text)
    assert document.keys() == {"head", "body"}
    assert document["body"] == {"messages": ["hello"]}


def test_importing_the_store_is_cheap() -> None:
    script = (
        "import sys, agentctl_store, agentctl_store.lease\n"
        "print(sorted({'filelock', 'asyncio', 'logging', 'pydantic', 'yaml'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_listing_and_deciding_need_no_lock(store: LocalStore, run: str) -> None:
    script = (
        "import sys; from agentctl_store import LocalStore\n"
        "store = LocalStore(sys.argv[1]); list(store.heads()); store.lease_holder('run1')\n"
        "store.decide('run1', 'a' * 64, {'verdict': 'decline'}); print('filelock' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(store.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
