"""What a strict provider would refuse in a Chat Completions request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_OURS = {"model", "messages", "stream", "stream_options", "tools"}
_SAMPLING = {"temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty"}
_LIMITS = {"max_tokens", "max_completion_tokens", "reasoning_effort", "verbosity"}
_KEYS = _OURS | _SAMPLING | _LIMITS | {"parallel_tool_calls", "service_tier"}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def problems_of(request: dict[str, Any]) -> list[str]:
    """One line for each thing that is wrong; an empty list for a valid request."""
    return [*_top(request), *_tools(request.get("tools")), *_messages(request.get("messages"))]


def _top(request: dict[str, Any]) -> Iterator[str]:
    for key in request.keys() - _KEYS:
        yield f"unknown parameter {key}"
    if not _is_text(request.get("model")):
        yield "model must be a text"
    if request.get("stream") is not True:
        yield "stream must be true"
    if request.get("stream_options") != {"include_usage": True}:
        yield "stream_options must ask for usage"


def _tools(tools: object) -> Iterator[str]:
    if tools is None:
        return
    if not isinstance(tools, list) or not tools:
        yield "tools must be left out or hold tools"
        return
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        yield f"two tools have the same name: {names}"
    for tool in tools:
        function = tool["function"]
        if tool.keys() != {"type", "function"} or tool["type"] != "function":
            yield f"not a tool: {tool}"
        if function.keys() != {"name", "description", "parameters"} or not _NAME.fullmatch(function["name"]):
            yield f"not a function: {function}"
        if function["parameters"].get("type") != "object":
            yield f"the parameters of {function['name']} are no object"


def _messages(messages: object) -> Iterator[str]:
    if not isinstance(messages, list) or not messages:
        yield "there are no messages"
        return
    awaited: list[str] = []
    seen: set[str] = set()
    for position, message in enumerate(messages):
        yield from (f"messages[{position}]: {problem}" for problem in _message(message, position))
        role = message.get("role")
        if role == "tool":
            expected = awaited.pop(0) if awaited else None
            if message.get("tool_call_id") != expected:
                yield f"messages[{position}]: a result for {message.get('tool_call_id')}, not {expected}"
            continue
        if awaited:
            yield f"messages[{position}]: no results for {awaited}"
        awaited = [call["id"] for call in message.get("tool_calls", ())]
        if seen.intersection(awaited) or len(set(awaited)) < len(awaited):
            yield f"messages[{position}]: call ids are repeated: {awaited}"
        seen.update(awaited)
    if awaited:
        yield f"no results for {awaited}"
    if messages[-1].get("role") not in ("user", "tool"):
        yield "the last message is neither the user's nor a result"


def _message(message: dict[str, Any], position: int) -> Iterator[str]:
    match message:
        case {"role": "system", "content": content, **rest} if not rest and position == 0:
            yield from _text(content)
        case {"role": "user", "content": content, **rest} if not rest:
            yield from _text(content)
        case {"role": "tool", "content": content, "tool_call_id": str(), **rest} if not rest:
            yield from _text(content)
        case {"role": "assistant", "content": None, "tool_calls": calls, **rest} if calls and not rest:
            yield from _calls(calls)
        case {"role": "assistant", "content": content, "tool_calls": calls, **rest} if calls and not rest:
            yield from _text(content)
            yield from _calls(calls)
        case {"role": "assistant", "content": content, **rest} if not rest:
            yield from _text(content)
        case _:
            yield f"not a message: {message}"


def _calls(calls: list[Any]) -> Iterator[str]:
    for call in calls:
        match call:
            case {"id": str(call_id), "type": "function", "function": dict(function), **rest} if (
                call_id and not rest and function.keys() == {"name", "arguments"}
            ):
                yield from _arguments(function["arguments"])
            case _:
                yield f"not a tool call: {call}"


def _arguments(arguments: object) -> Iterator[str]:
    try:
        is_object = isinstance(json.loads(str(arguments), parse_constant=_refuse), dict)
    except ValueError:
        is_object = False
    if not is_object or not isinstance(arguments, str):
        yield f"arguments are no JSON object: {arguments!r}"


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _text(content: object) -> Iterator[str]:
    if not _is_text(content):
        yield f"content must be a text: {content!r}"


def _is_text(content: object) -> bool:
    return isinstance(content, str) and not _SURROGATE.search(content)
