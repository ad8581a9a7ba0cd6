"""The command line: which verbs there are, and how every way to end becomes a line and a status.

A verb's file is imported when that verb is used, so that listing what waits costs no more than that.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from signal import SIGINT, SIGPIPE
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from agentctl.commands.options import Common, common_parameters, with_common_options
from agentctl.errors import AgentctlError, UsageError, explained, result_of
from agentctl.exit_status import ExitStatus
from agentctl.output.failure import show_error
from agentctl.output.streams import close_outputs, prepare_streams
from agentctl.runtime.signals import DieOf, die_of

VERBS = {
    "run": "Start a run, and stream its answer.",
    "pending": "List what waits for a human, oldest first.",
    "show": "Show one run, whole, and what to type next.",
    "approve": "Approve tool calls, then drive their runs on.",
    "decline": "Decline tool calls, then drive their runs on.",
    "resume": "Answer a question, or go on with a run.",
    "resolve": "Settle a call in doubt.",
    "cancel": "End a live run.",
    "runs": "List runs of any status, newest first.",
    "log": "Tell what happened in a run.",
    "verify": "Verify the integrity of the store.",
    "check": "Validate an agent; run nothing.",
}
# With `--json` these write events, and a `result` line last.
DRIVING = frozenset({"run", "approve", "decline", "resume", "resolve", "cancel"})


class Verb(TyperCommand):
    """One verb; arguments stand in its usage line as everywhere else, without braces."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the usage line after the name."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class Verbs(TyperGroup):
    """The verbs, each from the file of its name in `commands/`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of use, not of the alphabet."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb's command, imported now; None for a word that is no verb."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"agentctl.commands.{cmd_name}")
        one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        declare = one.command(cmd_name, cls=Verb, help=module.__doc__, short_help=VERBS[cmd_name])
        declare(with_common_options(module.command))
        return get_command(one)


def _version(wanted: bool) -> None:
    if wanted:
        from agentctl import __version__

        typer.echo(f"agentctl {__version__}")
        raise typer.Exit


def _application() -> typer.Typer:
    application = typer.Typer(
        cls=Verbs,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def agentctl(
        context: typer.Context,
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
        ] = False,
        **given: Any,
    ) -> None:
        """Run LLM agents, and stop them where a human must decide.

        Exit status: 0 done, 8 a human is needed, 9 interrupted (resume goes on), 7 in doubt; the rest
        are errors.
        """
        context.obj = Common(**given)
        if context.invoked_subcommand is None:
            typer.echo(context.get_help(), err=True)
            raise typer.Exit(int(ExitStatus.USAGE))

    _declare_common(agentctl)
    application.callback()(agentctl)
    return application


def _declare_common(callback: Any) -> None:
    """Let the common options also stand before the verb."""
    import inspect

    signature = inspect.signature(callback, eval_str=True)
    first = list(signature.parameters.values())[:2]
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in first]
    parameters = [*own, *common_parameters()]
    callback.__signature__ = signature.replace(parameters=parameters)
    callback.__annotations__ = {each.name: each.annotation for each in parameters}


def main() -> None:
    """Run the command line of this process, and end the process."""
    prepare_streams()
    arguments = sys.argv[1:]
    try:
        status = _status(arguments)
        failure = close_outputs()
        if failure is not None and isinstance(failure, BrokenPipeError):
            die_of(SIGPIPE)
        if failure is not None and status in (ExitStatus.OK, ExitStatus.SUSPENDED):
            status = ExitStatus.FAILED
    except DieOf as death:
        close_outputs()
        die_of(death.signum)
        raise
    except KeyboardInterrupt:
        die_of(SIGINT)
        raise
    sys.exit(status)


def _status(arguments: Sequence[str]) -> int:
    """What the process exits with; every error was told.

    Typer's own `main` is not used: it turns Ctrl-C and a reader that left into plain statuses.
    """
    command = get_command(_application())
    try:
        with command.make_context("agentctl", list(arguments)) as context:
            command.invoke(context)
        return int(ExitStatus.OK)
    except typer.Exit as done:
        return done.exit_code
    except DieOf:
        raise
    except BrokenPipeError:
        raise DieOf(SIGPIPE) from None
    except typer.TyperException as error:
        return _tell(_misused(error), arguments)
    except Exception as error:  # whatever it was, it becomes one line and a status
        return _tell(explained(error), arguments)


def _misused(error: typer.TyperException) -> UsageError:
    """What typer says of the arguments, in our words."""
    message = getattr(error, "format_message", lambda: str(error))()
    message = re.sub(r"No such option: (\S+)", r"no such option `\1`", message)
    message = re.sub(r" \(Possible options: (.+)\)", r"; did you mean \1?", message)
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if context is not None else "agentctl --help"
    if message.startswith("No such command"):
        near = get_close_matches(message.split("'")[1], VERBS, 1)
        hint = f"agentctl {near[0]}" if near else hint
    text = " ".join(message.split()).rstrip(".").replace("'", "`")
    return UsageError(text[:1].lower() + text[1:] if text else "no command", hint)


def _tell(problem: AgentctlError, arguments: Sequence[str]) -> int:
    color = False if "--no-color" in arguments else None
    show_error(problem, sys.stderr, color=color, debug="--debug" in arguments)
    verb = next((each for each in arguments if each in VERBS), None)
    if "--json" in arguments and verb in DRIVING:
        from agentctl.output.reporter import reporter_for

        reporter = reporter_for(json=True, quiet=True, color=False, stdout=sys.stdout, stderr=sys.stderr)
        try:
            reporter.result(None, result_of(problem))
        except BrokenPipeError:
            raise DieOf(SIGPIPE) from None
        except OSError:
            return int(ExitStatus.FAILED)
    return int(problem.status)
