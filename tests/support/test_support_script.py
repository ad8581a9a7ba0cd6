"""The YAML that the library writes is read back as exactly the values a test gave."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from support.script import call, raw_call, say, script_text, turn, yaml_text

_TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\u0085\u2028\ufeff'\"\\\n{}[]#:"))
# PyYAML reads `1e22`, which YAML 1.2 calls a number, as text: such floats are left out here.
_FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: "e" not in repr(number))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _FLOATS | _TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner),
    max_leaves=10,
)


@given(_TEXT)
def test_any_text_is_quoted_so_that_it_stays_text(text: str) -> None:
    assert yaml.safe_load(yaml_text(text)) == text


@given(_JSON)
def test_any_json_value_survives_the_way_through_yaml(value: object) -> None:
    assert yaml.safe_load(yaml_text({"value": value})) == {"value": value}


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_numbers_are_written_as_yaml_names_them(value: float) -> None:
    assert yaml.safe_load(yaml_text(value)) == value


def test_nan_is_written_as_yaml_names_it() -> None:
    assert math.isnan(yaml.safe_load(yaml_text(math.nan)))


def test_a_turn_holds_what_it_was_given_and_nothing_else() -> None:
    written = yaml.safe_load(
        script_text([turn(call("delete_record", "c1", id="a"), raw_call("x", "c2", None)), say("Done")])
    )
    assert written == {
        "turns": [
            {
                "tool_calls": [
                    {"id": "c1", "name": "delete_record", "args": {"id": "a"}},
                    {"id": "c2", "name": "x", "args": None},
                ]
            },
            {"text": "Done"},
        ]
    }


def test_a_turn_may_look_at_the_last_user_message() -> None:
    assert say("Hi", when="hello") == {"when": {"user": "hello"}, "text": "Hi"}
