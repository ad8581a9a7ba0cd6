"""Events as JSON Lines on standard output; the last line of a run is its `result`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from agentctl.output.answer import AnswerText
from agentctl.output.escape import escape_json, escape_line
from agentctl.output.failure import show_error
from agentctl.output.streams import put, tell
from agentctl.output.style import is_terminal

if TYPE_CHECKING:
    from agentctl.errors import AgentctlError
    from agentctl.runtime.events import Event

# Lone surrogates have no UTF-8; the others end a line for many a reader of lines.
_ESCAPED = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
# NaN cannot come here: records are canonical JSON, which has none.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def json_line(value: Any, *, terminal: bool = False) -> str:
    """`value` as JSON that stays one line of UTF-8 for every reader; on a terminal nothing is hidden."""
    text = _encode(value)
    if terminal:
        return escape_json(text)
    return text if text.isascii() else _ESCAPED.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


class JsonReporter:
    """Writes each event as a line and flushes it; errors and notes are for people, on `stderr`."""

    def __init__(
        self, stdout: TextIO, stderr: TextIO, *, quiet: bool, color: bool, now: Callable[[], str]
    ) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._quiet = quiet
        self._color = color
        self._now = now
        self._terminal = is_terminal(stdout)
        self._begin()

    def _begin(self) -> None:
        self._seq = 0
        self._answer = AnswerText()
        self._top: Sequence[str] = ()

    @property
    def text(self) -> str:
        return self._answer.text

    def event(self, event: Event) -> None:
        if len(event.agent_path) <= 1:
            self._top = event.agent_path
            if event.type == "text-delta" and event.payload["text"]:
                self._answer.add(event.payload["text"])
            elif event.type == "step-start":
                self._answer.end_step()
        self._write(event.type, event.run_id, event.at, event.agent_path, event.call_path, event.payload)

    def result(self, run_id: str | None, payload: Mapping[str, Any]) -> None:
        self._write("result", run_id, self._now(), self._top, (), payload)
        self._begin()

    def error(self, error: AgentctlError, *, debug: bool = False) -> None:
        show_error(error, self._stderr, color=self._color, debug=debug)

    def note(self, text: str) -> None:
        if not self._quiet:
            tell(self._stderr, escape_line(text) + "\n")

    def _write(
        self,
        kind: str,
        run_id: str | None,
        at: str,
        agent_path: Sequence[str],
        call_path: Sequence[str],
        payload: Mapping[str, Any],
    ) -> None:
        self._seq += 1
        line = {
            "type": kind,
            "seq": self._seq,
            "run_id": run_id,
            "at": at,
            "agent_path": agent_path,
            "call_path": call_path,
            "payload": payload,
        }
        put(self._stdout, json_line(line, terminal=self._terminal) + "\n")
