"""What users give on the command line: JSON, `@FILE`, `-` for standard input, `KEY=VALUE`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from agentctl import strict_json
from agentctl.errors import UsageError

_MOST_BYTES = 64 * 2**20


def read_text(given: str, stdin: TextIO, what: str) -> str:
    """The text that `given` means: itself, a file's (`@FILE`), or standard input's (`-`)."""
    if given == "-":
        return _utf8(_read(stdin.buffer, what, "standard input"), what, "standard input")
    if given.startswith("@"):
        path = Path(given[1:])
        try:
            with path.open("rb") as file:
                return _utf8(_read(file, what, f"`{path}`"), what, f"`{path}`")
        except (OSError, ValueError) as error:
            if isinstance(error, UsageError):
                raise
            why = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"{what}: cannot read `{path}`: {why}") from error
    return given


def _read(source: BinaryIO, what: str, name: str) -> bytes:
    """All of it, but not without end."""
    data = source.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{what}: {name} holds more than {_MOST_BYTES // 2**20} MiB")
    return data


def _utf8(data: bytes, what: str, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what}: {source} is not UTF-8 text") from error


def read_json(given: str, stdin: TextIO, option: str) -> Any:
    """The JSON that an option carries. Raises `UsageError` with what to type instead."""
    text = read_text(given, stdin, option)
    try:
        return strict_json.loads(text)
    except ValueError as error:
        hints = []
        # Text that was meant as such, and not JSON that broke: quoting that would make it worse.
        is_text = given == text and text[:1].isalpha() and "'" not in text and len(text) < 200
        if option != "--args" and is_text:
            hints = [f"{option} '{json.dumps(text, ensure_ascii=False)}'"]
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise UsageError(f"{option} `{shown}` is not JSON: {error}", *hints) from error


def read_object(given: str, stdin: TextIO, option: str) -> dict[str, Any]:
    """The JSON object that an option carries."""
    value = read_json(given, stdin, option)
    if not isinstance(value, dict):
        raise UsageError(f"{option} must be a JSON object", f"""{option} '{{"key": "value"}}'""")
    return value


def read_context(given: Sequence[str], stdin: TextIO) -> dict[str, Any]:
    """The request context of `KEY=VALUE` and `@FILE.json` options; later keys win."""
    context: dict[str, Any] = {}
    for each in given:
        if each.startswith("@"):
            context |= read_object(each, stdin, "--context")
            continue
        key, equals, value = each.partition("=")
        if not equals or not key:
            what = f"--context `{each}` is neither KEY=VALUE nor @FILE.json"
            raise UsageError(what, "--context team=billing")
        context[key] = value
    return context
