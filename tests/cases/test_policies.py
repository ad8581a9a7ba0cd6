"""Case group B: policy functions, what they are asked, and what happens when they give no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.project import Project
from support.script import call, raw_call, say, turn
from support.tools import DELETE, DELETE_FREE, READ, REFUND

DELETION = turn(call("delete_record", "c1", id="a"))


def text_call(name: str, call_id: str, arguments: str) -> dict[str, Any]:
    """A call whose arguments are exactly this text, broken or not."""
    return {"id": call_id, "name": name, "arguments": arguments}


# 13. Policy functions

BY_NAME = """
def by_name(call):
    return call.tool.startswith("delete_")
"""
ASYNC_BY_NAME = """
import asyncio

async def by_name(call):
    await asyncio.sleep(0)
    return call.tool.startswith("delete_")
"""


@pytest.mark.parametrize("policy", [BY_NAME, ASYNC_BY_NAME], ids=["sync", "async"])
def test_a_policy_on_names_holds_only_those_back_in_every_step(project: Project, policy: str) -> None:
    steps = [
        turn(call("read_record", "r1", id="a"), call("delete_record", "d1", id="a")),
        turn(call("delete_record", "d2", id="b"), call("read_record", "r2", id="b")),
    ]
    project.agent(
        tools=DELETE_FREE + READ,
        script=[*steps, say("End")],
        require_tool_approval="policy.py:by_name",
        files={"policy.py": policy},
    )
    (first,) = project.run("Go", status=8).result["suspensions"]
    assert project.fx_calls() == ["r1"] and first["tool_call_id"] == "d1"
    (second,) = project.approve(first["id"], status=8).result["suspensions"]
    assert project.fx_calls() == ["r1", "d1", "r2"] and second["tool_call_id"] == "d2"


def test_a_policy_on_arguments_holds_only_those_back_in_every_step(project: Project) -> None:
    steps = [
        turn(call("refund", "c1", order="o1", amount=100), call("refund", "c2", order="o2", amount=100.01)),
        turn(call("refund", "c3", order="o3", amount=5000), call("refund", "c4", order="o4", amount=-1)),
    ]
    project.agent(tools=REFUND, script=[*steps, say("End")])
    (first,) = project.run("Refund", status=8).result["suspensions"]
    assert project.fx_calls() == ["c1"] and first["tool_call_id"] == "c2"
    (second,) = project.approve(first["id"], status=8).result["suspensions"]
    assert project.fx_calls() == ["c1", "c2", "c4"] and second["tool_call_id"] == "c3"
    assert second["args"] == {"order": "o3", "amount": 5000}


def test_a_policy_sees_the_call_and_its_run(project: Project) -> None:
    policy = """
import json

def note(call):
    seen = {name: getattr(call, name) for name in
            ("tool", "args", "request_context", "workspace", "run_id", "thread", "resource")}
    seen["agent_path"] = list(call.agent_path)
    open(call.workspace + "/seen.json", "w").write(json.dumps(seen))
    return False
"""
    project.agent(
        tools=DELETE_FREE,
        script=[DELETION, say("End")],
        require_tool_approval="policy.py:note",
        files={"policy.py": policy},
    )
    done = project.run("Go", "--context", "who=me", status=0)
    assert json.loads((project.root / "seen.json").read_text()) == {
        "tool": "delete_record",
        "args": {"id": "a"},
        "request_context": {"who": "me"},
        "workspace": str(project.root),
        "run_id": done.run_id,
        "thread": None,
        "resource": None,
        "agent_path": ["records"],
    }


def test_a_policy_cannot_change_what_will_run(project: Project) -> None:
    tools = """

def meddle(call):
    call.args["force"] = True
    call.args["ids"].append("everything")
    call.request_context["who"].append("everyone")
    return False


