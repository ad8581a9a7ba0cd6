"""Values, suspensions and decisions in a few words, and the commands that answer them. Pure.

Everything returned is escaped and can be shown as it is.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentctl.output.escape import escape_json, escape_line

ID_LENGTH = 10
PROGRESS_LIMIT = 200
REVIEW_LIMIT = 2000

_DONE = {
    "approve": "approved",
    "decline": "declined",
    "data": "answered",
    "retry": "to be retried:",
    "result": "settled with a result:",
    "failed": "settled as failed:",
    "cancel": "cancelled",
}
_CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-f]{0,3})?\Z")


class Brief(NamedTuple):
    """A value on one line; `cut` says that it is not the whole."""

    text: str
    cut: bool


def short_id(suspension_id: str) -> str:
    """The part of a suspension id that people see and type."""
    return escape_line(suspension_id[:ID_LENGTH])


def one_line(value: Any) -> str:
    """`value` as JSON on one line, whole."""
    return escape_json(json.dumps(value, ensure_ascii=False))


def indented(value: Any) -> str:
    """`value` as JSON over several lines, whole."""
    return escape_json(json.dumps(value, ensure_ascii=False, indent=2))


def brief(value: Any, limit: int) -> Brief:
    """`value` as JSON on one line, each argument of at most `limit` characters.

    The arguments of a call are cut one by one, so that a long one cannot push another out of sight;
    what is cut says how much is missing.
    """
    if not isinstance(value, dict):
        return _shorten(value, limit)
    parts: list[str] = []
    cut = False
    for key, argument in value.items():
        shown = _shorten(argument, limit)
        parts.append(f"{one_line(key)}: {shown.text}")
        cut = cut or shown.cut
    whole = _shorten_text("{" + ", ".join(parts) + "}", 4 * limit)
    return Brief(whole.text, cut or whole.cut)


def _shorten(value: Any, limit: int) -> Brief:
    if isinstance(value, str):
        more = len(value) - limit
        return (
            Brief(f"{one_line(value[:limit])} {_more(more)}", True)
            if more > 0
            else Brief(one_line(value), False)
        )
    return _shorten_text(one_line(value), limit)


def _shorten_text(text: str, limit: int) -> Brief:
    if len(text) <= limit:
        return Brief(text, False)
    kept = _CUT_ESCAPE.sub(r"\1", text[:limit])
    return Brief(f"{kept} {_more(len(text) - len(kept))}", True)


def _more(count: int) -> str:
    return f"… {count:,} more characters"


def waits_for(suspension: Mapping[str, Any], limit: int = REVIEW_LIMIT) -> list[str]:
    """What a suspension waits for: a line that names it, and one for each thing to know about it."""
    tool = escape_line(suspension["tool"])
    about = brief(suspension["suspend_payload" if suspension["kind"] == "data" else "args"], limit)
    match suspension["kind"]:
        case "approval":
            lines = [f"waiting for approval: {tool} {about.text}"]
        case "data":
            lines = [f"waiting for an answer: {tool} asks {about.text}"]
        case _:
            lines = [f"in doubt: {tool} {about.text} was started, and its outcome is unknown"]
    if suspension.get("reason"):
        lines.append(f"  because: {escape_line(suspension['reason'])}")
    if about.cut:
        lines.append(f"  cut for display; agentctl show {short_id(suspension['id'])} has all")
    return lines


def next_commands(suspension: Mapping[str, Any], store: str | None = None) -> list[str]:
    """The commands that answer a suspension; `store` is the one the user named."""
    ref = short_id(suspension["id"])
    match suspension["kind"]:
        case "approval":
            return [command("approve", ref, store=store), command("decline", ref, store=store)]
        case "data":
            answer = example(suspension.get("resume_schema"))
            return [command("resume", ref, "--data", answer, store=store)]
        case _:
            answers = ("--retry",), ("--result", "JSON"), ("--failed", "TEXT")
            return [command("resolve", ref, *answer, store=store) for answer in answers]


_EXAMPLES = {"string": "...", "number": 0, "integer": 0, "boolean": True, "array": [], "object": {}}


def example(schema: Any) -> str:
    """JSON of the shape that an object schema wants, to be filled in; `JSON` where any will do."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return "JSON"
    wanted = {
        name: _EXAMPLES.get(kind.get("type", ""))
        for name, kind in schema["properties"].items()
        if isinstance(kind, dict) and isinstance(kind.get("type", ""), str)
    }
    return json.dumps(wanted, ensure_ascii=False)


def command(verb: str, *words: str, store: str | None = None) -> str:
    """A command line to type next."""
    given = ("--store", store) if store else ()
    return escape_line(shlex.join(("agentctl", verb, *words, *given)))


def decided(decision: Mapping[str, Any]) -> str:
    """Who decided what, when, and why; edited arguments briefly."""
    text = escape_line(_DONE.get(decision["verdict"], decision["verdict"]))
    if decision.get("suspension_id"):
        text += f" {short_id(decision['suspension_id'])}"
    if decision.get("args") is not None:
        text += f", with the arguments {brief(decision['args'], PROGRESS_LIMIT).text},"
    text += f" by {escape_line(decision['by'])}"
    if decision.get("via", "cli") != "cli":
        text += f" ({escape_line(decision['via'])})"
    text += f" at {escape_line(decision['at'])}"
    return f"{text}: {escape_line(decision['reason'])}" if decision.get("reason") else text
