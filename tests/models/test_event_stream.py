"""Server-sent events: the same events come out however the bytes are cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.models.event_stream import Event, EventReader


def read(*pieces: bytes) -> list[Event]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.finish()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_any_of_three_ways(end: bytes) -> None:
    lines = [b"event: error", b"data: 1", b"data:2", b"", b": comment", b"data", b"data:  3", b"", b""]
    assert read(end.join(lines)) == [Event("error", "1\n2"), Event("", "\n 3")]


def test_the_name_of_an_event_ends_with_it() -> None:
    assert read(b"event: ping\n\ndata: 1\n\n") == [Event("", "1")]


def test_a_field_with_a_space_before_it_is_unknown() -> None:
    assert read(b" data: 1\n\ndata: 2\n\n") == [Event("", "2")]


def test_unicode_line_separators_do_not_end_a_line() -> None:
    assert read("data: a\u2028b\x85c\x0bd\n\n".encode()) == [Event("", "a\u2028b\x85c\x0bd")]


def test_the_last_event_counts_without_its_blank_line() -> None:
    assert read(b"data: 1\n\ndata: 2") == [Event("", "1"), Event("", "2")]


def test_an_event_is_given_as_soon_as_it_is_complete() -> None:
    assert EventReader().feed(b"data: 1\n\n") == [Event("", "1")]


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        EventReader().feed(b"data: \xff\n\n")


FIELDS = st.sampled_from(["data: ü€😀", "data:", "event: x", ": c", "id: 1", "", "", "data: {}"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(lines=st.lists(st.tuples(FIELDS, ENDS)), cuts=st.lists(st.integers(0, 400)))
def test_cuts_between_pieces_change_nothing(lines: list[tuple[str, str]], cuts: list[int]) -> None:
    body = "".join(field + end for field, end in lines).encode()
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[a:b] for a, b in pairwise(places)]
    assert read(*pieces) == read(body)