@tool(require_approval=meddle)
def delete_records(ctx: ToolContext, ids: list[str], force: bool = False) -> str:
    \"""Delete records by ID.\"""
    fx(ctx, ids=ids, force=force, who=ctx.request_context["who"])
    return "Deleted"
"""
    deletion = turn(call("delete_records", "c1", ids=["a"]))
    project.agent(tools=tools, script=[deletion, say("End")], files={"who.json": '{"who": ["me"]}'})
    project.run("Delete a", "--context", "@records/who.json", status=0)
    assert [each["args"] for each in project.fx()] == [{"ids": ["a"], "force": False, "who": ["me"]}]


# 14. Policies that fail

BROKEN = {
    "raises": ("raise RuntimeError('no idea')", "no idea"),
    "exits": ("sys.exit(0)", ""),
    "interrupts": ("raise KeyboardInterrupt", ""),
    "text": ("return 'no'", "'no'"),
    "nothing": ("pass", "None"),
    "zero": ("return 0", "0"),
    "empty": ("return []", "[]"),
    "lookalike": ("return type('No', (), {'__bool__': lambda self: False})()", "No"),
    "never": ("await asyncio.sleep(3600)", "10"),
    "blocks": ("time.sleep(3600)", "10"),
}


def broken_tool(name: str, body: str) -> str:
    kind = "async def" if "await" in body else "def"
    return f'''

{kind} policy_{name}(call):
    {body}


@tool(require_approval=policy_{name})
def tool_{name}(ctx: ToolContext) -> str:
    """Do something."""
    fx(ctx)
    return "done"
'''


def test_a_call_waits_and_says_why_when_its_policy_gives_no_answer(project: Project) -> None:
    tools = "".join(broken_tool(name, body) for name, (body, _) in BROKEN.items())
    calls = [call(f"tool_{name}", name) for name in BROKEN]
    project.agent(tools=tools + READ, script=[turn(*calls, call("read_record", "free", id="a")), say("End")])
    waiting = project.run("Go", status=8).result["suspensions"]
    assert [each["tool_call_id"] for each in waiting] == list(BROKEN)
    assert project.fx_calls() == ["free"]
    for each in waiting:
        assert each["reason"] and BROKEN[each["tool_call_id"]][1] in each["reason"], each
        assert "\n" not in each["reason"], each
    project.resume(waiting[0]["run_id"], status=8)
    assert project.fx_calls() == ["free"]


@pytest.mark.parametrize(
    ("named", "content", "why"),
    [
        ("nowhere.py:policy", None, "nowhere.py"),
        ("missing_package.module:policy", None, "missing_package"),
        ("policy.py:absent", "def policy(call): return False\n", "absent"),
        ("policy.py:policy", "def policy(call) return False\n", "policy.py"),
        ("policy.py:policy", "import missing_package\n\ndef policy(call): return False\n", "missing_package"),
        ("policy.py:policy", "policy = False\n", "policy"),
    ],
    ids=["no file", "no module", "no function", "broken source", "broken import", "no callable"],
)
def test_a_call_waits_and_says_why_when_its_policy_does_not_load(
    project: Project, named: str, content: str | None, why: str
) -> None:
    files = {} if content is None else {"policy.py": content}
    project.agent(tools=DELETE_FREE, script=[DELETION, say("End")], require_tool_approval=named, files=files)
    (waits,) = project.run("Delete a", status=8).result["suspensions"]
    assert project.fx() == []
    assert why in waits["reason"]
    project.decline(waits["id"], status=0)
    assert project.fx() == []


# 15. Arguments that are none


