"""The time and the machine, as they are passed in everywhere; nothing else asks for them."""

from __future__ import annotations

import os
import time


def utc_now() -> str:
    """The time as records and events carry it: ISO 8601, UTC, milliseconds."""
    seconds = time.time()
    whole = int(seconds)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int((seconds - whole) * 1000):03d}Z"


def host_name() -> str:
    """The name of this machine."""
    return os.uname().nodename
