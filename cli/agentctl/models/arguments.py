"""Tool arguments: from the model's text to a JSON object, or to a reason why not. No I/O."""

from __future__ import annotations

from typing import Any

from agentctl import strict_json
from agentctl_store.canonical import canonical, parse


class InvalidArguments(ValueError):
    """The arguments cannot be used; the message is written for the model."""


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments object that `text` holds.

    Nothing and `null` mean no arguments (some providers send them for tools without parameters).
    Raises `InvalidArguments` for what is not strict JSON, and for anything that is no object.
    """
    if not text.strip():
        return {}
    try:
        value = strict_json.loads(text)
    except ValueError as error:
        raise InvalidArguments(f"The arguments are not valid JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments(f"The arguments must be a JSON object, not {_kind(value)}")
    # In the order in which they are kept, so that they look the same wherever they are shown.
    ordered: dict[str, Any] = parse(canonical(value))
    return ordered


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        return "a string"
    return "a boolean" if isinstance(value, bool) else "a number"
