"""Plain JSON of Python values: what is stored reads back equal, or nothing is stored."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import itertools
import math
import pathlib
import types
import uuid
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, computed_field

from agentctl.tools.jsonable import MAX_DEPTH, NotJson, to_json
from agentctl_store.canonical import canonical, parse

any_text = st.text(st.characters())  # lone surrogates included
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(any_text, inner), max_leaves=20
)


class Colour(enum.Enum):
    RED = "red"
    DEEP = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    """A string of somebody's own."""


class Money(float):
    """A number of somebody's own."""


@dataclasses.dataclass
class Point:
    x: int
    inner: Any = None


class Record(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    key: str = Field(default="k", alias="class")
    at: datetime.date = datetime.date(2026, 1, 2)

    @computed_field
    def length(self) -> int:
        return len(self.key)


Pair = namedtuple("Pair", "left right")

loose_values = st.recursive(
    scalars
    | st.sampled_from([Colour.RED, Colour.DEEP, Level.HIGH, Text("t"), Money(1.5), Record(), Point(1)])
    | st.binary()
    | st.datetimes()
    | st.uuids()
    | st.decimals()
    | st.floats(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.integers() | any_text | st.sampled_from(Colour), inner)
        | st.builds(Point, st.just(1), inner)
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Equal and of equal types all the way down, and the sign of zero is kept."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


@given(json_values)
def test_json_is_left_as_it_is(value: Any) -> None:
    assert same(to_json(value), value)


@given(json_values)
def test_what_comes_out_shares_nothing_with_what_went_in(value: Any) -> None:
    out = to_json(value)
    if isinstance(value, dict | list):
        assert out is not value


@given(loose_values)
def test_whatever_comes_out_reads_back_equal(value: Any) -> None:
    try:
        out = to_json(value)
    except NotJson:
        return
    assert same(parse(canonical(out)), out)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Text("t"), "t"),
        (Money(1.5), 1.5),
        ((1, 2), [1, 2]),
        (Pair(1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 1}), [1, 2]),
        (b"caf\xc3\xa9", "café"),
        (bytearray(b"x"), "x"),
        (Point(1, [Point(2)]), {"x": 1, "inner": [{"x": 2, "inner": None}]}),
        (Record(), {"class": "k", "at": "2026-01-02", "length": 1}),
        ([Record()], [{"class": "k", "at": "2026-01-02", "length": 1}]),
        (OrderedDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (datetime.timedelta(minutes=1), "PT1M"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.10"), "1.10"),
        (pathlib.Path("/a/b"), "/a/b"),
    ],
)
def test_values_of_python_take_their_usual_form(value: Any, expected: Any) -> None:
    assert same(to_json(value), expected)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (None, "null"),
        (True, "true"),
        (Colour.RED, "red"),
        (Text("t"), "t"),
        (b"k", "k"),
    ],
)
def test_keys_become_strings(key: Any, name: str) -> None:
    assert same(to_json({key: 0}), {name: 0})


def test_integers_beyond_any_float_are_kept() -> None:
    assert to_json([2**70, -(2**70), 10**4000]) == [2**70, -(2**70), 10**4000]


def test_lone_surrogates_are_kept() -> None:
    assert to_json({"\ud800": "\udfff"}) == {"\ud800": "\udfff"}


@pytest.mark.parametrize(
    ("value", "place", "why"),
    [
        (math.nan, "the value", "nan"),
        ({"a": [0, {"b": math.inf}]}, "`a[1].b`", "inf"),
        ([10**4301], "`[0]`", "4300 digits"),
        ({"raw": b"\xff"}, "`raw`", "UTF-8"),
        ({1: "a", "1": "b"}, "the value", "`1`"),
        ({(1, 2): "a"}, "the value", "key of type tuple"),
        ({"made": itertools.count()}, "`made`", "never end"),
        ((each for each in "ab"), "the value", "never end"),
        ({"what": object()}, "`what`", "object"),
        ([print], "`[0]`", "no JSON form"),
        ({"error": ValueError("x")}, "`error`", "ValueError"),
        ([Record], "`[0]`", "no JSON form"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_place_and_reason(value: Any, place: str, why: str) -> None:
    with pytest.raises(NotJson) as refused:
        to_json(value)
    assert str(refused.value).startswith(place)
    assert why in str(refused.value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append({"again": value})
    with pytest.raises(NotJson, match="holds itself"):
        to_json(value)


def test_depth_has_a_limit_that_json_readers_share() -> None:
    deep: Any = 0
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert parse(canonical(to_json(deep))) == deep
    with pytest.raises(NotJson, match="200 levels"):
        to_json([deep])
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotJson):
        to_json(deep)


def test_a_model_that_holds_itself_is_refused() -> None:
    class Node(BaseModel):
        next: Any = None

    node = Node()
    node.next = node
    with pytest.raises(NotJson):
        to_json({"node": node})


def test_a_set_has_one_order() -> None:
    words = {f"word{n}" for n in range(50)}
    assert to_json(words) == sorted(words)
