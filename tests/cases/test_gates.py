"""Case group B: who must be asked, in which order of rules, for how long, and on every route."""

from __future__ import annotations

from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE, DELETE_FREE, READ, SLOW

DELETION = turn(call("delete_record", "c1", id="a"))


# 11. The flag of the run


def test_the_flag_of_the_run_gates_every_later_step_without_being_repeated(project: Project) -> None:
    steps = [turn(call("delete_record", f"c{n}", id=f"r{n}")) for n in (1, 2, 3)]
    project.agent(tools=DELETE_FREE, script=[*steps, say("End")])
    (first,) = project.run("Delete", "--require-approval", "*", status=8).result["suspensions"]
    project.resume(first["run_id"], status=8)
    (second,) = project.approve(first["id"], status=8).result["suspensions"]
    assert project.fx_calls() == ["c1"]
    project.approve(second["id"], "--no-drive", status=0)
    (third,) = project.resume(first["run_id"], status=8).result["suspensions"]
    assert project.fx_calls() == ["c1", "c2"]
    project.decline(third["id"], status=0)
    assert project.fx_calls() == ["c1", "c2"]


def test_several_globs_of_the_run_gate_together_and_match_case(project: Project) -> None:
    calls = [call("delete_record", "c1", id="a"), call("read_record", "c2", id="a")]
    project.agent(tools=DELETE_FREE + READ, script=[turn(*calls), say("End")])
    both = ("--require-approval", "delete_*", "--require-approval", "*_record")
    project.run("Go", *both, status=8)
    assert [each["tool_call_id"] for each in project.pending()] == ["c1", "c2"] and project.fx() == []
    others = ("--require-approval", "DELETE_*", "--require-approval", "record")
    free = project.run("Go", *others, status=0)
    assert "`DELETE_*`" in free.stderr and "`record`" in free.stderr, "a glob that gates nothing is told"


def test_what_waits_is_listed_while_a_free_call_of_the_step_still_runs(project: Project) -> None:
    calls = [call("slow", "s1", name="s"), call("delete_record", "c1", id="a")]
    project.agent(tools=SLOW + DELETE, script=[turn(*calls), say("End")])
    driver = project.start("run", "records", "Go", "--json")
    project.wait_for("s.started")
    waits = project.only()
    assert waits["tool_call_id"] == "c1" and project.the_run()["status"] == "running"
    project.approve(waits["id"], "--no-drive", status=0)
    assert project.pending() == []
    project.touch("s.go")
    assert driver.wait(status=0).result["text"] == "End"
    assert sorted(project.fx_calls()) == ["c1", "s1"]


# 12. The rules together

ALLOW = "def allow(call):\n    return False\n"
ASK_ALWAYS = "def ask(call):\n    return True\n"
FREE_BY_FUNCTION = DELETE_FREE.replace("@tool", "@tool(require_approval=lambda call: False)")
GATED_BY_FUNCTION = DELETE_FREE.replace("@tool", "@tool(require_approval=lambda call: True)")
EXPLICITLY_FREE = DELETE_FREE.replace("@tool", "@tool(require_approval=False)")


@pytest.mark.parametrize(
    ("tools", "flag", "agent", "asked"),
    [
        (DELETE_FREE, None, None, False),
        (DELETE, None, None, True),
        (DELETE, "other_*", None, True),
        (DELETE, None, ["other_*"], True),
        (DELETE_FREE, "delete_*", None, True),
        (DELETE_FREE, "delete_*", ["other_*"], True),
        (DELETE_FREE, None, ["other_*", "delete_*"], True),
        (DELETE_FREE, None, True, True),
        (DELETE_FREE, None, "policy.py:ask", True),
        (DELETE_FREE, None, "policy.py:allow", False),
        (EXPLICITLY_FREE, None, True, True),
        (FREE_BY_FUNCTION, None, None, False),
        (FREE_BY_FUNCTION, None, True, False),
        (FREE_BY_FUNCTION, "delete_record", None, True),
        (GATED_BY_FUNCTION, None, "policy.py:allow", True),
    ],
    ids=[
        "nobody asks",
        "the tool asks",
        "a flag for others leaves the tool's rule",
        "globs for others leave the tool's rule",
        "the run asks",
        "the run asks, the agent does not",
        "the agent's globs ask",
        "the agent asks for all",
        "the agent's function asks",
        "the agent's function allows",
        "the tool says no, the agent asks for all",
        "the tool's function allows",
        "the tool's function is alone in its answer",
        "the run overrules the tool's function",
        "the tool's function asks",
    ],
)
def test_who_asks_decides_who_waits(
    project: Project, tools: str, flag: str | None, agent: object, asked: bool
) -> None:
    keys: dict[str, Any] = {} if agent is None else {"require_tool_approval": agent}
    project.agent(tools=tools, script=[DELETION, say("End")], files={"policy.py": ALLOW + ASK_ALWAYS}, **keys)
    options = () if flag is None else ("--require-approval", flag)
    project.run("Delete a", *options, status=8 if asked else 0)
    assert project.fx_calls() == ([] if asked else ["c1"])


# 17. Always

PURGE = '''

@tool(require_approval=True)
def purge(ctx: ToolContext, level: float = 0, note: str | None = None) -> str:
    """Purge."""
    fx(ctx, level=level)
    return "Purged"


@tool(require_approval=True)
def purge_all(ctx: ToolContext, level: float = 0) -> str:
    """Purge."""
    fx(ctx, level=level)
    return "Purged"
'''


