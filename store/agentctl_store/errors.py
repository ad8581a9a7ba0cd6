"""What can go wrong with a store; each is one clear line, some with a hint that can be typed.

StoreError
├── Damaged        ValueError       what was read is not what was written
├── UnknownRun     LookupError      no such run
│   └── RunEnded                    the run has ended, nothing can be added
├── Refused        PermissionError  unsafe or not ours: symlinks, foreign owners, newer formats, bad ids
├── LeaseHeld      TimeoutError     another process drives the run
├── NotSaved       OSError          a write failed; what was saved before stands
├── RunExists      FileExistsError  the id is taken
└── AlreadyDecided                  the suspension has another decision
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any


class StoreError(Exception):
    """An error of the store; `str` of it is one line, `hint` may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = one_line(message)
        super().__init__(self.message)
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class Damaged(StoreError, ValueError):
    """What was read is not what was written: `what` says where. `run_id` is None for the store itself."""

    def __init__(self, run_id: str | None, what: str) -> None:
        super().__init__(f"run `{run_id}` is damaged: {what}" if run_id else f"the store is damaged: {what}")
        self.run_id = run_id
        self.what = what


class UnknownRun(StoreError, LookupError):
    """The store holds no such run."""

    def __init__(self, run_id: str, message: str = "") -> None:
        super().__init__(message or f"no run `{run_id}`")
        self.run_id = run_id


class RunEnded(UnknownRun):
    """The run has ended; decisions and records can no longer be added."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id, f"run `{run_id}` has already ended")


class Refused(StoreError, PermissionError):
    """Not touched, because unsafe or not ours: symlinks, foreign owners, open to others, newer formats."""


class LeaseHeld(StoreError, TimeoutError):
    """Another process drives the run; `holder` is its `pid`, `host` and `since`, where they are known."""

    def __init__(self, run_id: str, holder: Mapping[str, Any] | None) -> None:
        by = ""
        if holder:
            by = f" (pid {holder.get('pid')} on {holder.get('host')}, since {holder.get('since')})"
        super().__init__(f"run `{run_id}` is driven by another process{by}")
        self.run_id = run_id
        self.holder = dict(holder) if holder else None


class NotSaved(StoreError, OSError):
    """Something could not be written; the state before stands. `errno` is the system's."""

    def __init__(self, what: str, error: OSError | None = None, hint: str = "") -> None:
        reason = _reason(error) if error is not None else "it changed since it was read"
        super().__init__(f"could not save {what}: {reason}", hint)
        self.what = what
        self.errno = error.errno if error is not None else None


class RunExists(StoreError, FileExistsError):
    """The run id is taken, by a live or a finished run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run `{run_id}` exists already")
        self.run_id = run_id


class AlreadyDecided(StoreError):
    """The suspension was decided otherwise; `existing` is the decision that stands."""

    def __init__(self, decision_id: str, existing: Mapping[str, Any]) -> None:
        verdict, by, at = (existing.get(key) for key in ("verdict", "by", "at"))
        super().__init__(f"`{decision_id[:10]}` was already decided: {verdict} by {by} at {at}")
        self.existing = dict(existing)


def check_format(version: object, what: str, newest: int) -> None:
    """Raise `Refused` unless `version` is a format that this program reads: 1 to `newest`."""
    if type(version) is not int or not 1 <= version <= newest:
        raise Refused(
            f"{what} has format {version!r}, this agentctl reads up to {newest}", hint="update agentctl-cli"
        )


def as_damage(run_id: str | None, error: StoreError | OSError) -> Damaged:
    """Why a run, or the store, cannot be read, as an error that need not hide other runs."""
    if isinstance(error, Damaged):
        return error
    if isinstance(error, StoreError):
        return Damaged(run_id, error.message)
    path = error.filename if isinstance(error.filename, str) else ""
    name = f"`{path.rpartition('/')[2]}`" if path else "a file of it"
    if error.errno == errno.ENOENT:
        return Damaged(run_id, f"{name} is missing")
    return Damaged(run_id, f"{name} cannot be read: {_reason(error)}")


def one_line(text: str) -> str:
    """The text with everything escaped that could break or disguise a line: names may come from anywhere."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _reason(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, "")
    text = error.strerror or str(error) or type(error).__name__
    return f"{text} ({name})" if name else text
