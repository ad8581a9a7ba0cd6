"""A run as users see it: status, open questions, and the JSON shapes of the contract. Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import asdict
from typing import Any, Literal

from agentctl.runtime.call import Call, Phase, question_id
from agentctl.runtime.state import Run
from agentctl.runtime.suspensions import Suspension

Status = Literal["running", "suspended", "in_doubt", "interrupted", "completed", "failed", "cancelled"]

LOST = "The process that ran this call ended before it recorded an outcome"


def open_questions(run: Run, *, driven: bool) -> tuple[tuple[Call, Suspension], ...]:
    """The calls that need a human, with their question, in call order.

    Where nobody drives the run, a call that was started and has no outcome is in doubt, whether or
    not a driver has recorded that yet.
    """
    found = []
    for call in run.root.calls:
        if call.suspension is not None:
            found.append((call, call.suspension))
        elif call.phase is Phase.STARTED and not driven and not _idempotent(call):
            found.append((call, lost(run, call)))
    return tuple(found)


def lost(run: Run, call: Call, reason: str = LOST) -> Suspension:
    """The question about a started call whose outcome is unknown: the same for every reader."""
    suspended_at = call.start.at if call.start else run.updated_at
    suspension_id = question_id(call, run.id, run.root.call_path, "in_doubt")
    return Suspension(suspension_id, "in_doubt", call.ordinal + 1, suspended_at, reason)


def _idempotent(call: Call) -> bool:
    return call.definition is not None and call.definition.idempotent


def status_of(run: Run, *, driven: bool, decided: Set[str] = frozenset()) -> Status:
    """The status users see; `decided` are the suspension ids whose decision no driver has seen yet.

    A run that nobody drives and that waits for nobody is interrupted: `resume` goes on.
    """
    if run.outcome is not None:
        ended: Status = run.outcome["status"]
        return ended
    if driven:
        return "running"
    kinds = {question.kind for _, question in open_questions(run, driven=False) if question.id not in decided}
    if "in_doubt" in kinds:
        return "in_doubt"
    return "suspended" if kinds else "interrupted"


def suspension_view(run: Run, call: Call, suspension: Suspension) -> dict[str, Any]:
    """A suspension as JSON users see it (contract, section 2)."""
    return {
        "id": suspension.id,
        "run_id": run.id,
        "agent": run.root.agent_path[-1],
        "agent_path": list(run.root.agent_path),
        "call_path": list(run.root.call_path),
        "kind": suspension.kind,
        "tool": call.tool,
        "tool_call_id": call.id,
        "args": call.args,
        "requires_approval": suspension.kind == "approval",
        "reason": suspension.reason,
        "suspend_payload": suspension.payload,
        "resume_schema": suspension.resume_schema,
        "thread": run.thread,
        "resource": run.resource,
        "suspended_at": suspension.suspended_at,
    }


def suspension_views(run: Run, *, driven: bool, decided: Set[str] = frozenset()) -> list[dict[str, Any]]:
    """Every suspension that still waits for a human."""
    return [
        suspension_view(run, call, question)
        for call, question in open_questions(run, driven=driven)
        if question.id not in decided
    ]


def run_view(run: Run, status: Status, suspensions: int) -> dict[str, Any]:
    """A run as JSON users see it in lists; `suspensions` is a count."""
    return {
        "run_id": run.id,
        "status": status,
        "agent": run.agent,
        "prompt": run.prompt,
        "thread": run.thread,
        "resource": run.resource,
        "started_at": run.started_at,
        "updated_at": run.updated_at,
        "finished_at": run.finished_at,
        "finish_reason": finish_reason(run, status),
        "suspensions": suspensions,
        "usage": asdict(run.usage),
        "error": error_view(run, status),
    }


def finish_reason(run: Run, status: Status) -> str | None:
    """Why the run stands where it stands; None while it is driven."""
    if run.outcome is not None:
        reason: str = run.outcome["finish_reason"]
        return reason
    if status in ("suspended", "in_doubt"):
        return status
    if status == "interrupted" and run.interruption is not None:
        return run.interruption.finish_reason
    return None


def error_view(run: Run, status: Status) -> dict[str, Any] | None:
    """The error that ended or interrupted the run, in the shape of the `error` event."""
    if run.outcome is not None:
        error: dict[str, Any] | None = run.outcome.get("error")
        return error
    if status == "interrupted" and run.interruption is not None:
        stop = run.interruption
        return {"code": stop.code, "message": stop.message, "hint": stop.hint}
    return None
