"""Start a run of AGENT, and stream its answer until it ends or a human must decide (status 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentctl.commands.data import read_context, read_text
from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.errors import UsageError
from agentctl.output.style import is_terminal

_EXAMPLE = 'agentctl run AGENT "what to do"'


def command(
    common: Common,
    agent: Annotated[Path, typer.Argument(metavar="AGENT", help="An agent file, or its folder.")],
    prompt: Annotated[
        str | None,
        typer.Argument(metavar="[PROMPT]", help="The task; `-` or none: standard input; @FILE: a file."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="PROVIDER/NAME", help="openai/NAME or scripted/FILE."),
    ] = None,
    require_approval: Annotated[
        list[str] | None,
        typer.Option("--require-approval", metavar="GLOB", help="Ask before tools of this name. Repeatable."),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="KEY=VALUE|@FILE.json", help="What tools see. Repeatable."),
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option("--workspace", metavar="DIR", help="Where tools work (this folder).")
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option("--max-steps", metavar="N", min=1, help="Budget of model requests."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="An id of yours: never starts a second run.")
    ] = None,
    suspended_ok: Annotated[
        bool, typer.Option("--suspended-ok", help="Exit with 0 where the run waits for a human.")
    ] = False,
) -> None:
    from agentctl.runner import Start

    session = Session(common)
    task = Start(
        agent=agent,
        prompt=_prompt(prompt, session),
        model=model,
        require_approval=tuple(require_approval or ()),
        context=read_context(context or (), session.stdin),
        workspace=workspace,
        max_steps=max_steps,
        run_id=run_id,
    )
    session.end([session.runner.start(task)], suspended_ok=suspended_ok)


def _prompt(given: str | None, session: Session) -> str:
    if given is None and is_terminal(session.stdin):
        raise UsageError("the prompt is missing", _EXAMPLE)
    text = read_text("-" if given is None else given, session.stdin, "the prompt")
    if given is None and not text.strip():
        raise UsageError("there is no prompt: none was given, and standard input is empty", _EXAMPLE)
    return text
