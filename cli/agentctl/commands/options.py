"""The options that every command has, and how a command gets them: declared once, in this file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any

import typer

from agentctl.errors import UsageError

STORE_VARIABLE = "AGENTCTL_STORE"
DEFAULT_STORE = ".runs"


@dataclass(frozen=True, slots=True)
class Common:
    """The options of every command; None or False where they were not given."""

    store: str | None = None
    json: bool = False
    quiet: bool = False
    no_color: bool = False
    no_input: bool = False
    debug: bool = False
    lock_timeout: str | None = None
    timeout: str | None = None

    def over(self, before: Common) -> Common:
        """These options, and where they were not given those given before the command."""

        def chosen(name: str) -> Any:
            own = getattr(self, name)
            return getattr(before, name) if own is None or own is False else own

        return Common(**{each.name: chosen(each.name) for each in fields(self)})


_DECLARED: dict[str, Any] = {
    "store": Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="Where runs are kept (AGENTCTL_STORE, else ./.runs)."),
    ],
    "json": Annotated[bool, typer.Option("--json", help="JSON for programs, on standard output.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="No progress; only errors and what waits.")],
    "no_color": Annotated[bool, typer.Option("--no-color", help="No colour.")],
    "no_input": Annotated[bool, typer.Option("--no-input", help="Never ask; suspend and exit.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show where an unexpected error comes from.")],
    "lock_timeout": Annotated[
        str | None,
        typer.Option(
            "--lock-timeout", metavar="TIME", help="How long to wait for a process that drives the run (2s)."
        ),
    ],
    "timeout": Annotated[
        str | None,
        typer.Option(
            "--timeout", metavar="TIME", help="Stop this process after TIME, state saved; status 124."
        ),
    ],
}


def common_parameters() -> list[inspect.Parameter]:
    """The common options, as parameters that typer reads."""
    defaults = {each.name: each.default for each in fields(Common)}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=declared)
        for name, declared in _DECLARED.items()
    ]


def with_common_options(run: Callable[..., None]) -> Callable[..., None]:
    """A command function that is called with `common: Common` first, from one with typer parameters."""

    @wraps(run)
    def command(typer_context: typer.Context, **given: Any) -> None:
        common = Common(**{each.name: given.pop(each.name) for each in fields(Common)})
        before = typer_context.find_object(Common) or Common()
        run(common.over(before), **given)

    signature = inspect.signature(run, eval_str=True)
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in list(signature.parameters.values())[1:]
    ]
    context = inspect.Parameter("typer_context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context, *own, *common_parameters()]
    # Typer reads the signature and the annotations, not the code.
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    del command.__wrapped__
    return command


def seconds(text: str | None, option: str, default: float | None) -> float | None:
    """The seconds that a duration option means."""
    if text is None:
        return default
    from agentctl.tools.duration import seconds as read

    if option == "--lock-timeout" and text.strip() in ("0", "0s", "0ms"):
        return 0.0
    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}", f"{option} 30s") from error
