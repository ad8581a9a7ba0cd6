"""The shape of a value: any JSON, or what a JSON Schema allows. Knows no Python types.

Imports jsonschema when the first value is checked.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from agentctl.tools.jsonable import to_json

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_SHOWN_PROBLEMS = 5
_SHOWN_CHARACTERS = 300


class Misfit(ValueError):
    """A value does not have its shape; the message names the fields."""


class Shape(Protocol):
    """What may go in or out of a tool: JSON outside, Python values inside."""

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema; `None` means any JSON."""
        ...

    def check(self, data: Any) -> None:
        """Raise `Misfit` unless the schema allows the JSON `data` and `read` accepts it."""
        ...

    def read(self, data: Any) -> Any:
        """The Python value that the JSON `data` stands for, sharing nothing with it. Raises `Misfit`."""
        ...

    def write(self, value: Any) -> Any:
        """The plain JSON of a Python value. Raises `Misfit`."""
        ...


class AnyShape:
    """Any JSON."""

    @property
    def schema(self) -> None:
        return None

    def check(self, data: Any) -> None:
        """Everything fits."""

    def read(self, data: Any) -> Any:
        return _copy(data)

    def write(self, value: Any) -> Any:
        return plain(value)


class SchemaShape:
    """What a JSON Schema, written by hand, allows."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    def check(self, data: Any) -> None:
        try:
            found = problems(self._validator, data)
        except Exception as error:  # an unusable pattern or reference shows only when it is reached
            raise Misfit(f"its schema cannot be used: {described(error)}") from error
        if found:
            raise Misfit(in_one_line(found))

    def read(self, data: Any) -> Any:
        self.check(data)
        return _copy(data)

    def write(self, value: Any) -> Any:
        data = plain(value)
        self.check(data)
        return data

    @cached_property
    def _validator(self) -> Validator:
        return validator(self.schema)


def plain(value: Any) -> Any:
    """`value` as plain JSON, in whatever form it has; raises `Misfit`."""
    try:
        return to_json(value)
    except Exception as error:  # properties and serializers of the author's types may raise anything
        raise Misfit(described(error)) from error


def _copy(data: Any) -> Any:
    try:
        return deepcopy(data)
    except RecursionError:
        raise Misfit("it is nested too deeply") from None


def described(error: BaseException) -> str:
    """One line for an error of somebody else's code, whose text may fail too."""
    if isinstance(error, ValueError) and type(error).__module__.startswith("agentctl."):
        return str(error)
    try:
        text = str(error)
    except Exception:  # `__str__` is the author's code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def validator(schema: dict[str, Any]) -> Validator:
    """A validator that never asks the network for a `$ref`."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    kind: Any = validator_for(schema, default=Draft202012Validator)
    made: Validator = kind(schema, registry=Registry())
    return made


def problems(checker: Validator, data: Any) -> list[str]:
    """What the schema has against `data`, each with the field that it is about."""
    return [_problem(error) for error in checker.iter_errors(data)]


def in_one_line(found: list[str]) -> str:
    """The first problems, and how many more there are."""
    more = len(found) - _SHOWN_PROBLEMS
    return "; ".join(found[:_SHOWN_PROBLEMS] + ([f"{more} more"] if more > 0 else []))


def at_field(path: tuple[str | int, ...], problem: str) -> str:
    """`problem` with the place that it is about, such as `items[2].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return f"`{text}`: {problem}" if text else problem


def defect(schema: Any) -> str | None:
    """Why `schema` is no JSON Schema; `None` where it is one."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    if not isinstance(schema, dict):
        return f"must be a JSON Schema object, not {type(schema).__name__}"
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return _problem(error)
    return None


def _problem(error: ValidationError | Any) -> str:
    message = error.message
    if len(message) > _SHOWN_CHARACTERS:
        message = f"{message[:_SHOWN_CHARACTERS]}…"
    return at_field(tuple(error.absolute_path), message)
