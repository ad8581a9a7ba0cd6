"""Whether this process runs inside a tool of a run: a tool must not decide for its own run.

Two signs: the environment that tools inherit, and, where that was cleaned, the chain of parents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentctl.clock import host_name
from agentctl.runtime.process import RUN_ID, RUN_IDS


def is_inside(run_id: str, holder: Mapping[str, Any] | None, environ: Mapping[str, str]) -> bool:
    """Whether a tool of `run_id`, or of a run below it, started this process; `holder` drives it."""
    if run_id in environ.get(RUN_IDS, "").split(":") or run_id == environ.get(RUN_ID):
        return True
    if holder is None or holder.get("host") != host_name():
        return False
    return holder.get("pid") in set(_ancestors(os.getppid()))


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        yield pid
        pid = _parent(pid)


def _parent(pid: int) -> int:
    try:
        # The name of a process may hold anything, also parentheses: what follows the last one counts.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return int(fields[1])
    except FileNotFoundError:
        return _parent_by_ps(pid)
    except (OSError, ValueError, IndexError):
        return 0


def _parent_by_ps(pid: int) -> int:
    """For systems without /proc."""
    import subprocess

    try:
        ask = ["ps", "-o", "ppid=", "-p", str(pid)]
        told = subprocess.run(ask, capture_output=True, text=True, check=False)
        return int(told.stdout)
    except (OSError, ValueError):
        return 0
