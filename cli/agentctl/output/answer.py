"""The text of the top agent in one run and one process, as `result` repeats it. Pure."""

from __future__ import annotations


class AnswerText:
    """Collects text deltas and keeps the texts of two steps apart.

    A model that says `Deleting.` in one step and `Done.` in the next said no `Deleting.Done.`: where
    neither side brings a space or line end, the second text starts on a new line.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._boundary = False

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def end_step(self) -> None:
        """What follows belongs to another answer of the model."""
        self._boundary = True

    def add(self, delta: str) -> str:
        """Take a delta, which is not empty; the separator that must be shown before it."""
        separator = ""
        if self._boundary and self._parts and not (self._parts[-1][-1].isspace() or delta[0].isspace()):
            separator = "\n"
            self._parts.append(separator)
        self._boundary = False
        self._parts.append(delta)
        return separator
