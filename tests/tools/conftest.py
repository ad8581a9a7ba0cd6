"""What the tests of tools share: a call to execute, and folders with Python files."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from agentctl.tools.python import python_tool
from agentctl.tools.tool import CallInfo, Outcome, Tool


class Execute(Protocol):
    """Executes a function as a tool, once."""

    def __call__(self, function: Callable[..., Any], /, **args: Any) -> Outcome: ...


class WriteFiles(Protocol):
    """Writes the files of an agent's folder: `helpers="X = 1"` becomes `helpers.py`."""

    def __call__(self, folder: str = "agent", /, **sources: str) -> Path: ...


@pytest.fixture
def call() -> Callable[..., CallInfo]:
    """Makes the call that an execution is told about; names change what matters to a test."""

    def make(**known: Any) -> CallInfo:
        usual: dict[str, Any] = {
            "run_id": "run-1",
            "tool_call_id": "c1",
            "idempotency_key": "run-1:c1",
            "resumed": False,
            "resume_data": None,
            "suspend_payload": None,
            "request_context": {},
            "workspace": "/work",
            "thread": None,
            "resource": None,
            "emit": lambda text: None,
        }
        return CallInfo(**{**usual, **known})

    return make


@pytest.fixture
def run(call: Callable[..., CallInfo]) -> Callable[..., Outcome]:
    """Executes a tool in an event loop of its own: `run(tool, {"id": "a"}, resumed=True)`."""

    def execute(tool: Tool, args: dict[str, Any] | None = None, **known: Any) -> Outcome:
        return asyncio.run(tool.execute(args or {}, call(**known)))

    return execute


@pytest.fixture
def execute(run: Callable[..., Outcome]) -> Execute:
    """Executes a function with arguments: `execute(function, id="a")`."""

    def once(function: Callable[..., Any], /, **args: Any) -> Outcome:
        return run(python_tool(function), args)

    return once


@pytest.fixture
def write_files(tmp_path: Path) -> WriteFiles:
    """Writes Python files into a folder of an agent and returns the folder."""

    def write(folder: str = "agent", /, **sources: str) -> Path:
        path = tmp_path / folder
        for name, source in sources.items():
            file = path / f"{name.replace('__in__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(source))
        return path

    return write
