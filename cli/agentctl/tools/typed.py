"""Shapes that come from type hints, by pydantic. Everything about pydantic is here."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from agentctl.tools.jsonable import to_json
from agentctl.tools.shape import Misfit, at_field, described, in_one_line, problems, validator

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


class TypedShape:
    """What a type hint allows.

    `mode` says which way the JSON goes: `validation` into the tool, `serialization` out of it; the
    schemas differ, for example where a field has a default. Raises whatever pydantic raises for a hint
    that has no schema.
    """

    def __init__(self, hint: Any, mode: Literal["validation", "serialization"]) -> None:
        self._adapter: TypeAdapter[Any] = TypeAdapter(hint)
        with warnings.catch_warnings():
            # A default without a JSON form is left out of the schema, which is all that can be done.
            warnings.simplefilter("ignore")
            self.schema: dict[str, Any] = to_json(_untitled(self._adapter.json_schema(mode=mode)))

    def check(self, data: Any) -> None:
        try:
            found = problems(self._validator, data)
        except Exception:  # pydantic's patterns are not Python's; what jsonschema cannot judge, `read` does
            found = []
        if found:
            raise Misfit(in_one_line(found))
        self.read(data)

    def read(self, data: Any) -> Any:
        """As pydantic reads JSON: a string may stand for a number, a date or an enum."""
        try:
            return self._from_json(data)
        except ValidationError as error:
            raise Misfit(in_one_line(_problems(error))) from error
        except Exception as error:  # validators are the author's code
            raise Misfit(described(error)) from error

    def write(self, value: Any) -> Any:
        try:
            valid = self._adapter.validate_python(value)
            dumped = self._adapter.dump_python(valid, mode="json", by_alias=True, warnings="error")
            return to_json(dumped)
        except ValidationError as error:
            raise Misfit(in_one_line(_problems(error))) from error
        except Exception as error:  # validators and serializers are the author's code
            raise Misfit(described(error)) from error

    def _from_json(self, data: Any) -> Any:
        try:
            return self._adapter.validate_json(json.dumps(data))
        except ValidationError as error:
            if error.errors(include_url=False)[0]["type"] != "json_invalid":
                raise
        # Lone surrogates and great depth, which pydantic's JSON parser refuses.
        return self._adapter.validate_python(json.loads(json.dumps(data)))

    @cached_property
    def _validator(self) -> Validator:
        return validator(self.schema)


def parameters_shape(parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any]) -> TypedShape:
    """The shape of a function's arguments: an object with one field for each parameter, and no others.

    `read` gives the keyword arguments; parameters that were left out get their default.
    """
    hinted = {name: _field(parameter, hints.get(name, Any)) for name, parameter in parameters.items()}
    make: Any = TypedDict  # its fields are known at run time only
    arguments = make("arguments", hinted)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypedShape(arguments, "validation")


def _field(parameter: inspect.Parameter, hint: Any) -> Any:
    if parameter.default is not parameter.empty:
        if not isinstance(parameter.default, FieldInfo):
            return NotRequired[Annotated[hint, Field(default=parameter.default)]]
        hint = Annotated[hint, parameter.default]
    required = FieldInfo.from_annotation(hint).is_required()
    return hint if required else NotRequired[hint]


def _problems(error: ValidationError) -> list[str]:
    # Without the input: it may be huge, and the reader has it.
    return [
        at_field(each["loc"], each["msg"]) for each in error.errors(include_url=False, include_input=False)
    ]


_NAMED_SCHEMAS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples")


def _untitled(schema: Any) -> Any:
    """Without the titles that pydantic makes of names: noise for a model, and tokens."""
    if isinstance(schema, list):
        return [_untitled(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key in _DATA:
            out[key] = value
        elif key in _NAMED_SCHEMAS and isinstance(value, dict):
            out[key] = {name: _untitled(each) for name, each in value.items()}
        elif key != "title":
            out[key] = _untitled(value)
    return out
