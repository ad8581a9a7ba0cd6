"""One tool call as a state machine. Pure: no I/O, no clock, no randomness.

                      tool-call                tool-call-approval
    PROPOSED ─┬─ must be asked ──────▶ GATED ───────────────────────▶ WAITING ◀──────────┐
              ├─ may run ────────────▶ READY ◀─ approve, data, retry ──┤                 │
              └─ cannot run ─▶ SETTLED          decline, result, failed│                 │
                                  ▲    ◀───────────────────────────────┘                 │
    READY ── tool-changed (a human goes on with the new definition) ──▶ READY
    READY ── tool-start ──▶ STARTED ── tool-call-suspended (data, in doubt) ─────────────┘
    STARTED ── tool-retry (idempotent tools, when the process that started it is gone) ──▶ READY
    STARTED, SETTLED ── tool-result, tool-error, tool-output-denied ──▶ DONE

The rules that the promises rest on:

- STARTED is only reached from READY, and leaves it: one permission starts one execution.
- READY is only reached by a verdict that nobody need be asked, by a decision on the very
  suspension that waits, or by the retry of an idempotent tool.
- A suspension's id is the fingerprint of the call as it stands; a record that carries another id
  contradicts the state and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from agentctl.runtime.events import Record
from agentctl.runtime.suspensions import VERDICTS, Kind, Suspension, fingerprint
from agentctl_store.canonical import canonical

DENIED = "Tool call was not approved by the user"


class Contradiction(ValueError):
    """A record that cannot follow what went before it: the journal is damaged or forged."""


class Phase(StrEnum):
    """Where a call stands."""

    PROPOSED = "proposed"  # the model wants it; nobody has judged it yet
    GATED = "gated"  # a human must be asked; the question is not recorded yet
    WAITING = "waiting"  # a question to a human is open
    READY = "ready"  # it may start now
    STARTED = "started"  # it runs, or ran, and its outcome is not known
    SETTLED = "settled"  # its outcome is known without running it; not announced yet
    DONE = "done"  # its outcome is recorded


_FROM: Mapping[str, frozenset[Phase]] = {
    "tool-call": frozenset({Phase.PROPOSED, Phase.READY}),
    "tool-call-approval": frozenset({Phase.GATED}),
    "decision": frozenset({Phase.WAITING}),
    "tool-changed": frozenset({Phase.READY}),
    "tool-start": frozenset({Phase.READY}),
    "tool-retry": frozenset({Phase.STARTED}),
    "tool-call-suspended": frozenset({Phase.STARTED}),
    "tool-result": frozenset({Phase.STARTED, Phase.SETTLED}),
    "tool-error": frozenset({Phase.STARTED, Phase.SETTLED}),
    "tool-output-denied": frozenset({Phase.SETTLED}),
}
# Once the run is cancelled nothing starts, and what is open is closed without running.
_OPEN = frozenset({Phase.PROPOSED, Phase.GATED, Phase.WAITING, Phase.READY})
_WHEN_CANCELLED: Mapping[str, frozenset[Phase]] = {
    "tool-start": frozenset(),
    "tool-retry": frozenset(),
    "tool-error": _OPEN | _FROM["tool-error"],
    "tool-output-denied": _OPEN | _FROM["tool-output-denied"],
}
CALL_RECORDS = frozenset(_FROM) - {"decision"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool's definition as it was frozen when its call was judged.

    `parts` maps a part (`source`, `description`, …) to its short digest, so that a change can be
    named; `input_schema` is kept where a human may edit the arguments.
    """

    digest: str
    parts: Mapping[str, str]
    idempotent: bool = False
    input_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """When an execution began, and which process on which host began it."""

    at: str
    pid: int
    host: str


