"""The records that the loop writes: each function builds one from the run as it stands. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agentctl.models.messages import Assistant, message_to_json
from agentctl.models.protocol import Usage
from agentctl.runtime.call import DENIED, Call, question_id
from agentctl.runtime.events import Event, Record
from agentctl.runtime.state import Run
from agentctl.runtime.suspensions import Kind, Suspension
from agentctl.runtime.views import lost, suspension_view


def of_step(run: Run, now: str, kind: str, payload: Mapping[str, Any]) -> Record:
    """A record about the step under way."""
    return Record(kind, now, payload, run.root.agent_path, run.root.call_path)


def of_call(run: Run, now: str, call: Call, kind: str, payload: Mapping[str, Any]) -> Record:
    """A record about one call: its id, tool and arguments, and what happened."""
    about = {"tool_call_id": call.id, "tool": call.tool, "args": shown_args(run, call)}
    return of_step(run, now, kind, {**about, **payload})


def shown_args(run: Run, call: Call) -> Any:
    """The arguments as users see them: the model's own text where it holds no JSON object."""
    return call.args if call.args is not None else model_text(run, call)


def model_text(run: Run, call: Call) -> str:
    """The arguments of the call exactly as the model wrote them."""
    for message in reversed(run.root.messages):
        if isinstance(message, Assistant):
            return next((asked.arguments for asked in message.calls if asked.id == call.id), "")
    return ""


def live_event(run: Run, now: str, kind: str, payload: Mapping[str, Any]) -> Event:
    """Something to show as it happens and not to keep: text as it streams, progress of a tool."""
    return Event(kind, run.id, now, payload, run.root.agent_path, run.root.call_path)


def approval_question(run: Run, now: str, call: Call) -> Record:
    """May this call run?"""
    question = _question(run, call, "approval", now, reason=call.reason)
    return of_step(run, now, "tool-call-approval", suspension_view(run, call, question))


def data_question(run: Run, now: str, call: Call, payload: Any, schema: Any) -> Record:
    """The tool asked for data."""
    question = _question(run, call, "data", now, payload=payload, resume_schema=schema)
    return of_step(run, now, "tool-call-suspended", suspension_view(run, call, question))


def _question(run: Run, call: Call, kind: Kind, now: str, **details: Any) -> Suspension:
    asked_id = question_id(call, run.id, run.root.call_path, kind, details.get("payload"))
    return Suspension(asked_id, kind, call.ordinal + 1, now, **details)


def doubt(run: Run, now: str, call: Call, reason: str | None = None) -> Record:
    """The call was started and its outcome is unknown."""
    question = lost(run, call, reason) if reason else lost(run, call)
    return of_step(run, now, "tool-call-suspended", suspension_view(run, call, question))


def recovery(run: Run, now: str, call: Call, reason: str | None = None) -> Record:
    """What becomes of a started call that no process runs any more."""
    if run.cancellation is None and call.definition is not None and call.definition.idempotent:
        return of_call(run, now, call, "tool-retry", {})
    return doubt(run, now, call, reason)


def closing(run: Run, now: str, call: Call) -> Record:
    """What becomes of an open call when the run is cancelled."""
    assert run.cancellation is not None
    by, kind = run.cancellation.by, call.suspension.kind if call.suspension else None
    if kind == "in_doubt":
        error = f"Cancelled by {by}; the tool was started and its outcome is unknown"
        return of_call(run, now, call, "tool-error", {"error": error})
    if kind == "data":
        error = f"Cancelled by {by} before the question was answered"
        return of_call(run, now, call, "tool-error", {"error": error})
    if call.decided and not call.attempt:
        error = f"Cancelled by {by} before it ran"
        return of_call(run, now, call, "tool-error", {"error": error})
    if call.attempt:
        error = f"Cancelled by {by}; the tool had been started and its outcome is unknown"
        return of_call(run, now, call, "tool-error", {"error": error})
    reason = run.cancellation.reason or DENIED
    return of_call(run, now, call, "tool-output-denied", {"reason": reason, "by": by})


def settlement(run: Run, now: str, call: Call) -> Record:
    """The outcome of a call that does not run."""
    assert call.settlement is not None
    return of_call(run, now, call, call.settlement.type, call.settlement.payload)


def answer(run: Run, now: str, message: Assistant, finish_reason: str, usage: Usage) -> Record:
    """A whole answer of the model."""
    payload = {
        "message": message_to_json(message),
        "finish_reason": finish_reason,
        "usage": usage_json(usage),
    }
    return of_step(run, now, "answer", payload)


def step_finish(run: Run, now: str) -> Record:
    """Every call of the step has its result."""
    root = run.root
    usage = usage_json(root.step_usage)
    payload = {"step": root.step, "finish_reason": root.finish_reason, "usage": usage}
    return of_step(run, now, "step-finish", payload)


def finish(run: Run, now: str, status: str, finish_reason: str, error: Mapping[str, Any] | None) -> Record:
    """The run ends."""
    usage = usage_json(run.usage)
    payload = {"status": status, "finish_reason": finish_reason, "usage": usage, "error": error}
    return of_step(run, now, "finish", payload)


def usage_json(usage: Usage) -> dict[str, int]:
    """Token counts as JSON users see them."""
    return asdict(usage)
