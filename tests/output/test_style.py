"""Who gets colour, and how wide a terminal is taken to be."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

import pytest

from agentctl.errors import NotFound
from agentctl.output.failure import error_lines, show_error
from agentctl.output.style import Style, is_terminal, terminal_width, use_color

Terminal = Callable[[], io.StringIO]


@pytest.mark.parametrize(
    ("environ", "color"),
    [
        ({}, True),
        ({"TERM": "xterm"}, True),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_a_terminal_gets_colour_unless_the_environment_says_no(
    terminal: Terminal, environ: dict[str, str], color: bool
) -> None:
    assert use_color(terminal(), None, environ) is color


def test_an_option_overrules_what_is_found_out(terminal: Terminal) -> None:
    assert use_color(terminal(), False, {}) is False
    assert use_color(io.StringIO(), True, {"NO_COLOR": "1"}) is True


def test_only_a_terminal_gets_colour(terminal: Terminal) -> None:
    assert not use_color(io.StringIO(), None, {})
    assert not use_color(None, None, {})
    shut = terminal()
    shut.close()
    assert not is_terminal(shut)
    assert not is_terminal(None)


def test_no_colour_leaves_every_text_as_it_is() -> None:
    for name in ("bold", "dim", "red", "green", "yellow"):
        assert getattr(Style(False), name)("text") == "text"
        assert getattr(Style(True), name)("text").endswith("mtext\x1b[0m")


@pytest.mark.parametrize(
    ("columns", "width"), [("132", 132), ("20", 20), ("0", 80), ("-1", 80), ("x", 80), ("", 80), ("²", 80)]
)
def test_the_width_is_what_columns_says_if_it_is_a_width(columns: str, width: int) -> None:
    assert terminal_width(io.StringIO(), {"COLUMNS": columns}) == width


def test_the_width_of_a_terminal_is_asked_of_it() -> None:
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "w") as stream:
        assert terminal_width(stream, {}) == 80  # a terminal without a size
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 33, 0, 0))
        assert terminal_width(stream, {}) == 33


def test_an_error_is_a_line_and_hints_that_can_be_typed() -> None:
    stderr = io.StringIO()
    show_error(NotFound("no run `a\x1b[2J`", "agentctl runs", "or this"), stderr)
    assert stderr.getvalue() == "agentctl: no run `a\\x1b[2J`\nhint: agentctl runs\nhint: or this\n"


def test_a_line_end_in_a_message_does_not_end_its_line() -> None:
    assert error_lines("no run `a\nb`", (), Style()) == [r"agentctl: no run `a\nb`"]
    assert error_lines("1: x\n2: y", (), Style(), has_lines=True) == ["agentctl: 1: x", "agentctl: 2: y"]


def test_an_error_is_coloured_on_a_terminal(terminal: Terminal) -> None:
    stderr = terminal()
    show_error(NotFound("no run", "agentctl runs"), stderr)
    assert stderr.getvalue() == ("\x1b[31magentctl:\x1b[0m no run\n\x1b[33mhint:\x1b[0m agentctl runs\n")
