"""What a provider's error means for a run, and the words in which it is told. Knows no package."""

from __future__ import annotations

import re
from typing import Any

from agentctl.exit_status import ExitStatus

MAX_WORDS = 500
_KEYS = ("message", "error", "detail", "msg", "error_description", "errors", "title")
_TRY_AGAIN = frozenset((408, 409, 425, 429))
_AUTH_CODES = frozenset(("invalid_api_key", "authentication_error", "permission_error", "unauthorized"))


def status_of(http_status: int) -> ExitStatus:
    """The exit status for an HTTP error: is it the key, may trying again help, or is the request wrong?"""
    if http_status in (401, 403):
        return ExitStatus.AUTH
    if http_status in _TRY_AGAIN or not 400 <= http_status < 500:
        return ExitStatus.INTERRUPTED
    return ExitStatus.FAILED


def status_in_stream(error: object) -> ExitStatus:
    """The exit status for an error that came inside an answer; most are outages further behind."""
    if not isinstance(error, dict):
        return ExitStatus.INTERRUPTED
    for key in ("status_code", "status", "code"):
        value = error.get(key)
        if isinstance(value, int | str) and re.fullmatch("[45][0-9][0-9]", str(value)):
            return status_of(int(value))
    is_auth = _AUTH_CODES.intersection(str(error.get(key)) for key in ("code", "type"))
    return ExitStatus.AUTH if is_auth else ExitStatus.INTERRUPTED


def words(body: object) -> str:
    """The provider's own words in an error's body of whatever shape, on one line; empty if there are none."""
    return one_line(_find(body, 5))


def one_line(text: str) -> str:
    """`text` on one line of bounded length, with whatever cannot be printed escaped."""
    line = " ".join(text[: 4 * MAX_WORDS].split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return line if len(line) <= MAX_WORDS else line[: MAX_WORDS - 1] + "…"


def _find(body: object, depth: int) -> str:
    if isinstance(body, str):
        return _from_markup(body) if body.lstrip().startswith("<") else body
    if not depth:
        return ""
    if isinstance(body, list):
        return "; ".join(filter(None, (_find(each, depth - 1) for each in body)))
    if isinstance(body, dict):
        found = next((found for key in _KEYS if (found := _find(body.get(key), depth - 1))), "")
        return " ".join(filter(None, (found, _upstream(body.get("metadata")))))
    return ""


def _upstream(metadata: Any) -> str:
    """A router's own message says little; what the provider behind it said stands beside it."""
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"({raw})" if isinstance(raw, str) and raw else ""


def _from_markup(text: str) -> str:
    title = re.search(r"<title>([^<]*)</title>", text[:100_000], re.IGNORECASE)
    return title[1] if title else re.sub(r"<[^>]*>", " ", text[:2_000])
