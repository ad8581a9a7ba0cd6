"""Names of runs and suspensions: checked before any path is built from them, and made."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentctl_store.errors import Refused

_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_SUSPENSION_ID = re.compile(r"[0-9a-f]{64}")
# Crockford's base 32 in lower case: sorts as it counts, and has no twins where file systems ignore case.
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_DIGITS = 10
_RANDOM_DIGITS = 8
RANDOM_BYTES = 5


def is_id(text: str) -> bool:
    """Whether `text` may name a run."""
    return _ID.fullmatch(text) is not None


def check_id(text: str) -> str:
    """`text`, if it may name a run: up to 64 letters, digits, `_` and `-`. Raises `Refused`."""
    if not is_id(text):
        raise Refused(
            f"`{text[:80]}` is not a valid id",
            hint="an id is 1 to 64 letters, digits, `-` or `_`, and starts with a letter or digit",
        )
    return text


def is_suspension_id(text: str) -> bool:
    """Whether `text` is a whole fingerprint: 64 lower-case hex digits."""
    return _SUSPENSION_ID.fullmatch(text) is not None


def new_run_id(now_ms: int, random: bytes | Callable[[int], bytes]) -> str:
    """A run id that sorts by time: milliseconds since the epoch, then 40 random bits.

    `random` is 5 bytes, or a source of bytes such as `os.urandom`.
    """
    noise = random if isinstance(random, bytes) else random(RANDOM_BYTES)
    if len(noise) < RANDOM_BYTES:
        raise ValueError(f"{RANDOM_BYTES} random bytes are needed, not {len(noise)}")
    return _base32(now_ms, _TIME_DIGITS) + _base32(
        int.from_bytes(noise[:RANDOM_BYTES], "big"), _RANDOM_DIGITS
    )


def _base32(number: int, width: int) -> str:
    if not 0 <= number < 32**width:
        raise ValueError(f"{number} does not fit into {width} digits")
    return "".join(_DIGITS[(number >> shift) & 31] for shift in range(5 * (width - 1), -1, -5))
