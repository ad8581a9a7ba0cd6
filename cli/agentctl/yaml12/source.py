"""YAML as plain data that remembers where it stood.

Knows nothing of agents; definitions and scripts are read with it. What it gives is JSON: mappings
with string keys, lists, strings, numbers, booleans, null. Everything else is refused with its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentctl.errors import DefinitionError, NotFound
from agentctl.yaml12.composer import Node, compose
from agentctl.yaml12.text import MAX_BYTES, decode


class Document:
    """One YAML document: `data` is plain, `error` and `locate` say where a part of it stood."""

    def __init__(self, root: Node, name: str) -> None:
        self._root = root
        self.name = name
        self.data = _plain(root)

    def locate(self, path: tuple[str | int, ...], *, key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, of the value at `path`, or of its key.

        Where the path leads nowhere (a missing key), it is the place of the last value on the way.
        """
        node = self._root
        place = (node.line, node.column)
        for index, part in enumerate(path):
            child = _child(node, part)
            if child is None:
                break
            place = (child.line, child.column)
            if key and index == len(path) - 1 and isinstance(part, str):
                place = node.keys[part]
            node = child
        return place

    def error(
        self, path: tuple[str | int, ...], message: str, *hints: str, key: bool = False
    ) -> DefinitionError:
        """The error `name:line:column: message`, placed at the value at `path` or at its key."""
        line, column = self.locate(path, key=key)
        return DefinitionError(f"{self.name}:{line}:{column}: {message}", *hints)


def read_yaml_file(path: Path, name: str | None = None) -> Document:
    """Read the file at `path`; `name` is what messages call it.

    Raises `NotFound` where there is no file, `DefinitionError` for everything else that is wrong.
    """
    name = str(path) if name is None else name
    try:
        # A pipe or device could block or never end, and could not be read again on resume.
        if path.exists() and not path.is_file():
            raise DefinitionError(f"`{name}` is not a file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file `{name}`") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DefinitionError(f"cannot read `{name}`: {reason}") from None
    return read_yaml(content, name)


def read_yaml(text: str | bytes, name: str) -> Document:
    """Read one document from `text`; `name` stands before the line and column in messages.

    Raises `DefinitionError` for broken YAML and for what JSON or a careful reader does not have:
    tags, duplicate keys, keys that are no strings, merge keys, infinities, several documents,
    more than 1 MiB, values nested deeper than 64 levels, aliases that explode.
    """
    return Document(compose(decode(text, name), name), name)


def _child(node: Node, part: str | int) -> Node | None:
    value = node.value
    if isinstance(part, int):
        known = isinstance(value, list) and 0 <= part < len(value)
    else:
        known = isinstance(value, dict) and part in value
    return value[part] if known else None


def _plain(node: Node) -> Any:
    value = node.value
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return value
