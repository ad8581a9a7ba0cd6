"""Tell what happened in a run: readable, or with --json the journal as it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from agentctl.commands.options import Common
from agentctl.commands.session import Session

_POLL_SECONDS = 0.2


def command(
    common: Common,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, by its id or the start of it.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
) -> None:
    from agentctl.output.log import show_log
    from agentctl.output.streams import put
    from agentctl_store.canonical import canonical

    session = Session(common)
    run_id = session.reader.find_run(run)
    records = _records(session, run_id, follow=follow)
    if common.json:
        for record in records:
            # The very bytes of the journal, by which its hashes can be checked.
            put(session.stdout, canonical(record).decode("utf-8", "surrogatepass") + "\n")
    else:
        show_log(records, session.stdout, color=session.color)


def _records(session: Session, run_id: str, *, follow: bool) -> Iterator[dict[str, Any]]:
    seen, last = 0, ""
    while True:
        for record in session.reader.journal(run_id, seen):
            seen, last = record["seq"], record["type"]
            yield record
        if not follow or last == "finish":
            return
        time.sleep(_POLL_SECONDS)
