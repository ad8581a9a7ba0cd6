"""Canonical JSON: equal values have equal bytes, different ones differ, and all of JSON survives."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl_store.canonical import canonical, digest, parse

TEXT = st.text(st.characters())  # with lone surrogates
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any) -> Any:
    """The same value, with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [shuffled(each) for each in value]
    return value


def typed(value: Any) -> Any:
    """The value with the types of its numbers: so that 1, 1.0 and true are not equal."""
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [typed(each) for each in value]
    return (type(value).__name__, repr(value))


@given(JSON)
def test_every_json_value_comes_back_as_it_was(value: Any) -> None:
    assert typed(parse(canonical(value))) == typed(value)


@given(JSON)
def test_the_order_of_keys_does_not_matter(value: Any) -> None:
    assert canonical(shuffled(value)) == canonical(value)


@given(JSON, JSON)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (typed(one) == typed(other))


def test_the_text_is_as_documented() -> None:
    assert (
        canonical({"b": [1, 1.0, "1", None, True], "a": "é\n"})
        == '{"a":"é\\n","b":[1,1.0,"1",null,true]}'.encode()
    )


def test_numbers_and_strings_that_look_alike_differ() -> None:
    assert len({digest(value) for value in (1, 1.0, "1", True, [1], None, "null")}) == 7


def test_a_digest_is_sha256_in_hex() -> None:
    assert digest([]) == hashlib.sha256(b"[]").hexdigest()


@given(JSON)
def test_one_value_is_one_line(value: Any) -> None:
    assert b"\n" not in canonical(value)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), [float("nan")]])
def test_what_json_has_no_number_for_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical(value)


def test_endless_and_bottomless_values_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    bottomless: list[Any] = []
    for _ in range(100_000):
        bottomless = [bottomless]
    for value in (endless, bottomless):
        with pytest.raises(ValueError):
            canonical(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        parse(b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.parametrize("data", [b"", b"{", b"{} {}", b"\xff", b"[1,]"])
def test_what_is_not_one_document_is_not_parsed(data: bytes) -> None:
    with pytest.raises(ValueError):
        parse(data)
