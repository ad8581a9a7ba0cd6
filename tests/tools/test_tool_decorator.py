"""`@tool`: marks a function, leaves it as it is, and refuses what could not work."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, assert_type

import pytest

from agentctl import ToolContext, tool
from agentctl.errors import DefinitionError
from agentctl.tools.python import python_tool


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Only the first paragraph is for the model.
    """
    return a + b


def test_the_decorated_function_is_still_the_function() -> None:
    def twice(a: int) -> int:
        return 2 * a

    assert tool(twice) is twice
    assert tool(timeout="1s")(twice)(3) == 6


def test_an_async_tool_can_be_awaited_in_a_unit_test() -> None:
    @tool
    async def greet(ctx: ToolContext, name: str) -> str:
        return f"{ctx.run_id} {name}"

    assert asyncio.run(greet(ToolContext(run_id="r"), "Ada")) == "r Ada"


def test_type_checkers_keep_the_signature() -> None:
    @tool
    def bare(a: int) -> str:
        return str(a)

    @tool(require_approval=True, timeout=1.5)
    async def with_options(a: int) -> str:
        return str(a)

    assert_type(bare(1), str)
    assert_type(asyncio.run(with_options(1)), str)
    bare("1")  # type: ignore[arg-type]


def test_id_and_description_come_from_the_function() -> None:
    made = python_tool(tool(add))
    assert (made.id, made.description) == ("add", "Add two numbers.")


def test_the_author_may_say_otherwise() -> None:
    made = python_tool(tool(id="plus-1", description="Plus.")(add))
    assert (made.id, made.description) == ("plus-1", "Plus.")


def test_a_tool_needs_no_description() -> None:
    @tool
    def silent() -> None: ...

    assert python_tool(silent).description == ""


def test_a_paragraph_over_several_lines_is_one_line() -> None:
    @tool
    def long() -> None:
        """One line
        and another.
        """

    assert python_tool(long).description == "One line and another."


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(None, None), (2, 2.0), (0.5, 0.5), ("300ms", 0.3), ("60s", 60.0), ("2m", 120.0)]
)
def test_timeouts_are_seconds_or_durations(timeout: Any, seconds: float | None) -> None:
    assert python_tool(tool(timeout=timeout)(add)).timeout == seconds


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"id": ""}, "tool id ``"),
        ({"id": "a b"}, "tool id `a b`"),
        ({"id": "x" * 65}, "64"),
        ({"id": "é"}, "tool id `é`"),
        ({"id": 5}, "id must be text"),
        ({"description": 5}, "description must be text"),
        ({"require_approval": "yes"}, "require_approval must be True, False or a function"),
        ({"require_approval": None}, "require_approval must be True, False or a function"),
        ({"require_approval": 1}, "require_approval must be True, False or a function"),
        ({"idempotent": "no"}, "idempotent must be True or False"),
        ({"idempotent": None}, "idempotent must be True or False"),
        ({"timeout": "soon"}, "`soon` is no duration"),
        ({"timeout": 0}, "`0` is no duration"),
        ({"timeout": -1}, "no duration"),
        ({"timeout": True}, "no duration"),
        ({"timeout": float("inf")}, "no duration"),
        ({"timeout": float("nan")}, "no duration"),
        ({"input_schema": "{}"}, "input_schema must be a JSON Schema"),
        ({"requires_approval": True}, "no option `requires_approval`"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        tool(**options)(add)
    assert refused.value.message.startswith(("tool `add`: ", "tool id "))
    assert complaint in refused.value.message


def yields() -> Iterator[int]:
    yield 1


async def yields_async() -> AsyncIterator[int]:
    yield 1


@functools.wraps(yields)
def hides_that_it_yields() -> Any:
    return yields()


class Callable_:
    def __call__(self) -> None: ...

    def method(self) -> None: ...


@pytest.mark.parametrize("thing", [5, "name", print, Callable_, Callable_(), functools.partial(add, 1)])
def test_only_functions_are_tools(thing: Any) -> None:
    with pytest.raises(DefinitionError, match="@tool is for functions"):
        tool(thing)


@pytest.mark.parametrize(
    "function", [yields, yields_async, hides_that_it_yields], ids=["plain", "async", "hidden"]
)
def test_functions_that_yield_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(DefinitionError, match="yields"):
        tool(function)


def test_a_lambda_needs_an_id() -> None:
    with pytest.raises(DefinitionError, match="tool id `<lambda>`"):
        tool(lambda: 1)
    assert python_tool(tool(id="one")(lambda: 1)).id == "one"


def shout(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def louder(*args: Any, **kwargs: Any) -> Any:
        return str(function(*args, **kwargs)).upper()

    return louder


@shout
@tool(id="below")
def marked_below(word: str) -> str:
    return word


@tool(id="above")
@shout
def marked_above(word: str) -> str:
    return word


@pytest.mark.parametrize(("function", "id"), [(marked_below, "below"), (marked_above, "above")])
def test_other_decorators_may_stand_above_and_below(run: Any, function: Any, id: str) -> None:
    made = python_tool(function)
    assert made.id == id
    assert made.input_schema["required"] == ["word"]
    assert run(made, {"word": "hey"}).value == "HEY"


@functools.lru_cache
@tool
def cached(a: int) -> int:
    return a


def test_a_cached_function_can_be_a_tool(execute: Any) -> None:
    assert execute(cached, a=4).value == 4


def plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def passes_on(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return passes_on


def test_an_async_function_behind_a_plain_decorator_is_awaited(execute: Any) -> None:
    @plainly
    @tool
    async def word() -> str:
        await asyncio.sleep(0)
        return "done"

    assert execute(word).value == "done"
