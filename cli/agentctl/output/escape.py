"""Text made safe to show: what a terminal would obey or hide is written as an escape. Pure.

Hidden are control characters, bidi and zero-width marks, tags, fillers, lone surrogates, private and
unassigned characters; they become `\\x1b`, `\\u202e`, `\\U000e0041`. Wide characters and combining
marks stay. A run of backslashes is doubled where it would otherwise read as part of such an escape,
and only there: what is shown stands for one text, and `C:\\Users` stays readable.
"""

from __future__ import annotations

import re
import unicodedata

# Invisible although Unicode calls them letters or marks (Default_Ignorable_Code_Point).
_FILLERS = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_LINE_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_HEX = r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"
_BACKSLASHES = re.compile(r"\\+")
# The end of a text that the next piece may turn into something that reads as an escape.
_UNFINISHED = re.compile(r"\\+(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?\Z")


def is_hidden(char: str) -> bool:
    """Whether a person could not see `char`, or a terminal would act on it."""
    if not char.isprintable():
        return unicodedata.category(char) != "Zs"
    code = ord(char)
    return code >= 0x034F and any(first <= code <= last for first, last in _FILLERS)


class _Table(dict[int, str | int]):
    """A table for `str.translate` that fills itself with the characters it meets."""

    def __init__(self, keep: str, named: dict[str, str], *, json: bool = False) -> None:
        super().__init__({ord(char): ord(char) for char in keep})
        self.update({ord(char): escape for char, escape in named.items()})
        self._json = json

    def __missing__(self, code: int) -> str | int:
        shown: str | int = code
        if is_hidden(chr(code)):
            shown = _json_escape(code) if self._json else _escape(code)
        self[code] = shown
        return shown


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


class _Escaper:
    def __init__(self, table: _Table, shapes: str) -> None:
        self._table = table
        self._shape = re.compile(shapes)

    def __call__(self, text: str) -> str:
        if text.isascii() and text.isprintable() and "\\" not in text:
            return text
        if "\\" in text:
            text = _BACKSLASHES.sub(self._protect, text)
        return text.translate(self._table)

    def _protect(self, run: re.Match[str]) -> str:
        after = run.string[run.end() : run.end() + 1]
        escaped = bool(after) and self._table[ord(after)] != ord(after)
        return run[0] * 2 if escaped or self._shape.match(run.string, run.end()) else run[0]


# Emoji are written with a presentation selector (U+FE0E, U+FE0F); an answer keeps them, a line that
# somebody decides on does not.
_text = _Escaper(_Table("\n\t\ufe0e\ufe0f", {}), _HEX)
_line = _Escaper(_Table("", _LINE_ESCAPES), f"{_HEX}|[nrt]")
_json_table = _Table("\n", {}, json=True)


def escape_line(text: str) -> str:
    """`text` on one line: line ends and tabs are escaped too."""
    return _line(text)


def escape_text(text: str) -> str:
    """`text` for reading: line ends and tabs stay."""
    return _text(text)


def escape_json(text: str) -> str:
    """JSON text with the same value, in which nothing is hidden; line ends between tokens stay."""
    return text if text.isascii() and text.isprintable() else text.translate(_json_table)


class TextStream:
    """`escape_text` for a text that comes in pieces; the pieces give what the whole would give."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown by now."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text) if "\\" in text else None
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        return _text(text[:end])

    def end(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return _text(held)
