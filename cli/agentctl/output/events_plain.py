"""Events for people: the answer on standard output, everything about the run on standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from agentctl.output.answer import AnswerText
from agentctl.output.describe import command, next_commands, waits_for
from agentctl.output.escape import escape_line
from agentctl.output.failure import error_lines, traceback_lines
from agentctl.output.screen import Screen
from agentctl.output.story import told
from agentctl.output.style import Style

if TYPE_CHECKING:
    from agentctl.errors import AgentctlError
    from agentctl.runtime.events import Event


class PlainReporter:
    """Streams the text of the top agent and tells the rest in lines.

    `--quiet` silences progress, but never an error, nor what waits for a human.
    """

    def __init__(
        self,
        stdout: TextIO,
        stderr: TextIO,
        *,
        quiet: bool,
        color: bool,
        store: str | None = None,
        prompts: bool = False,
    ) -> None:
        self._screen = Screen(stdout, stderr)
        self._quiet = quiet
        self._style = Style(color)
        self._store = store
        self._prompts = prompts
        self._show: dict[str, Callable[[Event], None]] = {
            "start": self._start,
            "step-start": self._step_start,
            "step-finish": self._step_finish,
            "text-delta": self._text_delta,
            "tool-call": self._tool_call,
            "tool-call-approval": self._suspension,
            "tool-call-suspended": self._suspension,
            "decision": self._decision,
            "tool-output": self._tool_output,
            "tool-result": self._outcome_of_call,
            "tool-error": self._outcome_of_call,
            "tool-output-denied": self._outcome_of_call,
            "error": self._error,
        }
        self._begin()

    def _begin(self) -> None:
        self._answer = AnswerText()
        self._half = False  # text of a step that is not finished stands on the screen
        self._told: set[str] = set()  # suspensions
        self._buried = False  # and other lines came after them
        self._failed = False  # an error was shown
        self._advised = False  # and it said what to type next
        self._tools: dict[str, str] = {}  # tool call id -> tool
        self._lines: dict[tuple[str, ...], str] = {}  # unfinished lines of sub-agents' text

    @property
    def text(self) -> str:
        return self._answer.text

    def event(self, event: Event) -> None:
        show = self._show.get(event.type)
        if show:
            show(event)

    def result(self, run_id: str | None, payload: Mapping[str, Any]) -> None:
        if payload["status"] != "completed":
            self._abandon()
        self._screen.end_text()
        if payload.get("error") and not self._failed:
            self._problem_of(payload["error"])
        if self._buried:
            # What waits was told before other calls ended: say it again, where a person looks.
            self._told.clear()
        for suspension in payload["suspensions"]:
            self._wait(suspension)
        self._outcome(run_id, payload["status"])
        self._begin()

    def error(self, error: AgentctlError, *, debug: bool = False) -> None:
        if debug:
            self._lines_of(traceback_lines(error))
        self._problem(error.message, error.hints, has_lines=error.has_lines)

    def note(self, text: str) -> None:
        self._progress(escape_line(text))

    # --- events

    def _start(self, event: Event) -> None:
        verb = "resumed" if event.payload.get("resumed") else "started"
        if len(event.agent_path) <= 1:
            self._progress(self._style.dim(f"run {escape_line(event.run_id or '')} {verb}"))

    def _step_start(self, event: Event) -> None:
        if len(event.agent_path) <= 1:
            self._abandon()
            self._answer.end_step()

    def _step_finish(self, event: Event) -> None:
        if len(event.agent_path) <= 1:
            self._half = False
        else:
            self._end_line(event)

    def _text_delta(self, event: Event) -> None:
        text = event.payload["text"]
        if len(event.agent_path) > 1:
            self._text_of_sub_agent(event, text)
        elif text:
            separator = self._answer.add(text)
            if separator:
                self._screen.separate(separator)
            self._screen.text(text)
            self._half = True

    def _text_of_sub_agent(self, event: Event, text: str) -> None:
        *lines, rest = (self._lines.get(event.call_path, "") + text).split("\n")
        for line in lines:
            self._progress(self._from(event) + escape_line(line))
        self._lines[event.call_path] = rest

    def _end_line(self, event: Event) -> None:
        rest = self._lines.pop(event.call_path, "")
        if rest:
            self._progress(self._from(event) + escape_line(rest))

    def _tool_call(self, event: Event) -> None:
        self._tools[event.payload["tool_call_id"]] = event.payload["tool"]
        self._half = False
        self._end_line(event)
        self._about_call(event, told(event.type, event.payload))

    def _suspension(self, event: Event) -> None:
        self._wait(event.payload)

    def _decision(self, event: Event) -> None:
        self._progress(told(event.type, event.payload))

    def _tool_output(self, event: Event) -> None:
        for line in event.payload["text"].removesuffix("\n").split("\n"):
            self._about_call(event, f"{self._tool(event)}: {escape_line(line)}")

    def _outcome_of_call(self, event: Event) -> None:
        self._about_call(event, told(event.type, event.payload))

    def _error(self, event: Event) -> None:
        self._abandon()
        self._answer.end_step()
        self._problem_of(event.payload)

    # --- lines

    def _wait(self, suspension: Mapping[str, Any]) -> None:
        if self._prompts and suspension["kind"] != "in_doubt":
            self._screen.new_line()
            return
        if suspension["id"] in self._told:
            return
        self._told.add(suspension["id"])
        self._buried = False
        first, *more = waits_for(suspension)
        typed = [f"  {line}" for line in next_commands(suspension, self._store)]
        self._lines_of([self._style.yellow(first), *more, *typed])

    def _outcome(self, run_id: str | None, status: str) -> None:
        if run_id is None:
            return
        match status:
            case "cancelled":
                self._progress(f"run {escape_line(run_id)} cancelled")
            case "interrupted" if not self._advised:
                self._progress(f"run {escape_line(run_id)} is saved; to go on:")
                self._progress(f"  {command('resume', run_id, store=self._store)}")
            case "decided":
                self._progress(f"run {escape_line(run_id)} has the decision; to drive it on:")
                self._progress(f"  {command('resume', run_id, store=self._store)}")

    def _abandon(self) -> None:
        if self._half:
            self._half = False
            self._lines_of([self._style.red("the answer broke off; the text above is abandoned")])

    def _problem_of(self, error: Mapping[str, Any]) -> None:
        self._problem(error["message"], [error["hint"]] if error.get("hint") else [])

    def _problem(self, message: str, hints: Sequence[str], *, has_lines: bool = False) -> None:
        self._failed = True
        self._advised = self._advised or bool(hints)
        self._lines_of(error_lines(message, hints, self._style, has_lines=has_lines))

    def _about_call(self, event: Event, text: str) -> None:
        self._buried = bool(self._told) and not self._quiet
        self._progress(self._style.dim(self._from(event) + text))

    def _tool(self, event: Event) -> str:
        known = self._tools.get(event.payload["tool_call_id"], event.payload["tool_call_id"])
        return escape_line(event.payload.get("tool", known))

    @staticmethod
    def _from(event: Event) -> str:
        return f"[{escape_line('/'.join(event.agent_path[1:]))}] " if len(event.agent_path) > 1 else ""

    def _progress(self, line: str) -> None:
        if not self._quiet:
            self._screen.line(line)

    def _lines_of(self, lines: list[str]) -> None:
        for line in lines:
            self._screen.line(line)
