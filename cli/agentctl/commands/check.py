"""Validate an agent definition and everything it names; run nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentctl.commands.options import Common
from agentctl.commands.session import Session


def command(
    common: Common,
    agent: Annotated[Path, typer.Argument(metavar="AGENT", help="An agent file, or its folder.")],
) -> None:
    from agentctl.output.integrity import show_check

    session = Session(common)
    warnings = session.reader.check(agent)
    show_check(str(agent), warnings, json=common.json, stdout=session.stdout, stderr=session.stderr)
