"""What happens in a run: records, which the journal keeps, and events, which users see.

Most records are announced as an event of the same type; this file says which, and which part of
their payload is public. It knows nothing of how events look or where records are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened, as the journal keeps it.

    `at` is ISO 8601 in UTC; `agent_path` the agent ids from the top; `call_path` the tool call ids
    that delegated down to that agent (empty for the top agent).
    """

    type: str
    at: str
    payload: Mapping[str, Any]
    agent_path: tuple[str, ...] = ()
    call_path: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The record as one journal entry (the store adds `seq` and the hash chain)."""
        return {
            "type": self.type,
            "at": self.at,
            "agent_path": list(self.agent_path),
            "call_path": list(self.call_path),
            "payload": dict(self.payload),
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Record:
        """The inverse of `to_json`; what the store added is left out."""
        return cls(
            type=entry["type"],
            at=entry["at"],
            payload=entry["payload"],
            agent_path=tuple(entry["agent_path"]),
            call_path=tuple(entry["call_path"]),
        )


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the event stream of a run."""

    type: str
    run_id: str | None
    at: str
    payload: Mapping[str, Any]
    agent_path: tuple[str, ...] = ()
    call_path: tuple[str, ...] = ()


# The public part of each record's payload. Records that are not named here are kept for recovery
# and audit, and are not announced.
_CALL = ("tool_call_id", "tool", "args")
_PUBLIC: Mapping[str, tuple[str, ...]] = {
    "start": ("agent", "input", "thread", "resource", "agentctl", "schema", "resumed"),
    "step-start": ("step",),
    "step-finish": ("step", "finish_reason", "usage"),
    "tool-call": _CALL,
    "decision": ("suspension_id", "verdict", "by", "at", "via", "reason", "args", "data"),
    "tool-result": (*_CALL, "result"),
    "tool-error": (*_CALL, "error"),
    "tool-output-denied": (*_CALL, "reason", "by"),
    "finish": ("finish_reason", "usage"),
    "error": ("code", "message", "hint"),
}
_WHOLE = ("tool-call-approval", "tool-call-suspended")


def announcement(record: Record, run_id: str) -> Event | None:
    """The event that tells users of `record`, or None where it is only kept."""
    if record.type in _WHOLE:
        payload = record.payload
    elif record.type in _PUBLIC:
        payload = {key: record.payload[key] for key in _PUBLIC[record.type] if key in record.payload}
    else:
        return None
    return Event(record.type, run_id, record.at, payload, record.agent_path, record.call_path)
