"""REF: how suspensions and runs are named on the command line, and when a name is refused."""

from __future__ import annotations

from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, DELETE, READ, SLOW_GATED

ONE = [turn(call("delete_record", "c1", id="a")), say("End")]
TWO = [turn(call("delete_record", "c1", id="a"), call("delete_record", "c2", id="b")), say("End")]


@pytest.fixture
def two(project: Project) -> list[dict[str, Any]]:
    """Two suspensions of the run `first-run`."""
    project.agent(tools=DELETE, script=TWO)
    found: list[dict[str, Any]] = project.run("Go", "--run-id", "first-run", status=8).result["suspensions"]
    return found


def waiting_run(project: Project, run_id: str) -> dict[str, Any]:
    (found,) = project.run("Go", "--run-id", run_id, status=8).result["suspensions"]
    waiting: dict[str, Any] = found
    return waiting


@pytest.mark.parametrize("form", ["whole id", "ten digits", "six digits", "run id", "six of the run id"])
def test_a_suspension_is_named_by_its_id_a_prefix_or_its_run(project: Project, form: str) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = waiting_run(project, "first-run")
    ref = {
        "whole id": waits["id"],
        "ten digits": waits["id"][:10],
        "six digits": waits["id"][:6],
        "run id": "first-run",
        "six of the run id": "first-",
    }[form]
    assert project.show(ref)["run"]["run_id"] == "first-run"
    done = project.approve(ref, "--no-drive", status=0)
    assert [each["suspension_id"] for each in done.payloads("decision")] == [waits["id"]]


