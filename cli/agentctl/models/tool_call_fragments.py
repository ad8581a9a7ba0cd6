"""Tool calls from the fragments of a streamed Chat Completions answer, as real servers send them.

A fragment belongs to a call by its index, else by its id, else it goes on with the last call. Servers
break each of these: indexes are missing, null or always 0; ids are missing, empty, repeated or change;
names come once or with every fragment. So a fragment that carries a name may begin another call
(`_begins_another`); one without a name never does. Nothing is ever guessed into a call: what cannot be
assigned makes the answer unusable, and two argument objects in one call are invalid arguments.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from agentctl.models.messages import ToolCall
from agentctl.models.surrogates import join_halves


class Unassigned(Exception):
    """Arguments came for a tool that was never named."""


@dataclass(slots=True)
class _Call:
    id: str
    chunk: int
    name: str = ""
    parts: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return join_halves("".join(self.parts))

    @property
    def is_whole(self) -> bool:
        """The arguments are JSON, so nothing can follow."""
        return is_json(self.arguments)

    @property
    def is_partial(self) -> bool:
        """The arguments have begun, so something must follow."""
        return bool(self.arguments.strip()) and not self.is_whole


class Fragments:
    """Takes `delta.tool_calls` and `delta.function_call` of each chunk, gives the calls in order."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        # The API of 2023. Some servers send each call in both forms, so it counts only when alone.
        self._legacy: _Call | None = None
        self._chunk = 0

    def add(self, tool_calls: object) -> None:
        """Take the value of `delta.tool_calls`."""
        self._chunk += 1
        items = tool_calls if isinstance(tool_calls, list) else [tool_calls]
        for item in items:
            if isinstance(item, dict):
                self._add_item(item)

    def add_legacy(self, function_call: object) -> None:
        """Take the value of `delta.function_call`."""
        if isinstance(function_call, dict):
            call = self._legacy = self._legacy or _Call("", 0)
            call.name = call.name or _text(function_call.get("name"))
            call.parts.append(_arguments(function_call.get("arguments")))

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began; those without an id get one.

        Raises `Unassigned` for arguments without a tool.
        """
        named = [call for call in self._calls if call.name]
        if any(call.arguments.strip() for call in self._calls if not call.name):
            raise Unassigned
        if not named and self._legacy is not None and self._legacy.name:
            named = [self._legacy]
        taken = {call.id for call in named}
        return tuple(ToolCall(call.id or _new_id(taken), call.name, call.arguments) for call in named)

    def _add_item(self, item: dict[str, Any]) -> None:
        function = item.get("function")
        if not isinstance(function, dict):
            function = {}
        name, arguments = _text(function.get("name")), _arguments(function.get("arguments"))
        index, call_id = _index(item.get("index")), _text(item.get("id"))
        call = self._find(index, call_id)
        if call is None and not (name or arguments or call_id):
            return
        if call is None or (name and self._begins_another(call, index, call_id, name, arguments)):
            call = _Call(call_id, self._chunk)
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        call.chunk = self._chunk
        call.id = call.id or call_id
        # A name comes once, or again with every fragment, or (rarely) in pieces itself.
        if name != call.name:
            call.name += name
        call.parts.append(arguments)

    def _find(self, index: int | None, call_id: str) -> _Call | None:
        """The call that a fragment with this index and id goes on with, if it has begun."""
        if index is not None and index in self._by_index:
            return self._by_index[index]
        if call_id:
            return next((call for call in reversed(self._calls) if call.id == call_id), None)
        return self._calls[-1] if self._calls and index is None else None

    def _begins_another(
        self, call: _Call, index: int | None, call_id: str, name: str, arguments: str
    ) -> bool:
        """Whether a fragment with a name, found to go on with `call`, is a call of its own instead."""
        if not call.name:
            return False
        indexed = index is not None and self._by_index.get(index) is call
        if (call_id and call.id and call_id != call.id) or (index is not None and not indexed):
            return not (name == call.name and call.is_partial)
        if indexed:
            return name != call.name and call.is_whole
        if name != call.name:
            return not call.is_partial
        return call.chunk == self._chunk or (call.is_whole and bool(arguments.strip()))


def is_json(text: str) -> bool:
    """Whether `text` is one whole JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    """A fragment as text; some servers send the whole object."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) else None


def _new_id(taken: set[str]) -> str:
    number = 1
    while (made := f"call_{number}") in taken:
        number += 1
    taken.add(made)
    return made
