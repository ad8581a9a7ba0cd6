"""The journal of a run, one readable line for each record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from agentctl.output.describe import PROGRESS_LIMIT, brief
from agentctl.output.escape import escape_line
from agentctl.output.streams import put
from agentctl.output.style import Style, use_color

_WORD = re.compile(r"[\w.:/-]{1,100}")


def show_log(records: Iterable[Mapping[str, Any]], stdout: TextIO, *, color: bool | None = None) -> None:
    """Show journal records as they come: when, what, whose, and what it carries."""
    style = Style(use_color(stdout, color))
    for record in records:
        put(stdout, _line(record, style) + "\n")


def _line(record: Mapping[str, Any], style: Style) -> str:
    columns = [
        style.dim(escape_line(record["at"])),
        style.bold(escape_line(record["type"])),
        escape_line("/".join(record["agent_path"])),
        *(
            f"{escape_line(key)}={_value(value)}"
            for key, value in record["payload"].items()
            if value is not None
        ),
    ]
    return "  ".join(column for column in columns if column)


def _value(value: Any) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return escape_line(value)
    return brief(value, PROGRESS_LIMIT).text
