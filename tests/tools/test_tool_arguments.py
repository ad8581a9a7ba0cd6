"""Arguments: the schema comes from the type hints, and only what fits it reaches the function."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import http.server
import json
import threading
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from agentctl import ToolContext, tool
from agentctl.errors import DefinitionError
from agentctl.models.arguments import InvalidArguments
from agentctl.tools.python import python_tool
from agentctl.tools.tool import FailedCall, Succeeded


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    title: str = "home"


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


class Options(TypedDict, total=False):
    loud: bool


class Checked(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def no_spaces(cls, name: str) -> str:
        if name == "explode":
            raise KeyError("the validator itself is broken")
        if " " in name:
            raise ValueError("no spaces, please")
        return name


def show(value: Any) -> str:
    return repr(value)


# Schemas


def test_parameters_become_an_object_without_other_keys() -> None:
    @tool
    def save(id: str, count: int = 3, note: str | None = None) -> None: ...

    assert python_tool(save).input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "count": {"type": "integer", "default": 3},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["id"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> None: ...

    assert python_tool(now).input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_the_context_is_no_argument_under_any_name_and_in_any_place() -> None:
    @tool
    def first(context: ToolContext, id: str) -> None: ...

    @tool
    def last(id: str, *, c: "ToolContext[str, int]") -> None: ...  # noqa: UP037

    @tool
    def middle(a: str, b: Annotated[ToolContext | None, "whatever"] = None, *, id: str = "") -> None: ...

    assert list(python_tool(first).input_schema["properties"]) == ["id"]
    assert list(python_tool(last).input_schema["properties"]) == ["id"]
    assert list(python_tool(middle).input_schema["properties"]) == ["a", "id"]


def test_descriptions_of_parameters_are_for_the_model() -> None:
    @tool
    def find(
        query: Annotated[str, Field(description="What to look for", min_length=1)],
        limit: int = Field(default=5, description="How many", ge=1),
    ) -> None: ...

    properties = python_tool(find).input_schema["properties"]
    assert properties["query"] == {"type": "string", "minLength": 1, "description": "What to look for"}
    assert properties["limit"] == {"type": "integer", "minimum": 1, "default": 5, "description": "How many"}


def test_titles_that_pydantic_makes_are_left_out_and_fields_of_that_name_are_kept() -> None:
    @tool
    def move(to: Address, title: str) -> None: ...

    schema = python_tool(move).input_schema
    assert '"title": "' not in json.dumps(schema).replace('"default": "home"', "")
    assert set(schema["properties"]) == {"to", "title"}
    assert set(schema["$defs"]["Address"]["properties"]) == {"street", "title"}


@pytest.mark.parametrize(
    "name", ["model_config", "json", "schema", "copy", "self_", "_private", "größe", "cls"]
)
def test_no_parameter_name_is_special(name: str, run: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f({name}: int) -> int: return {name} + 1", namespace)
    made = _tool_without_source(namespace["f"])
    assert run(made, {name: 1}) == Succeeded(2)


def _tool_without_source(function: Callable[..., Any]) -> Any:
    """The source of executed text is not to be had; another function lends it."""
    import linecache

    text = f"def f({next(iter(function.__annotations__))}: int) -> int: return 0\n"
    linecache.cache["<string>"] = (len(text), None, text.splitlines(keepends=True), "<string>")
    try:
        return python_tool(function)
    finally:
        del linecache.cache["<string>"]


def test_a_default_without_a_json_form_stays_a_default(execute: Any) -> None:
    missing = object()

    @tool
    def find(what: Any = missing) -> bool:
        return what is missing

    assert execute(find) == Succeeded(True)
    assert python_tool(find).input_schema["properties"] == {"what": {}}


# Values


def test_arguments_arrive_as_what_the_hints_say(execute: Any) -> None:
    seen: dict[str, Any] = {}

    @tool
    def take(
        when: datetime.date,
        colour: Colour,
        address: Address,
        size: Size,
        options: Options,
        mode: Literal["fast", "slow"],
        tags: set[str],
        by_number: dict[int, str],
        raw: bytes,
        anything: Any,
    ) -> None:
        seen.update(locals())

    execute(
        take,
        when="2026-01-02",
        colour="blue",
        address={"street": "A"},
        size={"width": 2},
        options={"loud": True},
        mode="slow",
        tags=["a", "b", "a"],
        by_number={"1": "one"},
        raw="abc",
        anything={"n": [2**70, 1.0, "\ud800"]},
    )
    seen.pop("seen", None)
    assert seen == {
        "when": datetime.date(2026, 1, 2),
        "colour": Colour.BLUE,
        "address": Address(street="A"),
        "size": Size(2),
        "options": {"loud": True},
        "mode": "slow",
        "tags": {"a", "b"},
        "by_number": {1: "one"},
        "raw": b"abc",
        "anything": {"n": [2**70, 1.0, "\ud800"]},
    }


def test_positional_only_parameters_with_defaults_in_between(execute: Any) -> None:
    @tool
    def order(a: int, b: int = 2, c: int = 3, /, *, d: int = 4) -> list[int]:
        return [a, b, c, d]

    assert execute(order, a=1, c=30) == Succeeded([1, 2, 30, 4])


def test_what_a_tool_does_to_its_arguments_stays_inside(run: Any) -> None:
    @tool
    def greedy(items: list[Any], more: Any) -> None:
        items.clear()
        more["x"].clear()

    @tool(input_schema={"type": "object", "properties": {"items": {}}})
    def raw(items: Any) -> None:
        items.clear()

    args = {"items": [1], "more": {"x": [2]}}
    run(python_tool(greedy), args)
    run(python_tool(raw), {"items": args["items"]})
    assert args == {"items": [1], "more": {"x": [2]}}


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({}, "`id`: Field required"),
        ({"id": 5}, "`id`: Input should be a valid string"),
        ({"id": "a", "ctx": {}}, "`ctx`: Extra inputs are not permitted"),
        (
            {"id": "a", "sizes": [{"width": 1}, {"width": "x"}]},
            "`sizes[1].width`: Input should be a valid integer",
        ),
        ({"id": "a", "checked": {"name": "a b"}}, "`checked.name`: Value error, no spaces, please"),
        ({"id": "a", "checked": {"name": "explode"}}, "the validator itself is broken"),
        ({"id": "\ud800" * 2, "sizes": 1}, "`sizes`: Input should be a valid list"),
        ({"id": None, "sizes": 1, "checked": 1, "a": 1, "b": 1, "c": 1, "d": 1}, "; 2 more"),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model_by_field(
    args: dict[str, Any], complaint: str, run: Any
) -> None:
    ran = []

    @tool
    def save(
        ctx: ToolContext, id: str, sizes: list[Size] | None = None, checked: Checked | None = None
    ) -> None:
        ran.append(id)

    made = python_tool(save)
    with pytest.raises(InvalidArguments) as refused:
        made.check_args(args)
    assert str(refused.value).startswith("Invalid arguments for `save`: ")
    assert complaint in str(refused.value)
    outcome = run(made, args)
    assert isinstance(outcome, FailedCall) and complaint in outcome.error
    assert ran == []


def test_the_message_does_not_repeat_a_huge_argument() -> None:
    @tool
    def save(count: int) -> None: ...

    with pytest.raises(InvalidArguments) as refused:
        python_tool(save).check_args({"count": "x" * 100_000})
    assert len(str(refused.value)) < 500


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [150, 250, 900, 5000])
@pytest.mark.parametrize(
    "schema", [None, {"type": "object", "properties": {"what": {}}}], ids=["typed", "given"]
)
def test_deep_arguments_arrive_or_are_refused(levels: int, schema: Any, run: Any) -> None:
    @tool(input_schema=schema)
    def depth(what: Any) -> int:
        count = 0
        while isinstance(what, list):
            what, count = what[0], count + 1
        return count

    outcome = run(python_tool(depth), {"what": deep(levels)})
    assert outcome == Succeeded(levels) or isinstance(outcome, FailedCall)
    if levels == 150:
        assert outcome == Succeeded(levels)


def test_an_integer_that_python_will_not_write_is_refused() -> None:
    @tool
    def save(count: int) -> None: ...

    with pytest.raises(InvalidArguments):
        python_tool(save).check_args({"count": 10**5000})


# Schemas written by hand


GIVEN = {
    "type": "object",
    "properties": {"id": {"type": "string", "minLength": 2}, "when": {"type": "string"}},
    "required": ["id"],
}


def test_with_a_schema_by_hand_the_function_gets_the_raw_values(execute: Any) -> None:
    @tool(input_schema=GIVEN)
    def save(id: str, when: datetime.date | None = None) -> str:
        return f"{id} {when!r}"

    assert python_tool(save).input_schema == GIVEN
    assert execute(save, id="ab", when="2026-01-02") == Succeeded("ab '2026-01-02'")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({}, "'id' is a required property"),
        ({"id": "a"}, "`id`: 'a' is too short"),
        ({"id": "ab", "more": 1}, "more"),
        ({"id": "ab", "ctx": 1}, "`ctx`: not an argument of this tool"),
    ],
)
def test_a_schema_by_hand_is_enforced(args: dict[str, Any], complaint: str) -> None:
    @tool(input_schema=GIVEN)
    def save(ctx: ToolContext, id: str, when: str = "") -> None: ...

    with pytest.raises(InvalidArguments) as refused:
        python_tool(save).check_args(args)
    assert complaint in str(refused.value)


def test_with_a_schema_by_hand_a_function_may_take_any_keyword(execute: Any) -> None:
    @tool(input_schema={"type": "object"})
    def save(**fields: Any) -> dict[str, Any]:
        return fields

    assert execute(save, a=1, b=[2]) == Succeeded({"a": 1, "b": [2]})


def test_a_schema_that_is_changed_afterwards_changes_nothing() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}}

    @tool(input_schema=schema)
    def save(id: str = "") -> None: ...

    made = python_tool(save)
    schema["properties"].clear()
    assert made.input_schema["properties"] == {"id": {"type": "string"}}


def test_a_reference_to_elsewhere_is_never_fetched() -> None:
    asked: list[str] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reference = {"$ref": f"http://127.0.0.1:{server.server_port}/schema"}

        @tool(input_schema={"type": "object", "properties": {"id": reference}})
        def save(id: Any = None) -> None: ...

        with pytest.raises(InvalidArguments, match="schema cannot be used"):
            python_tool(save).check_args({"id": 1})
        server.shutdown()
    assert asked == []


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"type": "objekt"}, "'objekt'"),
        ({"type": "array"}, "must say `type: object`"),
        ({}, "must say `type: object`"),
        ({"type": "object", "properties": {"other": {}}}, "no parameter `other`"),
        ({"type": "object", "properties": {"ctx": {}, "id": {}}}, "no parameter `ctx`"),
        ({"type": "object", "properties": {}}, "needs `id`"),
        ({"type": "object", "properties": {"id": {"default": float("nan")}}}, "nan"),
        ({"type": "object", "properties": {"id": {"pattern": "("}}}, "regex"),
    ],
)
def test_a_schema_by_hand_must_fit_the_function(schema: dict[str, Any], complaint: str) -> None:
    @tool(input_schema=schema)
    def save(ctx: ToolContext, id: str) -> None: ...

    with pytest.raises(DefinitionError) as refused:
        python_tool(save)
    assert "tool `save`: input_schema" in refused.value.message
    assert complaint in refused.value.message


# Functions that cannot be tools


class Opaque:
    """No JSON Schema can describe it."""


def takes_any_number(*values: int) -> None: ...
def takes_any_keyword(**values: int) -> None: ...
def takes_an_opaque(id: str, thing: Opaque) -> None: ...
def takes_a_function(id: str, thing: Callable[[], None]) -> None: ...
def gives_an_opaque() -> Opaque: ...  # type: ignore[empty-body]
def takes_two_contexts(a: ToolContext, b: ToolContext) -> None: ...
def takes_many_contexts(*a: ToolContext) -> None: ...
def suspends_with_an_opaque(ctx: ToolContext[Opaque, str]) -> None: ...
def resumes_with_an_opaque(ctx: ToolContext[str, Opaque]) -> None: ...
def takes_the_unknown(id: "Unheard") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037
def takes_nonsense(id: "1 +") -> None: ...  # type: ignore  # noqa: F722


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (takes_any_number, "`*values` has no schema"),
        (takes_any_keyword, "`**values` has no schema"),
        (takes_an_opaque, "the type of parameter `thing` cannot be described as JSON"),
        (takes_a_function, "the type of parameter `thing` cannot be described as JSON"),
        (gives_an_opaque, "the type of its result cannot be described as JSON"),
        (takes_two_contexts, "two parameters take a ToolContext: a, b"),
        (takes_many_contexts, "`*a` cannot take the ToolContext"),
        (suspends_with_an_opaque, "the type that it suspends with cannot be described"),
        (resumes_with_an_opaque, "the type of the answer cannot be described"),
        (takes_the_unknown, "Unheard"),
        (takes_nonsense, "a type hint cannot be read"),
    ],
)
def test_what_has_no_schema_is_refused_in_one_line_with_its_place(
    function: Callable[..., Any], complaint: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        python_tool(function)
    line = function.__code__.co_firstlineno
    assert f"test_tool_arguments.py:{line}:1: tool `{function.__name__}`: " in refused.value.message
    assert complaint in refused.value.message
    assert "\n" not in refused.value.message
