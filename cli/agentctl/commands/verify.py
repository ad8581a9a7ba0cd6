"""Verify the store, or some runs: hash chain, fingerprints, ids, permissions. 1 where something is wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.exit_status import ExitStatus


def command(
    common: Common,
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN...]", help="Runs (all).")] = None,
) -> None:
    from agentctl.output.integrity import show_problems

    session = Session(common)
    checked, problems = session.reader.verify(runs or [])
    show_problems(problems, json=common.json, stdout=session.stdout)
    if not common.quiet:
        runs_, found = _count(len(checked), "run"), _count(len(problems), "problem")
        session.reporter.note(f"{runs_} verified, {found}")
    raise typer.Exit(int(ExitStatus.FAILED if problems else ExitStatus.OK))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
