"""`journal.jsonl`: the append-only record of a run, one canonical JSON document a line, chained by hashes.

Each record carries `seq` from 1, `prev` (the `sum` of the line before) and `sum` over its own canonical
JSON without `sum`. The first one names store and run. Knows nothing of what records mean but `finish`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentctl_store import atomic
from agentctl_store.canonical import canonical, parse, sha256
from agentctl_store.errors import Damaged, NotSaved, check_format

NAME = "journal.jsonl"
FORMAT = 1
FINISH = "finish"
START_SUM = "0" * 64
OWN_FIELDS = frozenset({"seq", "prev", "sum", "format", "store", "run_id"})

_CHUNK = 1 << 16
_JSON = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a journal ends: its last whole record, and what to mend before the next one is appended.

    `size` counts the bytes up to and with that record's newline, `file_size` those of the file: less by one
    if the newline is missing, more if a torn line follows.
    """

    seq: int = 0
    sum: str = START_SUM
    size: int = 0
    file_size: int = 0
    type: Any = None

    @property
    def torn(self) -> bool:
        """Whether the file ends in a line that was never completely written."""
        return self.file_size > self.size

    @property
    def ended(self) -> bool:
        """Whether the last record is the end of the run."""
        return bool(self.type == FINISH)


# Writing


def encode(
    entries: Sequence[Mapping[str, Any]], tail: Tail, store: str, run_id: str
) -> tuple[bytes, list[dict[str, Any]], Tail]:
    """The lines for `entries` after `tail`, the records in them, and where the journal ends then."""
    records: list[dict[str, Any]] = []
    lines: list[bytes] = []
    seq, last = tail.seq, tail.sum
    for entry in entries:
        if taken := OWN_FIELDS & entry.keys():
            raise ValueError(f"record fields {sorted(taken)} belong to the store")
        seq += 1
        record = {**entry, "seq": seq, "prev": last}
        if seq == 1:
            record |= {"format": FORMAT, "store": store, "run_id": run_id}
        record["sum"] = last = sha256(canonical(record))
        records.append(record)
        lines.append(canonical(record) + b"\n")
    data = b"".join(lines)
    size = tail.size + len(data)
    kind = records[-1].get("type") if records else tail.type
    return data, records, Tail(seq, last, size, size, kind)


def append(path: str, data: bytes, tail: Tail) -> None:
    """Add encoded lines after `tail`, with one fsync. On failure the file is cut back to what it was.

    Raises `NotSaved`, also if the file is no longer as `tail` says: somebody else wrote to it.
    """
    with atomic.saving(f"the journal `{path}`"):
        atomic.failpoint("journal.open")
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if os.fstat(fd).st_size != tail.file_size:
                raise NotSaved(f"the journal `{path}`")
            if tail.torn:
                atomic.failpoint("journal.truncate")
                os.ftruncate(fd, tail.size)
            elif tail.file_size < tail.size:
                data = b"\n" + data
            try:
                atomic.write_all(fd, data, "journal")
                atomic.sync_file(fd, "journal")
            except BaseException:
                _cut(fd, min(tail.size, tail.file_size))
                raise
        finally:
            os.close(fd)


def sync(path: str) -> None:
    """Have on the disk what is in the file, whoever wrote it."""
    fd = atomic.open_read(path)
    try:
        atomic.sync_file(fd, "journal")
    finally:
        os.close(fd)


def _cut(fd: int, size: int) -> None:
    try:
        os.ftruncate(fd, size)
    except OSError:
        # The torn line is set aside by the next reader.
        return


# Reading


class Reader:
    """Iterates over the records after `start`, each verified; `tail` says how far it has come.

    A torn last line is left out. Raises `FileNotFoundError` or `Refused` at once, `Damaged` on the way.
    To be iterated once, at once: it holds the file open until then.
    """

    def __init__(self, path: str, store: str, run_id: str, start: Tail | None = None) -> None:
        self._store, self._run_id = store, run_id
        self._file = os.fdopen(atomic.open_read(path), "rb", buffering=_CHUNK)
        self.tail = start or Tail()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._file as file:
            file.seek(self.tail.size)
            for line in file:
                if not line.endswith(b"\n") and _is_torn(line):
                    self.tail = replace(self.tail, file_size=self.tail.size + len(line))
                    break
                record = _verified(line, self.tail, self._store, self._run_id)
                self.tail = _after(self.tail, line, record)
                yield record
        if not self.tail.seq:
            raise Damaged(self._run_id, f"{NAME} is empty")


