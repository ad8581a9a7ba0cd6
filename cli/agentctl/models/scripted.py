"""The offline model: it answers from a script, the n-th turn for the n-th request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentctl.errors import ModelError
from agentctl.exit_status import ExitStatus
from agentctl.models.messages import Assistant, ToolCall, ToolResult, User
from agentctl.models.protocol import Answer, OnText, Request
from agentctl.models.script_file import ScriptedCall, Turn, read_script

# Enough to see that text streams, few enough to cost nothing.
_PIECES = 16
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WORD_START = re.compile(r"(?<=\s)(?=\S)")


def open_scripted(name: str, folder: Path) -> ScriptedModel:
    """The model of the script `name`, relative to `folder`. Raises `DefinitionError`."""
    return ScriptedModel(name, read_script(folder / name, name))


class ScriptedModel:
    """Answers from turns; the same request gets the same answer in every process."""

    def __init__(self, name: str, turns: tuple[Turn, ...]) -> None:
        self._name = name
        self._turns = turns

    async def ask(self, request: Request, on_text: OnText, on_reasoning: OnText) -> Answer:
        """Play the turn of this request (see `protocol.Model`)."""
        import asyncio

        turn = self._turn(request.turn)
        values = self._values(turn, request)
        await asyncio.sleep(turn.delay)
        text, reasoning = _fill(turn.text, values), _fill(turn.reasoning, values)
        for emit, whole in ((on_reasoning, reasoning), (on_text, text)):
            for piece in _pieces(whole):
                emit(piece)
                await asyncio.sleep(0)
        if turn.error is not None:
            message = f"`scripted/{self._name}`: {_fill(turn.error.message, values)}"
            raise ModelError(message, status=turn.error.status)
        calls = tuple(
            _call(call, f"call-{request.turn}-{number}", values)
            for number, call in enumerate(turn.calls, start=1)
        )
        finish_reason = turn.finish_reason or ("tool_calls" if calls else "stop")
        return Answer(Assistant(text, reasoning, calls), finish_reason, turn.usage)

    async def close(self) -> None:
        """Nothing is open."""

    def _turn(self, number: int) -> Turn:
        if number > len(self._turns):
            held = len(self._turns)
            raise self._ends(f"has no turn {number}: it ends after {held} turn{'' if held == 1 else 's'}")
        return self._turns[number - 1]

    def _values(self, turn: Turn, request: Request) -> dict[str, str]:
        """What stands for the placeholders of this turn."""
        values = {}
        for message in reversed(request.messages):
            if isinstance(message, ToolResult):
                values["result"] = message.content
                break
        if turn.when is None:
            return values
        found = turn.when.search(_last_user_text(request.messages))
        if found is None:
            wanted = f"turn {request.turn} expects a user message like `{turn.when.pattern}`"
            raise self._ends(f"was told something else: {wanted}")
        return values | {name: group or "" for name, group in found.groupdict().items()}

    def _ends(self, what: str) -> ModelError:
        return ModelError(f"`scripted/{self._name}` {what}", status=ExitStatus.FAILED, ends_run=True)


def _last_user_text(messages: Any) -> str:
    return next((m.text for m in reversed(messages) if isinstance(m, User)), "")


def _call(call: ScriptedCall, default_id: str, values: Mapping[str, str]) -> ToolCall:
    arguments = call.arguments
    if arguments is None:
        arguments = json.dumps(_fill_json(call.args, values), ensure_ascii=False)
    return ToolCall(_fill(call.id or default_id, values), _fill(call.name, values), arguments)


def _fill(text: str, values: Mapping[str, str]) -> str:
    """`text` with its placeholders filled; braces around anything else stay as they are."""
    if "{" not in text:
        return text
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def _fill_json(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, list):
        return [_fill_json(each, values) for each in value]
    if isinstance(value, dict):
        return {key: _fill_json(each, values) for key, each in value.items()}
    return value


def _pieces(text: str) -> list[str]:
    words = _WORD_START.split(text)
    size = -(-len(words) // _PIECES)
    return ["".join(words[start : start + size]) for start in range(0, len(words), size)] if text else []
