"""The auditor reads a journal that real processes wrote: what the other tests assume is what happens."""

from __future__ import annotations

from support.auditor import Auditor
from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE, READ, WIZARD


def test_a_run_over_several_processes_keeps_the_promises(project: Project) -> None:
    first = turn(
        call("delete_record", "c1", id="a"), call("read_record", "c1", id="b"), call("order_shirt", "c3")
    )
    again = turn(call("delete_record", "c1", id="a"))
    project.agent(tools=DELETE + READ + WIZARD, script=[first, again, say("Done: {result}")])
    run = project.run("Delete record a", status=8).run_id
    asked = {suspension["kind"]: suspension["id"] for suspension in project.pending()}
    project.approve(asked["approval"], "--always", "--no-drive", status=0)
    project.resume(asked["data"], "--data", '"L"', status=8)
    project.resume(project.only()["id"], "--data", '"red"', status=0)
    auditor = Auditor(run)
    for record in project.journal(run):
        auditor.see(record)
    assert auditor.ended == "completed"
    shown = project.show(run)["messages"]
    assert shown == auditor.messages
    assert sorted(project.fx_calls()) == ["c1", "c1-2", "c1-3", "c3"]
