"""One text for one JSON value, so that equal values have equal bytes and equal digests.

Sorted keys, no spaces, UTF-8; `1`, `1.0` and `"1"` differ. Lone surrogates and integers of any size
survive, NaN and infinities are refused.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> bytes:
    """The canonical JSON of `value`.

    Raises `ValueError` for NaN, cycles and depth beyond the interpreter's, `TypeError` for what is not JSON.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return text.encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """SHA-256 over the canonical JSON of `value`, as 64 hex digits."""
    return sha256(canonical(value))


def sha256(data: bytes) -> str:
    """SHA-256 over bytes, as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def parse(data: bytes) -> Any:
    """The inverse of `canonical`. Raises `ValueError` for anything that is not one JSON document."""
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
