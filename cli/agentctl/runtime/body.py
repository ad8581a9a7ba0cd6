"""The body of a snapshot: a `Run` written as plain JSON, and read again. Pure.

Fields that have their default are left out, so a snapshot is little more than its messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from agentctl.models.messages import Assistant, ToolResult, User, message_from_json, message_to_json
from agentctl.models.protocol import Usage
from agentctl.runtime.call import Call, Contradiction, Definition, Phase, Settlement, Start
from agentctl.runtime.state import Cancellation, Conversation, Grant, Interruption, Run
from agentctl.runtime.suspensions import Suspension, fingerprint


def encode(run: Run) -> dict[str, Any]:
    """The run as JSON."""
    encoded: dict[str, Any] = _encode(run)
    if run.root.messages[0] == User(run.prompt):
        del encoded["prompt"]
    return encoded


def _encode(value: Any) -> Any:
    if isinstance(value, User | Assistant | ToolResult):
        return message_to_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _encode(getattr(value, field.name))
            for field in fields(value)
            if field.default is MISSING or getattr(value, field.name) != field.default
        }
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def decode(data: Mapping[str, Any]) -> Run:
    """The inverse of `encode`.

    Raises `Contradiction` where the data is no run, or where a question does not fit its call.
    """
    try:
        run = _run(data)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise Contradiction(f"the snapshot does not hold a run: {error}") from error
    for call in run.root.calls:
        _check_question(run, call)
    return run


def _run(data: Mapping[str, Any]) -> Run:
    plain = dict(data)
    plain["root"] = root = _conversation(plain["root"])
    if "prompt" not in plain and isinstance(root.messages[0], User):
        plain["prompt"] = root.messages[0].text
    plain["usage"] = Usage(**plain.get("usage", {}))
    plain["grants"] = tuple(
        Grant(**{**grant, "agent_path": tuple(grant["agent_path"])}) for grant in plain.get("grants", ())
    )
    plain["interruption"] = _optional(Interruption, plain.get("interruption"))
    plain["cancellation"] = _optional(Cancellation, plain.get("cancellation"))
    return Run(**plain)


def _conversation(data: Mapping[str, Any]) -> Conversation:
    plain = dict(data)
    plain["agent_path"] = tuple(plain["agent_path"])
    plain["call_path"] = tuple(plain.get("call_path", ()))
    plain["messages"] = tuple(message_from_json(message) for message in plain.get("messages", ()))
    plain["calls"] = tuple(_call(call) for call in plain.get("calls", ()))
    plain["step_usage"] = Usage(**plain.get("step_usage", {}))
    return Conversation(**plain)


def _call(data: Mapping[str, Any]) -> Call:
    plain = dict(data)
    plain["phase"] = Phase(plain.get("phase", Phase.PROPOSED))
    for name, kind in (
        ("definition", Definition),
        ("suspension", Suspension),
        ("start", Start),
        ("settlement", Settlement),
    ):
        plain[name] = _optional(kind, plain.get(name))
    return Call(**plain)


def _optional(kind: Any, data: Mapping[str, Any] | None) -> Any:
    return None if data is None else kind(**data)


def _check_question(run: Run, call: Call) -> None:
    """A question whose id is not the fingerprint of its call was edited by hand: never ask it."""
    asked = call.suspension
    if (asked is None) == (call.phase is Phase.WAITING):
        raise Contradiction(f"call `{call.id}` is {call.phase.value}, which does not fit its question")
    if asked is None:
        return
    subject = asked.payload if asked.kind == "data" else call.args
    definition = call.definition.digest if call.definition else ""
    path = run.root.call_path
    expected = fingerprint(run.id, path, call.id, asked.ordinal, asked.kind, call.tool, subject, definition)
    if asked.id != expected:
        raise Contradiction(f"the question about call `{call.id}` does not fit the call")
