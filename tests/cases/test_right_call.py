"""Case group C: a decision reaches the call it names and no other."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from agentctl.runtime.suspensions import FINGERPRINT_FORMAT
from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, CONFIRM, DELETE, SLOW_GATED, WEATHER, WIZARD

TWO = [turn(call("delete_record", "c1", id="a"), call("delete_record", "c2", id="b")), say("End: {result}")]


@pytest.fixture
def two(project: Project) -> list[dict[str, Any]]:
    """Two gated calls of one step."""
    project.agent(tools=DELETE, script=TWO)
    found: list[dict[str, Any]] = project.run("Delete a and b", status=8).result["suspensions"]
    assert [each["tool_call_id"] for each in found] == ["c1", "c2"]
    return found


def ids(waiting: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in waiting]


# 20. A late decision


def test_a_late_approval_of_a_declined_call_does_not_run_its_repetition(project: Project) -> None:
    again = turn(call("delete_record", "c2", id="a"))
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="a")), again, say("End")])
    (first,) = project.run("Delete a", status=8).result["suspensions"]
    (second,) = project.decline(first["id"], status=8).result["suspensions"]
    assert second["id"] != first["id"]
    late = project.approve(first["id"], status=5)
    assert project.fx() == []
    assert late.result["error"]["code"] == "conflict"
    assert "declined by tester" in late.stderr or "decline by tester" in late.stderr
    assert ids(project.pending()) == [second["id"]]
    project.approve(first["id"][:10], status=5)
    assert project.fx() == []


def test_a_late_decision_after_the_end_says_how_it_was_decided(project: Project) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="a")), say("End")])
    (asked,) = project.run("Delete a", status=8).result["suspensions"]
    project.decline(asked["id"], status=0)
    late = project.approve(asked["id"], status=5)
    assert "tester" in late.stderr and project.fx() == []


# 21. Two approvals, the second first


def test_the_second_of_two_calls_can_be_approved_first(project: Project, two: list[dict[str, Any]]) -> None:
    after = project.approve(two[1]["id"], status=8)
    assert project.fx() == [{"tool": "delete_record", "call": "c2", "args": {"id": "b"}}]
    assert ids(after.result["suspensions"]) == [two[0]["id"]]
    project.approve(two[0]["id"], status=0)
    assert [each["args"]["id"] for each in project.fx()] == ["b", "a"]


# 22, 23. Two questions


def test_two_questions_answered_in_reverse_order_get_their_own_answers(project: Project) -> None:
    calls = [call("get_weather", "w1"), call("wipe", "w2", disk="sda")]
    project.agent(tools=WEATHER + CONFIRM, script=[turn(*calls), say("End")])
    city, wipe = project.run("Go", status=8).result["suspensions"]
    assert (city["kind"], wipe["kind"]) == ("data", "data")
    assert "city" in str(city["resume_schema"]) and "confirmed" in str(wipe["resume_schema"])
    project.resume(wipe["id"], "--data", '{"city": "Oslo"}', status=2)
    project.resume(city["id"], "--data", '{"confirmed": true}', status=2)
    assert ids(project.pending()) == [city["id"], wipe["id"]]
    project.resume(wipe["id"], "--data", '{"confirmed": true}', status=8)
    assert project.fx() == [{"tool": "wipe", "call": "w2", "args": {"disk": "sda"}}]
    project.resume(city["id"], "--data", '{"city": "Oslo"}', status=0)
    assert project.fx()[1] == {"tool": "get_weather", "call": "w1", "args": {"city": "Oslo"}}


def test_two_equal_questions_in_one_step_get_their_own_answers(project: Project) -> None:
    calls = [call("ask", "q1", question="Which?"), call("ask", "q2", question="Which?")]
    project.agent(tools=ASK, script=[turn(*calls), say("End")])
    first, second = project.run("Go", status=8).result["suspensions"]
    assert first["id"] != second["id"]
    project.resume(second["id"], "--data", '"two"', status=8)
    project.resume(first["id"], "--data", '"one"', status=0)
    assert [(each["call"], each["args"]["answer"]) for each in project.fx()] == [("q2", "two"), ("q1", "one")]


def test_the_first_answer_is_not_delivered_to_the_second_question_of_a_call(project: Project) -> None:
    project.agent(tools=WIZARD, script=[turn(call("order_shirt", "c1")), say("End")])
    (size,) = project.run("Shirt", status=8).result["suspensions"]
    (colour,) = project.resume(size["id"], "--data", '"L"', status=8).result["suspensions"]
    assert colour["id"] != size["id"] and colour["tool_call_id"] == "c1"
    project.resume(size["id"], "--data", '"red"', status=5)
    again = project.resume(size["id"], "--data", '"L"', status=8)
    assert ids(again.result["suspensions"]) == [colour["id"]] and project.fx() == []
    project.resume(colour["id"], "--data", '"red"', status=0)
    assert [(each["args"]["size"], each["args"]["colour"]) for each in project.fx()] == [("L", "red")]


ASK_TWICE = '''

@tool
def ask_twice(ctx: ToolContext) -> str:
    """Ask the very same question again until the answer is yes."""
    fx(ctx, resumed=ctx.resumed, data=ctx.resume_data)
    if ctx.resume_data != "yes":
        return ctx.suspend({"question": "Sure?"})
    return "Sure"
'''


def test_the_same_question_asked_again_is_another_suspension(project: Project) -> None:
    project.agent(tools=ASK_TWICE, script=[turn(call("ask_twice", "c1")), say("End")])
    (first,) = project.run("Go", status=8).result["suspensions"]
    (second,) = project.resume(first["id"], "--data", '"no"', status=8).result["suspensions"]
    assert second["id"] != first["id"]
    assert second["suspend_payload"] == first["suspend_payload"]
    project.resume(first["id"], "--data", '"yes"', status=5)
    assert [each["args"]["data"] for each in project.fx()] == [None, "no"]
    project.resume(second["id"], "--data", '"yes"', status=0)


# 24, 25. Names that fit nothing, or too much


def test_an_id_that_matches_nothing_is_not_found_and_what_waits_is_listed(
    project: Project, two: list[dict[str, Any]]
) -> None:
    wrong = ("f" if two[0]["id"][0] != "f" else "e") + two[0]["id"][1:]
    for ref in (wrong, wrong[:10], two[0]["id"] + "0", "not-a-run"):
        missing = project.approve(ref, status=3)
        assert missing.result["error"]["code"] == "not_found"
        for each in two:
            assert each["id"][:10] in missing.stderr, missing.story()
    assert project.fx() == [] and ids(project.pending()) == ids(two)


def test_a_prefix_that_matches_two_suspensions_is_ambiguous_and_both_are_listed(project: Project) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="a")), say("End")])
    trial = project.run("Go", "--run-id", "trial", status=8).result["suspensions"][0]
    (judged,) = [each["payload"] for each in project.journal("trial") if each["type"] == "tool-call"]
    definition = judged["definition"]["digest"]

    def suspension_id(run: str) -> str:
        parts = [FINGERPRINT_FORMAT, run, [], "c1", 1, "approval", "delete_record", {"id": "a"}, definition]
        return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()

    assert suspension_id("trial") == trial["id"], "the id is the documented fingerprint"
    one, other, prefix = colliding_runs(suspension_id)
    for run in (one, other):
        project.run("Go", "--run-id", run, status=8)
    both = {suspension_id(one), suspension_id(other)}
    for verb in (project.approve, project.decline):
        refused = verb(prefix, status=5)
        assert all(each[:10] in refused.stderr for each in both), refused.story()
    for refused in (project.resume(prefix, status=5), project.cli("show", prefix, status=5)):
        assert one in refused.stderr and other in refused.stderr, refused.story()
    assert project.fx() == [] and set(ids(project.pending())) == both | {trial["id"]}
    project.approve(suspension_id(one)[:10], status=0)
    assert len(project.fx()) == 1


def colliding_runs(suspension_id: Any) -> tuple[str, str, str]:
    """Two run ids whose suspension ids begin with the same six digits."""
    seen: dict[str, str] = {}
    for number in range(1_000_000):
        run = f"run{number}"
        prefix = suspension_id(run)[:6]
        if prefix in seen:
            return seen[prefix], run, prefix
        seen[prefix] = run
    raise AssertionError("no two of a million ids begin alike")


def test_a_run_with_two_suspensions_is_ambiguous_and_both_are_listed(
    project: Project, two: list[dict[str, Any]]
) -> None:
    for verb in (project.approve, project.decline):
        refused = verb(two[0]["run_id"], status=5)
        assert all(each["id"][:10] in refused.stderr for each in two), refused.story()
        assert refused.result["error"]["code"] == "conflict"
    assert project.fx() == [] and ids(project.pending()) == ids(two)


# 26, 27. Call ids of the model


@pytest.mark.parametrize("second", ["a", "b"], ids=["equal arguments", "other arguments"])
def test_two_calls_with_one_call_id_are_two_suspensions(project: Project, second: str) -> None:
    calls = [call("delete_record", "c1", id="a"), call("delete_record", "c1", id=second)]
    project.agent(tools=DELETE, script=[turn(*calls), say("End")])
    waiting = project.run("Delete", status=8).result["suspensions"]
    assert [each["tool_call_id"] for each in waiting] == ["c1", "c1-2"]
    assert waiting[0]["id"] != waiting[1]["id"]
    project.approve(waiting[0]["id"], status=8)
    assert [each["args"]["id"] for each in project.fx()] == ["a"]
    project.decline(waiting[1]["id"], status=0)
    assert project.fx_calls() == ["c1"]


@pytest.mark.parametrize("later", ["a", "b"], ids=["equal arguments", "other arguments"])
def test_a_call_id_that_comes_again_in_a_later_step_is_a_new_question(project: Project, later: str) -> None:
    steps = [turn(call("delete_record", "c1", id="a")), turn(call("delete_record", "c1", id=later))]
    project.agent(tools=DELETE, script=[*steps, say("End")])
    (first,) = project.run("Delete", status=8).result["suspensions"]
    (second,) = project.approve(first["id"], status=8).result["suspensions"]
    assert second["id"] != first["id"] and second["tool_call_id"] == "c1-2"
    project.approve(first["id"], status=8)
    assert [each["args"]["id"] for each in project.fx()] == ["a"]
    project.approve(second["id"], status=0)
    assert [each["args"]["id"] for each in project.fx()] == ["a", later]
    called = [
        each["id"]
        for message in project.show(first["run_id"])["messages"]
        for each in message.get("calls", ())
    ]
    assert called == ["c1", "c1-2"]


@pytest.mark.parametrize("names", [("c1", "c1-2", "c1"), ("c1", "c1", "c1-2")])
def test_made_up_call_ids_do_not_collide_with_those_of_the_model(
    project: Project, names: tuple[str, ...]
) -> None:
    calls = [call("delete_record", name, id=f"r{n}") for n, name in enumerate(names)]
    project.agent(tools=DELETE, script=[turn(*calls), say("End")])
    waiting = project.run("Delete", status=8).result["suspensions"]
    assert len({each["tool_call_id"] for each in waiting}) == 3 == len(set(ids(waiting)))
    project.approve(waiting[1]["id"], status=8)
    assert [each["args"]["id"] for each in project.fx()] == ["r1"]


def test_call_ids_that_are_no_file_names_stay_inside_the_store(project: Project) -> None:
    odd = ["", "../../../escape", "a/b", "x" * 5000, "é🙂\n\t", "\x1b[2J"]
    calls = [call("delete_record", name, id=f"r{n}") for n, name in enumerate(odd)]
    project.agent(tools=DELETE, script=[turn(*calls), say("End")])
    waiting = project.run("Delete", status=8).result["suspensions"]
    assert len(set(ids(waiting))) == len(odd)
    for number, each in enumerate(waiting):
        project.decline(each["id"], status=0 if number == len(odd) - 1 else 8)
    assert project.fx() == []
    assert not list(project.root.rglob("escape*"))


# 28. The same again


def test_approving_the_same_call_again_runs_nothing_and_says_who_decided(
    project: Project, two: list[dict[str, Any]]
) -> None:
    project.approve(two[0]["id"], status=8)
    again = project.approve(two[0]["id"], "--by", "other", status=8)
    assert project.fx_calls() == ["c1"]
    assert "tester" in again.stderr
    assert ids(again.result["suspensions"]) == [two[1]["id"]]
    project.approve(two[1]["id"], status=0)
    project.approve(two[0]["id"], status=0)
    assert project.fx_calls() == ["c1", "c2"]


def test_another_verdict_on_a_decided_call_is_a_conflict(project: Project, two: list[dict[str, Any]]) -> None:
    project.approve(two[0]["id"], "--no-drive", status=0)
    project.decline(two[0]["id"], status=5)
    project.approve(two[0]["id"], "--args", '{"id": "z"}', status=5)
    project.approve(two[0]["id"], status=8)
    assert [each["args"] for each in project.fx()] == [{"id": "a"}]


def test_an_answer_is_the_same_only_if_its_json_is(project: Project) -> None:
    project.agent(tools=ASK, script=[turn(call("ask", "q1", question="How many?")), say("End")])
    (asked,) = project.run("Go", status=8).result["suspensions"]
    project.resume(asked["id"], "--data", '{"a": 1, "b": [0]}', "--no-drive", status=0)
    for other in ('{"a": 1.0, "b": [0]}', '{"a": true, "b": [0]}', '{"a": 1}'):
        project.resume(asked["id"], "--data", other, "--no-drive", status=5)
    again = project.resume(asked["id"], "--data", '{"b":[0],"a":1}', status=0)
    assert "tester" in again.stderr and [each["args"] for each in project.fx()] == [
        {"answer": {"a": 1, "b": [0]}}
    ]
    project.resume(asked["id"], "--data", '{"a": 1, "b": [0]}', status=0)
    project.resume(asked["id"], "--data", '{"a": 2, "b": [0]}', status=5)
    assert project.fx_calls() == ["q1"]


def test_a_decision_while_the_other_call_still_runs_is_taken_up(project: Project) -> None:
    calls = [call("gated_slow", "s1", name="s"), call("delete_record", "c1", id="a")]
    project.agent(tools=SLOW_GATED + DELETE, script=[turn(*calls), say("End")])
    slow, deletion = project.run("Go", status=8).result["suspensions"]
    driver = project.start("approve", slow["id"], "--json")
    project.wait_for("s.started")
    project.approve(deletion["id"], "--no-drive", status=0)
    project.touch("s.go")
    assert driver.wait(status=0).result["status"] == "completed"
    assert sorted(project.fx_calls()) == ["c1", "s1"]


# 29. The wrong kind


def test_a_decision_of_the_wrong_kind_is_refused_and_nothing_is_consumed(project: Project) -> None:
    calls = [call("delete_record", "c1", id="a"), call("ask", "q1", question="Which?")]
    project.agent(tools=DELETE + ASK, script=[turn(*calls), say("End")])
    waiting = {each["kind"]: each["id"] for each in project.run("Go", status=8).result["suspensions"]}
    wrong: dict[str, list[list[str]]] = {
        "approval": [["resume", "--data", "true"], ["resolve", "--retry"], ["resolve", "--result", "1"]],
        "data": [["approve"], ["approve", "--args", "{}"], ["decline"], ["resolve", "--result", "1"]],
    }
    right = {"approval": "approve", "data": "--data"}
    for kind, commands in wrong.items():
        for verb, *options in commands:
            refused = project.cli(verb, waiting[kind], *options, status=5)
            assert right[kind] in refused.stderr, refused.story()
    assert project.fx() == []
    assert set(ids(project.pending())) == set(waiting.values())
    assert project.show(waiting["data"])["decisions"] == []
    project.approve(waiting["approval"], status=8)
    project.resume(waiting["data"], "--data", "true", status=0)
    assert sorted(project.fx_calls()) == ["c1", "q1"]


@pytest.mark.parametrize("length", [6, 10, 40])
def test_a_run_that_is_named_like_a_question_does_not_take_it_over(project: Project, length: int) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="a")), say("Done")])
    project.run("First", status=8)
    reviewed = project.only()["id"]
    project.run("Second", "--run-id", reviewed[:length], status=8)
    for verb in ("approve", "decline", "show", "cancel"):
        assert project.cli(verb, reviewed[:length]).status == 5
    assert project.fx() == []
    done = project.approve(reviewed, status=0)
    assert done.run_id != reviewed[:length]


def test_a_run_that_is_named_like_an_old_question_is_not_approved_by_its_id(project: Project) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="a")), say("Done")])
    project.run("First", status=8)
    old = project.only()["id"]
    project.decline(old, status=0)
    project.run("Second", "--run-id", old[:10], status=8)
    assert project.cli("approve", old[:10]).status == 5
    assert project.cli("approve", old).status == 5
    assert project.fx() == []


def test_a_run_cannot_be_named_by_a_whole_fingerprint(project: Project) -> None:
    project.agent(tools=DELETE, script=[say("Done")])
    project.run("Hello", "--run-id", "0" * 64, status=2)
