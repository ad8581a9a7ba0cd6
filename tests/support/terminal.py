"""A command at a real terminal: a pseudo-terminal of a given size, typed at and read from."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.process import PATIENCE

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")

# The terminal must be the controlling one, or Ctrl-C is a character and no signal. Asking for it in
# the child, after its new session began, needs no fork with code of ours in between.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """The program runs at once; leaving the `with` block ends it."""

    def __init__(
        self, args: tuple[str, ...], *, cwd: Path, env: Mapping[str, str], cols: int = 100, rows: int = 30
    ) -> None:
        self.args = args
        self.raw = ""
        self._seen = 0
        self._pending = b""
        self._ours, theirs = os.openpty()
        self.resize(cols, rows)
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, *args],
                cwd=cwd,
                env=env,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        finally:
            os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def plain(self) -> str:
        """Everything shown so far, without escape sequences and with plain line ends."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def send(self, text: str) -> None:
        """Type `text`; a line needs its `\\n`."""
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.send("\x03")

    def end_of_file(self) -> None:
        """Press Ctrl-D."""
        self.send("\x04")

    def resize(self, cols: int, rows: int) -> None:
        """Give the terminal another size; a program that runs is told by SIGWINCH."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def expect(self, text: str, timeout: float = 30) -> str:
        """Wait until `text` is shown after what was last expected; what was shown up to its end."""
        end = time.monotonic() + timeout
        while (found := self.plain.find(text, self._seen)) < 0:
            if not self._read(end - time.monotonic()):
                pytest.fail(
                    f"never shown: {text!r}; shown since the last expected text:\n{self.plain[self._seen :]}"
                )
        shown = self.plain[self._seen : found + len(text)]
        self._seen = found + len(text)
        return shown

    def wait(self, timeout: float = PATIENCE, status: int | None = None) -> int:
        """Read to the end; the exit status, negative for the signal that the program died of."""
        end = time.monotonic() + timeout
        while self._read(end - time.monotonic()):
            pass
        try:
            found = self._popen.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            pytest.fail(f"hangs after {timeout} s, having shown:\n{self.plain}")
        assert "Traceback (most recent call last)" not in self.plain or "--debug" in self.args, self.plain
        assert status is None or found == status, (
            f"status {found} instead of {status}, having shown:\n{self.plain}"
        )
        return found

    def close(self) -> None:
        """End what still runs and hang up."""
        if self._ours < 0:
            return
        if self._popen.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait(PATIENCE)
        os.close(self._ours)
        self._ours = -1

    def _read(self, timeout: float) -> bool:
        """Take what is shown next; False at the end, or when nothing came in time."""
        if timeout <= 0 or not select.select([self._ours], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # EIO is how a pseudo-terminal says that its last user left
                raise
            data = b""
        self._pending += data
        # A character may be cut between two reads.
        cut = _whole_characters(self._pending)
        self.raw += self._pending[:cut].decode(errors="backslashreplace")
        self._pending = self._pending[cut:]
        return bool(data)


def _whole_characters(data: bytes) -> int:
    """How many bytes of `data` there are before a UTF-8 character that is not yet complete."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return len(data) - back if length > back else len(data)
        if lead < 0x80:
            break
    return len(data)
