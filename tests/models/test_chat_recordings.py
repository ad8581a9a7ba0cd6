"""Recorded streams of real servers, played to the real `openai` package, give what they meant."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest

from agentctl.errors import ModelError
from agentctl.exit_status import ExitStatus
from agentctl.models.messages import ToolCall
from agentctl.models.protocol import Answer
from support.model_server import ModelServer, recorded, serve

SHARED = Path(os.environ.get("AGENTCTL_SHARED") or Path(__file__).parents[3] / "shared")


def names(folder: str) -> list[str]:
    """The recordings in `folder`, except those of another API; none where there are no recordings."""
    files = (SHARED / folder).glob("*.*")
    return sorted(f.name for f in files if f.suffix in (".sse", ".json") and ".responses." not in f.name)


STREAMS = [name for name in names("wire") if name.endswith(".sse")]

# What comes out here on purpose differs from what the recordings' own notes expect.
TEXT = {
    # Three choices, of which nobody asked for two: the first is the answer.
    "openai-n3-choices.sse": '{"city":"San Francisco","temperature":65,"units":"f"}',
    # The first digit is a part of the list that also holds reasoning.
    "mistral-reasoning-content-list.sse": "144",
}
REASONING = {
    "mistral-reasoning-content-list.sse": (
        "The user is asking for the product of 12 multiplied by 12. I know that 12 times 12 is a basic "
        "multiplication fact. Let me calculate it:\n\n12 * 12 = 144\n\nSo, the answer is 144."
    )
}
# A finish reason that is missing, or "stop", although there are calls.
FINISH = {
    "openrouter-kimi-id-name-repeated-no-finish.sse": "tool_calls",
    "openai-tool-forced-stop.sse": "tool_calls",
}
BROKEN = {
    "groq-gptoss-error-after-text.sse": (
        ExitStatus.FAILED,
        "Tool choice is required, but model did not call a tool",
    )
}


class Ask(Protocol):
    def __call__(self, server: ModelServer) -> Any: ...


@cache
def expected(wire: Path) -> dict[str, Any]:
    notes: dict[str, Any] = json.loads((wire / "expected.json").read_text())
    return notes


def count(usage: dict[str, Any], *path: str) -> int:
    value: Any = usage
    for key in path:
        value = (value or {}).get(key)
    return value or 0


def used(answer: Answer) -> tuple[int, ...]:
    usage = answer.usage
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.reasoning_tokens,
        usage.cached_tokens,
        usage.requests,
    )


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in BROKEN])
@pytest.mark.parametrize("piece", [1 << 16, 7])
def test_a_recorded_stream_gives_the_answer_that_was_meant(
    shared: Path, ask: Ask, name: str, piece: int
) -> None:
    wire = shared / "wire"
    meant = expected(wire)[name]
    reply = recorded(wire / name, piece=piece)
    with serve([reply]) as server:
        heard = ask(server)
    answer = heard.answer
    calls = tuple(ToolCall(c["id"], c["name"], c["arguments"]) for c in meant["calls"])
    assert answer.message.calls == calls
    assert answer.message.text == TEXT.get(name, meant["text"] + meant["refusal"])
    assert answer.message.reasoning == REASONING.get(name, meant["reasoning"])
    assert "".join(heard.text) == answer.message.text
    assert "".join(heard.reasoning) == answer.message.reasoning
    assert answer.finish_reason == FINISH.get(name) or answer.finish_reason == meant["finish"][0]
    usage = meant["usage"] or {}
    assert used(answer) == (
        count(usage, "prompt_tokens"),
        count(usage, "completion_tokens"),
        count(usage, "total_tokens"),
        count(usage, "completion_tokens_details", "reasoning_tokens"),
        count(usage, "prompt_tokens_details", "cached_tokens"),
        1,
    )
    assert server.problems == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_recorded_error_after_text_is_an_error_in_the_words_of_the_provider(
    shared: Path, ask: Ask, name: str
) -> None:
    status, words = BROKEN[name]
    with serve([shared / "wire" / name]) as server, pytest.raises(ModelError, match=words) as error:
        ask(server)
    assert error.value.status is status


CITY = '{"city":"Paris"}'
SYNTHETIC: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "gemini-no-index-parallel.sse": (
        "tool_calls",
        "",
        [("get_weather", CITY), ("get_weather", '{"city":"Tokyo"}')],
    ),
    "gemini-no-index-fragments.sse": ("tool_calls", "", [("get_weather", '{"city":"Sydney"}')]),
    "parallel-same-index-new-id.sse": (
        "tool_calls",
        "",
        [("add", '{"a":1,"b":2}'), ("mul", '{"a":3,"b":4}')],
    ),
    # Not valid JSON, and so an error for the model; half of it would be valid.
    "second-args-on-first-index.sse": (
        "tool_calls",
        "",
        [("glob", '{"pattern":"**/*"}{"path":"content"}')],
    ),
    "finish-stop-in-every-chunk.sse": ("tool_calls", "Hello world.", [("ping", "{}")]),
    "args-object.sse": ("tool_calls", "", [("get_weather", '{"city": "Paris"}')]),
    "legacy-function-call.sse": ("tool_calls", "", [("get_weather", CITY)]),
    "keepalive-and-empty-objects.sse": ("stop", "Hi there", []),
    "tool-markup-in-text.sse": (
        "stop",
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
        [],
    ),
    "empty-answer.sse": ("stop", "", []),
    "args-trailing-brace.sse": ("tool_calls", "", [("get_weather", CITY + "}")]),
    "args-json-in-json-string.sse": ("tool_calls", "", [("get_weather", json.dumps(CITY))]),
    "unknown-tool-name.sse": ("tool_calls", "", [("no_such_tool", "{}")]),
    "tool-call-then-text.sse": ("tool_calls", "I called it.", [("ping", "{}")]),
    "multi-line-data.sse": ("stop", "Hi", []),
    "many-parallel-interleaved.sse": ("tool_calls", "", [("f", f'{{"i":{i}}}') for i in range(3)]),
}
SYNTHETIC_ERRORS = {
    "finish-error-openrouter.sse": "Provider disconnected",
    "empty-body.sse": "sent no answer",
}


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_shape_that_was_reported_gives_the_answer_that_was_meant(shared: Path, ask: Ask, name: str) -> None:
    finish_reason, text, calls = SYNTHETIC[name]
    with serve([shared / "wire" / "synthetic" / name]) as server:
        answer = ask(server).answer
    assert (answer.finish_reason, answer.message.text) == (finish_reason, text)
    assert [(call.tool, call.arguments) for call in answer.message.calls] == calls


@pytest.mark.parametrize("name", SYNTHETIC_ERRORS)
def test_a_shape_that_is_no_answer_interrupts(shared: Path, ask: Ask, name: str) -> None:
    words = SYNTHETIC_ERRORS[name]
    file = shared / "wire" / "synthetic" / name
    with serve([file]) as server, pytest.raises(ModelError, match=words) as error:
        ask(server)
    assert error.value.status is ExitStatus.INTERRUPTED


def test_every_synthetic_file_has_a_test(shared: Path) -> None:
    files = {file.name for file in (shared / "wire" / "synthetic").glob("*.sse")}
    assert files == SYNTHETIC.keys() | SYNTHETIC_ERRORS.keys()


def spoken(body: dict[str, Any]) -> str:
    """The provider's words in an error body of one of the shapes that were recorded."""
    error = body.get("error", body)
    return str(error if isinstance(error, str) else error.get("message") or error["detail"])


STATUSES = {"400": 1, "401": 4, "403": 4, "404": 1, "500": 9}


@pytest.mark.parametrize("name", names("wire/errors"))
def test_a_recorded_error_body_gives_its_status_and_the_words_of_the_provider(
    shared: Path, ask: Ask, name: str
) -> None:
    file = shared / "wire" / "errors" / name
    with serve([recorded(file, times=3)]) as server, pytest.raises(ModelError) as error:
        ask(server)
    assert error.value.status == STATUSES[name[:3]]
    assert spoken(json.loads(file.read_text())) in error.value.message
    assert "gpt-x" in error.value.message
