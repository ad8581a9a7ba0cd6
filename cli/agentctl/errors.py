"""Every error a user of agentctl can meet: what was wrong, which exit status it means, what to type next.

AgentctlError
├── UsageError            2  bad arguments, data that is not JSON or breaks its schema
│   └── DefinitionError   2  an invalid agent definition, as file:line:column
├── NotFound              3  no such run, suspension, agent file
├── Conflict              5  decided otherwise, ambiguous, wrong kind, ended, definition changed
├── Busy                  6  another process drives the run
├── Failed                1  a damaged run, a failed write, an unexpected error
└── ModelError          1 4 9  the model gave no usable answer; the run is saved
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentctl.exit_status import ExitStatus

if TYPE_CHECKING:
    from agentctl_store.errors import StoreError


class AgentctlError(Exception):
    """An error with one clear line, hints that can be typed, and an exit status."""

    status = ExitStatus.FAILED
    # Whether each line of the message is a problem of its own; else a line end in it was only quoted.
    has_lines = False

    def __init__(self, message: str, *hints: str, status: ExitStatus | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hints: Sequence[str] = hints
        if status is not None:
            self.status = status

    @property
    def code(self) -> str:
        """The name of the status, as JSON carries it."""
        return self.status.code

    def to_json(self) -> dict[str, Any]:
        """The error as events and results carry it."""
        return {"code": self.code, "message": self.message, "hint": "\n".join(self.hints) or None}


class UsageError(AgentctlError, ValueError):
    """What was given cannot be used; nothing was started and nothing changed."""

    status = ExitStatus.USAGE


class DefinitionError(UsageError):
    """An agent definition is invalid; each line of the message is `file:line:column: what`."""

    has_lines = True


class NotFound(AgentctlError, LookupError):
    """What was named does not exist."""

    status = ExitStatus.NOT_FOUND


class Conflict(AgentctlError):
    """The request contradicts what stands: decided, ambiguous, wrong kind, ended, changed."""

    status = ExitStatus.CONFLICT


class Busy(AgentctlError, TimeoutError):
    """Another process drives the run; a decision that was given is recorded."""

    status = ExitStatus.BUSY


class Failed(AgentctlError):
    """A damaged run, a write that failed, or something unexpected."""


class ModelError(AgentctlError):
    """The model gave no usable answer. The run is saved; `resume` asks again.

    `status` is AUTH for a missing or refused key, INTERRUPTED where trying again may help
    (429, 5xx, network), FAILED otherwise. `ends_run` is set by a script that has no next turn.
    """

    status = ExitStatus.INTERRUPTED

    def __init__(
        self, message: str, *hints: str, status: ExitStatus | None = None, ends_run: bool = False
    ) -> None:
        super().__init__(message, *hints, status=status)
        self.ends_run = ends_run


def of_store(error: StoreError) -> AgentctlError:
    """What an error of the store means to a user."""
    from agentctl_store import errors as store_errors
    from agentctl_store.ids import is_id

    hints = [error.hint] if error.hint else []
    match error:
        case store_errors.RunEnded() | store_errors.RunExists() | store_errors.AlreadyDecided():
            return Conflict(error.message, *hints)
        case store_errors.UnknownRun():
            return NotFound(error.message, *(hints or ["agentctl runs"]))
        case store_errors.LeaseHeld():
            return Busy(error.message, *(hints or [f"agentctl log {error.run_id} --follow"]))
        case store_errors.Damaged():
            look = [f"agentctl log {error.run_id}"] if error.run_id and is_id(error.run_id) else []
            return Failed(error.message, *(hints or ["agentctl verify", *look]))
        case _:
            return Failed(error.message, *hints)


def explained(error: Exception) -> AgentctlError:
    """Any error, as a user meets it; one of somebody else's stays its cause, for `--debug`."""
    from agentctl_store.errors import StoreError

    match error:
        case AgentctlError():
            return error
        case StoreError():
            return of_store(error)
        case OSError():
            where = f": `{error.filename}`" if error.filename else ""
            found = Failed(f"{error.strerror or error}{where}")
        case RecursionError():
            found = Failed("the data is nested too deeply")
        case _:
            what = f"unexpected error: {type(error).__name__}: {error}"
            found = Failed(what, "the same with --debug shows where")
    found.__cause__ = error
    return found


def result_of(error: AgentctlError) -> dict[str, Any]:
    """The payload of the `result` line where no run is concerned."""
    return {
        "status": "error",
        "exit_status": int(error.status),
        "finish_reason": "error",
        "text": "",
        "suspensions": [],
        "usage": None,
        "error": error.to_json(),
    }
