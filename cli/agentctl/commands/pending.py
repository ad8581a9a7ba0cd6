"""List what waits for a human, oldest first."""

from __future__ import annotations

from typing import Annotated

import typer

from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.exit_status import ExitStatus


def command(
    common: Common,
    exit_status: Annotated[
        bool, typer.Option("--exit-status", help="Exit with 8 where something waits, else 0.")
    ] = False,
) -> None:
    from agentctl.output.lists import show_pending

    session = Session(common)
    listed = session.reader.pending()
    show_pending(
        listed.rows,
        json=common.json,
        stdout=session.stdout,
        stderr=session.stderr,
        color=session.color,
        store=session.store_option,
    )
    session.end_list(listed, ExitStatus.SUSPENDED if exit_status and listed.rows else ExitStatus.OK)
