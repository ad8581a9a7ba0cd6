"""What shows a run while it is driven, and the choice between the ways of showing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from agentctl.clock import utc_now

if TYPE_CHECKING:
    from agentctl.errors import AgentctlError
    from agentctl.runtime.events import Event


class Reporter(Protocol):
    """Shows one run after the other; `result` ends each."""

    @property
    def text(self) -> str:
        """The text of the top agent that this process wrote for the current run."""
        ...

    def event(self, event: Event) -> None:
        """Show what happened, in order, as it happens.

        Raises `BrokenPipeError` where the reader left, `OSError` where output cannot be written.
        """
        ...

    def result(self, run_id: str | None, payload: Mapping[str, Any]) -> None:
        """Show how the run stands; the payload is that of the `result` line."""
        ...

    def error(self, error: AgentctlError, *, debug: bool = False) -> None:
        """Show an error that is no event of the run; with `debug`, where its cause came from."""
        ...

    def note(self, text: str) -> None:
        """Show a message about the run; silent with `--quiet`."""
        ...


def reporter_for(
    *,
    json: bool,
    quiet: bool,
    color: bool | None,
    stdout: TextIO,
    stderr: TextIO,
    store: str | None = None,
    prompts: bool = False,
    now: Callable[[], str] = utc_now,
) -> Reporter:
    """The reporter for these options.

    `color` is False with `--no-color`, None to find out; `store` is the one the user named, for
    commands to type next. `prompts` says that the caller asks about what waits, which shows it.
    """
    from agentctl.output.events_json import JsonReporter
    from agentctl.output.events_plain import PlainReporter
    from agentctl.output.style import use_color

    colored = use_color(stderr, color)
    if json:
        return JsonReporter(stdout, stderr, quiet=quiet, color=colored, now=now)
    return PlainReporter(stdout, stderr, quiet=quiet, color=colored, store=store, prompts=prompts)
