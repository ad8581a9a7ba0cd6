"""Decline tool calls: they do not run, the model is told, and their runs go on."""

from __future__ import annotations

from agentctl.commands import deciding_options as shared
from agentctl.commands.options import Common


def command(
    common: Common,
    refs: shared.Refs,
    last: shared.Last = False,
    every: shared.All = False,
    reason: shared.ReasonForModel = None,
    by: shared.By = None,
    no_drive: shared.NoDrive = False,
    agent: shared.AgentPath = None,
    suspended_ok: shared.SuspendedOk = False,
) -> None:
    from agentctl.deciding import Decline
    from agentctl.runner import DecisionOptions

    choice = shared.choice_of(last=last, every=every)
    options = DecisionOptions(choice, not no_drive, agent=agent)
    shared.decide(common, refs, Decline(), by=by, reason=reason, options=options, suspended_ok=suspended_ok)
