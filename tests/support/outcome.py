"""What a finished command left behind: its status and what it wrote, read as scripts would read it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` is the exit status, or the negative number of the signal that the process died of."""

    args: tuple[str, ...]
    status: int
    raw_stdout: bytes
    raw_stderr: bytes

    @property
    def stdout(self) -> str:
        return self.raw_stdout.decode(errors="backslashreplace")

    @property
    def stderr(self) -> str:
        return self.raw_stderr.decode(errors="backslashreplace")

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON Lines, of a command that ran with `--json`."""
        return [json.loads(line) for line in self.raw_stdout.splitlines()]

    def events(self, *types: str) -> list[dict[str, Any]]:
        """The lines of these types, in order."""
        return [line for line in self.lines if line["type"] in types]

    def payloads(self, *types: str) -> list[dict[str, Any]]:
        """The payloads of the lines of these types, in order."""
        return [line["payload"] for line in self.events(*types)]

    @property
    def result(self) -> dict[str, Any]:
        """The payload of the last line, which is always the result."""
        last = self.lines[-1]
        assert last["type"] == "result", f"the last line is no result: {last}"
        payload: dict[str, Any] = last["payload"]
        return payload

    @property
    def results(self) -> list[dict[str, Any]]:
        """The result of each run that the command was about, in order."""
        return self.payloads("result")

    @property
    def run_id(self) -> str:
        """The run that the last line is about."""
        run_id = self.lines[-1]["run_id"]
        assert isinstance(run_id, str), "the command names no run"
        return run_id

    @property
    def json(self) -> Any:
        """Standard output as one JSON document, of lists and `show`."""
        return json.loads(self.raw_stdout)

    @property
    def rows(self) -> list[list[str]]:
        """Standard output as the tab-separated rows of a piped list."""
        return [line.split("\t") for line in self.stdout.split("\n")[:-1]]

    def story(self) -> str:
        """Everything, for the message of a failed test."""
        command = " ".join(self.args)
        return f"$ {command}\nstatus {self.status}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"
