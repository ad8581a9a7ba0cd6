"""From YAML text to nodes: values with their places, built from the parser's events.

Nothing is ever constructed from a tag, and nothing grows beyond a limit. Scalars are those of the
core schema of YAML 1.2, so `no`, `on`, `1:30` and `2024-01-01` are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from agentctl.errors import DefinitionError
from agentctl.yaml12.problems import explain
from agentctl.yaml12.text import shown

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 64
# What a document may amount to with its aliases written out: characters, and a price for each value.
MAX_WEIGHT = 4 << 20
VALUE_WEIGHT = 20
MAX_NUMBER_LENGTH = 400

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Node:
    """A value with its place (line and column from 1); containers hold nodes."""

    line: int
    column: int
    value: Any = None
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    weight: int = VALUE_WEIGHT
    height: int = 0


def compose(text: str, name: str) -> Node:
    """The nodes of the only document in `text`; `name` stands before places in messages."""
    return _Composer(text, name).document()


def scalar(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar by the core schema of YAML 1.2.

    Raises `ValueError` for numbers that JSON cannot hold.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        _check_length(text)
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        _check_length(text)
        number = float(text)
        if math.isinf(number):
            raise ValueError("the number is too large")
        return number
    if _NOT_JSON.fullmatch(text):
        raise ValueError(f"`{text}` is a number that JSON does not have")
    return text


def _check_length(text: str) -> None:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError(f"a number of {len(text)} characters is too long")


class _Composer:
    """Builds the nodes of one document from the parser's events, so nothing is ever constructed."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._weight = 0
        # None while the anchored value is being read: an alias to it would contain itself.
        self._anchors: dict[str, Node | None] = {}
        self._events = self._parse()

    def document(self) -> Node:
        """The only document of the text."""
        event = self._next()
        if not _is(event, "DocumentStart"):
            raise self._error((1, 1), "the file is empty")
        if event.version not in (None, (1, 2)):
            self._fail(event, "only YAML 1.2 is read", "remove the `%YAML` line")
        if event.tags:
            self._fail(event, "tags are not allowed", "remove the `%TAG` line")
        root = self._compose(self._next(), 0)
        self._next()
        event = self._next()
        if _is(event, "DocumentStart"):
            self._fail(event, "a second document begins here; only one is allowed", "remove the `---`")
        return root

    def _parse(self) -> Iterator[Any]:
        import yaml

        try:
            for event in yaml.parse(self._text, Loader=_loader()):
                if not _is(event, "StreamStart"):
                    yield event
        except yaml.MarkedYAMLError as error:
            place, message, hints = explain(error, self._text)
            raise self._error(place, message, *hints) from None
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise self._error((1, 1), f"not valid YAML: {error}") from None

    def _next(self) -> Any:
        return next(self._events)

    def _compose(self, event: Any, depth: int) -> Node:
        if _is(event, "Alias"):
            return self._alias(event, depth)
        if event.tag is not None:
            self._fail(event, f"tags are not allowed: `{shown(_tag(event.tag))}`", "remove the tag")
        if depth > MAX_DEPTH:
            self._fail(event, f"values are nested deeper than {MAX_DEPTH} levels")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = Node(*_start(event))
        if _is(event, "Scalar"):
            node.value = self._scalar(event)
            node.weight += len(event.value)
            self._add_weight(event, node.weight)
        else:
            self._add_weight(event, VALUE_WEIGHT)
            (self._sequence if _is(event, "SequenceStart") else self._mapping)(node, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, depth: int) -> Node:
        if event.anchor not in self._anchors:
            self._fail(event, f"there is no anchor `&{shown(event.anchor)}` before this alias")
        target = self._anchors[event.anchor]
        if target is None:
            self._fail(event, f"the alias `*{shown(event.anchor)}` stands inside what it names")
        if depth + target.height > MAX_DEPTH:
            self._fail(event, f"values are nested deeper than {MAX_DEPTH} levels")
        self._add_weight(event, target.weight)
        line, column = _start(event)
        return Node(line, column, target.value, target.keys, target.weight, target.height)

    def _scalar(self, event: Any) -> str | int | float | bool | None:
        text: str = event.value
        if _SURROGATE.search(text):
            self._fail(event, "half a surrogate pair is no character", "write the character itself")
        if event.style:
            return text
        try:
            return scalar(text)
        except ValueError as error:
            self._fail(event, str(error), "put it in quotes if it is a text")

    def _sequence(self, node: Node, depth: int) -> None:
        node.value = []
        while not _is(event := self._next(), "SequenceEnd"):
            self._adopt(node, child := self._compose(event, depth + 1))
            node.value.append(child)

    def _mapping(self, node: Node, depth: int) -> None:
        node.value = {}
        while not _is(event := self._next(), "MappingEnd"):
            key = self._key(event)
            if key in node.keys:
                line, column = node.keys[key]
                self._fail(
                    event, f"the key `{shown(key)}` is given twice; it stands at {line}:{column} already"
                )
            node.keys[key] = _start(event)
            self._adopt(node, child := self._compose(self._next(), depth + 1))
            node.weight += len(key)
            node.value[key] = child

    def _key(self, event: Any) -> str:
        if not _is(event, "Scalar"):
            self._fail(event, "a key must be a text")
        key = self._compose(event, 0).value
        if not isinstance(key, str):
            what = f"`{event.value}`" if event.value else "an empty one"
            self._fail(event, f"a key must be a text, not {what}", "put the key in quotes")
        if key == "<<" and not event.style:
            self._fail(event, "merge keys (`<<`) are not part of YAML 1.2", "write the keys out")
        return key

    def _adopt(self, node: Node, child: Node) -> None:
        node.weight += child.weight
        node.height = max(node.height, child.height + 1)

    def _add_weight(self, event: Any, weight: int) -> None:
        self._weight += weight
        if self._weight > MAX_WEIGHT:
            self._fail(event, "the file holds too much, with its aliases written out")

    def _error(self, place: tuple[int, int], message: str, *hints: str) -> DefinitionError:
        line, column = place
        return DefinitionError(f"{self._name}:{line}:{column}: {message}", *hints)

    def _fail(self, event: Any, message: str, *hints: str) -> NoReturn:
        raise self._error(_start(event), message, *hints)


def _loader() -> type[yaml.SafeLoader] | type[yaml.CSafeLoader]:
    """libyaml where PyYAML was built with it; it is ten times as fast."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _is(event: Any, kind: str) -> bool:
    return type(event).__name__ == f"{kind}Event"


def _start(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