def test_malformed_arguments_never_slip_past_a_policy(project: Project) -> None:
    calls = [
        raw_call("refund", "null", None),
        raw_call("refund", "list", [1]),
        raw_call("refund", "number", 5000),
        raw_call("refund", "text", "5000"),
        text_call("refund", "nan", '{"order": "a", "amount": NaN}'),
        text_call("refund", "infinite", '{"order": "a", "amount": -Infinity}'),
        raw_call("refund", "true", {"order": "a", "amount": True}),
        raw_call("refund", "missing", {"order": "a"}),
        raw_call("refund", "extra", {"order": "a", "amount": 1, "force": True}),
        text_call("refund", "cut", '{"order": "a", "amount": 5'),
        text_call("refund", "twice", '{"order": "a", "amount": 5000, "amount": 5}'),
        text_call("refund", "huge", '{"order": "a", "amount": 1e999}'),
        text_call("refund", "more", '{"order": "a", "amount": 5} {"amount": 5000}'),
        text_call("refund", "deep", "[" * 100_000),
        text_call("refund", "none", ""),
    ]
    project.agent(tools=REFUND, script=[turn(*calls), say("End")])
    done = project.run("Refund", status=(0, 8))
    ran = [each for each in project.fx() if each["call"] not in ("true", "extra")]
    assert ran == [], "a malformed call was executed"
    for entry in project.fx():  # a lax schema may read these, as small amounts and nothing else
        assert entry["args"]["amount"] <= 100
    refused = {each["tool_call_id"] for each in done.payloads("tool-error")}
    asked = {each["tool_call_id"] for each in done.result["suspensions"]}
    assert refused | asked | set(project.fx_calls()) == {each["id"] for each in calls}
    assert {"list", "nan", "cut", "twice", "huge", "more", "deep", "missing"} <= refused


def test_a_number_that_came_as_text_is_not_read_as_a_small_one(project: Project) -> None:
    project.agent(
        tools=REFUND, script=[turn(raw_call("refund", "c1", {"order": "a", "amount": "5000"})), say("End")]
    )
    project.run("Refund", status=(0, 8))
    assert project.fx() == []


def test_null_arguments_of_a_gated_tool_wait_as_no_arguments(project: Project) -> None:
    purge = '''

@tool(require_approval=True)
def purge(ctx: ToolContext) -> str:
    """Purge everything."""
    fx(ctx)
    return "Purged"
'''
    calls = [raw_call("purge", "c1", None), text_call("purge", "c2", ""), raw_call("purge", "c3", [1])]
    project.agent(tools=purge, script=[turn(*calls), say("End")])
    done = project.run("Purge", status=8)
    assert [(each["tool_call_id"], each["args"]) for each in done.result["suspensions"]] == [
        ("c1", {}),
        ("c2", {}),
    ]
    assert [each["tool_call_id"] for each in done.payloads("tool-error")] == ["c3"]
    assert project.fx() == []


def test_a_human_is_not_asked_about_calls_that_cannot_run(project: Project) -> None:
    calls = [call("ghost", "c1", id="a"), call("delete_record", "c2"), call("delete_record", "c3", id=5)]
    project.agent(tools=DELETE, script=[turn(*calls), say("End: {result}")])
    done = project.run("Go", "--require-approval", "*", status=0)
    assert project.fx() == []
    errors = {each["tool_call_id"]: each["error"] for each in done.payloads("tool-error")}
    assert list(errors) == ["c1", "c2", "c3"]
    assert "ghost" in errors["c1"] and "delete_record" in errors["c1"]
    assert "id" in errors["c2"] and "id" in errors["c3"]


# 16. Asked once


def test_a_policy_is_asked_once_for_each_call_over_all_processes(project: Project) -> None:
    policy = """
from pathlib import Path

def ask_once(call):
    with (Path(call.workspace) / "asked.log").open("a") as log:
        log.write(call.args["id"] + "\\n")
    return True
"""
    steps = [turn(call("delete_record", f"c{n}", id=f"r{n}")) for n in (1, 2)]
    project.agent(
        tools=DELETE_FREE,
        script=[*steps, say("End")],
        require_tool_approval="policy.py:ask_once",
        files={"policy.py": policy},
    )

    def asked() -> list[str]:
        return (project.root / "asked.log").read_text().split()

    (first,) = project.run("Go", status=8).result["suspensions"]
    project.resume(first["run_id"], status=8)
    project.resume(first["run_id"], status=8)
    assert asked() == ["r1"]
    (second,) = project.approve(first["id"], status=8).result["suspensions"]
    assert asked() == ["r1", "r2"]
    project.approve(second["id"], "--no-drive", status=0)
    project.resume(first["run_id"], status=0)
    assert asked() == ["r1", "r2"] and project.fx_calls() == ["c1", "c2"]
