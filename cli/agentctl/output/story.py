"""What happened, in words: one line for each record or event, the same live and in the log. Pure.

Everything returned is escaped and can be shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentctl.output.describe import PROGRESS_LIMIT, brief, decided, short_id, waits_for
from agentctl.output.escape import escape_line

Payload = Mapping[str, Any]


def told(kind: str, payload: Payload) -> str:
    """The line about a record of type `kind`; for a type nobody knows, its name and what it carries."""
    words = _WORDS.get(kind)
    return words(payload) if words else f"{escape_line(kind)} {_brief(payload)}"


def _brief(value: Any) -> str:
    return brief(value, PROGRESS_LIMIT).text


def _tool(payload: Payload) -> str:
    return escape_line(payload["tool"])


def _by(payload: Payload) -> str:
    return f"by process {payload.get('pid')} on {escape_line(str(payload.get('host')))}"


def _start(payload: Payload) -> str:
    if payload.get("resumed"):
        return f"resumed {_by(payload)}"
    return f"started: {_brief(payload['input'])}"


def _answer(payload: Payload) -> str:
    text = payload["message"].get("text", "")
    return f"the model says {_brief(text)}" if text else "the model answers without text"


def _call(payload: Payload) -> str:
    asked = {"ask": ", a human must decide", "refuse": ", which cannot run"}
    return f"calls {_tool(payload)} {_brief(payload['args'])}{asked.get(payload.get('verdict', ''), '')}"


def _waiting(payload: Payload) -> str:
    first, *_ = waits_for(payload, PROGRESS_LIMIT)
    return f"{first} ({short_id(payload['id'])})"


def _started(payload: Payload) -> str:
    attempt = f", attempt {payload['attempt']}" if payload["attempt"] > 1 else ""
    return f"{_tool(payload)} starts{attempt}, {_by(payload)}"


def _changed(payload: Payload) -> str:
    return f"{_tool(payload)} goes on although changed: {escape_line(', '.join(payload['changed']))}"


_WORDS: Mapping[str, Callable[[Payload], str]] = {
    "start": _start,
    "step-start": lambda payload: f"asks the model, step {payload['step']}",
    "answer": _answer,
    "tool-call": _call,
    "tool-call-approval": _waiting,
    "tool-call-suspended": _waiting,
    "decision": decided,
    "tool-start": _started,
    "tool-retry": lambda payload: f"{_tool(payload)} is idempotent and tried again",
    "tool-changed": _changed,
    "tool-result": lambda payload: f"{_tool(payload)} returned {_brief(payload['result'])}",
    "tool-error": lambda payload: f"{_tool(payload)} failed: {_brief(payload['error'])}",
    "tool-output-denied": lambda payload: f"{_tool(payload)} denied: {_brief(payload['reason'])}",
    "step-finish": lambda payload: f"step {payload['step']} ends: {escape_line(payload['finish_reason'])}",
    "error": lambda payload: f"stops: {escape_line(payload['message'])}",
    "finish": lambda payload: f"ended: {escape_line(payload['status'])}",
}
