"""Approve tool calls: exactly those that were reviewed. Then their runs go on."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.commands import deciding_options as shared
from agentctl.commands.data import read_object
from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.errors import UsageError


def command(
    common: Common,
    refs: shared.Refs,
    last: shared.Last = False,
    every: shared.All = False,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON|@FILE|-", help="Run the call with these arguments instead."),
    ] = None,
    always: Annotated[
        bool, typer.Option("--always", help="Also later calls with exactly these arguments in this run.")
    ] = False,
    reason: shared.Reason = None,
    by: shared.By = None,
    no_drive: shared.NoDrive = False,
    accept_changes: shared.AcceptChanges = False,
    agent: shared.AgentPath = None,
    suspended_ok: shared.SuspendedOk = False,
) -> None:
    from agentctl.deciding import Approve
    from agentctl.runner import DecisionOptions

    if args is not None and always:
        raise UsageError("--args and --always exclude each other: edited arguments are for one call")
    if accept_changes and no_drive:
        raise UsageError("--accept-changes needs the agent, and --no-drive loads none of it")
    session = Session(common)
    edited = None if args is None else read_object(args, session.stdin, "--args")
    shared.decide(
        common,
        refs,
        Approve(edited, always),
        by=by,
        reason=reason,
        options=DecisionOptions(
            shared.choice_of(last=last, every=every), not no_drive, accept_changes, agent
        ),
        suspended_ok=suspended_ok,
        session=session,
    )
