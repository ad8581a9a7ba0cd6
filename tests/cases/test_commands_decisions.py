"""The options of the deciding commands: `approve decline resume resolve cancel`."""

from __future__ import annotations

import json
import os
import pwd
from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, DELETE, DELETE_FREE, REFUND, SLOW_GATED, WEATHER

ONE = [turn(call("delete_record", "c1", id="a")), say("Done: {result}")]


@pytest.fixture
def waiting(project: Project) -> dict[str, Any]:
    """A gated deletion that waits."""
    project.agent(tools=DELETE, script=ONE)
    (found,) = project.run("Go", "--run-id", "first-run", status=8).result["suspensions"]
    waits: dict[str, Any] = found
    return waits


@pytest.fixture
def in_doubt(project: Project) -> dict[str, Any]:
    """A call whose process was killed while the tool ran."""
    project.agent(tools=SLOW_GATED, script=[turn(call("gated_slow", "s1", name="s")), say("Done: {result}")])
    project.run("Go", "--run-id", "first-run", status=8)
    driver = project.start("approve", "first-run")
    project.wait_for("s.started")
    driver.kill9()
    doubt = project.only()
    assert doubt["kind"] == "in_doubt"
    return doubt


def decisions(project: Project) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.show("first-run")["decisions"]
    return found


# --by and --reason


def test_who_decided_is_the_flag_else_the_environment_else_the_login_name(project: Project) -> None:
    calls = [call("delete_record", f"c{n}", id=f"r{n}") for n in range(3)]
    project.agent(tools=DELETE, script=[turn(*calls), say("End")])
    asked = project.run("Go", "--run-id", "first-run", status=8).result["suspensions"]
    project.approve(asked[0]["id"], "--by", "Zoë (on call)", "--no-drive", status=0)
    project.approve(asked[1]["id"], "--no-drive", status=0)
    nameless = {"AGENTCTL_USER": None}
    project.decline(asked[2]["id"], "--reason", "why not", "--no-drive", env=nameless, status=0)
    login = pwd.getpwuid(os.getuid()).pw_name
    made = {each["suspension_id"]: each for each in decisions(project)}
    assert [made[each["id"]]["by"] for each in asked] == ["Zoë (on call)", "tester", login]
    assert [made[each["id"]]["reason"] for each in asked] == [None, None, "why not"]


def test_an_approval_may_give_its_reason(project: Project, waiting: dict[str, Any]) -> None:
    done = project.approve(waiting["id"], "--reason", "Ticket 5", status=0)
    assert [each["reason"] for each in done.payloads("decision")] == ["Ticket 5"]
    assert [each["reason"] for each in decisions(project)] == ["Ticket 5"]


# --no-drive


def test_a_decision_without_driving_loads_nothing_of_the_agent(
    project: Project, waiting: dict[str, Any]
) -> None:
    tools = project.root / "records/tools.py"
    source = tools.read_text()
    tools.write_text("raise SystemExit('loaded')\n")
    done = project.approve(waiting["id"], "--no-drive", status=0)
    assert done.result["status"] == "decided" and done.result["exit_status"] == 0
    assert done.result["suspensions"] == [] and project.fx() == []
    assert project.pending() == []
    assert project.the_run()["status"] in ("interrupted", "suspended")
    tools.write_text(source)
    assert project.resume("first-run", status=0).result["text"] == "Done: Record a deleted"
    assert project.fx_calls() == ["c1"]


def test_repeating_a_decision_without_driving_is_no_error_and_another_one_is(
    project: Project, waiting: dict[str, Any]
) -> None:
    project.decline(waiting["id"], "--no-drive", "--reason", "no", status=0)
    again = project.decline(waiting["id"], "--no-drive", "--by", "other", status=0)
    assert "tester" in again.stderr
    project.approve(waiting["id"], "--no-drive", status=5)
    assert [each["by"] for each in decisions(project)] == ["tester"]


def test_answers_without_driving_are_checked_against_the_frozen_schemas(project: Project) -> None:
    calls = [call("get_weather", "w1"), call("refund", "r1", order="o", amount=500)]
    project.agent(tools=WEATHER + REFUND, script=[turn(*calls), say("End")])
    waiting = {each["kind"]: each["id"] for each in project.run("Go", status=8).result["suspensions"]}
    (project.root / "records/tools.py").unlink()
    for data in ('{"city": 5}', "{}", "null"):
        project.resume(waiting["data"], "--data", data, "--no-drive", status=2)
    for args in ('{"order": "o"}', '{"order": "o", "amount": "much"}', "{}"):
        refused = project.approve(waiting["approval"], "--args", args, "--no-drive", status=2)
        assert "amount" in refused.stderr, refused.story()
    assert len(project.pending()) == 2
    project.resume(waiting["data"], "--data", '{"city": "Oslo"}', "--no-drive", status=0)
    edited = '{"order": "o", "amount": 400}'
    project.approve(waiting["approval"], "--args", edited, "--no-drive", status=0)
    assert project.pending() == [] and project.fx() == []


