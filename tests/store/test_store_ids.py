"""Ids: checked before a path is built of them; generated ones sort by time and differ."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl_store import Refused
from agentctl_store.ids import check_id, is_suspension_id, new_run_id

TIMES = st.integers(min_value=0, max_value=32**10 - 1)


@given(TIMES, TIMES, st.binary(min_size=5, max_size=5), st.binary(min_size=5, max_size=5))
def test_ids_sort_as_their_times(one: int, other: int, noise: bytes, other_noise: bytes) -> None:
    first, second = new_run_id(one, noise), new_run_id(other, other_noise)
    if one != other:
        assert (first < second) == (one < other)
    else:
        assert (first == second) == (noise == other_noise)


@given(TIMES, st.binary(min_size=5, max_size=5))
def test_generated_ids_are_valid_and_have_no_twin_in_another_case(now: int, noise: bytes) -> None:
    run_id = new_run_id(now, noise)
    assert check_id(run_id) == run_id.lower()
    assert len(run_id) == 18


def test_the_noise_may_come_from_a_source() -> None:
    assert new_run_id(0, os.urandom) != new_run_id(0, os.urandom)
    with pytest.raises(ValueError):
        new_run_id(0, b"1234")
    with pytest.raises(ValueError):
        new_run_id(-1, os.urandom)


@given(st.text(max_size=70))
def test_only_letters_digits_dash_and_underscore_pass(text: str) -> None:
    allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
    valid = 0 < len(text) <= 64 and all(c in allowed for c in text) and text[0] not in "-_"
    try:
        assert check_id(text) == text
        assert valid
    except Refused as refused:
        assert not valid
        assert refused.hint
        assert str(refused).isprintable()


@pytest.mark.parametrize("text", ["a" * 64, "0123456789abcdef" * 4])
def test_a_suspension_id_is_64_lower_hex_digits(text: str) -> None:
    assert is_suspension_id(text)


@pytest.mark.parametrize("text", ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n", "٣" * 64])
def test_nothing_else_is_a_suspension_id(text: str) -> None:
    assert not is_suspension_id(text)
