"""Tools that do what no tool should: fork and return, end the process, stop the loop, use our output."""

from __future__ import annotations

import json

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE

FORKS = '''
@tool(require_approval=True)
async def worker(ctx: ToolContext) -> str:
    """Start a worker, and forget that a fork returns twice."""
    fx(ctx)
    {body}
    return "working"
'''
ENDS = '''
@tool
{kind}def ends(ctx: ToolContext) -> str:
    """End what it should not."""
    fx(ctx)
    {body}
    return "ended"
'''


@pytest.mark.parametrize(
    "body",
    [
        "os.fork()",
        "os.fork(); await asyncio.sleep(0.2)",
        "import sys; os.fork() or sys.exit(3)",
        "os.fork() or [][0]",
    ],
    ids=["returns", "awaits", "exits", "raises"],
)
def test_a_child_that_a_tool_forks_never_drives_the_run(project: Project, body: str) -> None:
    calls = [call("worker", "c1"), call("delete_record", "c2", id="a")]
    project.agent(tools=DELETE + FORKS.format(body=body), script=[turn(*calls), say("Done")])
    waiting = project.run("Work", status=8)
    assert waiting.run_id is not None
    done = project.approve(waiting.run_id, "--all", status=0)
    assert sorted(project.fx_calls()) == ["c1", "c2"]
    assert len(done.results) == 1
    assert [record["type"] for record in project.journal(waiting.run_id)].count("finish") == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("async ", "[task.cancel() for task in asyncio.all_tasks()]; await asyncio.sleep(1)"),
        ("async ", "asyncio.get_running_loop().stop(); await asyncio.sleep(1)"),
        ("", "os._exit(0)"),
        ("async ", "os._exit(0)"),
    ],
    ids=["cancels everything", "stops the loop", "leaves", "leaves from the loop"],
)
def test_a_tool_that_ends_more_than_itself_leaves_its_call_in_doubt(
    project: Project, kind: str, body: str
) -> None:
    project.agent(tools=ENDS.format(kind=kind, body=body), script=[turn(call("ends", "c1")), say("Done")])
    ended = project.run("End", status=7)
    assert ended.status == 7
    assert [each["kind"] for each in project.pending()] == ["in_doubt"]
    assert project.fx_calls() == ["c1"]


def test_what_a_tool_and_its_children_print_stays_out_of_our_output(project: Project) -> None:
    body = 'print("noise"); os.system("echo noise"); os.write(1, b"noise\\n")'
    project.agent(tools=ENDS.format(kind="", body=body), script=[turn(call("ends", "c1")), say("Done")])
    done = project.run("Print", status=0)
    assert all(json.loads(line) for line in done.stdout.splitlines())
    assert done.stderr.count("noise") == 3


def test_a_decision_beside_a_running_call_does_not_call_that_one_in_doubt(project: Project) -> None:
    slow = '''
@tool
def slow(ctx: ToolContext) -> str:
    """Take a while."""
    fx(ctx)
    at("started")
    hold("go")
    return "slow"
'''
    calls = [call("slow", "c1"), call("delete_record", "c2", id="a")]
    project.agent(tools=DELETE + slow, script=[turn(*calls), say("Done")])
    driver = project.start("run", "records", "Work", "--json")
    project.wait_for("started")
    decided = project.approve(project.only()["id"], "--no-drive", status=0)
    assert decided.result["status"] == "decided"
    assert decided.result["suspensions"] == []
    project.touch("go")
    driver.wait(status=0)
    assert sorted(project.fx_calls()) == ["c1", "c2"]
