"""How a command left a run: what scripts read in the `result` line, and what the process exits with. Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import asdict, dataclass
from typing import Any

from agentctl.errors import AgentctlError
from agentctl.exit_status import ExitStatus, signal_status
from agentctl.runtime import views
from agentctl.runtime.state import Run

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command left one run: the payload of its `result` line, and what the process exits with.

    `signum` is set where the process must die of a signal; `repeated` says who had decided before.
    """

    run_id: str | None
    exit_status: ExitStatus
    payload: Json
    error: AgentctlError | None = None
    signum: int | None = None
    repeated: tuple[str, ...] = ()

    @property
    def suspensions(self) -> list[Json]:
        """What waits for a human now."""
        found: list[Json] = self.payload["suspensions"]
        return found


def outcome_of(
    run: Run,
    *,
    text: str,
    driven: bool = False,
    decided: Set[str] = frozenset(),
    recorded_only: bool = False,
    status: ExitStatus | None = None,
    signum: int | None = None,
    error: AgentctlError | None = None,
    repeated: tuple[str, ...] = (),
) -> Outcome:
    """How `run` stands, for the one who gave a command about it.

    `driven`: another process drives it; `decided`: suspension ids whose decision no driver has seen;
    `recorded_only`: nothing but a decision was asked for. `status`, `signum` and `error` are this
    process's own reasons to end otherwise than the run stands.
    """
    stands = views.status_of(run, driven=driven, decided=decided)
    exit_status = status or (error.status if error else _exit_status(run, stands))
    is_decided = recorded_only and run.outcome is None
    if recorded_only:
        exit_status = ExitStatus.OK
    payload = {
        "status": "decided" if is_decided else stands,
        "exit_status": int(exit_status) if signum is None else signal_status(signum),
        "finish_reason": views.finish_reason(run, stands),
        "text": text,
        "suspensions": views.suspension_views(run, driven=driven, decided=decided),
        "usage": asdict(run.usage),
        "error": error.to_json() if error else views.error_view(run, stands),
    }
    return Outcome(run.id, exit_status, payload, error, signum, repeated)


def _exit_status(run: Run, status: views.Status) -> ExitStatus:
    """What a process exits with that leaves the run like this."""
    match status:
        case "completed":
            return ExitStatus.OK
        case "suspended":
            return ExitStatus.SUSPENDED
        case "in_doubt":
            return ExitStatus.IN_DOUBT
        case "interrupted" if run.interruption is not None:
            return ExitStatus[run.interruption.code.upper()]
        case "interrupted" | "running":
            return ExitStatus.INTERRUPTED
        case _:
            return ExitStatus.FAILED
