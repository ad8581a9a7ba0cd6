"""Builders for the turns of the offline model, and the YAML they are written as."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

# What a YAML reader refuses to see raw inside a quoted scalar, and folds or strips as a line break.
_NOT_PRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def call(name: str, call_id: str, /, **args: Any) -> dict[str, Any]:
    """One tool call of a turn: `call("delete_record", "c1", id="abc-123")`."""
    return raw_call(name, call_id, args)


def raw_call(name: str, call_id: str, args: object) -> dict[str, Any]:
    """A tool call with arguments of any type, for what a model should not have sent."""
    return {"id": call_id, "name": name, "args": args}


def turn(*calls: dict[str, Any], text: str = "", when: str | None = None) -> dict[str, Any]:
    """One answer of the offline model. `when` is a pattern searched in the last user message."""
    built: dict[str, Any] = {}
    if when is not None:
        built["when"] = {"user": when}
    if text or not calls:
        built["text"] = text
    if calls:
        built["tool_calls"] = list(calls)
    return built


def say(text: str, when: str | None = None) -> dict[str, Any]:
    """A turn that only speaks, which ends the run. `{result}` stands for the last tool result."""
    return turn(text=text, when=when)


def script_text(turns: Iterable[dict[str, Any]]) -> str:
    """The script file of these turns, one turn a line."""
    return "turns:\n" + "".join(f"  - {yaml_text(each)}\n" for each in turns)


def yaml_text(value: object) -> str:
    """Any JSON value, NaN and lone surrogates included, as YAML on one line with every string quoted.

    PyYAML's own dumper writes for YAML 1.1, where `1e3` is a plain string; our loader reads 1.2.
    """
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{yaml_text(str(key))}: {yaml_text(each)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else (".inf" if value > 0 else "-.inf")
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
    return json.dumps(value)
