"""Where an answer and the messages about it meet: standard output and standard error.

Knows lines and columns, and nothing of events.
"""

from __future__ import annotations

from typing import TextIO

from agentctl.output.escape import TextStream
from agentctl.output.streams import put, same_place, tell
from agentctl.output.style import is_terminal


class Screen:
    """Text goes to `stdout`, exact unless that is a terminal; lines go to `stderr`.

    Where both end in the same place, a message that comes in the middle of a line of text starts a
    new line first.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._escaped = TextStream() if is_terminal(stdout) else None
        self._shared = same_place(stdout, stderr)
        self._open = False  # the last line of the text has no end
        self._broken = False  # a message ended it on the screen

    def text(self, text: str) -> None:
        """Show a piece of the answer at once."""
        self._put(self._escaped.feed(text) if self._escaped else text)

    def separate(self, separator: str) -> None:
        """Show what keeps two texts apart; nothing where a message stands between them already."""
        self._release()
        if not self._broken:
            self._put(separator)

    def end_text(self) -> None:
        """The answer is over: its last line ends."""
        self._release()
        if self._open and not self._broken:
            self._put("\n")

    def line(self, line: str) -> None:
        """Show a message."""
        self.new_line()
        tell(self._stderr, line + "\n")

    def new_line(self) -> None:
        """Let what comes on standard error begin on a line of its own."""
        self._release()
        if self._open and self._shared and not self._broken:
            tell(self._stderr, "\n")
            self._broken = True

    def _release(self) -> None:
        if self._escaped:
            self._put(self._escaped.end())

    def _put(self, text: str) -> None:
        if text:
            put(self._stdout, text)
            self._open = text[-1] != "\n"
            self._broken = False
