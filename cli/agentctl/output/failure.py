"""Error lines: one that says what, and hints that can be typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from agentctl.errors import AgentctlError
from agentctl.output.escape import escape_line, escape_text
from agentctl.output.streams import tell
from agentctl.output.style import Style, use_color


def show_error(
    error: AgentctlError, stderr: TextIO, *, color: bool | None = None, debug: bool = False
) -> None:
    """`agentctl: what` and `hint: ...` on `stderr`; with `debug`, where an unexpected cause came from."""
    lines = traceback_lines(error) if debug else []
    lines += error_lines(
        error.message, error.hints, Style(use_color(stderr, color)), has_lines=error.has_lines
    )
    tell(stderr, "".join(line + "\n" for line in lines))


def traceback_lines(error: AgentctlError) -> list[str]:
    """Where the unexpected cause of an error came from; nothing for one that was expected."""
    if error.__cause__ is None:
        return []
    import traceback

    return escape_text("".join(traceback.format_exception(error.__cause__))).splitlines()


def error_lines(message: str, hints: Sequence[str], style: Style, *, has_lines: bool = False) -> list[str]:
    """The lines of an error; `has_lines` says that each line of the message is a problem of its own."""
    problems = message.split("\n") if has_lines else [message]
    what = [f"{style.red('agentctl:')} {escape_line(problem)}" for problem in problems]
    typed = [line for hint in hints for line in hint.split("\n")]
    return what + [f"{style.yellow('hint:')} {escape_line(line)}" for line in typed]
