"""The journal of a run, one readable line for each record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from agentctl.output.escape import escape_line
from agentctl.output.story import told
from agentctl.output.streams import put
from agentctl.output.style import Style, use_color


def show_log(records: Iterable[Mapping[str, Any]], stdout: TextIO, *, color: bool | None = None) -> None:
    """Show journal records as they come: when, of which agent, and what happened."""
    style = Style(use_color(stdout, color))
    for record in records:
        agent = escape_line("/".join(record["agent_path"]))
        what = told(record["type"], record["payload"])
        put(stdout, f"{style.dim(escape_line(record['at']))}  {agent}  {what}\n")
