"""The examples for scripts do what the pages say, and the README's table is the program's."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from agentctl.exit_status import ExitStatus
from docs.pages import DOCS, README, blocks_of, section
from support.distribution import CHECKOUT
from support.needs import needs_jq
from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE, DELETE_FREE, REFUND


def script_of(heading: str, page: Path = README) -> str:
    """The one bash example of a section."""
    blocks = [block for block in blocks_of(page) if (block.section, block.language) == (heading, "bash")]
    assert len(blocks) == 1, f"{page.name}: {heading}"
    return blocks[0].text


def refunding(project: Project, amount: float) -> str:
    """A run that waits for the approval of one refund."""
    refund = turn(call("refund", "c1", order="A-1003", amount=amount))
    project.agent("refunds", tools=REFUND, script=[refund, say("{result}")])
    run_id = project.run(f"Refund {amount}", status=8).run_id
    assert run_id is not None
    return run_id


@needs_jq
def test_the_rule_approves_small_refunds_and_leaves_the_rest_to_people(project: Project) -> None:
    small, large = refunding(project, 240), refunding(project, 300)
    project.agent("ask", tools=DELETE_FREE, script=[turn(call("delete_record", "c1", id="x")), say("Gone")])
    project.run("Delete x", "--require-approval", "*", status=8)

    project.bash(script_of("Approve by rule"), status=0)

    assert [entry["args"]["amount"] for entry in project.fx()] == [240]
    assert project.show(small)["decisions"][0]["by"] == "refund-rule"
    waiting = {entry["run_id"] for entry in project.pending()}
    assert len(waiting) == 2
    assert large in waiting


@needs_jq
def test_the_rule_has_nothing_to_do_where_nothing_waits(project: Project) -> None:
    nothing = project.bash(script_of("Approve by rule"), status=0)
    assert (nothing.stdout, nothing.stderr) == ("", "")


@pytest.mark.parametrize("gated", [False, True])
def test_a_ci_job_tells_done_from_waiting(project: Project, gated: bool) -> None:
    release = [turn(call("delete_record", "c1", id="old")), say("Released")]
    agent = project.agent("release", folder="agents/release", tools=DELETE_FREE, script=release)
    if gated:
        project.edit(agent / "agent.yaml", "id: ", "require_tool_approval: true\nid: ")
    job = script_of("In CI")
    for _ in range(2):  # a job that is run again is still one run
        outcome = project.bash(job, status=0)
        assert ("waits for a person:\n" in outcome.stdout) == gated
        assert outcome.stdout.endswith("released\n") != gated
    assert project.the_run()["run_id"] == "release-1-4"
    assert len(project.fx()) == (0 if gated else 1)


def test_a_ci_job_that_is_interrupted_fails_and_goes_on_when_it_is_run_again(project: Project) -> None:
    outage = {"error": {"status": 9, "message": "down"}}
    project.agent("release", folder="agents/release", script=[outage, say("Released")])
    job = script_of("In CI")
    assert "run this job again" in project.bash(job, status=1).stdout
    assert project.bash(job, status=0).stdout == "Released\nreleased\n"


def test_the_table_of_exit_statuses_is_that_of_the_program() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S+) \|", section(README, "Exit status"), re.MULTILINE)
    told = [(status, name) for status, name in rows if status.isdecimal()]
    assert told == [(str(int(status)), status.code) for status in ExitStatus]
    assert ("128+n", "signal") in rows


def test_the_commands_at_the_top_are_targets_of_make() -> None:
    (commands, *_) = [block.text for block in blocks_of(README) if block.language == "sh"]
    targets = set(re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"^make (\w+)", commands, re.MULTILINE)
    assert named == ["demo", "test"]
    assert set(named) <= targets


def test_the_agent_of_the_readme_is_as_short_as_it_says() -> None:
    heading = "Your own agent, in 20 lines"
    files = [block for block in blocks_of(README) if block.section == heading and block.file]
    lines = [line for file in files for line in file.text.splitlines() if line.strip()]
    assert len(lines) <= 20, len(lines)


@needs_jq
def test_the_night_shift_declines_what_it_may_decline_only(project: Project) -> None:
    refunding(project, 240)
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="x")), say("{result}")])
    run_id = project.run("Delete x", status=8).run_id
    declined = project.bash(script_of("Decide from a script or CI", DOCS / "how-to.md"), status=0)
    assert declined.stdout == "Not at night\n"
    assert [entry["tool"] for entry in project.pending()] == ["refund"]
    assert project.show(run_id or "")["decisions"][0]["by"] == "night-shift"


@needs_jq
def test_the_answer_alone_is_taken_from_the_result(project: Project) -> None:
    shutil.copytree(CHECKOUT / "sample-agents", project.root / "sample-agents")
    answer = project.bash(script_of("The result", DOCS / "output.md"), status=0).stdout
    said, weather = answer.split(": ", 1)
    assert (said, json.loads(weather)["city"]) == ("The almanac says", "Oslo")


def test_a_tool_is_tested_as_the_how_to_says(project: Project, tmp_path: Path) -> None:
    (source,) = [block.text for block in blocks_of(DOCS / "how-to.md") if "def test_" in block.text]
    folder = shutil.copytree(CHECKOUT / "sample-agents" / "weather", tmp_path / "weather")
    (folder / "example.py").write_text(f"{source}\ntest_the_answer_is_taken()\n")
    project.bash(f"cd {folder} && python example.py", status=0)
