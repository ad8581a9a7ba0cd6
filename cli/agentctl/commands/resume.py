"""Answer a data question with --data; without, go on with a run that was decided or interrupted."""

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
    ref: shared.RunOrRef,
    data: Annotated[
        str | None, typer.Option("--data", metavar="JSON|@FILE|-", help="The answer to the question.")
    ] = None,
    last: shared.Last = False,
    every: shared.All = False,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", metavar="N", min=1, help="The new total budget of the run.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="PROVIDER/NAME", help="The model from here on.")
    ] = None,
    reason: shared.Reason = None,
    by: shared.By = None,
    no_drive: shared.NoDrive = False,
    accept_changes: shared.AcceptChanges = False,
    agent: shared.AgentPath = None,
    suspended_ok: shared.SuspendedOk = False,
) -> None:
    from agentctl.deciding import Data
    from agentctl.runner import DecisionOptions
    from agentctl.runtime.driver import Changes

    session = Session(common)
    changes = Changes(max_steps, model, accept_changes)
    if data is None:
        if no_drive:
            raise UsageError("--no-drive needs --data: there is nothing to record")
        run_id = session.reader.find_run(ref)
        session.end([session.runner.drive(run_id, changes, agent)], suspended_ok=suspended_ok)
        return
    if accept_changes and no_drive:
        raise UsageError("--accept-changes needs the agent, and --no-drive loads none of it")
    shared.decide(
        common,
        [ref],
        Data(read_json(data, session.stdin, "--data")),
        by=by,
        reason=reason,
        options=DecisionOptions(
            shared.choice_of(last=last, every=every), not no_drive, accept_changes, agent, max_steps, model
        ),
        suspended_ok=suspended_ok,
        session=session,
    )
