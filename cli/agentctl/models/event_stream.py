"""Server-sent events: from the bytes of a body, in whatever pieces they come, to events. No I/O.

The `openai` package has such a decoder too, but what it gives does not tell a finished stream
(`[DONE]`) from one that broke off, and it builds an object tree for each event.
"""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One event: its name (mostly empty) and its data."""

    name: str
    data: str


class EventReader:
    """Takes the bytes of one body as they come and gives the events that are complete.

    Follows the rules for event streams of the HTML standard. Raises `UnicodeDecodeError`.
    """

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._name = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[Event]:
        """The events that `piece` completes."""
        if b"\n" not in piece and b"\r" not in piece:
            self._unfinished.append(piece)
            return []
        if self._unfinished:
            piece = b"".join((*self._unfinished, piece))
            self._unfinished.clear()
        lines = piece.splitlines(keepends=True)
        # A carriage return at the end of a piece may be the first half of a line end.
        if not lines[-1].endswith(b"\n"):
            self._unfinished.append(lines.pop())
        return self._read(lines)

    def finish(self) -> list[Event]:
        """What the end of the body completes: servers forget the last blank line."""
        return self._read([*b"".join(self._unfinished).splitlines(), b""])

    def _read(self, lines: list[bytes]) -> list[Event]:
        events = []
        for ended in lines:
            line = ended.rstrip(b"\r\n")
            if line.startswith(b"data:"):
                self._data.append(_value(line, 5))
            elif line.startswith(b"event:"):
                self._name = _value(line, 6)
            elif line == b"data":
                self._data.append(b"")
            elif not line:
                if self._data:
                    events.append(Event(self._name.decode(), b"\n".join(self._data).decode()))
                    self._data = []
                self._name = b""
        return events


def _value(line: bytes, start: int) -> bytes:
    return line[start + 1 :] if line[start : start + 1] == b" " else line[start:]