def test_a_prefix_of_fewer_than_six_is_refused_and_says_so(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = waiting_run(project, "first-run")
    for ref in (waits["id"][:5], "first"):
        for verb in (project.approve, project.resume, project.cancel):
            refused = verb(ref, status=3)
            assert "6" in refused.stderr, refused.story()
    assert project.only()["id"] == waits["id"]


def test_a_run_id_of_fewer_than_six_characters_is_named_whole(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waiting_run(project, "r1")
    project.approve("r1", status=0)


def test_names_that_cannot_be_ids_are_not_found(project: Project, two: list[dict[str, Any]]) -> None:
    odd = ["", "../first-run", "first-ru*", "x" * 5000, "é🙂éé🙂é", "first-run\n", "FIRST-RUN"]
    for ref in odd:
        refused = project.approve(ref, status=(2, 3))
        assert refused.stderr.startswith("agentctl: "), refused.story()
    assert project.fx() == [] and len(project.pending()) == 2


def test_an_exact_run_id_wins_over_a_longer_one_that_begins_so(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    for run_id in ("abcdef", "abcdef-2"):
        waiting_run(project, run_id)
    assert project.show("abcdef")["run"]["run_id"] == "abcdef"
    project.approve("abcdef", "--no-drive", status=0)
    refused = project.decline("abcdef-", "--no-drive", status=0)
    assert refused.run_id == "abcdef-2"


def test_a_prefix_of_two_runs_is_ambiguous_and_both_are_named(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    for run_id in ("night-1", "night-2"):
        waiting_run(project, run_id)
    for verb in (project.approve, project.resume, project.cancel):
        refused = verb("night-", status=5)
        assert "night-1" in refused.stderr and "night-2" in refused.stderr, refused.story()
    for look in ("show", "log", "verify"):
        assert "night-2" in project.cli(look, "night-", status=5).stderr
    assert project.fx() == [] and len(project.pending()) == 2


def test_a_name_that_is_a_suspension_and_another_run_is_ambiguous(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = waiting_run(project, "first-run")
    project.agent("reader", tools=READ, script=[say("Hello")])
    project.run("Go", "--run-id", waits["id"][:12], status=0)
    refused = project.approve(waits["id"][:8], status=5)
    assert waits["id"][:12] in refused.stderr and project.fx() == []
    project.approve(waits["id"], status=0)


# --last and --all


def test_last_takes_the_latest_suspension_of_the_run(project: Project, two: list[dict[str, Any]]) -> None:
    project.approve("first-run", "--last", status=8)
    assert project.fx_calls() == ["c2"]
    project.decline("first-run", "--last", status=0)
    assert project.fx_calls() == ["c2"]


def test_all_takes_every_suspension_of_the_run_and_of_no_other(
    project: Project, two: list[dict[str, Any]]
) -> None:
    project.run("Go", "--run-id", "second-run", status=8)
    done = project.approve("first-run", "--all", status=0)
    assert sorted(project.fx_calls()) == ["c1", "c2"]
    assert [each["suspension_id"] for each in done.payloads("decision")] == [each["id"] for each in two]
    assert {each["run_id"] for each in project.pending()} == {"second-run"}


def test_last_and_all_together_are_refused(project: Project, two: list[dict[str, Any]]) -> None:
    project.approve("first-run", "--last", "--all", status=2)
    assert project.fx() == [] and len(project.pending()) == 2


def test_all_is_refused_where_one_suspension_is_of_another_kind(project: Project) -> None:
    calls = [call("delete_record", "c1", id="a"), call("ask", "q1", question="Which?")]
    project.agent(tools=DELETE + ASK, script=[turn(*calls), say("End")])
    project.run("Go", "--run-id", "first-run", status=8)
    project.approve("first-run", "--all", status=5)
    assert project.fx() == [] and len(project.pending()) == 2


# Several REFs


def test_several_refs_of_several_runs_give_one_result_for_each_run_in_order(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waiting = {run_id: waiting_run(project, run_id)["id"] for run_id in ("run-one", "run-two", "run-three")}
    done = project.approve(waiting["run-three"], "run-one", waiting["run-two"][:10], status=0)
    results = done.events("result")
    assert [each["run_id"] for each in results] == ["run-three", "run-one", "run-two"]
    assert [each["payload"]["exit_status"] for each in results] == [0, 0, 0]
    assert done.lines[-1]["type"] == "result" and len(project.fx()) == 3


def test_if_one_of_several_refs_is_refused_nothing_is_decided(
    project: Project, two: list[dict[str, Any]]
) -> None:
    project.decline(two[1]["id"], "--no-drive", status=0)
    other = project.run("Go", "--run-id", "second-run", status=8).result["suspensions"][0]
    for refs, status in (
        ((two[0]["id"], "nothing-there"), 3),
        ((two[0]["id"], other["id"], two[1]["id"]), 5),
        ((two[0]["id"], "second-run"), 5),
    ):
        project.approve(*refs, status=status)
        assert project.fx() == []
    assert len(project.pending()) == 3


def test_the_same_suspension_named_twice_is_decided_once(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = waiting_run(project, "first-run")
    done = project.approve(waits["id"], "first-run", waits["id"][:8], status=0)
    assert len(done.results) == 1 and len(done.events("decision")) == 1
    assert project.fx_calls() == ["c1"]


@pytest.mark.parametrize(
    ("order", "status"), [(("ends", "waits"), 8), (("waits", "stops", "ends"), 9), (("fails", "stops"), 1)]
)
def test_the_status_of_several_runs_is_that_of_the_worst(
    project: Project, order: tuple[str, ...], status: int
) -> None:
    scripts: dict[str, list[dict[str, Any]]] = {
        "ends": ONE,
        "waits": [ONE[0], *ONE],
        "stops": [ONE[0], {"error": {"message": "down"}}],
        "fails": ONE[:1],
    }
    for name in order:
        project.agent(name, tools=DELETE, script=scripts[name])
        waiting_run(project, f"run-{name}")
    done = project.approve(*[f"run-{name}" for name in order], status=status)
    each = {"ends": 0, "waits": 8, "stops": 9, "fails": 1}
    assert [result["exit_status"] for result in done.results] == [each[name] for name in order]


def test_a_decision_without_any_ref_is_a_usage_error(project: Project, two: list[dict[str, Any]]) -> None:
    for verb in (project.approve, project.decline, project.resume, project.resolve, project.cancel):
        verb(status=2)
    assert len(project.pending()) == 2


# Runs in which nothing waits


def test_a_run_that_ended_is_refused_and_says_so(project: Project) -> None:
    project.agent(script=[say("Hello")])
    project.run("Go", "--run-id", "first-run", status=0)
    for verb, options in (
        (project.approve, ()),
        (project.resume, ("--data", "1")),
        (project.resume, ()),
        (project.cancel, ()),
    ):
        refused = verb("first-run", *options, status=5)
        assert "ended" in refused.stderr and "completed" in refused.stderr, refused.story()


def test_a_run_whose_question_was_decided_says_by_whom(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waiting_run(project, "first-run")
    project.approve("first-run", "--no-drive", "--by", "ada", status=0)
    refused = project.decline("first-run", status=5)
    assert "ada" in refused.stderr
    project.resume("first-run", status=0)
    assert project.fx_calls() == ["c1"]


def test_a_run_that_is_driven_says_by_whom(project: Project) -> None:
    project.agent(tools=SLOW_GATED, script=[turn(call("gated_slow", "s1", name="s")), say("End")])
    waiting_run(project, "first-run")
    driver = project.start("approve", "first-run", "--json")
    project.wait_for("s.started")
    refused = project.decline("first-run", status=5)
    busy = project.resume("first-run", "--lock-timeout", "100ms", status=(5, 6))
    project.touch("s.go")
    driver.wait(status=0)
    assert str(driver.pid) in refused.stderr + busy.stderr
    assert project.fx_calls() == ["s1"]
