"""`snapshot.json`: the head on line 1, so that listing reads no more, then the body.

Every byte is covered: `sum` covers the rest of line 1, which holds `body_sum` over all that follows,
and the sum of the journal record that the snapshot includes. Knows nothing of what head and body mean.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentctl_store import atomic
from agentctl_store.canonical import canonical, parse, sha256
from agentctl_store.errors import Damaged, check_format

NAME = "snapshot.json"
FORMAT = 1
OWN_FIELDS = frozenset({"sum", "body_sum", "format", "store", "run_id", "seq", "journal_sum", "journal_size"})

# A head of one or two questions fits; listing ten thousand runs reads no more of each.
_HEAD_CHUNK = 4096
_START = b'{"head":{"sum":"'
_SUM_END = len(_START) + 64


@dataclass(frozen=True, slots=True)
class Bond:
    """What binds a snapshot to its place: store, run, and the journal up to record `seq`."""

    store: str
    run_id: str
    seq: int
    journal_sum: str
    journal_size: int


def encode(bond: Bond, head: Mapping[str, Any], body: Any) -> bytes:
    """The bytes of a snapshot. Raises `ValueError` if the head uses a field of the store's own."""
    if taken := OWN_FIELDS & head.keys():
        raise ValueError(f"head fields {sorted(taken)} belong to the store")
    rest = b'"body":' + canonical(body) + b"}\n"
    own = {
        "body_sum": sha256(rest),
        "format": FORMAT,
        "store": bond.store,
        "run_id": bond.run_id,
        "seq": bond.seq,
        "journal_sum": bond.journal_sum,
        "journal_size": bond.journal_size,
    }
    signed = b'",' + canonical({**own, **head})[1:] + b",\n"
    return _START + sha256(signed).encode() + signed + rest


def decode(data: bytes, store: str, run_id: str) -> tuple[dict[str, Any], Any]:
    """Head and body. Raises `Damaged` if a byte is not as it was written, or the place is another."""
    end = data.find(b"\n") + 1
    head = _head(data[:end], store, run_id)
    rest = data[end:]
    if sha256(rest) != head["body_sum"]:
        raise Damaged(run_id, f"{NAME} does not match its checksum after line 1")
    try:
        return head, _READERS[head["format"]](rest)
    except (ValueError, KeyError):
        raise Damaged(run_id, f"{NAME} has no body") from None


def read(path: str, store: str, run_id: str) -> tuple[dict[str, Any], Any]:
    """Head and body of a snapshot file. Raises `FileNotFoundError`, `Refused` or `Damaged`."""
    return decode(atomic.read_file(path), store, run_id)


def read_head(path: str, store: str, run_id: str) -> dict[str, Any]:
    """The head alone, from line 1 alone. Raises `FileNotFoundError`, `Refused` or `Damaged`."""
    fd = atomic.open_read(path)
    try:
        line = os.read(fd, _HEAD_CHUNK)
        end = line.find(b"\n") + 1
        if not end:
            line, end = _read_line(fd, line)
    finally:
        os.close(fd)
    return _head(line[:end], store, run_id)


def _read_line(fd: int, start: bytes) -> tuple[bytes, int]:
    chunks, length = [start], len(start)
    while chunk := os.read(fd, _HEAD_CHUNK):
        chunks.append(chunk)
        if (found := chunk.find(b"\n")) >= 0:
            return b"".join(chunks), length + found + 1
        length += len(chunk)
    return b"".join(chunks), 0


def _head(line: bytes, store: str, run_id: str) -> dict[str, Any]:
    if not line.startswith(_START) or not line.endswith(b",\n"):
        raise Damaged(run_id, f"line 1 of {NAME} is cut or not a head")
    if sha256(line[_SUM_END:]).encode() != line[len(_START) : _SUM_END]:
        raise Damaged(run_id, f"line 1 of {NAME} does not match its checksum")
    try:
        head: dict[str, Any] = parse(line[:-2] + b"}")["head"]
        version, place = head["format"], (head["store"], head["run_id"])
    except (ValueError, KeyError, TypeError):
        raise Damaged(run_id, f"line 1 of {NAME} is not a head") from None
    check_format(version, f"{NAME} of run `{run_id}`", FORMAT)
    if place != (store, run_id):
        raise Damaged(run_id, f"{NAME} was written for run `{place[1]}` of store {str(place[0])[:8]}")
    return head


def _read_body_v1(rest: bytes) -> Any:
    return parse(b"{" + rest)["body"]


# Every released format stays readable.
_READERS = {1: _read_body_v1}
