"""A command of agentctl as a real process beside the test: waited for, interrupted, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import IO

import pytest

from support.outcome import Outcome

PATIENCE = 60.0
"""Seconds after which a process is taken to hang; no promise about speed is tested with it."""


class Process:
    """One process in a process group of its own; its output goes to files, so it never blocks on us."""

    def __init__(
        self,
        args: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        input: str | bytes | None = None,
        stdout: int | IO[bytes] | None = None,
    ) -> None:
        self.args = args
        self._stdout = tempfile.TemporaryFile()  # noqa: SIM115 - both are closed in `close`
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryFile() as stdin:
            if input is not None:
                stdin.write(input.encode(errors="surrogateescape") if isinstance(input, str) else input)
                stdin.seek(0)
            self._popen = subprocess.Popen(
                args,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL if input is None else stdin,
                stdout=self._stdout if stdout is None else stdout,
                stderr=self._stderr,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    @property
    def stdout_so_far(self) -> str:
        return _content(self._stdout).decode(errors="backslashreplace")

    @property
    def stderr_so_far(self) -> str:
        return _content(self._stderr).decode(errors="backslashreplace")

    def wait(self, timeout: float = PATIENCE, status: int | Collection[int] | None = None) -> Outcome:
        """The outcome; a process that hangs is killed and fails the test, as a traceback does."""
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill9()
            pytest.fail(f"hangs after {timeout} s\n{self._outcome().story()}")
        outcome = self._outcome()
        if "--debug" not in self.args:
            assert "Traceback (most recent call last)" not in outcome.stderr, outcome.story()
        if status is not None:
            expected = {status} if isinstance(status, int) else set(status)
            assert outcome.status in expected, f"expected status {sorted(expected)}\n{outcome.story()}"
        return outcome

    def signal(self, signum: int) -> None:
        """Send a signal to this process alone."""
        self._popen.send_signal(signum)

    def interrupt(self) -> None:
        """Ctrl-C: SIGINT to the whole group, as a terminal sends it."""
        self._signal_group(signal.SIGINT)

    def kill9(self) -> None:
        """Kill the process and all that it started, at this instruction."""
        self._signal_group(signal.SIGKILL)
        self._popen.wait(PATIENCE)

    def wait_for_stdout(self, text: str, timeout: float = 30) -> None:
        """Wait until `text` stands in what the process wrote to standard output."""
        self._wait_for(text, lambda: self.stdout_so_far, timeout)

    def wait_for_stderr(self, text: str, timeout: float = 30) -> None:
        """Wait until `text` stands in what the process wrote to standard error."""
        self._wait_for(text, lambda: self.stderr_so_far, timeout)

    def close(self) -> None:
        """End whatever is left of the process; its output is forgotten."""
        if self.running:
            self.kill9()
        self._stdout.close()
        self._stderr.close()

    def _wait_for(self, text: str, read: Callable[[], str], timeout: float) -> None:
        end = time.monotonic() + timeout
        while text not in read():
            # Looked at once more after its end: the last words may come between the two looks.
            if not self.running and text not in read():
                pytest.fail(f"ended without {text!r}\n{self._outcome().story()}")
            if time.monotonic() > end:
                self.kill9()
                pytest.fail(f"no {text!r} after {timeout} s\n{self._outcome().story()}")
            time.sleep(0.01)

    def _signal_group(self, signum: int) -> None:
        # A group that is gone has nothing left to stop.
        if self._popen.poll() is None:
            os.killpg(self._popen.pid, signum)

    def _outcome(self) -> Outcome:
        return Outcome(
            args=self.args,
            status=self._popen.wait(PATIENCE),
            raw_stdout=_content(self._stdout),
            raw_stderr=_content(self._stderr),
        )


def _content(file: IO[bytes]) -> bytes:
    """What stands in a file that another process writes at its end."""
    descriptor = file.fileno()
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
