"""Lists: tab-separated where they are piped, a table on a terminal, one array with `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from agentctl.output.describe import brief, command, one_line, short_id
from agentctl.output.escape import escape_line
from agentctl.output.events_json import json_line
from agentctl.output.streams import put, tell
from agentctl.output.style import Style, is_terminal, terminal_width, use_color

# No more of a text than a wide terminal holds goes into a table.
_CELL_LIMIT = 1000


def show_pending(
    suspensions: Iterable[Mapping[str, Any]],
    *,
    json: bool,
    stdout: TextIO,
    stderr: TextIO,
    color: bool | None = None,
    store: str | None = None,
) -> None:
    """List suspensions in the order given."""
    if json:
        _show_array(suspensions, stdout)
    elif not is_terminal(stdout):
        _show_rows(map(_pending_row, suspensions), stdout)
    else:
        waiting = list(suspensions)
        if not waiting:
            tell(stderr, "nothing is waiting\n")
            return
        heads = ("ID", "RUN", "KIND", "AGENT", "TOOL", "SINCE", "ARGUMENTS")
        cells = [_pending_cells(one) for one in waiting]
        if _show_table(heads, cells, stdout, Style(use_color(stdout, color)), spare=("SINCE", "RUN")):
            put(stdout, f"… is cut for display; {command('show', 'ID', store=store)} has all\n")


def show_runs(
    runs: Iterable[Mapping[str, Any]],
    *,
    json: bool,
    stdout: TextIO,
    stderr: TextIO,
    color: bool | None = None,
) -> None:
    """List runs in the order given; what is unknown of a damaged one is null."""
    if json:
        _show_array(runs, stdout)
    elif not is_terminal(stdout):
        _show_rows(map(_run_row, runs), stdout)
    else:
        known = list(runs)
        if not known:
            tell(stderr, "there are no runs\n")
            return
        heads = ("RUN", "STATUS", "AGENT", "UPDATED", "PROMPT")
        cells = [_run_cells(one) for one in known]
        _show_table(heads, cells, stdout, Style(use_color(stdout, color)), spare=("UPDATED", "AGENT"))


def _pending_row(suspension: Mapping[str, Any]) -> tuple[str, ...]:
    columns = ("run_id", "kind", "agent", "tool", "suspended_at")
    args = one_line(suspension["args"])
    return (short_id(suspension["id"]), *(_field(suspension[name]) for name in columns), args)


def _run_row(run: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_field(run[name]) for name in ("run_id", "status", "agent", "updated_at", "prompt"))


def _pending_cells(suspension: Mapping[str, Any]) -> tuple[str, ...]:
    _, *middle, since, _ = _pending_row({**suspension, "args": None})
    return (short_id(suspension["id"]), *middle, _minute(since), brief(suspension["args"], _CELL_LIMIT).text)


def _run_cells(run: Mapping[str, Any]) -> tuple[str, ...]:
    prompt = (run["prompt"] or "")[: _CELL_LIMIT + 1]
    run_id, status, agent, updated, prompt = _run_row({**run, "prompt": prompt})
    return run_id, status, agent, _minute(updated), prompt


def _field(value: str | None) -> str:
    return "" if value is None else escape_line(value)


def _minute(at: str) -> str:
    return at[:16].replace("T", " ") + "Z" if at else ""


def _show_array(items: Iterable[Mapping[str, Any]], stdout: TextIO) -> None:
    terminal = is_terminal(stdout)
    lines = ",\n".join(json_line(item, terminal=terminal) for item in items)
    put(stdout, f"[{lines}]\n")


def _show_rows(rows: Iterable[Sequence[str]], stdout: TextIO) -> None:
    text = "".join("\t".join(row) + "\n" for row in rows)
    if text:
        put(stdout, text)


def _show_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], stdout: TextIO, style: Style, spare: Sequence[str]
) -> bool:
    """Show a table; whether something in it is cut."""
    from agentctl.output.table import table

    lines = table(heads, rows, terminal_width(stdout), style, spare)
    put(stdout, "".join(line + "\n" for line in lines))
    return any(line.endswith("…") for line in lines)
