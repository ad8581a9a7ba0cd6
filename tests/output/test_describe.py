"""Values on one line, and what is said of those that are too long for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.output.describe import brief, command, one_line, waits_for


def test_a_short_value_is_json_and_not_cut() -> None:
    value = {"id": "abc", "list": [1, 1.0, None, True], "": {}}
    assert brief(value, 100) == (json.dumps(value), False)


def test_a_text_is_cut_by_its_characters_and_stays_a_text() -> None:
    assert brief("\u202e" * 1500, 500) == ('"' + "\\u202e" * 500 + '" … 1,000 more characters', True)


@pytest.mark.parametrize(
    ("limit", "shown"),
    [
        (2, '[" … 16 more characters'),
        (3, '[" … 16 more characters'),
        (7, '[" … 16 more characters'),
        (8, r'["\u202e … 10 more characters'),
        (9, r'["\u202e … 10 more characters'),
        (10, r'["\u202e\\ … 8 more characters'),
    ],
)
def test_no_cut_goes_through_an_escape(limit: int, shown: str) -> None:
    assert brief(["\u202e\\u", "b"], limit) == (shown, True)


@given(st.lists(st.text(st.sampled_from("a\\\u202e\x1b"))), st.integers(min_value=1, max_value=30))
def test_what_is_shown_and_what_is_said_to_be_missing_add_up(value: list[str], limit: int) -> None:
    shown = brief(value, limit)
    whole = one_line(value)
    assert shown.cut is (len(whole) > limit)
    if shown.cut:
        kept, _, more = shown.text.rpartition(" … ")
        assert whole.startswith(kept)
        assert re.fullmatch(r"([^\\]|\\u[0-9a-f]{4}|\\[^u])*", kept)
        assert len(kept) + int(more.split()[0].replace(",", "")) == len(whole)


def test_an_argument_that_imitates_the_note_about_a_cut_stays_inside_its_quotes() -> None:
    shown = brief({"a": 'x" … 5 more characters, "b": "y', "b": 1}, 100)
    assert shown.text == '{"a": "x\\" … 5 more characters, \\"b\\": \\"y", "b": 1}'


def test_a_tool_name_cannot_start_a_line_of_its_own(suspension: Callable[..., dict[str, Any]]) -> None:
    (line,) = waits_for(suspension(tool="a\nb"))
    assert line == 'waiting for approval: a\\nb {"id": "abc-123"}'


def test_a_command_can_be_typed() -> None:
    assert command("approve", "3f2a9c81d0") == "agentctl approve 3f2a9c81d0"
    assert command("show", "a b", store="it's") == """agentctl show 'a b' --store 'it'"'"'s'"""
