"""One answer from the chunks of a Chat Completions stream, as plain dicts. Pure: no network, no package.

Servers differ from the specification in most fields, so nothing is taken for granted about types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentctl.models.messages import Assistant, ToolCall
from agentctl.models.protocol import Answer, FinishReason, OnText, Usage
from agentctl.models.surrogates import ends_in_half, join_halves
from agentctl.models.tool_call_fragments import Fragments, Unassigned, is_json

# What servers call it when an answer was cut, or broke off. Everything else means that it is whole.
_CUT: Mapping[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "recitation": "content_filter",
}
_BROKEN = frozenset(
    ("error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource")
)
_TEXT_KEYS = ("text", "thinking", "reasoning", "refusal", "content")
_CALLS = frozenset(("tool_calls", "function_call"))


class StreamError(Exception):
    """The server reported an error in the middle of the stream; `error` is what it sent."""

    def __init__(self, error: object) -> None:
        super().__init__()
        self.error = error


class Unusable(Exception):
    """The stream is no whole answer; the message says why."""


class Assembly:
    """Takes the chunks of one answer; text goes to `on_text` and `on_reasoning` as it comes."""

    def __init__(self, on_text: OnText, on_reasoning: OnText) -> None:
        self._text = _Text(on_text)
        self._reasoning = _Text(on_reasoning)
        self._fragments = Fragments()
        # Only one choice is asked for; where several come, the first that came is the answer.
        self._choice: object = None
        self._finish = ""
        self._usage: dict[str, Any] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """Take one chunk. Raises `StreamError`."""
        if chunk.get("error") or chunk.get("object") == "error":
            raise StreamError(chunk.get("error") or chunk)
        choices = chunk.get("choices")
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict):
                    self._add_choice(choice)
        self._add_usage(chunk.get("usage"))

    def answer(self, *, done: bool) -> Answer:
        """The whole answer; `done` says that the server marked the end of the stream.

        Raises `Unusable` when the stream broke off, or is no answer.
        """
        self._text.end()
        self._reasoning.end()
        cut = _CUT.get(self._finish)
        try:
            calls = self._fragments.calls()
        except Unassigned:
            if cut is None:
                raise Unusable("sent arguments without naming a tool") from None
            calls = ()
        message = Assistant(self._text.whole(), self._reasoning.whole(), calls)
        if cut is None:
            self._check_whole(message, done)
        return Answer(message, cut or ("tool_calls" if calls else "stop"), _usage(self._usage))

    def _add_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index") or 0
        if self._choice is None:
            self._choice = index
        if index != self._choice:
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            if content := delta.get("content"):
                self._add_content(content)
            if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
                self._reasoning.add(_flat(reasoning))
            if refusal := delta.get("refusal"):
                self._text.add(_flat(refusal))
            if tool_calls := delta.get("tool_calls"):
                self._fragments.add(tool_calls)
            if function_call := delta.get("function_call"):
                self._fragments.add_legacy(function_call)
        if finish := choice.get("finish_reason"):
            self._add_finish(finish)
            self._add_usage(choice.get("usage"))

    def _add_content(self, content: object) -> None:
        if isinstance(content, str):
            self._text.add(content)
            return
        for part in content if isinstance(content, list) else [content]:
            is_reasoning = isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")
            (self._reasoning if is_reasoning else self._text).add(_flat(part))

    def _add_finish(self, finish: object) -> None:
        # Some servers repeat it, or say "stop" with every chunk: what says more is kept.
        reason = str(finish).lower()
        if self._finish not in _CUT and self._finish not in _BROKEN:
            self._finish = reason

    def _add_usage(self, usage: object) -> None:
        if isinstance(usage, dict) and usage:
            self._usage = usage

    def _check_whole(self, message: Assistant, done: bool) -> None:
        if self._finish in _BROKEN:
            raise Unusable(f"broke the answer off: {self._finish}")
        if not self._finish:
            self._check_unfinished(message, done)
        elif self._finish in _CALLS and not message.calls:
            raise Unusable("announced a tool call and sent none")
        elif not done and self._finish not in _CALLS and not _all_json(message.calls):
            raise Unusable("broke off in the middle of a tool call")

    def _check_unfinished(self, message: Assistant, done: bool) -> None:
        """A few servers mark the end of the stream but give no finish reason."""
        if not done:
            began = message.text or message.reasoning or message.calls
            raise Unusable("broke off in the middle of the answer" if began else "sent no answer")
        if not message.text and not message.calls:
            raise Unusable("sent no answer")
        if not _all_json(message.calls):
            raise Unusable("broke off in the middle of a tool call")


class _Text:
    """Text that is passed on as it comes; half a surrogate pair waits for its other half."""

    def __init__(self, emit: OnText) -> None:
        self._emit = emit
        self._parts: list[str] = []
        self._half = ""

    def add(self, text: str) -> None:
        if self._half:
            text, self._half = join_halves(self._half + text), ""
        if ends_in_half(text):
            text, self._half = text[:-1], text[-1]
        if text:
            self._parts.append(text)
            self._emit(text)

    def end(self) -> None:
        if self._half:
            self._parts.append(self._half)
            self._emit(self._half)
            self._half = ""

    def whole(self) -> str:
        return "".join(self._parts)


def _flat(value: object, depth: int = 4) -> str:
    """The text of a part, or of a list of parts, which nest a little."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:
        return "".join(_flat(each, depth - 1) for each in value)
    if isinstance(value, dict) and depth:
        return next((_flat(value[key], depth - 1) for key in _TEXT_KEYS if value.get(key)), "")
    return ""


def _all_json(calls: tuple[ToolCall, ...]) -> bool:
    return all(is_json(call.arguments) for call in calls)


def _usage(usage: dict[str, Any]) -> Usage:
    sent, received = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return Usage(
        input_tokens=sent,
        output_tokens=received,
        total_tokens=_count(usage.get("total_tokens")) or sent + received,
        reasoning_tokens=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
        cached_tokens=_detail(usage, "prompt_tokens_details", "cached_tokens"),
        requests=1,
    )


def _detail(usage: dict[str, Any], group: str, name: str) -> int:
    details = usage.get(group)
    return _count(details.get(name)) if isinstance(details, dict) else 0


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
