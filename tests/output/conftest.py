"""What the tests of the output share: events, suspensions and runs to show, and a terminal for them."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.runtime.events import Event

AT = "2026-12-01T14:29:27.123Z"
RUN = "20261201-abc123"


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal and keeps what it is given."""

    def isatty(self) -> bool:
        super().isatty()  # raises if the stream is closed, as that of a real terminal does
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], io.StringIO]:
    """Makes terminals of 80 columns that show colour."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return FakeTerminal


@pytest.fixture
def event() -> Callable[..., Event]:
    """Makes events of one run; the top agent's unless `agent_path` says otherwise."""

    def make(type: str, /, agent_path: tuple[str, ...] = ("records",), **payload: Any) -> Event:
        return Event(type, RUN, AT, payload, agent_path, agent_path[1:])

    return make


@pytest.fixture
def suspension() -> Callable[..., dict[str, Any]]:
    """Makes suspensions: an approval of `delete_record` with whatever is changed."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "id": "3f2a9c81d0" + "0" * 54,
            "run_id": RUN,
            "agent": "records",
            "agent_path": ["records"],
            "call_path": [],
            "kind": "approval",
            "tool": "delete_record",
            "tool_call_id": "c1",
            "args": {"id": "abc-123"},
            "requires_approval": True,
            "reason": None,
            "suspend_payload": None,
            "resume_schema": None,
            "thread": None,
            "resource": None,
            "suspended_at": AT,
            **changes,
        }

    return make


@pytest.fixture
def run() -> Callable[..., dict[str, Any]]:
    """Makes runs: a suspended one with whatever is changed."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "run_id": RUN,
            "status": "suspended",
            "agent": "records",
            "prompt": "Delete record abc-123",
            "thread": None,
            "resource": None,
            "started_at": AT,
            "updated_at": AT,
            "finished_at": None,
            "finish_reason": None,
            "suspensions": 1,
            "usage": {"input_tokens": 12, "requests": 1},
            "error": None,
            **changes,
        }

    return make


@pytest.fixture
def outcome() -> Callable[..., dict[str, Any]]:
    """Makes payloads of `result` lines: of a completed run with whatever is changed."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "status": "completed",
            "exit_status": 0,
            "finish_reason": "stop",
            "text": "",
            "suspensions": [],
            "usage": {},
            "error": None,
            **changes,
        }

    return make
