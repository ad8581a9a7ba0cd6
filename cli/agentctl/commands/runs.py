"""List runs of any status, newest first."""

from __future__ import annotations

from agentctl.commands.options import Common
from agentctl.commands.session import Session
from agentctl.exit_status import ExitStatus
from agentctl.output.style import is_terminal


def command(common: Common) -> None:
    from agentctl.output.lists import show_runs

    session = Session(common)
    listed = session.reader.runs(whole_prompts=common.json or not is_terminal(session.stdout))
    show_runs(
        listed.rows, json=common.json, stdout=session.stdout, stderr=session.stderr, color=session.color
    )
    session.end_list(listed, ExitStatus.OK)
