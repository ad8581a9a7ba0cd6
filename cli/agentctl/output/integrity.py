"""How the results of `verify` and `check` look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from agentctl.output.escape import escape_line
from agentctl.output.events_json import json_line
from agentctl.output.streams import put, tell


def show_problems(problems: Sequence[Mapping[str, Any]], *, json: bool, stdout: TextIO) -> None:
    """Each problem as `run_id` (empty for the store itself) and what is wrong; nothing where all is well."""
    if json:
        put(stdout, "[" + ",\n".join(json_line(each) for each in problems) + "]\n")
    for each in () if json else problems:
        put(stdout, f"{escape_line(each['run_id'] or '')}\t{escape_line(each['problem'])}\n")


def show_check(agent: str, warnings: Sequence[str], *, json: bool, stdout: TextIO, stderr: TextIO) -> None:
    """That the definition is valid, and what to think about."""
    if json:
        put(stdout, json_line({"agent": agent, "valid": True, "warnings": list(warnings)}) + "\n")
        return
    for warning in warnings:
        tell(stderr, f"warning: {escape_line(warning)}\n")
    put(stdout, f"{escape_line(agent)}: valid\n")
