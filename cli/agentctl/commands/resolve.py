"""Settle a call in doubt, after looking at what it did: --retry, --result D or --failed TEXT."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.commands import deciding_options as shared
from agentctl.commands.data import read_json
from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.errors import UsageError


def command(
    common: Common,
    ref: shared.Ref,
    retry: Annotated[bool, typer.Option("--retry", help="It did not happen: run the tool again.")] = False,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON|@FILE|-", help="It happened, with this result.")
    ] = None,
    failed: Annotated[
        str | None, typer.Option("--failed", metavar="TEXT", help="It failed; the model is told why.")
    ] = None,
    last: shared.Last = False,
    every: shared.All = False,
    reason: shared.Reason = None,
    by: shared.By = None,
    no_drive: shared.NoDrive = False,
    accept_changes: shared.AcceptChanges = False,
    agent: shared.AgentPath = None,
    suspended_ok: shared.SuspendedOk = False,
) -> None:
    from agentctl.deciding import Decision, Failure, Result, Retry
    from agentctl.runner import DecisionOptions

    if sum((retry, result is not None, failed is not None)) != 1:
        raise UsageError("say one of --retry, --result D and --failed TEXT", "agentctl resolve REF --retry")
    session = Session(common)
    decision: Decision
    if retry:
        decision = Retry()
    elif result is not None:
        decision = Result(read_json(result, session.stdin, "--result"))
    else:
        if not (failed or "").strip():
            raise UsageError("--failed needs a text for the model")
        decision = Failure(failed or "")
    choice = shared.choice_of(last=last, every=every)
    options = DecisionOptions(choice, not no_drive, accept_changes, agent)
    shared.decide(
        common,
        [ref],
        decision,
        by=by,
        reason=reason,
        options=options,
        suspended_ok=suspended_ok,
        session=session,
    )
