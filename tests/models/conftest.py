"""Asking a model as a run does, and seeing what was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from agentctl.models.messages import Message, User
from agentctl.models.protocol import Answer, Model, Request, ToolSpec
from agentctl.models.providers import ModelRef, open_model
from support.model_server import ModelServer

KEY = "sk-secret-0123456789"


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer, and the pieces of text and reasoning in the order in which they came."""

    answer: Answer
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)


class Ask(Protocol):
    """Asks the server once and closes the model."""

    def __call__(
        self,
        server: ModelServer,
        *messages: Message,
        instructions: str = "",
        tools: tuple[ToolSpec, ...] = (),
        parameters: Mapping[str, object] | None = None,
    ) -> Heard: ...


def hear(model: Model, request: Request) -> Heard:
    """Ask `model`, in an event loop of its own."""

    async def ask() -> Heard:
        text: list[str] = []
        reasoning: list[str] = []
        try:
            answer = await model.ask(request, text.append, reasoning.append)
        finally:
            await model.close()
        return Heard(answer, text, reasoning)

    return asyncio.run(ask())


@pytest.fixture
def listen() -> Callable[[Model, Request], Heard]:
    """What a model answers to a request."""
    return hear


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask the model `gpt-x` behind a local server; without messages, the user says hello."""

    def ask(
        server: ModelServer,
        *messages: Message,
        instructions: str = "",
        tools: tuple[ToolSpec, ...] = (),
        parameters: Mapping[str, object] | None = None,
    ) -> Heard:
        ref = ModelRef("openai", "gpt-x", server.url)
        model = open_model(ref, tmp_path, {"OPENAI_API_KEY": KEY})
        said = messages or (User("Hello"),)
        return hear(model, Request(instructions, said, tools, 1, parameters or {}))

    return ask
