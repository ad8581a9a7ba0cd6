"""Whether a stream is a terminal, whether it gets colour, and the few styles there are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the other end of `stream`; False for a closed or missing one."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def use_color(
    stream: TextIO | None, wanted: bool | None = None, environ: Mapping[str, str] = os.environ
) -> bool:
    """Whether to colour what goes to `stream`; `wanted` is False with `--no-color`, None to find out."""
    if wanted is not None:
        return wanted
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    return not plain and is_terminal(stream)


def terminal_width(stream: TextIO, environ: Mapping[str, str] = os.environ) -> int:
    """The columns of the terminal behind `stream`; `COLUMNS` overrules it, 80 where nobody knows."""
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


@dataclass(frozen=True, slots=True)
class Style:
    """The styles of messages; without colour they leave the text as it is."""

    color: bool = False

    def bold(self, text: str) -> str:
        return self._in("1", text)

    def dim(self, text: str) -> str:
        return self._in("2", text)

    def red(self, text: str) -> str:
        return self._in("31", text)

    def green(self, text: str) -> str:
        return self._in("32", text)

    def yellow(self, text: str) -> str:
        return self._in("33", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text
