"""Show one run or suspension whole: arguments, history, what to type next."""

from __future__ import annotations

from agentctl.commands import deciding_options as shared
from agentctl.commands.options import Common
from agentctl.commands.session import Session


def command(common: Common, ref: shared.RunOrRef) -> None:
    from agentctl.output.show import show_run

    session = Session(common)
    show_run(
        session.reader.show(ref),
        json=common.json,
        stdout=session.stdout,
        color=session.color,
        store=session.store_option,
    )