@dataclass(frozen=True, slots=True)
class Settlement:
    """An outcome that is known but not announced: the record that will tell it."""

    type: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the current step.

    `decided` says that a human allowed what will start next: such a start is bound to the frozen
    definition, or to the one whose digest they `accepted`. `args` is None where the model's text
    holds no JSON object.
    """

    id: str
    tool: str
    args: Mapping[str, Any] | None
    phase: Phase = Phase.PROPOSED
    definition: Definition | None = None
    reason: str | None = None
    ordinal: int = 0
    suspension: Suspension | None = None
    decided: bool = False
    accepted: str | None = None
    edited: bool = False
    resumed: bool = False
    resume_data: Any = None
    suspend_payload: Any = None
    attempt: int = 0
    start: Start | None = None
    settlement: Settlement | None = None
    content: str = ""
    is_error: bool = False


def question_id(call: Call, run_id: str, call_path: Sequence[str], kind: Kind, payload: Any = None) -> str:
    """The id of the next question of `kind` about `call` as it stands."""
    subject = payload if kind == "data" else call.args
    definition = call.definition.digest if call.definition else ""
    return fingerprint(run_id, call_path, call.id, call.ordinal + 1, kind, call.tool, subject, definition)


def apply(call: Call, record: Record, run_id: str, *, cancelling: bool = False) -> Call:
    """The call after `record`; raises `Contradiction` for one that cannot happen now.

    `cancelling` allows open calls to be closed without running them.
    """
    allowed = _WHEN_CANCELLED if cancelling and record.type in _WHEN_CANCELLED else _FROM
    if call.phase not in allowed[record.type]:
        raise Contradiction(f"`{record.type}` for call `{call.id}`, which is {call.phase.value}")
    payload = record.payload
    match record.type:
        case "tool-call":
            return _judged(call, payload)
        case "tool-call-approval" | "tool-call-suspended":
            return _asked(call, record, run_id)
        case "decision":
            return _decided(call, payload)
        case "tool-changed":
            if not call.decided:
                raise Contradiction(f"nobody decided call `{call.id}`, nor accepts a change of its tool")
            return _changed(call, payload)
        case "tool-start":
            start = Start(record.at, payload["pid"], payload["host"])
            return replace(call, phase=Phase.STARTED, attempt=call.attempt + 1, start=start)
        case "tool-retry":
            if call.definition is None or not call.definition.idempotent:
                raise Contradiction(f"retry of call `{call.id}`, whose tool is not idempotent")
            return replace(call, phase=Phase.READY, start=None)
        case _:
            return _done(call, record.type, payload)


def _judged(call: Call, payload: Mapping[str, Any]) -> Call:
    if call.phase is Phase.READY and call.decided:
        raise Contradiction(f"call `{call.id}` was decided and is judged again")
    if payload["verdict"] == "refuse":
        told = Settlement("tool-error", {"error": payload["error"]})
        return replace(call, phase=Phase.SETTLED, settlement=told)
    if payload["verdict"] not in ("ask", "run"):
        raise Contradiction(f"call `{call.id}` has the verdict {payload['verdict']!r}, which is none")
    phase = Phase.GATED if payload["verdict"] == "ask" else Phase.READY
    definition = _definition(payload["definition"])
    return replace(call, phase=phase, definition=definition, reason=payload["reason"])


def _changed(call: Call, payload: Mapping[str, Any]) -> Call:
    if "error" in payload:
        told = Settlement("tool-error", {"error": payload["error"]})
        return replace(call, phase=Phase.SETTLED, settlement=told)
    return replace(call, definition=_definition(payload["definition"]))


def _definition(frozen: Mapping[str, Any]) -> Definition:
    return Definition(frozen["digest"], frozen["parts"], frozen["idempotent"], frozen.get("input_schema"))


_KINDS = {"tool-call-approval": ("approval",), "tool-call-suspended": ("data", "in_doubt")}


def _asked(call: Call, record: Record, run_id: str) -> Call:
    payload = record.payload
    kind, asked = payload["kind"], payload["suspend_payload"]
    if kind not in _KINDS[record.type]:
        raise Contradiction(f"`{record.type}` about call `{call.id}` with a question of kind {kind!r}")
    if payload["id"] != question_id(call, run_id, record.call_path, kind, asked):
        raise Contradiction(f"the question about call `{call.id}` does not fit the call")
    suspension = Suspension(
        id=payload["id"],
        kind=kind,
        ordinal=call.ordinal + 1,
        suspended_at=payload["suspended_at"],
        reason=payload["reason"],
        payload=asked,
        resume_schema=payload["resume_schema"],
    )
    asking = replace(call, phase=Phase.WAITING, ordinal=call.ordinal + 1, suspension=suspension)
    if kind == "data":
        return replace(asking, suspend_payload=asked, start=None)
    return asking


def _decided(call: Call, payload: Mapping[str, Any]) -> Call:
    suspension = call.suspension
    if suspension is None or payload["suspension_id"] != suspension.id:
        raise Contradiction(f"a decision on another question than the one call `{call.id}` waits for")
    if payload["verdict"] not in VERDICTS[suspension.kind]:
        raise Contradiction(f"`{payload['verdict']}` does not answer a question of kind {suspension.kind}")
    if "args" in payload and not isinstance(payload["args"], Mapping):
        raise Contradiction(f"the edited arguments of call `{call.id}` are no object")
    answered = replace(call, suspension=None, start=None, accepted=payload.get("accepted"))
    match payload["verdict"]:
        case "approve" if "args" in payload:
            edited = not same_json(payload["args"], call.args)
            return replace(answered, phase=Phase.READY, decided=True, args=payload["args"], edited=edited)
        case "approve" | "retry":
            return replace(answered, phase=Phase.READY, decided=True)
        case "data":
            data = payload["data"]
            return replace(answered, phase=Phase.READY, decided=True, resumed=True, resume_data=data)
        case "decline":
            reason = payload["reason"] if (payload["reason"] or "").strip() else DENIED
            told = Settlement("tool-output-denied", {"reason": reason, "by": payload["by"]})
        case "result":
            told = Settlement("tool-result", {"result": payload["data"]})
        case _:
            told = Settlement("tool-error", {"error": payload["data"]})
    return replace(answered, phase=Phase.SETTLED, settlement=told)


def _done(call: Call, kind: str, payload: Mapping[str, Any]) -> Call:
    if call.settlement is not None:
        told = {"type": kind, **{key: payload.get(key) for key in call.settlement.payload}}
        if not same_json(told, {"type": call.settlement.type, **call.settlement.payload}):
            raise Contradiction(f"call `{call.id}` was settled otherwise")
    match kind:
        case "tool-result":
            content, is_error = _text(payload["result"]), False
        case "tool-error":
            content, is_error = f"Error: {payload['error']}", True
        case _:
            content, is_error = payload["reason"], False
    if call.edited and call.attempt:
        ran = _text(call.args)
        content = f"(The user changed the arguments; the tool ran with {ran}.)\n{content}"
    # Nothing of a finished call is needed but its result: the snapshot stays small.
    return Call(call.id, call.tool, None, Phase.DONE, content=content, is_error=is_error)


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; `1`, `1.0`, `true` and `"1"` all differ."""
    return canonical(one) == canonical(other)


def _text(value: Any) -> str:
    # Sorted, as the journal keeps it: the model is told the same before and after a crash.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
