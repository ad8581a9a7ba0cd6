"""The `@tool` decorator: marks a function as a tool and leaves it as it is.

Checks what can be seen without the function's types, which may name classes that come later in the
file; `python.py` builds the tool. Imports no pydantic.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from agentctl.errors import DefinitionError
from agentctl.tools.duration import seconds

F = TypeVar("F", bound=Callable[..., Any])
PolicyFunction = Callable[[Any], Any]

_MARK = "__agentctl_tool__"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Options:
    """What the author says about a tool beyond its function; `timeout` is in seconds."""

    id: str | None = None
    description: str | None = None
    require_approval: bool | PolicyFunction = False
    idempotent: bool = False
    timeout: float | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    suspend_schema: dict[str, Any] | None = None
    resume_schema: dict[str, Any] | None = None
    applied_in: str = ""


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    id: str | None = None,
    description: str | None = None,
    require_approval: bool | PolicyFunction = False,
    idempotent: bool = False,
    timeout: float | str | None = None,
    input_schema: dict[str, Any] | None = None,
    output_schema: dict[str, Any] | None = None,
    suspend_schema: dict[str, Any] | None = None,
    resume_schema: dict[str, Any] | None = None,
) -> Callable[[F], F]: ...


def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool: `@tool`, or `@tool(require_approval=True)`.

    - `id`: what the model calls it, `[a-zA-Z0-9_-]{1,64}`; default: the function's name
    - `description`: default: the first paragraph of the docstring
    - `require_approval`: `True`, or a function that gets the call and returns whether a human must approve it
    - `idempotent`: running it again does no harm, so a call of unknown outcome may be repeated
    - `timeout`: seconds, or `"300ms"`, `"60s"`, `"2m"`, `"1h"`
    - `input_schema`, `output_schema`, `suspend_schema`, `resume_schema`: JSON Schemas instead of those that
      come from the type hints; the function then gets and gives plain JSON

    Raises `DefinitionError`, which is a `ValueError`, for wrong use.
    """
    applied_in = sys._getframe(1).f_globals.get("__name__", "")

    def mark(function: Any) -> Any:
        check_function(function)
        checked = _checked(inspect.unwrap(function).__name__, options)
        setattr(function, _MARK, replace(checked, applied_in=applied_in))
        return function

    return mark if function is None else mark(function)


def options_of(function: Any) -> Options | None:
    """What `@tool` said about a function; `None` where it is no tool."""
    mark = getattr(function, _MARK, None)
    return mark if isinstance(mark, Options) else None


def is_function(value: Any) -> bool:
    """A function of Python, perhaps behind decorators that keep to `functools.wraps`."""
    return callable(value) and inspect.isfunction(inspect.unwrap(value))


def check_function(function: Any) -> None:
    """Raise `DefinitionError` for what cannot be called as a tool is."""
    if not is_function(function):
        raise DefinitionError(
            f"@tool is for functions, not for `{function!r:.80}`", "write @tool above a `def`"
        )
    for made in (function, inspect.unwrap(function)):
        if inspect.isgeneratorfunction(made) or inspect.isasyncgenfunction(made):
            raise DefinitionError(
                f"`{made.__name__}` yields; a tool returns its whole result",
                "`ctx.emit(text)` shows progress",
            )


def _checked(name: str, options: dict[str, Any]) -> Options:
    """The options, each of the right type: a gate that is written wrongly must not stand open."""
    for option, value in options.items():
        if option not in _OPTIONS:
            raise DefinitionError(f"tool `{name}`: @tool has no option `{option}`")
        fits, wanted = _OPTIONS[option]
        if not fits(value):
            raise DefinitionError(f"tool `{name}`: {option} must be {wanted}, not `{value!r:.80}`")
    checked = dict(options)
    if checked.get("timeout") is not None:
        try:
            checked["timeout"] = seconds(checked["timeout"])
        except ValueError as error:
            raise DefinitionError(f"tool `{name}`: timeout: {error}") from None
    check_id(name if checked.get("id") is None else checked["id"])
    return Options(**checked)


def check_id(id: str) -> None:
    """Raise `DefinitionError` for a name that no provider would take as the name of a tool."""
    if not _ID.fullmatch(id):
        raise DefinitionError(
            f"tool id `{id}` is not 1 to 64 letters, digits, `_` or `-`", 'give it one: `@tool(id="...")`'
        )


def _is_schema(value: object) -> bool:
    return value is None or isinstance(value, dict)


_SCHEMA = (_is_schema, "a JSON Schema, as a dict")
_OPTIONS: dict[str, tuple[Callable[[object], bool], str]] = {
    "id": (lambda value: value is None or isinstance(value, str), "text"),
    "description": (lambda value: value is None or isinstance(value, str), "text"),
    "require_approval": (
        lambda value: isinstance(value, bool) or is_function(value),
        "True, False or a function",
    ),
    "idempotent": (lambda value: isinstance(value, bool), "True or False"),
    "timeout": (lambda value: True, ""),
    "input_schema": _SCHEMA,
    "output_schema": _SCHEMA,
    "suspend_schema": _SCHEMA,
    "resume_schema": _SCHEMA,
}
