"""Text on its way into and out of YAML: size, encoding, characters that have no place in it."""

from __future__ import annotations

import re

from agentctl.errors import DefinitionError

MAX_BYTES = 1 << 20

# Control characters, lone surrogates, byte order marks, and the line ends that YAML 1.1 and 1.2
# treat differently: a reviewer and the parser would disagree where a line ends.
_UNWANTED = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def decode(content: str | bytes, name: str) -> str:
    """The text without a byte order mark, checked for size, encoding and characters."""
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        raise DefinitionError(f"{name}:1:1: the file is larger than {MAX_BYTES} bytes")
    text = content if isinstance(content, str) else _from_utf8(content, name)
    text = text.removeprefix("\ufeff")
    if unwanted := _UNWANTED.search(text):
        line, column = place(text, unwanted.start())
        code = f"{ord(unwanted.group()):04X}"
        hint = f'remove it, or write "\\u{code}" in double quotes'
        raise DefinitionError(f"{name}:{line}:{column}: the character U+{code} cannot stand in YAML", hint)
    return text


def _from_utf8(raw: bytes, name: str) -> str:
    hint = "save the file as UTF-8"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DefinitionError(f"{name}:1:1: the file is UTF-16, not UTF-8", hint)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8").removeprefix("\ufeff")
        line, column = place(before, len(before))
        byte = f"0x{raw[error.start]:02x}"
        raise DefinitionError(f"{name}:{line}:{column}: byte {byte} is not UTF-8", hint) from None


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at `offset`."""
    before = re.sub(r"\r\n?", "\n", text[:offset])
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def shown(text: str, limit: int = 60) -> str:
    """The text for a message: one line, cut at `limit`, invisible characters escaped."""
    cut = text if len(text) <= limit else text[:limit] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
