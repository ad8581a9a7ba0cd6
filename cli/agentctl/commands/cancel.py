"""End a live run: approvals are denied, questions closed, calls in doubt kept as unknown."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.commands import deciding_options as shared
from agentctl.commands.options import Common
from agentctl.commands.session import Session


def command(
    common: Common,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, by its id or the start of it.")],
    reason: shared.ReasonForModel = None,
    by: shared.By = None,
) -> None:
    session = Session(common)
    session.end([session.runner.cancel(run, session.signature(by, reason))])
