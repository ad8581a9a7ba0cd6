"""Results: plain JSON that fits the return type, or a tool error that says that the tool did run."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from agentctl import tool
from agentctl.tools.python import python_tool
from agentctl.tools.tool import FailedCall, Succeeded

RAN = "The tool ran, but its result cannot be used: "


class Colour(enum.Enum):
    RED = "red"


class Deleted(BaseModel):
    id: str
    at: datetime.datetime | None = None


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    kind: str = Field(alias="class")


class Broken(BaseModel):
    value: int = 1

    @field_serializer("value")
    def never(self, value: int) -> int:
        raise RuntimeError("cannot be written")


@dataclasses.dataclass
class Size:
    width: int
    colours: list[Colour]


def gives(value: Any, result: Any = None, **options: Any) -> Any:
    """A tool that returns `value`, and says that it returns a `result`."""

    @tool(**options)
    def give():  # type: ignore[no-untyped-def]
        return value

    if result is not None:
        give.__annotations__["return"] = result
    return give


@pytest.mark.parametrize(
    ("value", "result", "expected"),
    [
        (Deleted(id="a"), Deleted, {"id": "a", "at": None}),
        ({"id": "a"}, Deleted, {"id": "a", "at": None}),
        (Deleted(id="a", at=datetime.datetime(2026, 1, 2)), None, {"id": "a", "at": "2026-01-02T00:00:00"}),
        ([Deleted(id="a")], list[Deleted], [{"id": "a", "at": None}]),
        ({"x": (Deleted(id="a"),)}, dict, {"x": [{"id": "a", "at": None}]}),
        (Size(1, [Colour.RED]), Size, {"width": 1, "colours": ["red"]}),
        (Size(1, [Colour.RED]), None, {"width": 1, "colours": ["red"]}),
        (Colour.RED, Colour, "red"),
        (datetime.date(2026, 1, 2), datetime.date, "2026-01-02"),
        (None, type(None), None),
        ("text", str, "text"),
        (1, float, 1.0),
        (2**70, int, 2**70),
        ("\ud800", str, "\ud800"),
        (b"caf\xc3\xa9", bytes, "café"),
        ({"a", "b"}, None, ["a", "b"]),
        (Aliased.model_validate({"kind": "k"}), Aliased, {"class": "k"}),
        ({"n": [1, 1.5, None, True]}, Any, {"n": [1, 1.5, None, True]}),
    ],
)
def test_results_become_plain_json(value: Any, result: Any, expected: Any, execute: Any) -> None:
    outcome = execute(gives(value, result))
    assert outcome == Succeeded(expected)
    assert type(outcome.value) is type(expected)


@pytest.mark.parametrize(
    ("value", "result", "complaint"),
    [
        ({"name": "a"}, Deleted, "`id`: Field required"),
        (5, str, "Input should be a valid string"),
        ("text", type(None), "Input should be None"),
        (Deleted.model_construct(id=5), Deleted, "Expected `str`"),
        (math.nan, float, "nan"),
        ({"a": [math.inf]}, None, "`a[0]`"),
        ([math.inf], list[float], "`[0]`"),
        (b"\xff", bytes, "utf-8"),
        (b"\xff", None, "UTF-8"),
        (object(), None, "object"),
        ([10**5000], None, "4300 digits"),
        ([10**5000], list[int], "4300 digits"),
        (Broken(), Broken, "cannot be written"),
        (Broken(), None, "cannot be written"),
        (iter([1]), None, "never end"),
    ],
)
def test_what_is_no_result_is_a_tool_error_that_says_the_tool_ran(
    value: Any, result: Any, complaint: str, execute: Any
) -> None:
    outcome = execute(gives(value, result))
    assert isinstance(outcome, FailedCall)
    assert outcome.error.startswith(RAN)
    assert complaint in outcome.error


def test_cycles_and_great_depth_are_tool_errors(execute: Any) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 0
    for _ in range(50_000):
        deep = [deep]
    for value in (cycle, deep):
        for result in (None, list):
            outcome = execute(gives(value, result))
            assert isinstance(outcome, FailedCall) and outcome.error.startswith(RAN)


def test_the_output_schema_tells_what_comes_out() -> None:
    made = python_tool(gives(None, Deleted))
    assert made.output_schema is not None
    assert made.output_schema["required"] == ["id"]
    assert python_tool(gives(None)).output_schema is None
    assert python_tool(gives(None, Any)).output_schema is None


def test_an_output_schema_by_hand_is_enforced(execute: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert execute(gives({"n": 1}, output_schema=schema)) == Succeeded({"n": 1})
    outcome = execute(gives({"n": "one"}, output_schema=schema))
    assert outcome.error == RAN + "`n`: 'one' is not of type 'integer'"


def test_a_result_shares_nothing_with_what_the_tool_keeps(execute: Any) -> None:
    kept: list[Any] = [1]
    outcome = execute(gives(kept))
    kept.append(2)
    assert outcome == Succeeded([1])