@pytest.mark.parametrize(
    ("name", "first", "other"),
    [
        ("purge", {}, {"level": 9}),
        ("purge", {}, {"level": 0}),
        ("purge", {}, {"note": None}),
        ("purge", {"level": 1}, {"level": 1.0}),
        ("purge", {"level": 1}, {}),
        ("purge_all", {}, {}),
    ],
    ids=["more arguments", "the default spelled out", "null", "another number type", "none", "another tool"],
)
def test_always_covers_exactly_these_arguments_of_this_tool(
    project: Project, name: str, first: dict[str, Any], other: dict[str, Any]
) -> None:
    steps = [turn(call("purge", "c1", **first)), turn(call("purge", "c2", **first))]
    project.agent(tools=PURGE, script=[*steps, turn(call(name, "c3", **other)), say("End")])
    (asked,) = project.run("Purge", status=8).result["suspensions"]
    after = project.approve(asked["id"], "--always", status=8)
    assert project.fx_calls() == ["c1", "c2"], "the same call again needs no new decision"
    assert [each["via"] for each in after.payloads("decision")] == ["cli", "always"]
    (waits,) = after.result["suspensions"]
    assert (waits["tool"], waits["tool_call_id"], waits["args"]) == (name, "c3", other)


def test_always_ends_with_its_run(project: Project) -> None:
    project.agent(tools=PURGE, script=[turn(call("purge", "c1")), say("End")])
    (asked,) = project.run("Purge", status=8).result["suspensions"]
    project.approve(asked["id"], "--always", status=0)
    project.run("Purge", status=8)
    assert project.fx_calls() == ["c1"]


def test_always_does_not_cover_a_changed_definition(project: Project) -> None:
    steps = [turn(call("purge", "c1")), {"error": {"message": "down"}}, turn(call("purge", "c2"))]
    project.agent(tools=PURGE, script=[*steps, say("End")])
    (asked,) = project.run("Purge", status=8).result["suspensions"]
    project.approve(asked["id"], "--always", status=9)
    project.edit(project.root / "records/tools.py", 'return "Purged"', 'return "Burnt"')
    project.resume(asked["run_id"], status=8)
    assert project.fx_calls() == ["c1"]


# 18. The budget


def test_a_model_that_never_stops_is_ended_by_the_budget(project: Project) -> None:
    steps = [turn(call("delete_record", f"c{n}", id=f"r{n}")) for n in range(1, 20)]
    project.agent(
        tools=DELETE_FREE,
        script=steps,
        require_tool_approval="policy.py:allow",
        files={"policy.py": ALLOW},
    )
    done = project.run("Go", "--max-steps", "5", status=9)
    assert project.fx_calls() == ["c1", "c2", "c3", "c4", "c5"]
    assert (done.result["status"], done.result["finish_reason"]) == ("interrupted", "max_steps")
    assert done.result["usage"]["requests"] == 5
    assert "--max-steps" in done.result["error"]["hint"]


def test_the_budget_counts_over_all_processes_and_can_be_raised(project: Project) -> None:
    steps = [turn(call("delete_record", f"c{n}", id=f"r{n}")) for n in range(1, 9)]
    project.agent(tools=DELETE, script=[*steps, say("End")])
    waits = project.run("Go", "--max-steps", "3", status=8).result["suspensions"]
    for status in (8, 8, 9):
        last = project.approve(waits[0]["id"], status=status)
        waits = last.result["suspensions"]
    assert last.result["finish_reason"] == "max_steps"
    again = project.resume(last.run_id, status=9)
    assert again.events("step-start", "tool-call") == []
    more = project.resume(last.run_id, "--max-steps", "4", status=8)
    assert [each["tool_call_id"] for each in more.result["suspensions"]] == ["c4"]
    project.approve(more.result["suspensions"][0]["id"], status=9)
    assert project.fx_calls() == ["c1", "c2", "c3", "c4"]


def test_the_budget_of_the_agent_file_holds_where_none_is_given(project: Project) -> None:
    steps = [turn(call("delete_record", f"c{n}", id=f"r{n}")) for n in range(1, 5)]
    project.agent(tools=DELETE_FREE, script=steps, options={"max_steps": 2})
    project.run("Go", status=9)
    assert project.fx_calls() == ["c1", "c2"]


# 19. Every route


def test_the_same_call_waits_on_every_route_to_it(project: Project) -> None:
    def again(number: int) -> dict[str, Any]:
        return turn(call("delete_record", f"c{number}", id="a"))

    outage = {"error": {"message": "the model is down"}}
    project.agent(
        tools=DELETE,
        script=[again(1), again(2), again(3), outage, again(4), outage, again(5), again(6), say("End")],
    )
    seen: list[str] = []

    def waits(last: Any) -> dict[str, Any]:
        (only,) = last.result["suspensions"]
        assert only["id"] not in seen, "an id that was decided before stands for a new call"
        seen.append(only["id"])
        found: dict[str, Any] = only
        return found

    first = waits(project.run("Go", status=8))
    run = first["run_id"]
    second = waits(project.approve(first["id"], status=8))
    third = waits(project.decline(second["id"], status=8))
    project.approve(third["id"], status=9)
    fourth = waits(project.resume(run, status=8))
    project.decline(fourth["id"], status=9)
    fifth = waits(project.resume(run, "--max-steps", "30", status=8))
    project.approve(fifth["id"], "--no-drive", status=0)
    sixth = waits(project.resume(run, status=8))
    assert project.fx_calls() == ["c1", "c3", "c5"]
    assert project.only()["id"] == sixth["id"]
