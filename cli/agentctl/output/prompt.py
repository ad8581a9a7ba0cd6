"""The short prompt where a person can decide: it shows what will run and takes only a clear answer."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from agentctl import strict_json
from agentctl.errors import AgentctlError, UsageError
from agentctl.output.describe import next_commands, one_line, waits_for
from agentctl.output.failure import show_error
from agentctl.output.streams import tell
from agentctl.output.style import Style, is_terminal, use_color

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Approve:
    """Run the call as it was shown."""


@dataclass(frozen=True, slots=True)
class Decline:
    """Do not run the call."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """The answer to a question, any JSON."""

    value: Any


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave this and everything else waiting: the person pressed Ctrl-C, or is gone."""


Answer = Approve | Decline | Data | Leave


def may_prompt(
    stdin: TextIO | None, stderr: TextIO | None, environ: Mapping[str, str], *, no_input: bool, json: bool
) -> bool:
    """Whether a person is there to be asked."""
    return not (no_input or json or environ.get("CI")) and is_terminal(stdin) and is_terminal(stderr)


def ask(
    suspension: Mapping[str, Any],
    *,
    stdin: TextIO,
    stderr: TextIO,
    color: bool | None = None,
    store: str | None = None,
    check: Callable[[Any], None] | None = None,
) -> Answer | None:
    """Ask about one suspension; None leaves it waiting, and says what to type later.

    An empty line leaves it waiting, end of file and Ctrl-C leave everything; what is unclear is asked
    again. `check` may refuse data with an `AgentctlError`, which is shown before the question is
    repeated. A call in doubt is not asked about: it is settled by `resolve`, after a look at what it did.
    """
    if suspension["kind"] == "in_doubt":
        return None
    dialogue = _Dialogue(stdin, stderr, Style(use_color(stderr, color)))
    first, *more = waits_for(suspension)
    dialogue.say(dialogue.style.yellow(first), *more)
    try:
        with _interruptible():
            if suspension["kind"] == "approval":
                answer = _ask_approval(dialogue)
            else:
                answer = _ask_data(dialogue, suspension.get("resume_schema"), check)
    except (KeyboardInterrupt, EOFError):
        dialogue.say("")
        answer = Leave()
    if answer is None or isinstance(answer, Leave):
        dialogue.say("left waiting:", *(f"  {line}" for line in next_commands(suspension, store)))
    return answer


class _Dialogue:
    def __init__(self, stdin: TextIO, stderr: TextIO, style: Style) -> None:
        self._stdin = stdin
        self.stderr = stderr
        self.style = style

    def say(self, *lines: str) -> None:
        tell(self.stderr, "".join(line + "\n" for line in lines))

    def line(self, question: str) -> str:
        """One line that was typed after the question appeared; raises `EOFError` at the end."""
        self._forget_typed_ahead()
        tell(self.stderr, self.style.bold(question) + " ")
        try:
            line = self._stdin.readline()
        except (OSError, ValueError):  # the terminal hung up, or sent what is no text
            raise EOFError from None
        if not line.endswith("\n"):
            raise EOFError
        return line.strip()

    def _forget_typed_ahead(self) -> None:
        # What was typed before anybody could read the question is no consent.
        import termios

        with suppress(OSError, ValueError, termios.error):
            termios.tcflush(self._stdin.fileno(), termios.TCIFLUSH)


def _ask_approval(dialogue: _Dialogue) -> Answer | None:
    for _ in range(_TRIES):
        match dialogue.line("approve? [y]es, [n]o, Enter leaves it waiting:").lower():
            case "y" | "yes":
                return Approve()
            case "n" | "no":
                return Decline(dialogue.line("declining; a reason for the model, or Enter:") or None)
            case "":
                return None
        dialogue.say("y, n or Enter, please")
    return None


def _ask_data(dialogue: _Dialogue, schema: Any, check: Callable[[Any], None] | None) -> Answer | None:
    if schema:
        dialogue.say(f"  schema of the answer: {one_line(schema)}")
    for _ in range(_TRIES):
        line = dialogue.line("answer as JSON, Enter leaves it waiting:")
        if not line:
            return None
        try:
            value = _read(line)
            if check:
                check(value)
        except AgentctlError as error:
            show_error(error, dialogue.stderr, color=dialogue.style.color)
        else:
            return Data(value)
    return None


def _read(line: str) -> Any:
    try:
        return strict_json.loads(line)
    except ValueError as error:
        quoted = json.dumps(line, ensure_ascii=False)
        raise UsageError(f"`{line}` is not JSON: {error}", f"text needs quotes: {quoted}") from None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the question, whatever else it means while a run is driven."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
