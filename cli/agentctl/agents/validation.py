"""From a YAML document to a `Definition`: everything that is wrong, each with its place, in one error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from agentctl.agents.definition import FORMS, POLICY_FORMS, Definition, ModelMapping, Options
from agentctl.errors import DefinitionError
from agentctl.yaml12.source import Document
from agentctl.yaml12.text import shown

Place = tuple[str | int, ...]

# What a value must be, by the type of pydantic's error.
_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "model_type": "a mapping",
    "dict_type": "a mapping",
}
_LONGEST_KEY, _NEAR = 40, 0.75
_MODELS: dict[str, type[BaseModel]] = {"model": ModelMapping, "options": Options}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong at `path` (or at its key)."""

    path: Place
    message: str
    hints: tuple[str, ...] = ()
    key: bool = False


def validate(document: Document) -> Definition:
    """The definition that `document` holds. Raises `DefinitionError` that names all problems."""
    if not isinstance(document.data, dict):
        hint = "an agent begins with `id: my-agent` and `instructions: ...`"
        raise document.error((), f"an agent is a mapping of keys, not {kind(document.data)}", hint)
    try:
        return Definition.model_validate(document.data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        raise report(document, map(_problem, details)) from None


def report(document: Document, problems: Iterable[Problem]) -> DefinitionError:
    """One error for all problems, a line for each, in the order of the file."""
    found = [(document.locate(p.path, key=p.key), p) for p in problems]
    found.sort(key=lambda item: item[0])
    lines = [document.error(p.path, p.message, key=p.key).message for _, p in found]
    hints = dict.fromkeys(hint for _, p in found for hint in p.hints)
    return DefinitionError("\n".join(lines), *hints)


def kind(value: object) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _problem(detail: Any) -> Problem:
    path: Place = tuple(part for part in detail["loc"] if part not in FORMS)
    label, value = _label(path), detail["input"]
    match detail["type"]:
        case "missing":
            where = f" in `{_label(path[:-1])}`" if len(path) > 1 else ""
            return Problem(path[:-1], f"the key `{path[-1]}` is missing{where}")
        case "extra_forbidden":
            return _unknown_key(path)
        case "string_pattern_mismatch" if path == ("id",):
            return Problem(path, f"the id `{shown(value)}` must be 1 to 64 of a-z, 0-9 and `-`")
        case "string_pattern_mismatch" if path == ("require_tool_approval",):
            hint = f'for a glob, write ["{shown(value)}"]'
            return Problem(path, f"`{label}` must be {POLICY_FORMS}", (hint,))
        case "string_pattern_mismatch" | "null":
            return Problem(path, f"`{label}` must not be empty")
        case "literal_error":
            return Problem(path, f"`{label}` must be {detail['ctx']['expected'].replace(chr(39), '`')}")
        case "greater_than_equal":
            return Problem(path, f"`{label}` must be at least {detail['ctx']['ge']:g}")
        case "less_than_equal":
            return Problem(path, f"`{label}` must be at most {detail['ctx']['le']:g}")
        case "form":
            return _wrong_type(path, detail["msg"], value)
        case other:
            return _wrong_type(path, _EXPECTED[other], value)
            return _wrong_type(path, _EXPECTED.get(other, detail["msg"]), value)


def _unknown_key(path: Place) -> Problem:
    key, where = str(path[-1]), ""
    model: type[BaseModel] = Definition
    if len(path) > 1:
        model, where = _MODELS[str(path[0])], f" in `{path[0]}`"
    known = list(model.model_fields)
    near = difflib.get_close_matches(key[:_LONGEST_KEY], known, 1, _NEAR)
    advice = f"; did you mean `{near[0]}`?" if near else ""
    hints = () if near else (f"known keys{where}: {', '.join(known)}",)
    return Problem(path, f"unknown key `{shown(key)}`{where}{advice}", hints, key=True)


def _wrong_type(path: Place, expected: str, value: Any) -> Problem:
    hints = ("put it in quotes",) if expected == "a text" and isinstance(value, bool | int | float) else ()
    return Problem(path, f"`{_label(path)}` must be {expected}, not {kind(value)}", hints)


def _label(path: Place) -> str:
    """A path as people write it: `options.max_steps`, `tools[0]`."""
    first, *rest = path
    return str(first) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)