def test_a_data_answer_without_data_has_nothing_to_record(project: Project, waiting: dict[str, Any]) -> None:
    project.resume("first-run", "--no-drive", status=2)
    assert project.only()["id"] == waiting["id"]


# approve --args


@pytest.mark.parametrize("source", ["argument", "file", "standard input"])
def test_edited_arguments_are_what_runs_and_the_model_is_told(
    project: Project, waiting: dict[str, Any], source: str
) -> None:
    (project.root / "args.json").write_text('{"id": "b"}')
    given, piped = {
        "argument": ('{"id": "b"}', None),
        "file": ("@args.json", None),
        "standard input": ("-", '{"id": "b"}\n'),
    }[source]
    done = project.approve(waiting["id"], "--args", given, input=piped, status=0)
    assert project.fx() == [{"tool": "delete_record", "call": "c1", "args": {"id": "b"}}]
    (result,) = done.payloads("tool-result")
    assert result["args"] == {"id": "b"} and result["result"] == "Record b deleted"
    assert '"id"' in done.result["text"] and '"b"' in done.result["text"]
    assert "Record b deleted" in done.result["text"]
    journal = json.dumps([each["payload"] for each in project.journal("first-run")])
    assert '{"id": "a"}' in journal and '{"id": "b"}' in journal


def test_arguments_edited_to_the_same_are_no_edit(project: Project, waiting: dict[str, Any]) -> None:
    done = project.approve(waiting["id"], "--args", ' {"id" : "a"} ', status=0)
    assert done.result["text"] == "Done: Record a deleted"


def test_edited_arguments_that_cannot_be_used_are_refused_and_nothing_is_consumed(
    project: Project, waiting: dict[str, Any]
) -> None:
    for args in (
        "",
        "null",
        '"b"',
        "{}",
        '{"id": 5}',
        '{"id": NaN}',
        '{"id": "b", "id": "c"}',
        "@absent.json",
        "-",
    ):
        refused = project.approve(waiting["id"], "--args", args, status=2)
        assert refused.result["error"]["code"] == "usage"
    assert project.fx() == [] and project.only()["id"] == waiting["id"]
    assert decisions(project) == []


def test_edited_arguments_are_never_for_always(project: Project, waiting: dict[str, Any]) -> None:
    project.approve(waiting["id"], "--args", '{"id": "b"}', "--always", status=2)
    assert project.fx() == [] and project.only()["id"] == waiting["id"]


def test_edited_arguments_go_to_one_call_only(project: Project) -> None:
    calls = [call("delete_record", "c1", id="a"), call("delete_record", "c2", id="b")]
    project.agent(tools=DELETE, script=[turn(*calls), say("End")])
    project.run("Go", "--run-id", "first-run", status=8)
    project.approve("first-run", "--all", "--args", '{"id": "z"}', status=2)
    assert project.fx() == [] and len(project.pending()) == 2


def test_what_was_edited_is_not_approved_again_by_always(project: Project) -> None:
    """An edit answers one call: the model's own later call with those arguments waits."""
    script = [ONE[0], turn(call("delete_record", "c2", id="b")), say("End")]
    project.agent(tools=DELETE, script=script)
    (asked,) = project.run("Go", status=8).result["suspensions"]
    project.approve(asked["id"], "--args", '{"id": "b"}', status=8)
    assert project.fx_calls() == ["c1"]


# resume --max-steps, --model


def test_resume_with_another_model_goes_on_and_is_recorded(project: Project) -> None:
    outage = {"error": {"message": "down"}}
    other = {"better.yaml": 'turns: [{text: ""}, {text: ""}, {text: "Better"}]\n'}
    project.agent(tools=DELETE_FREE, script=[ONE[0], outage, outage], files=other)
    stopped = project.run("Go", status=9)
    assert stopped.result["finish_reason"] == "error"
    done = project.resume(stopped.run_id, "--model", "scripted/better.yaml", status=0)
    assert done.result["text"] == "Better" and project.fx_calls() == ["c1"]
    assert "better.yaml" in json.dumps(project.journal(stopped.run_id))


def test_resume_with_a_model_that_is_none_changes_nothing(project: Project) -> None:
    outage = {"error": {"message": "down"}}
    project.agent(tools=DELETE_FREE, script=[ONE[0], outage, say("End")])
    stopped = project.run("Go", status=9)
    for model in ("nonsense", "scripted/absent.yaml", "nobody/gpt"):
        project.resume(stopped.run_id, "--model", model, status=2)
    for steps in ("0", "-5", "x"):
        project.resume(stopped.run_id, "--max-steps", steps, status=2)
    project.resume(stopped.run_id, status=0)
    assert project.fx_calls() == ["c1"]


# resolve


def test_an_in_doubt_call_is_not_run_again_until_it_is_resolved(
    project: Project, in_doubt: dict[str, Any]
) -> None:
    project.touch("s.go")
    project.resume("first-run", status=7)
    for ways in ((), ("--retry", "--failed", "x"), ("--result", "1", "--failed", "x")):
        project.resolve("first-run", *ways, status=2)
    project.resolve("first-run", "--result", "not json", status=2)
    assert project.fx_calls() == ["s1"] and project.only()["id"] == in_doubt["id"]
    done = project.resolve(in_doubt["id"], "--retry", status=0)
    assert project.fx_calls() == ["s1", "s1"]
    assert done.result["text"] == "Done: slow s done"