def _after(tail: Tail, line: bytes, record: Mapping[str, Any]) -> Tail:
    size = tail.size + len(line) + (not line.endswith(b"\n"))
    return Tail(record["seq"], record["sum"], size, tail.size + len(line), record.get("type"))


def _is_torn(line: bytes) -> bool:
    """Whether a last line without newline is what a cut write leaves: no complete JSON document."""
    try:
        _JSON.raw_decode(line.decode("utf-8", "replace"))
    except ValueError:
        return True
    except RecursionError:
        return False
    return False


def _verified(line: bytes, tail: Tail, store: str, run_id: str) -> dict[str, Any]:
    """The record in a line that follows `tail`. Raises `Damaged`."""
    where = f"{NAME} line {tail.seq + 1}"
    record = _checked(line, where, run_id)
    if type(record.get("seq")) is not int or record["seq"] != tail.seq + 1:
        raise Damaged(run_id, f"{where} has seq {record.get('seq')!r}")
    if record.get("prev") != tail.sum:
        raise Damaged(run_id, f"{where} does not follow the line before it")
    if tail.seq == 0:
        _check_place(record, store, run_id)
    return record


def _checked(line: bytes, where: str, run_id: str) -> dict[str, Any]:
    """The record in a line whose bytes match its checksum. Raises `Damaged`."""
    line = line.removesuffix(b"\n")
    try:
        record = parse(line)
        claimed = record["sum"]
        field = b',"sum":"' + claimed.encode("ascii") + b'"'
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Damaged(run_id, f"{where} is not a record") from None
    # Over the bytes, not over what they parse to: so a changed spelling of the same value is found, too.
    before, found, after = line.partition(field)
    if not found or len(claimed) != 64 or sha256(before + after) != claimed:
        raise Damaged(run_id, f"{where} does not match its checksum")
    return record  # type: ignore[no-any-return]


def _check_place(first: dict[str, Any], store: str, run_id: str) -> None:
    check_format(first.get("format"), f"{NAME} of run `{run_id}`", FORMAT)
    place = (first.get("store"), first.get("run_id"))
    if place != (store, run_id):
        raise Damaged(run_id, f"{NAME} was written for run `{place[1]}` of store {str(place[0])[:8]}")


# The two ends, without what is between


def read_ends(path: str, store: str, run_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last record, each verified by its own checksum; a torn last line is left out."""
    fd = atomic.open_read(path)
    try:
        first = _verified(_first_line(fd), Tail(), store, run_id)
        return first, _last_record(fd, run_id)
    finally:
        os.close(fd)


def _first_line(fd: int) -> bytes:
    data = b""
    while chunk := os.read(fd, _CHUNK):
        data += chunk
        if (end := data.find(b"\n")) >= 0:
            return data[: end + 1]
    return data


def _last_record(fd: int, run_id: str) -> dict[str, Any]:
    where = f"the last line of {NAME}"
    lines = _lines_from_end(fd)
    line = next(lines)
    if line.endswith(b"\n") or not _is_torn(line):
        return _checked(line, where, run_id)
    return _checked(next(lines, b""), f"the last whole line of {NAME}", run_id)


def _lines_from_end(fd: int) -> Iterator[bytes]:
    """The lines of a file, last one first, read in growing chunks from its end."""
    position, data, step = os.fstat(fd).st_size, b"", _CHUNK // 8
    while position:
        step = min(step * 2, position)
        position -= step
        data = os.pread(fd, step, position) + data
        while (start := data.rfind(b"\n", 0, len(data) - 1)) >= 0:
            yield data[start + 1 :]
            data = data[: start + 1]
    yield data
