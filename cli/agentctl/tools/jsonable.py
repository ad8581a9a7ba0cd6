"""From the values of Python to plain JSON: what comes out reads back equal, or there is no output.

Knows no schema. Imports pydantic only for values that have no obvious JSON form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

MAX_DEPTH = 200

# Python refuses to read or write decimal integers of more than 4300 digits.
_MAX_BITS = 14_280

_Path = tuple[str | int, ...]


class NotJson(ValueError):
    """A value that JSON cannot hold; the message says where it stands and why."""


def to_json(value: Any) -> Any:
    """`value` as dict, list, str, int, float, bool and None, all of exactly these types.

    Models, dataclasses, enums, dates, paths and the like take the form that pydantic gives them; sets
    become sorted lists, bytes must be UTF-8, keys become strings. Raises `NotJson` for NaN and
    infinities, integers of more than 4300 digits, cycles, more than `MAX_DEPTH` levels, two keys that
    become one, iterators, and everything without a JSON form.
    """
    return _convert(value, ())


def _convert(value: Any, path: _Path) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return _integer(value, path)
    if kind is float:
        return _number(value, path)
    if len(path) >= MAX_DEPTH:
        raise NotJson(f"{_where(path[:5])}: nested more than {MAX_DEPTH} levels deep, or holds itself")
    if kind is dict:
        return _object(value.items(), path)
    if kind is list or kind is tuple:
        return _array(value, path)
    return _other(value, path)


def _integer(value: int, path: _Path) -> int:
    if value.bit_length() > _MAX_BITS:
        raise NotJson(f"{_where(path)}: an integer of more than 4300 digits")
    return value


def _number(value: float, path: _Path) -> float:
    if not math.isfinite(value):
        raise NotJson(f"{_where(path)}: {value} has no JSON form")
    return value


def _object(items: Iterable[tuple[Any, Any]], path: _Path) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in items:
        name = key if type(key) is str else _key(key, path)
        if name in out:
            raise NotJson(f"{_where(path)}: two keys that both become `{name}`")
        out[name] = _convert(value, (*path, name))
    return out


def _key(key: Any, path: _Path) -> str:
    plain = _convert(key, path)
    if isinstance(plain, str):
        return plain
    if plain is None or isinstance(plain, bool):
        return {None: "null", True: "true", False: "false"}[plain]
    if isinstance(plain, int | float):
        return repr(plain)
    raise NotJson(f"{_where(path)}: a key of type {type(key).__name__} has no JSON form")


def _array(items: Iterable[Any], path: _Path) -> list[Any]:
    return [_convert(item, (*path, index)) for index, item in enumerate(items)]


def _other(value: Any, path: _Path) -> Any:
    """Subclasses become what they extend, so that the same type is read back as was stored."""
    if isinstance(value, Enum):
        return _convert(value.value, path)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _integer(int.__index__(value), path)
    if isinstance(value, float):
        return _number(float.__float__(value), path)
    if isinstance(value, Mapping):
        return _object(value.items(), path)
    if isinstance(value, list | tuple):
        return _array(value, path)
    if isinstance(value, set | frozenset):
        return _sorted(_array(value, path))
    if isinstance(value, bytes | bytearray | memoryview):
        return _text(bytes(value), path)
    if is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "__pydantic_serializer__"):
        return _object(((field.name, getattr(value, field.name)) for field in fields(value)), path)
    if isinstance(value, Iterator):
        raise NotJson(f"{_where(path)}: a {type(value).__name__} may never end; make it a list")
    return _by_pydantic(value, path)


def _sorted(items: list[Any]) -> list[Any]:
    """Sets have another order in every process; what is stored has one."""
    from agentctl_store.canonical import canonical

    return sorted(items, key=canonical)


def _text(value: bytes, path: _Path) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise NotJson(f"{_where(path)}: bytes that are not UTF-8 have no JSON form") from None


def _by_pydantic(value: Any, path: _Path) -> Any:
    from pydantic_core import to_jsonable_python

    try:
        plain = to_jsonable_python(value, by_alias=True)
    except Exception as error:  # a serializer is code of the tool's author and may raise anything
        reason = _reason(error, value)
        raise NotJson(f"{_where(path)}: {reason}") from None
    if type(plain) not in (dict, list, str, int, float, bool, type(None)):
        raise NotJson(f"{_where(path)}: a {type(value).__name__} has no JSON form")
    return _convert(plain, path)


def _reason(error: Exception, value: Any) -> str:
    if "Unable to serialize unknown type" in str(error):
        return f"a {type(value).__name__} has no JSON form ({error})"
    return f"a {type(value).__name__} that cannot be serialized: {error}"


def _where(path: _Path) -> str:
    """The place in the value, such as `items[2].name`; the value itself without a name."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return f"`{text}`" if text else "the value"
