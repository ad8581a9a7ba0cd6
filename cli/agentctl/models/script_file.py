"""The script of the offline model: a YAML file, read strictly, as values. Knows no requests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentctl.errors import DefinitionError, NotFound
from agentctl.exit_status import ExitStatus
from agentctl.models.protocol import FinishReason, Usage

if TYPE_CHECKING:
    from agentctl.yaml12.source import Document

T = TypeVar("T")
Place = tuple[str | int, ...]

_FINISH_REASONS: tuple[FinishReason, ...] = ("stop", "tool_calls", "length", "content_filter")
_TOKENS = ("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "cached_tokens")
_ERROR_STATUSES = (ExitStatus.FAILED, ExitStatus.AUTH, ExitStatus.INTERRUPTED)
_SAYS_SOMETHING = ("text", "reasoning", "tool_calls", "error", "finish_reason")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_TYPE_NAMES = {str: "a text", dict: "a mapping", list: "a list", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call of a turn: `args` is any JSON, unless `arguments` gives the text itself."""

    name: str
    id: str | None = None
    args: Any = None
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Outage:
    """An error in place of the rest of an answer."""

    status: ExitStatus
    message: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. `delay` is in seconds, before it begins."""

    when: re.Pattern[str] | None = None
    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    error: Outage | None = None
    delay: float = 0.0


def read_script(file: Path, name: str) -> tuple[Turn, ...]:
    """The turns of the script in `file`; messages call it `name`. Raises `DefinitionError`."""
    from agentctl.yaml12.source import read_yaml_file

    try:
        document = read_yaml_file(file, name)
    except NotFound as error:
        # What is missing is a part of a definition, as a missing file of tools is.
        raise DefinitionError(
            error.message, "scripts lie beside the agent file; `scripted/FILE` names one"
        ) from None
    return _Reader(document).turns()


class _Reader:
    """Walks the document; every complaint is placed where its cause stands."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def turns(self) -> tuple[Turn, ...]:
        script = self._mapping((), ("turns", "auto_resume"), required=("turns",))
        for path, _ in self._items(("auto_resume",), script.get("auto_resume", [])):
            answer = self._mapping(path, ("when", "answer"), required=("answer",))
            self._when((*path, "when"), answer.get("when"))
        return tuple(self._turn(path) for path, _ in self._items(("turns",), script["turns"]))

    def _turn(self, path: Place) -> Turn:
        keys = ("when", "text", "reasoning", "tool_calls", "finish_reason", "usage", "error", "delay")
        turn = self._mapping(path, keys)
        if not any(key in turn for key in _SAYS_SOMETHING):
            raise self._error(path, "a turn needs `text`, `tool_calls` or `error`")
        calls = self._items((*path, "tool_calls"), turn.get("tool_calls", []))
        return Turn(
            when=self._when((*path, "when"), turn.get("when")),
            text=self._typed((*path, "text"), turn.get("text", ""), str),
            reasoning=self._typed((*path, "reasoning"), turn.get("reasoning", ""), str),
            calls=tuple(self._call(call_path) for call_path, _ in calls),
            finish_reason=self._finish_reason((*path, "finish_reason"), turn.get("finish_reason")),
            usage=self._usage((*path, "usage")) if "usage" in turn else Usage(requests=1),
            error=self._outage((*path, "error")) if "error" in turn else None,
            delay=self._delay((*path, "delay"), turn.get("delay", 0)),
        )

    def _call(self, path: Place) -> ScriptedCall:
        call = self._mapping(path, ("id", "name", "args", "arguments"), required=("name",))
        if "args" in call and "arguments" in call:
            raise self._error(path, "give `args` or, as raw text, `arguments`, not both")
        name = self._typed((*path, "name"), call["name"], str)
        if not name:
            raise self._error((*path, "name"), "a tool call needs a name")
        call_id, arguments = call.get("id"), call.get("arguments")
        return ScriptedCall(
            name=name,
            id=None if call_id is None else self._typed((*path, "id"), call_id, str),
            args=call.get("args", {}),
            arguments=None if arguments is None else self._typed((*path, "arguments"), arguments, str),
        )

    def _when(self, path: Place, when: object) -> re.Pattern[str] | None:
        if when is None:
            return None
        pattern = self._mapping(path, ("user",), required=("user",))["user"]
        try:
            return re.compile(self._typed((*path, "user"), pattern, str))
        except (re.error, RecursionError, OverflowError) as error:
            raise self._error((*path, "user"), f"not a regular expression: {error}") from None

    def _finish_reason(self, path: Place, reason: object) -> FinishReason | None:
        if reason is None:
            return None
        for known in _FINISH_REASONS:
            if reason == known:
                return known
        raise self._error(path, "`finish_reason` is one of " + ", ".join(_FINISH_REASONS))

    def _usage(self, path: Place) -> Usage:
        given = self._mapping(path, _TOKENS)
        counts = {key: self._typed((*path, key), value, int) for key, value in given.items()}
        for key, count in counts.items():
            if count < 0:
                raise self._error((*path, key), f"`{key}` cannot be negative")
        total = counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
        return Usage(**{"total_tokens": total, **counts}, requests=1)

    def _outage(self, path: Place) -> Outage:
        error = self._mapping(path, ("status", "message"), required=("message",))
        status = self._typed((*path, "status"), error.get("status", ExitStatus.INTERRUPTED), int)
        if status not in _ERROR_STATUSES:
            raise self._error((*path, "status"), "`status` is 1 (failed), 4 (auth) or 9 (interrupted)")
        return Outage(ExitStatus(status), self._typed((*path, "message"), error["message"], str))

    def _delay(self, path: Place, delay: object) -> float:
        found = None if isinstance(delay, bool) else _DURATION.fullmatch(str(delay))
        if found is None:
            raise self._error(path, "`delay` is a duration, such as 200ms or 2s")
        return float(found[1]) * _SECONDS[found[2]]

    def _items(self, path: Place, value: object) -> list[tuple[Place, Any]]:
        return [((*path, number), item) for number, item in enumerate(self._typed(path, value, list))]

    def _mapping(self, path: Place, known: tuple[str, ...], required: tuple[str, ...] = ()) -> dict[str, Any]:
        value: Any = self._document.data
        for part in path:
            value = value[part]
        mapping: dict[str, Any] = self._typed(path, value, dict)
        for key in mapping:
            if key not in known:
                raise self._document.error(
                    (*path, key), f"unknown key `{key}`", "known here: " + ", ".join(known), key=True
                )
        for key in required:
            if key not in mapping:
                raise self._error(path, f"`{key}` is missing")
        return mapping

    def _typed(self, path: Place, value: object, wanted: type[T]) -> T:
        if isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
            return value
        name = next((part for part in reversed(path) if isinstance(part, str)), "the script")
        shown = json.dumps(value)
        shown = shown if len(shown) <= 40 else shown[:39] + "…"
        raise self._error(path, f"`{name}` must be {_TYPE_NAMES[wanted]}, not `{shown}`")

    def _error(self, path: Place, message: str) -> DefinitionError:
        return self._document.error(path, message)
