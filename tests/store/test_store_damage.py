"""What was read is what was written, to the byte, in this place: anything else is named and never used."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentctl_store import Damaged, LocalStore, Refused, StoreError
from agentctl_store.canonical import canonical, sha256

QUESTION = "a" * 64
FILES = ["snapshot.json", "journal.jsonl", f"decisions/{QUESTION}.json"]

shares_a_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_all(store: LocalStore, run: str) -> None:
    """Read everything there is of the run, by an instance that remembers nothing."""
    reader = LocalStore(store.path)
    reader.load(run)
    reader.decisions(run)


@pytest.fixture
def decided(store: LocalStore, run: str) -> str:
    store.decide(run, QUESTION, {"verdict": "approve", "by": "ann"})
    read_all(store, run)
    return run


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_byte_is_found(store: LocalStore, decided: str, folder: Path, name: str) -> None:
    path = folder / name
    data = path.read_bytes()
    for position in range(len(data)):
        for mask in (0x01, 0x20, 0x80):
            path.write_bytes(data[:position] + bytes([data[position] ^ mask]) + data[position + 1 :])
            with pytest.raises(Damaged):
                read_all(store, decided)


@shares_a_store
@given(data=st.data())
def test_every_change_of_any_length_is_found(
    store: LocalStore, decided: str, folder: Path, data: st.DataObject
) -> None:
    path = folder / data.draw(st.sampled_from(FILES))
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, len(whole) - start))
    changed = whole[:start] + data.draw(st.binary(max_size=3)) + whole[start + length :]
    harmless = changed == whole or (path.name == "journal.jsonl" and is_torn_after(changed, whole))
    path.write_bytes(changed)
    try:
        if harmless:
            read_all(store, decided)
        else:
            with pytest.raises(Damaged):
                read_all(store, decided)
    finally:
        path.write_bytes(whole)


def is_torn_after(changed: bytes, whole: bytes) -> bool:
    """Whether only a torn line follows the journal, or only its last newline is missing."""
    if changed == whole[:-1]:
        return True
    rest = changed.removeprefix(whole)
    return changed.startswith(whole) and b"\n" not in rest and not is_json_start(rest)


def is_json_start(rest: bytes) -> bool:
    try:
        json.JSONDecoder().raw_decode(rest.decode(errors="replace"))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", [FILES[0], FILES[2]])
def test_every_prefix_of_a_snapshot_or_decision_is_found(
    store: LocalStore, decided: str, folder: Path, name: str
) -> None:
    path = folder / name
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(Damaged):
            read_all(store, decided)


@pytest.mark.parametrize("name", FILES)
def test_a_second_document_behind_the_first_is_found(
    store: LocalStore, decided: str, folder: Path, name: str
) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(Damaged):
        read_all(store, decided)


def test_a_journal_that_ends_before_its_snapshot_is_found(store: LocalStore, run: str, folder: Path) -> None:
    path = folder / "journal.jsonl"
    data = path.read_bytes()
    for length in range(len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(Damaged, match=r"journal\.jsonl|snapshot\.json"):
            LocalStore(store.path).load(run)


def test_a_torn_last_line_is_set_aside_and_the_next_record_takes_its_place(
    store: LocalStore, run: str, folder: Path
) -> None:
    path = folder / "journal.jsonl"
    before = path.read_bytes()
    store.append(run, [{"type": "late", "payload": "é" * 20}])
    after = path.read_bytes()
    for length in range(len(before), len(after)):
        path.write_bytes(after[:length])
        reopened = LocalStore(store.path)
        stored = reopened.load(run)
        whole = length >= len(after) - 1
        assert (stored.last_seq, stored.torn) == (4 if whole else 3, len(before) < length < len(after) - 1)
        reopened.append(run, [{"type": "next"}])
        assert [record["type"] for record in reopened.journal(run)][3:] == ["late"] * whole + ["next"]
        assert reopened.verify(run) == []


@pytest.mark.parametrize("tail", [b"\0\0\0\0", b'{"type":', b"\xff", b'{"a":"\xc3'])
def test_what_a_power_cut_leaves_at_the_end_is_torn(
    store: LocalStore, run: str, folder: Path, tail: bytes
) -> None:
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(tail)
    assert store.load(run).torn
    assert len(list(store.journal(run))) == 3


@pytest.mark.parametrize("tail", [b"{}", b"{}\n", b"\n", b"{} garbage", b"1", b'"torn"\n', b'{"type":\n'])
def test_a_whole_last_line_that_is_no_record_is_damage(
    store: LocalStore, run: str, folder: Path, tail: bytes
) -> None:
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(tail)
    with pytest.raises(Damaged, match="line 4"):
        store.load(run)


def test_records_out_of_order_or_missing_are_found(store: LocalStore, run: str, folder: Path) -> None:
    path = folder / "journal.jsonl"
    one, two, three = path.read_bytes().splitlines(keepends=True)
    for lines in (
        [two, one, three],
        [one, three],
        [two, three],
        [one, one, two, three],
        [one, two, two, three],
    ):
        path.write_bytes(b"".join(lines))
        with pytest.raises(Damaged, match=r"journal\.jsonl line"):
            LocalStore(store.path).load(run)


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"type": "edited"}, "line 3 does not follow the line before it"),
        ({"prev": "f" * 64}, "line 2 does not follow the line before it"),
        ({"seq": 7}, "line 2 has seq 7"),
        ({"seq": 2.0}, "line 2 has seq 2.0"),
        ({"seq": True}, "line 2 has seq True"),
    ],
)
def test_an_edited_record_is_found_even_if_its_checksum_was_made_to_fit(
    store: LocalStore, run: str, folder: Path, change: dict[str, object], problem: str
) -> None:
    path = folder / "journal.jsonl"
    one, two, three = path.read_bytes().splitlines(keepends=True)
    record = json.loads(two)
    del record["sum"]
    path.write_bytes(one + signed({**record, **change}) + three)
    with pytest.raises(Damaged, match=problem):
        store.load(run)


def test_a_snapshot_does_not_go_with_an_edited_journal_even_if_its_chain_was_made_to_fit(
    store: LocalStore, run: str, folder: Path
) -> None:
    path = folder / "journal.jsonl"
    *before, last = path.read_bytes().splitlines(keepends=True)
    record = json.loads(last)
    del record["sum"]
    path.write_bytes(b"".join(before) + signed({**record, "payload": "edited"}))
    assert len(list(store.journal(run))) == 3
    with pytest.raises(Damaged, match=r"written for another journal\.jsonl"):
        store.load(run)


def test_a_snapshot_of_an_earlier_time_still_fits_and_one_of_another_history_does_not(
    store: LocalStore, run: str, folder: Path
) -> None:
    earlier = (folder / "snapshot.json").read_bytes()
    store.append(run, [{"type": "late"}])
    assert [record["type"] for record in LocalStore(store.path).load(run).records] == ["late"]

    other = LocalStore(store.path)
    other.create("other", {}, {}, [{"type": "start"}, {"type": "step"}, {"type": "otherwise"}])
    shutil.copy(store.path / "active" / "other" / "snapshot.json", folder / "snapshot.json")
    with pytest.raises(Damaged, match="run `other`"):
        LocalStore(store.path).load(run)
    (folder / "snapshot.json").write_bytes(earlier)
    assert LocalStore(store.path).load(run).head


def test_a_run_copied_to_another_name_is_damaged(store: LocalStore, decided: str, folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "run2")
    for read in (store.load, store.decisions):
        with pytest.raises(Damaged, match="run2"):
            read("run2")
    assert isinstance(dict(store.heads())["run2"], Damaged)
    (folder.parent / "run2" / "snapshot.json").unlink()
    assert isinstance(dict(store.heads())["run2"], Damaged)


def test_a_run_copied_to_another_store_is_damaged_and_a_copied_store_is_not(
    store: LocalStore, run: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(store.path, tmp_path / "copy")
    assert LocalStore(tmp_path / "copy").load(run).head
    other = LocalStore(tmp_path / "other")
    other.create("mine", {}, {}, [{"type": "start"}])
    shutil.copytree(folder, other.path / "active" / run)
    with pytest.raises(Damaged, match="of store"):
        other.load(run)
    assert isinstance(dict(other.heads())[run], Damaged)
    assert isinstance(dict(other.heads())["mine"], dict)


def test_an_ended_run_copied_to_another_name_or_store_is_damaged(
    store: LocalStore, run: str, tmp_path: Path
) -> None:
    store.append(run, [{"type": "finish"}])
    store.finish(run)
    other = LocalStore(tmp_path / "other")
    other.create("mine", {}, {}, [{"type": "start"}])
    for place, name in ((store, "run2"), (other, run)):
        shutil.copytree(store.path / "finished" / run, place.path / "finished" / name)
        with pytest.raises(Damaged, match=f"written for run `{run}`"):
            place.load(name)
        with pytest.raises(Damaged):
            list(place.journal(name))
        assert isinstance(dict(place.finished())[name], Damaged)


def test_a_damaged_run_does_not_hide_the_others(store: LocalStore, run: str, folder: Path) -> None:
    for each in ("run0", "run2", "run3", "run4", "run5", "run6"):
        store.create(each, {"status": "running"}, {}, [{"type": "start"}])
    active = folder.parent
    (active / "run2" / "snapshot.json").unlink()
    (active / "run3" / "snapshot.json").write_bytes(b"")
    (active / "run4" / "snapshot.json").unlink()
    (active / "run4" / "snapshot.json").symlink_to(active / "run0" / "snapshot.json")
    shutil.rmtree(active / "run5")
    (active / "run5").symlink_to(active / "run0")
    (active / "run7").write_text("a file")
    (active / "not an\nid\x1b[31m").mkdir()
    heads = dict(LocalStore(store.path).heads())
    assert [each for each, head in heads.items() if not isinstance(head, Damaged)] == ["run0", run, "run6"]
    assert set(heads) == {"run0", run, "run2", "run3", "run4", "run5", "run6", "run7", "not an\nid\x1b[31m"}
    assert all(str(head).isprintable() for head in heads.values() if isinstance(head, Damaged))


@pytest.mark.parametrize("change", ["last", "first", "cut", "torn", "gone"])
def test_a_damaged_end_is_named_and_the_others_are_listed(store: LocalStore, run: str, change: str) -> None:
    for each in ("run0", run):
        if each != run:
            store.create(each, {}, {}, [{"type": "start"}])
        store.append(each, [{"type": "big", "payload": "x" * 100_000}, {"type": "finish"}])
        store.finish(each)
    path = store.path / "finished" / run / "journal.jsonl"
    data = path.read_bytes()
    changed = {
        "last": data[:-20] + b"x" + data[-19:],
        "first": b"[" + data[1:],
        "cut": data[: data.rindex(b"\n", 0, -1) + 1],
        "torn": data + b'{"type"',
        "gone": b"",
    }[change]
    path.write_bytes(changed)
    ends = dict(store.finished())
    assert isinstance(ends["run0"], tuple)
    with pytest.raises(Damaged):
        store.load(run)
    assert isinstance(ends[run], Damaged) or change == "torn"


def signed(document: dict[str, Any]) -> bytes:
    return canonical({**document, "sum": sha256(canonical(document))}) + b"\n"


@pytest.mark.parametrize("verdict", ["true", True, 1, None, ["approve"], "APPROVE"])
def test_a_decision_file_with_no_verdict_is_an_error_even_if_its_checksum_fits(
    store: LocalStore, run: str, folder: Path, verdict: object
) -> None:
    forged = {"format": 1, "run_id": run, "id": QUESTION, "verdict": verdict}
    (folder / "decisions" / f"{QUESTION}.json").write_bytes(signed(forged))
    for read in (lambda: store.decision(run, QUESTION), lambda: store.decisions(run)):
        with pytest.raises(Damaged, match="verdict"):
            read()
    with pytest.raises(Damaged):
        store.decide(run, QUESTION, {"verdict": "approve"})


@pytest.mark.parametrize("change", [{"run_id": "run2"}, {"id": "b" * 64}, {"id": "cancel"}])
def test_a_decision_for_another_run_or_question_is_damaged(
    store: LocalStore, run: str, folder: Path, change: dict[str, str]
) -> None:
    forged = {"format": 1, "run_id": run, "id": QUESTION, "verdict": "approve", **change}
    (folder / "decisions" / f"{QUESTION}.json").write_bytes(signed(forged))
    with pytest.raises(Damaged, match="another run or suspension"):
        store.decision(run, QUESTION)


@pytest.mark.parametrize("name", ["note.txt", "a.json", f"{'b' * 64}.json.bak"])
def test_a_stranger_among_the_decisions_is_damage(
    store: LocalStore, run: str, folder: Path, name: str
) -> None:
    (folder / "decisions" / name).write_text("{}")
    with pytest.raises(Damaged, match="is not a decision"):
        store.decision_ids(run)


def newer_snapshot(store: LocalStore, run: str) -> None:
    path = store.path / "active" / run / "snapshot.json"
    line, rest = path.read_bytes().split(b"\n", 1)
    signed_part = line[len(b'{"head":{"sum":"') + 64 :].replace(b'"format":1', b'"format":2') + b"\n"
    path.write_bytes(b'{"head":{"sum":"' + sha256(signed_part).encode() + signed_part + rest)


def newer_journal(store: LocalStore, run: str) -> None:
    path = store.path / "active" / run / "journal.jsonl"
    first = json.loads(path.read_bytes().splitlines()[0])
    first.pop("sum")
    path.write_bytes(signed({**first, "format": 2}))


def newer_store(store: LocalStore, run: str) -> None:
    path = store.path / "store.json"
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))


@pytest.mark.parametrize("make_newer", [newer_snapshot, newer_journal, newer_store])
def test_a_newer_format_is_refused_and_says_so(
    store: LocalStore, run: str, make_newer: Callable[[LocalStore, str], None]
) -> None:
    make_newer(store, run)
    with pytest.raises(Refused, match="format 2, this agentctl reads up to 1") as caught:
        LocalStore(store.path).load(run)
    assert caught.value.hint


@pytest.mark.parametrize("name", [*FILES, "decisions", "."])
def test_symlinks_in_a_run_are_refused_and_named(
    store: LocalStore, decided: str, folder: Path, tmp_path: Path, name: str
) -> None:
    path = folder / name
    moved = tmp_path / "elsewhere"
    path.rename(moved)
    path.symlink_to(moved)
    with pytest.raises(StoreError, match="is a symlink") as caught:
        read_all(store, decided)
    assert isinstance(caught.value, Refused)
    assert path.name in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(
    store: LocalStore, decided: str, folder: Path, name: str
) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(Refused, match="not a regular file"):
        read_all(store, decided)


@pytest.mark.parametrize("name", ["journal.jsonl", "snapshot.json", "decisions"])
def test_a_missing_part_of_a_run_is_named(store: LocalStore, decided: str, folder: Path, name: str) -> None:
    (folder / name).rename(folder / "gone")
    with pytest.raises(Damaged, match=f"{name}.*missing"):
        read_all(store, decided)
