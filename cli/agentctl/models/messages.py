"""The conversation in our own words: no provider's objects, no bookkeeping of ours.

Every model adapter translates these to its wire format; the snapshot holds them as plain JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class User:
    """What the user said."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One request by the model to use a tool.

    `arguments` is the model's text, exactly as it came; `args` reads it (see `models/arguments.py`).
    """

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Assistant:
    """One answer of the model: text, reasoning text where the server sent some, tool calls."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of one tool call, as text for the model."""

    call_id: str
    tool: str
    content: str
    is_error: bool = False


Message = User | Assistant | ToolResult


def message_to_json(message: Message) -> dict[str, Any]:
    """The message as JSON; empty fields are left out, so a snapshot is little more than its text."""
    match message:
        case User(text):
            return {"role": "user", "text": text}
        case Assistant(text, reasoning, calls):
            out: dict[str, Any] = {"role": "assistant"}
            if text:
                out["text"] = text
            if reasoning:
                out["reasoning"] = reasoning
            if calls:
                out["calls"] = [{"id": c.id, "tool": c.tool, "arguments": c.arguments} for c in calls]
            return out
        case ToolResult(call_id, tool, content, is_error):
            out = {"role": "tool", "call_id": call_id, "tool": tool, "content": content}
            if is_error:
                out["is_error"] = True
            return out


def message_from_json(data: dict[str, Any]) -> Message:
    """The inverse of `message_to_json`; raises `KeyError` or `ValueError` for anything else."""
    match data["role"]:
        case "user":
            return User(data["text"])
        case "assistant":
            calls = tuple(ToolCall(c["id"], c["tool"], c["arguments"]) for c in data.get("calls", ()))
            return Assistant(data.get("text", ""), data.get("reasoning", ""), calls)
        case "tool":
            return ToolResult(data["call_id"], data["tool"], data["content"], data.get("is_error", False))
        case role:
            raise ValueError(f"unknown message role {role!r}")
