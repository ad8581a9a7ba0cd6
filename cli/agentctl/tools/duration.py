"""Durations as people write them: `300ms`, `2s`, `30m`, `1h`, `7d`; a bare number is seconds."""

from __future__ import annotations

import math
import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)", re.ASCII)


def seconds(value: object) -> float:
    """The seconds that `value` means, more than zero. Raises `ValueError` with one clear line."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        number = float(match[1]) * _UNITS[match[2]] if match else math.nan
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e15 else math.inf
    else:
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"`{value}` is no duration such as `300ms`, `2s`, `30m`, `1h` or `7d`")
    return number


def readable(number: float) -> str:
    """A number of seconds for people: `60s`, `0.3s`."""
    return f"{number:g}s"
