"""Halves of surrogate pairs: joined where two meet, replaced where a request could not be encoded."""

from __future__ import annotations

from typing import Any

_FIRST_HALF, _LAST_FIRST_HALF = "\ud800", "\udbff"


def ends_in_half(text: str) -> bool:
    """Whether the last character is the first half of a pair, whose other half may follow."""
    return _FIRST_HALF <= text[-1:] <= _LAST_FIRST_HALF


def join_halves(text: str) -> str:
    """`text` with every two halves that stand together as the one character they mean."""
    if _encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def without_halves(value: Any) -> Any:
    """JSON `value` that UTF-8 can hold: a half that stands alone becomes U+FFFD, keys included."""
    if isinstance(value, str):
        if _encodable(value):
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {without_halves(key): without_halves(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_halves(each) for each in value]
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
