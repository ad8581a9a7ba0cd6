"""The JSON that scripts read: exact shapes of events, results, suspensions, runs and `show`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from support.outcome import Outcome
from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, DELETE, FAIL, GATED_ASK, READ

LINE = {"type", "seq", "run_id", "at", "agent_path", "call_path", "payload"}
SUSPENSION = {
    "id",
    "run_id",
    "agent",
    "agent_path",
    "call_path",
    "kind",
    "tool",
    "tool_call_id",
    "args",
    "requires_approval",
    "reason",
    "suspend_payload",
    "resume_schema",
    "thread",
    "resource",
    "suspended_at",
}
RUN = {
    "run_id",
    "status",
    "agent",
    "prompt",
    "thread",
    "resource",
    "started_at",
    "updated_at",
    "finished_at",
    "finish_reason",
    "suspensions",
    "usage",
    "error",
}
RESULT = {"status", "exit_status", "finish_reason", "text", "suspensions", "usage", "error"}
USAGE = {
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "requests",
}
DECISION = {"suspension_id", "verdict", "by", "at", "via", "reason"}
CALL = {"tool_call_id", "tool", "args"}
PAYLOADS = {
    "start": {"agent", "input", "thread", "resource", "agentctl", "schema"},
    "step-start": {"step"},
    "step-finish": {"step", "finish_reason", "usage"},
    "text-delta": {"text"},
    "reasoning-delta": {"text"},
    "tool-call": CALL,
    "tool-call-approval": SUSPENSION,
    "tool-call-suspended": SUSPENSION,
    "decision": DECISION,
    "tool-output": {"tool_call_id", "text"},
    "tool-result": {*CALL, "result"},
    "tool-error": {*CALL, "error"},
    "tool-output-denied": {*CALL, "reason", "by"},
    "finish": {"finish_reason", "usage"},
    "error": {"code", "message", "hint"},
    "result": RESULT,
}
OPTIONAL = {"start": {"resumed"}, "decision": {"args", "data"}}
ONE = [turn(call("delete_record", "c1", id="a")), say("Done: {result}")]
AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

LOUD = '''

@tool
def loud(ctx: ToolContext) -> str:
    """Say how it goes."""
    ctx.emit("half ")
    ctx.emit("way\\n")
    return "Loud"
'''


def keys(value: dict[str, Any]) -> set[str]:
    return set(value)


def well_formed(outcome: Outcome) -> set[str]:
    """Check every line of the output; the types that occur."""
    lines = outcome.lines
    for number, line in enumerate(lines, start=1):
        assert keys(line) == LINE
        assert AT.fullmatch(line["at"]), line["at"]
        allowed = PAYLOADS[line["type"]]
        payload = keys(line["payload"])
        assert payload - OPTIONAL.get(line["type"], set()) == allowed, f"line {number}: {line}"
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["type"] == "result"
    assert outcome.result["exit_status"] == outcome.status
    return {line["type"] for line in lines}


def test_every_event_of_a_run_has_its_shape(project: Project) -> None:
    calls = [
        call("delete_record", "c1", id="a"),
        call("read_record", "c2", id="a"),
        call("fail", "c3", why="no"),
        call("ask", "c4", question="Which?"),
        call("loud", "c5"),
    ]
    first = {**turn(*calls, text="Let me see. "), "reasoning": "Hm."}
    project.agent(tools=DELETE + READ + FAIL + ASK + LOUD, script=[first, say("End")])
    ran = project.run("Go", status=8)
    types = well_formed(ran)
    assert types >= {
        "start",
        "step-start",
        "text-delta",
        "reasoning-delta",
        "tool-call",
        "tool-result",
        "tool-error",
        "tool-output",
        "tool-call-approval",
        "tool-call-suspended",
    }
    waiting = {each["kind"]: each for each in ran.result["suspensions"]}
    declined = project.decline(waiting["approval"]["id"], status=8)
    assert well_formed(declined) >= {"decision", "tool-output-denied"}
    done = project.resume(waiting["data"]["id"], "--data", "1", status=0)
    assert well_formed(done) >= {"start", "decision", "tool-result", "step-finish", "finish"}
    assert done.payloads("start")[0]["resumed"] is True
    assert {line["run_id"] for line in done.lines} == {ran.run_id}
    assert {tuple(line["agent_path"]) for line in done.lines} == {("records",)}


def test_events_come_in_the_order_in_which_things_happen(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    ran = project.run("Go", status=8)
    assert [line["type"] for line in ran.lines if line["type"] != "text-delta"] == [
        "start",
        "step-start",
        "tool-call",
        "tool-call-approval",
        "finish",
        "result",
    ]
    assert ran.payloads("finish")[0]["finish_reason"] == "suspended"
    done = project.approve(ran.run_id, status=0)
    order = [line["type"] for line in done.lines if line["type"] != "text-delta"]
    assert sorted(order[:2]) == ["decision", "start"]
    assert order[2:] == ["tool-result", "step-finish", "step-start", "step-finish", "finish", "result"]
    assert "".join(each["text"] for each in done.payloads("text-delta")) == done.result["text"]


def test_a_suspension_has_one_shape_everywhere(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    ran = project.run("Go", "--run-id", "first-run", status=8)
    (waits,) = ran.result["suspensions"]
    assert keys(waits) == SUSPENSION
    assert re.fullmatch("[0-9a-f]{64}", waits["id"]) and AT.fullmatch(waits["suspended_at"])
    assert waits == {
        "id": waits["id"],
        "run_id": "first-run",
        "agent": "records",
        "agent_path": ["records"],
        "call_path": [],
        "kind": "approval",
        "tool": "delete_record",
        "tool_call_id": "c1",
        "args": {"id": "a"},
        "requires_approval": True,
        "reason": None,
        "suspend_payload": None,
        "resume_schema": None,
        "thread": None,
        "resource": None,
        "suspended_at": waits["suspended_at"],
    }
    assert ran.payloads("tool-call-approval") == [waits]
    assert project.pending() == [waits]
    assert project.show("first-run")["suspensions"] == [waits]


def test_a_question_of_a_tool_carries_payload_and_schema(project: Project) -> None:
    project.agent(tools=GATED_ASK, script=[turn(call("deploy", "d1", target="prod")), say("End")])
    project.run("Go", "--run-id", "first-run", status=8)
    (asked,) = project.approve("first-run", status=8).payloads("tool-call-suspended")
    assert keys(asked) == SUSPENSION
    assert (asked["kind"], asked["requires_approval"]) == ("data", False)
    assert asked["suspend_payload"] == {"question": "Which window?"}


def test_a_run_has_one_shape_everywhere(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    project.run("Delete a", "--run-id", "first-run", status=8)
    waits = project.the_run()
    assert keys(waits) == RUN and keys(waits["usage"]) == USAGE
    assert (waits["status"], waits["finish_reason"], waits["suspensions"]) == ("suspended", "suspended", 1)
    assert waits["finished_at"] is None and waits["error"] is None
    assert project.show("first-run")["run"] == waits
    project.approve("first-run", status=0)
    ended = project.the_run()
    assert keys(ended) == RUN and keys(ended["usage"]) == USAGE
    assert (ended["status"], ended["finish_reason"], ended["suspensions"]) == ("completed", "stop", 0)
    assert ended["usage"]["requests"] == 2
    assert AT.fullmatch(ended["finished_at"]) and ended["started_at"] <= ended["finished_at"]
    assert (ended["prompt"], ended["agent"]) == ("Delete a", "records")
    assert project.show("first-run")["run"] == ended


def test_show_is_one_object_of_four(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    project.run("Delete a", "--run-id", "first-run", status=8)
    assert keys(project.show("first-run")) == {"run", "suspensions", "decisions", "messages"}
    project.approve("first-run", "--reason", "fine", status=0)
    shown = project.show("first-run")
    (decision,) = shown["decisions"]
    assert keys(decision) >= DECISION
    assert (decision["verdict"], decision["by"], decision["via"]) == ("approve", "tester", "cli")
    assert [each["role"] for each in shown["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_the_result_of_each_outcome_is_the_last_line(project: Project) -> None:
    outage = {"error": {"message": "the model is down"}}
    project.agent(tools=DELETE, script=[ONE[0], outage, say("Late.")])
    waits = project.run("Go", status=8)
    assert keys(waits.result) == RESULT
    assert (waits.result["status"], waits.result["finish_reason"]) == ("suspended", "suspended")
    decided = project.approve(waits.run_id, "--no-drive", status=0)
    assert (decided.result["status"], decided.result["exit_status"]) == ("decided", 0)
    stopped = project.resume(waits.run_id, status=9)
    assert (stopped.result["status"], stopped.result["finish_reason"]) == ("interrupted", "error")
    assert keys(stopped.result["error"]) == {"code", "message", "hint"}
    assert stopped.result["error"]["code"] == "interrupted"
    assert stopped.payloads("error") == [stopped.result["error"]]
    done = project.resume(waits.run_id, status=0)
    assert (done.result["status"], done.result["finish_reason"]) == ("completed", "stop")
    assert done.result["text"] == "Late." and done.result["error"] is None
    for each in (waits, decided, stopped, done):
        well_formed(each)


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (("run", "nowhere", "Go"), 3, "not_found"),
        (("run", "records", ""), 2, "usage"),
        (("run", "records", "Go", "--nope"), 2, "usage"),
        (("run", "records", "Go", "--max-steps", "x"), 2, "usage"),
        (("run",), 2, "usage"),
        (("approve", "nothing-there"), 3, "not_found"),
        (("approve",), 2, "usage"),
        (("decline", "nothing-there"), 3, "not_found"),
        (("resume", "nothing-there"), 3, "not_found"),
        (("resume", "nothing-there", "--data", "{"), 2, "usage"),
        (("resolve", "nothing-there", "--retry"), 3, "not_found"),
        (("resolve", "nothing-there"), 2, "usage"),
        (("cancel", "nothing-there"), 3, "not_found"),
    ],
)
def test_a_command_that_could_not_start_ends_with_a_result_of_no_run(
    project: Project, args: tuple[str, ...], status: int, code: str
) -> None:
    project.agent(script=[say("Hello")])
    failed = project.cli(*args, "--json", status=status)
    well_formed(failed)
    last = failed.lines[-1]
    assert last["run_id"] is None
    assert (last["payload"]["status"], last["payload"]["exit_status"]) == ("error", status)
    assert last["payload"]["error"]["code"] == code
    assert last["payload"]["suspensions"] == [] and last["payload"]["text"] == ""
    assert failed.stderr.startswith("agentctl: ")


def test_what_is_refused_on_a_known_run_ends_with_a_result_too(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    project.run("Go", "--run-id", "first-run", status=8)
    for verb, options, status in (
        ("resume", ("--data", "1"), 5),
        ("resolve", ("--retry",), 5),
        ("approve", ("--args", "{}"), 2),
    ):
        refused = project.cli(verb, "first-run", *options, "--json", status=status)
        well_formed(refused)
        assert refused.result["exit_status"] == status and keys(refused.result["error"]) == {
            "code",
            "message",
            "hint",
        }


def test_each_line_is_one_line_of_utf8_whatever_is_in_it(project: Project) -> None:
    odd = "a\u2028b\u0085c\x00d\x1b[2Je\u202ef\ng\r"
    # A lone surrogate has no UTF-8 and no YAML, but models send them in their JSON.
    arguments = {"id": "c1", "name": "delete_record", "arguments": json.dumps({"id": odd + "\ud800"})}
    project.agent(tools=DELETE, script=[turn(arguments, text=odd), say(odd)])
    ran = project.run("Go", "--run-id", "first-run", status=8)
    assert len(ran.raw_stdout.decode("utf-8").splitlines()) == len(ran.lines)
    assert ran.result["suspensions"][0]["args"] == {"id": odd + "\ud800"} and ran.result["text"] == odd
    done = project.approve("first-run", status=0)
    assert done.raw_stdout.decode("utf-8") and done.result["text"] == odd
    assert project.fx()[0]["args"] == {"id": odd + "\ud800"}
    project.cli("verify", status=0)


def test_with_json_nothing_but_json_is_on_standard_output(project: Project) -> None:
    printing = DELETE.replace("fx(ctx, id=id)", 'fx(ctx, id=id)\n    print("from the tool")')
    project.agent(tools='\nprint("on import")\n' + printing, script=ONE)
    ran = project.run("Go", status=8)
    well_formed(ran)
    well_formed(project.approve(ran.run_id, status=0))
