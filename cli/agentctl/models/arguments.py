"""Tool arguments: from the model's text to a JSON object, or to a reason why not. No I/O."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


class InvalidArguments(ValueError):
    """The arguments cannot be used; the message is written for the model."""


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments object that `text` holds.

    Nothing and `null` mean no arguments (some providers send them for tools without parameters).
    Raises `InvalidArguments` for broken JSON, for anything that is no object, for duplicate keys
    (a reviewer and a tool might read different ones), and for NaN or Infinity, which JSON lacks.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_no_duplicates
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not valid JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments(f"The arguments must be a JSON object, not {_kind(value)}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise InvalidArguments(f"The arguments hold {name}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidArguments(f"The arguments hold {text}, which is too large a number")
    return number


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArguments(f"The arguments give `{twice}` twice")
    return value


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        return "a string"
    return "a boolean" if isinstance(value, bool) else "a number"
