"""The lease: the right to drive a run, one process at a time.

A `flock` on a lock file that stays; the kernel gives it back when the holder dies, however it dies.
The file's content says who holds it: advice for people, never a reason to decide anything.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from agentctl_store import atomic
from agentctl_store.errors import LeaseHeld, Refused

_POLL_S = 0.05
# One more attempt for those who do not wait: a listing command may be probing the lock just now.
_SHORTEST_WAIT_S = 0.02


@contextmanager
def lease(path: str, run_id: str, timeout_s: float, holder: Mapping[str, Any]) -> Iterator[None]:
    """Hold the lock file `path` while the block runs, waiting up to `timeout_s` seconds for it.

    Raises `LeaseHeld` if another process keeps it, `NotSaved` or `Refused` if it cannot be taken at all.
    A forked child does not inherit the lease: filelock closes the descriptor there, and it is not
    passed to programs that are started.
    """
    from filelock import FileLock, Timeout

    def sign(fd: int) -> None:
        # On a full disk the lease is as good without its signature.
        with suppress(OSError):
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(dict(holder)).encode(), 0)

    lock = FileLock(
        path,
        mode=atomic.FILE_MODE,
        # Held by the run, not by the thread that took it.
        thread_local=False,
        poll_interval=_POLL_S,
        fallback_to_soft=False,
        preserve_lock_file=True,
        on_acquired=sign,
    )
    with atomic.saving(f"the lease of run `{run_id}`"):
        atomic.failpoint("lease.acquire")
        try:
            lock.acquire(timeout=max(timeout_s, _SHORTEST_WAIT_S))
        except Timeout:
            raise LeaseHeld(run_id, read_holder(path)) from None
        except PermissionError as error:
            if error.errno == errno.EACCES:
                raise Refused(f"`{path}` cannot be locked: {error.strerror}") from error
            raise
    try:
        yield
    finally:
        lock.release()


def is_held(path: str) -> bool:
    """Whether a process holds the lease. Takes the lock shared for an instant; never creates the file."""
    import fcntl

    try:
        fd = atomic.open_read(path)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return True
        raise
    finally:
        os.close(fd)
    return False


def read_holder(path: str) -> dict[str, Any] | None:
    """Who last took the lease: `pid`, `host`, `since`; None if that cannot be read."""
    try:
        holder = json.loads(atomic.read_file(path))
    except (OSError, ValueError):
        return None
    return holder if isinstance(holder, dict) else None