@pytest.mark.parametrize(
    ("way", "told"),
    [(("--result", '{"rows": 3}'), '{"rows":3}'), (("--failed", "It hung"), "It hung")],
    ids=["result", "failed"],
)
def test_an_in_doubt_call_is_settled_without_running(
    project: Project, in_doubt: dict[str, Any], way: tuple[str, ...], told: str
) -> None:
    done = project.resolve("first-run", *way, "--reason", "I looked", "--by", "ada", status=0)
    assert project.fx_calls() == ["s1"]
    assert told in done.result["text"].replace(" ", "") or told in done.result["text"]
    assert [(each["verdict"], each["by"]) for each in done.payloads("decision")] == [(way[0][2:], "ada")]


def test_resolving_again_says_who_did(project: Project, in_doubt: dict[str, Any]) -> None:
    project.resolve(in_doubt["id"], "--failed", "It hung", "--no-drive", status=0)
    project.resolve(in_doubt["id"], "--retry", status=5)
    again = project.resolve(in_doubt["id"], "--failed", "It hung", status=0)
    assert "tester" in again.stderr and project.fx_calls() == ["s1"]


# cancel


def test_cancel_denies_approvals_and_closes_questions(project: Project) -> None:
    calls = [call("delete_record", "c1", id="a"), call("ask", "q1", question="Which?")]
    project.agent(tools=DELETE + ASK, script=[turn(*calls), say("End")])
    asked = project.run("Go", "--run-id", "first-run", status=8).result["suspensions"]
    done = project.cancel("first-run", "--reason", "Not today", "--by", "ada", status=0)
    assert done.result["status"] == "cancelled" and done.result["exit_status"] == 0
    assert [each["tool_call_id"] for each in done.payloads("tool-output-denied")] == ["c1"]
    assert [(each["verdict"], each["by"], each["reason"]) for each in done.payloads("decision")] == [
        ("cancel", "ada", "Not today")
    ]
    assert project.pending() == [] and project.fx() == []
    assert project.the_run()["status"] == "cancelled" and not project.snapshot("first-run").exists()
    for each in asked:
        late = project.approve(each["id"], status=(3, 5))
        assert late.stderr.startswith("agentctl: ")
    assert project.fx() == []


def test_cancel_keeps_an_in_doubt_call_as_unknown(project: Project, in_doubt: dict[str, Any]) -> None:
    done = project.cancel("first-run", status=0)
    (error,) = done.payloads("tool-error")
    assert "unknown" in error["error"] and project.fx_calls() == ["s1"]


def test_cancel_needs_nothing_of_the_agent(project: Project, waiting: dict[str, Any]) -> None:
    (project.root / "records").rename(project.root / "gone")
    project.cancel("first-run", status=0)
    assert project.the_run()["status"] == "cancelled"


def test_a_run_that_ended_cannot_be_cancelled(project: Project, waiting: dict[str, Any]) -> None:
    project.approve("first-run", status=0)
    refused = project.cancel("first-run", status=5)
    assert "completed" in refused.stderr
    project.cancel("nothing-there", status=3)
    assert project.the_run()["status"] == "completed"


def test_cancel_of_a_driven_run_stops_it_before_its_next_request(project: Project) -> None:
    script = [turn(call("gated_slow", "s1", name="s")), turn(call("gated_slow", "s2", name="t")), say("End")]
    project.agent(tools=SLOW_GATED, script=script)
    project.run("Go", "--run-id", "first-run", status=8)
    driver = project.start("approve", "first-run", "--json")
    project.wait_for("s.started")
    busy = project.cancel("first-run", "--lock-timeout", "100ms", status=6)
    assert busy.result["error"]["code"] == "busy"
    project.touch("s.go")
    driven = driver.wait()
    assert driven.result["status"] == "cancelled"
    assert [each["result"] for each in driven.payloads("tool-result")] == ["slow s done"]
    assert project.the_run()["status"] == "cancelled" and project.fx_calls() == ["s1"]


# Busy


def test_a_decision_on_a_driven_run_is_recorded_and_says_so(project: Project) -> None:
    calls = [call("gated_slow", "s1", name="s"), call("delete_record", "c1", id="a")]
    project.agent(tools=SLOW_GATED + DELETE, script=[turn(*calls), say("End")])
    slow, deletion = project.run("Go", status=8).result["suspensions"]
    driver = project.start("approve", slow["id"], "--json")
    project.wait_for("s.started")
    busy = project.decline(deletion["id"], "--lock-timeout", "100ms", status=6)
    assert "recorded" in busy.stderr and str(driver.pid) in busy.stderr
    project.touch("s.go")
    done = driver.wait(status=0)
    assert [each["tool_call_id"] for each in done.payloads("tool-output-denied")] == ["c1"]
    assert project.fx_calls() == ["s1"]
