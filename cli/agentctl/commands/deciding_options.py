"""The options that the deciding verbs share, and how they decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.errors import UsageError

if TYPE_CHECKING:
    from agentctl.deciding import Decision
    from agentctl.references import Choice
    from agentctl.runner import DecisionOptions

Refs = Annotated[list[str], typer.Argument(metavar="REF...", help="Suspensions, or runs that have one.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="A suspension, or a run that has one.")]
RunOrRef = Annotated[str, typer.Argument(metavar="REF", help="A run, or a suspension of it.")]
Last = Annotated[bool, typer.Option("--last", help="The latest suspension of the run.")]
All = Annotated[bool, typer.Option("--all", help="Every suspension of the run.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; kept in the journal.")]
ReasonForModel = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why; told to the model, kept in the journal.")
]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who decides (AGENTCTL_USER, else the login name).")
]
NoDrive = Annotated[bool, typer.Option("--no-drive", help="Only record it; another process drives.")]
AgentPath = Annotated[
    Path | None, typer.Option("--agent", metavar="PATH", help="Where the agent is now, if it moved.")
]
AcceptChanges = Annotated[
    bool, typer.Option("--accept-changes", help="Go on although the tool's definition changed.")
]
SuspendedOk = Annotated[bool, typer.Option("--suspended-ok", help="Exit with 0 where a human is needed.")]


def choice_of(*, last: bool, every: bool) -> Choice:
    """Which suspensions of a run are meant."""
    if last and every:
        raise UsageError("--last and --all exclude each other")
    return "last" if last else "all" if every else "one"


def decide(
    common: Common,
    refs: list[str],
    decision: Decision,
    *,
    by: str | None,
    reason: str | None,
    options: DecisionOptions,
    suspended_ok: bool = False,
    session: Session | None = None,
) -> None:
    """Decide, drive on, and exit as the runs stand."""
    session = session or Session(common)
    signed = session.signature(by, reason)
    session.end(session.runner.decide(refs, decision, signed, options), suspended_ok=suspended_ok)
