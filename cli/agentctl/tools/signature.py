"""How a function is called: its parameters as an input schema, and arguments as its parameters.

Finds the parameter that takes the `ToolContext`, by its type and under any name.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentctl.errors import DefinitionError
from agentctl.tools.context import ToolContext
from agentctl.tools.jsonable import NotJson, to_json
from agentctl.tools.shape import AnyShape, Misfit, SchemaShape, Shape, defect, described

Mode = typing.Literal["validation", "serialization"]

_Bound = tuple[list[Any], dict[str, Any]]
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a tool. `context` is the one that takes the `ToolContext`, if there is one."""

    shape: Shape
    parameters: inspect.Signature
    context: str | None

    @property
    def schema(self) -> dict[str, Any]:
        """A JSON Schema of type object."""
        return self.shape.schema or {"type": "object"}

    def bind(self, args: dict[str, Any], context: ToolContext[Any, Any] | None) -> _Bound:
        """The positional and the named arguments that the function is called with. Raises `Misfit`."""
        named = self.shape.read(args)
        if self.context in named:
            raise Misfit(f"`{self.context}`: not an argument of this tool")
        if self.context is not None:
            named[self.context] = context
        positional = [
            named.pop(name, parameter.default)
            for name, parameter in self.parameters.parameters.items()
            if parameter.kind is parameter.POSITIONAL_ONLY
        ]
        try:
            self.parameters.bind(*positional, **named)
        except TypeError as error:
            raise Misfit(str(error)) from None
        return positional, named


@dataclass(frozen=True, slots=True)
class Hints:
    """The types that a function states. `suspend`, `resume` and `result` are `Any` where it does not."""

    parameters: dict[str, inspect.Parameter]
    types: Mapping[str, Any]
    context: str | None
    suspend: Any
    resume: Any
    result: Any


def read_hints(function: Callable[..., Any]) -> Hints:
    """What the function says about itself. Raises `DefinitionError`."""
    try:
        # Under `from __future__ import annotations` the name may be imported for type checkers only.
        types = typing.get_type_hints(function, localns={"ToolContext": ToolContext}, include_extras=True)
    except Exception as error:  # an annotation is an expression of the author's and may raise anything
        raise DefinitionError(f"a type hint cannot be read: {described(error)}") from error
    parameters = dict(inspect.signature(function).parameters)
    contexts = {name: found for name in parameters if (found := _context_types(types.get(name)))}
    if len(contexts) > 1:
        raise DefinitionError(f"two parameters take a ToolContext: {', '.join(contexts)}")
    context, (suspend, resume) = next(iter(contexts.items()), (None, (Any, Any)))
    if context is not None and parameters[context].kind in _VARIADIC:
        raise DefinitionError(f"`*{context}` cannot take the ToolContext; name a parameter for it")
    if context is not None:
        del parameters[context]
    return Hints(parameters, types, context, suspend, resume, types.get("return", Any))


def typed_signature(function: Callable[..., Any], hints: Hints) -> Signature:
    """The signature whose schema comes from the type hints. Raises `DefinitionError`."""
    from agentctl.tools.typed import parameters_shape

    for name, parameter in hints.parameters.items():
        if parameter.kind in _VARIADIC:
            star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise DefinitionError(
                f"`{star}{name}` has no schema", "name each parameter, or give `input_schema=`"
            )
    try:
        shape = parameters_shape(hints.parameters, hints.types)
    except Exception:
        for name in hints.parameters:
            typed(hints.types.get(name, Any), "validation", f"the type of parameter `{name}`")
        raise
    return Signature(shape, inspect.signature(function), hints.context)


def given_signature(function: Callable[..., Any], hints: Hints, schema: dict[str, Any]) -> Signature:
    """The signature whose schema is written by hand. Raises `DefinitionError` where they contradict."""
    shape = given(schema, "input_schema")
    if shape.schema is None or shape.schema.get("type") != "object":
        raise DefinitionError("input_schema: must say `type: object`: arguments are an object")
    offered = shape.schema.get("properties", {})
    open_ended = any(each.kind is each.VAR_KEYWORD for each in hints.parameters.values())
    for name in offered:
        if name == hints.context or (name not in hints.parameters and not open_ended):
            raise DefinitionError(f"input_schema: the function has no parameter `{name}`")
    for name, parameter in hints.parameters.items():
        if parameter.kind not in _VARIADIC and parameter.default is parameter.empty and name not in offered:
            raise DefinitionError(f"input_schema: the function needs `{name}`, which it does not offer")
    return Signature(shape, inspect.signature(function), hints.context)


def typed(hint: Any, mode: Mode, what: str) -> Shape:
    """The shape of a type hint. Raises `DefinitionError` for a type that JSON cannot describe."""
    if hint is Any:
        return AnyShape()
    from agentctl.tools.typed import TypedShape

    try:
        return TypedShape(hint, mode)
    except Exception as error:  # pydantic has a dozen, and schema hooks are the author's code
        reason = described(error).splitlines()[0]
        raise DefinitionError(f"{what} cannot be described as JSON: {reason}") from error


def given(schema: dict[str, Any], what: str) -> SchemaShape:
    """The shape of a JSON Schema that is written by hand. Raises `DefinitionError`."""
    try:
        copy = to_json(schema)
    except NotJson as error:
        raise DefinitionError(f"{what}: {error}") from None
    problem = defect(copy)
    if problem is not None:
        raise DefinitionError(f"{what}: {problem}")
    return SchemaShape(copy)


def _context_types(hint: Any) -> tuple[Any, Any] | None:
    """`Suspend` and `Resume` where the hint is a `ToolContext`, also `ToolContext | None`."""
    if hint is ToolContext:
        return Any, Any
    origin = typing.get_origin(hint)
    if origin is ToolContext:
        suspend, resume = typing.get_args(hint)
        return suspend, resume
    if origin is typing.Annotated:
        return _context_types(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return next((found for each in typing.get_args(hint) if (found := _context_types(each))), None)
    return None
