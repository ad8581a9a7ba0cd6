"""JSON as everyone reads it the same: what a reviewer sees is what a tool gets. No I/O.

Used for whatever comes from outside: a model's arguments, and what people type.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

# Far more than anyone means, far less than what breaks those who process it later.
MOST_LEVELS = 100


def loads(text: str) -> Any:
    """The value that `text` holds. Raises `ValueError` with one clear line.

    Refused are duplicate keys (a reviewer and a tool might read different ones), NaN and Infinity,
    which JSON lacks, numbers that are out of range, and nesting that is deeper than 100 levels.
    """
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_no_duplicates
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(str(error)) from None
    if _levels(value) > MOST_LEVELS:
        raise ValueError(f"it is nested deeper than {MOST_LEVELS} levels")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`{twice}` is given twice")
    return value


def _levels(value: Any) -> int:
    levels, inside = 0, [value]
    while inside:
        levels += 1
        containers = [each for each in inside if isinstance(each, dict | list)]
        inside = [item for each in containers for item in (each.values() if isinstance(each, dict) else each)]
        if levels > MOST_LEVELS:
            break
    return levels
