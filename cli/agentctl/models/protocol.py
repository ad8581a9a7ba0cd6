"""What the run asks of a model, and what a model gives back. Adapters implement `Model`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agentctl.models.messages import Assistant, Message

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `input_schema` is a JSON Schema of type object."""

    id: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One model request: the whole conversation, the tools, and parameters such as `temperature`.

    `turn` counts the requests of this agent in this run, from 1 and over all processes.
    """

    instructions: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    turn: int
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and requests; zero where a provider did not say."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cached_tokens + other.cached_tokens,
            self.requests + other.requests,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's whole answer. With `length` or `content_filter` it is cut: nothing of it is used."""

    message: Assistant
    finish_reason: FinishReason
    usage: Usage


OnText = Callable[[str], None]


class Model(Protocol):
    """A model that can be asked. Implementations hold a client, never any state of a run."""

    async def ask(self, request: Request, on_text: OnText, on_reasoning: OnText) -> Answer:
        """Stream one answer: call `on_text` and `on_reasoning` as text arrives, return the whole.

        Raises `agentctl.errors.ModelError`. Cancelling the task closes the connection.
        """
        ...

    async def close(self) -> None:
        """Close connections; called once, when the process is done with the model."""
        ...
