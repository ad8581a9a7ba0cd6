"""A decided call runs at most once, and nothing is lost: what was said, decided and done survives.

Processes are really killed and races really run; the rounds that take long stand under `soak`.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.disk import Disk
from support.needs import needs_strace
from support.project import AGENTCTL, Project
from support.script import call, say, turn
from support.tools import (
    ASK,
    DELETE,
    GATED_ASK,
    READ,
    SLOW,
    SLOW_ASYNC,
    SLOW_GATED,
    SLOW_IDEMPOTENT,
    WEATHER,
)

LONG_ENOUGH = ("--lock-timeout", "30s")

BIG = '''

@tool
def export(ctx: ToolContext, size: int) -> str:
    """Export so many characters."""
    fx(ctx, size=size)
    return "x" * size
'''

SAVES = ("fsync", "link", "rename", "unlink", "write", "pwrite64", "ftruncate")


def one_deletion(project: Project, *options: str, tools: str = DELETE) -> str:
    """A run that waits for the approval of one call; the id of the question."""
    script = [turn(call("delete_record", "c1", id="abc-123")), say("Done: {result}")]
    project.agent(tools=tools, script=script)
    [question] = project.run("Delete record abc-123", *options, status=8).result["suspensions"]
    return str(question["id"])


def deletions(project: Project, count: int) -> list[str]:
    """A run that waits for so many approvals at once; the ids of the questions, in call order."""
    calls = [call("delete_record", f"c{n}", id=f"r{n}") for n in range(count)]
    project.agent(tools=DELETE, script=[turn(*calls), say("All settled")])
    waiting = project.run("Delete them", status=8).result["suspensions"]
    assert [each["tool_call_id"] for each in waiting] == [f"c{n}" for n in range(count)]
    return [each["id"] for each in waiting]


def decisions(project: Project, run_id: str) -> dict[str, dict[str, Any]]:
    """What was decided in a run, by the id of the question."""
    return {each["suspension_id"]: each for each in project.show(run_id)["decisions"]}


def conversation(project: Project, run_id: str) -> str:
    """The messages of a run as one text, to look for results in."""
    return json.dumps(project.show(run_id)["messages"])


# A verdict that is repeated, or contradicted


def test_approving_twice_runs_the_call_once_and_tells_who_decided_when(project: Project) -> None:
    question = one_deletion(project)
    project.approve(question, "--by", "ada", status=0)
    again = project.approve(question, "--by", "bob", json=False, status=0)
    assert project.fx_calls() == ["c1"]
    decided = decisions(project, project.the_run()["run_id"])[question]
    assert decided["by"] == "ada"
    assert "ada" in again.stderr
    assert decided["at"] in again.stderr
    assert "bob" not in again.stderr


def test_approving_again_while_the_run_waits_for_another_call_runs_nothing_again(project: Project) -> None:
    first, _ = deletions(project, 2)
    project.approve(first, status=8)
    project.approve(first, status=8)
    assert project.fx_calls() == ["c0"]


@pytest.mark.parametrize("ended", [True, False])
def test_declining_what_was_approved_is_a_conflict_that_names_the_verdict(
    project: Project, ended: bool
) -> None:
    first, second = deletions(project, 2)
    project.approve(first, "--by", "ada", status=8)
    if ended:
        project.decline(second, status=0)
    refused = project.decline(first, json=False, status=5)
    assert "approve" in refused.stderr
    assert "ada" in refused.stderr
    assert project.fx_calls() == ["c0"]


def test_approving_what_was_declined_is_a_conflict_and_runs_nothing(project: Project) -> None:
    question = one_deletion(project)
    project.decline(question, status=0)
    project.approve(question, status=5)
    assert project.fx() == []


def test_the_same_arguments_again_are_the_same_verdict_and_others_are_another(project: Project) -> None:
    first, _ = deletions(project, 2)
    project.approve(first, "--args", '{"id": "edited"}', status=8)
    project.approve(first, "--args", '{ "id" : "edited" }', status=8)
    project.approve(first, "--args", '{"id": "other"}', status=5)
    project.approve(first, status=5)
    assert [entry["args"] for entry in project.fx()] == [{"id": "edited"}]


def test_the_same_answer_again_is_no_error_and_another_is_a_conflict(project: Project) -> None:
    questions = [call("ask", "c1", question="Who?"), call("ask", "c2", question="When?")]
    project.agent(tools=ASK, script=[turn(*questions), say("Asked")])
    project.run("Ask", status=8)
    first = next(each["id"] for each in project.pending() if each["tool_call_id"] == "c1")
    project.resume(first, "--data", '{"name": "Ada", "age": 36}', status=8)
    project.resume(first, "--data", '{"age": 36, "name": "Ada"}', status=8)
    project.resume(first, "--data", '{"age": 36.0, "name": "Ada"}', status=5)
    assert [entry["args"]["answer"] for entry in project.fx()] == [{"name": "Ada", "age": 36}]


def test_a_question_of_a_cancelled_run_is_a_conflict_and_not_unknown(project: Project) -> None:
    question = one_deletion(project)
    project.cancel(question, "--by", "ada", status=0)
    refused = project.approve(question, json=False, status=5)
    assert "cancelled" in refused.stderr
    assert project.fx() == []


def test_a_decision_that_nobody_drove_yet_runs_once_whoever_resumes(project: Project) -> None:
    question = one_deletion(project)
    project.approve(question, "--no-drive", status=0)
    project.approve(question, "--no-drive", status=0)
    assert project.fx() == []
    run_id = project.the_run()["run_id"]
    project.race(*[("resume", run_id, "--json", *LONG_ENOUGH)] * 3)
    assert project.fx_calls() == ["c1"]
    assert project.the_run()["status"] == "completed"


# Races


ROUNDS = pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.soak)])


@ROUNDS
def test_two_who_approve_at_once_run_the_call_once(project: Project, rounds: int) -> None:
    questions = deletions(project, rounds)
    for number, question in enumerate(questions):
        outcomes = project.race(*[("approve", question, "--json", *LONG_ENOUGH)] * 2)
        expected = 0 if number == rounds - 1 else 8
        assert [each.status for each in outcomes] == [expected] * 2, [each.story() for each in outcomes]
        assert project.fx_calls() == [f"c{n}" for n in range(number + 1)]


@ROUNDS
def test_one_who_approves_and_one_who_declines_at_once_leave_one_verdict(
    project: Project, rounds: int
) -> None:
    questions = deletions(project, rounds + 1)
    run_id = project.the_run()["run_id"]
    expected = []
    for number, question in enumerate(questions[:-1]):
        verbs = ("approve", "decline") if number % 2 else ("decline", "approve")
        outcomes = project.race(*[(verb, question, "--json", *LONG_ENOUGH) for verb in verbs])
        assert sorted(each.status for each in outcomes) == [5, 8], [each.story() for each in outcomes]
        winner = next(verb for verb, each in zip(verbs, outcomes, strict=True) if each.status == 8)
        assert decisions(project, run_id)[question]["verdict"] == winner
        expected += [f"c{number}"] if winner == "approve" else []
        assert project.fx_calls() == expected


def test_two_who_approve_different_calls_at_once_strand_neither(project: Project) -> None:
    questions = deletions(project, 4)
    outcomes = project.race(*[("approve", question, "--json", *LONG_ENOUGH) for question in questions])
    assert {each.status for each in outcomes} <= {0, 8}, [each.story() for each in outcomes]
    assert sorted(project.fx_calls()) == ["c0", "c1", "c2", "c3"]
    assert project.the_run()["status"] == "completed"


def test_two_who_give_different_answers_at_once_leave_one_answer(project: Project) -> None:
    project.agent(tools=ASK, script=[turn(call("ask", "c1", question="Who?")), say("Asked")])
    project.run("Ask", status=8)
    question = project.only()["id"]
    names = ("Ada", "Bob")
    outcomes = project.race(
        *[("resume", question, "--data", json.dumps(name), "--json", *LONG_ENOUGH) for name in names]
    )
    assert sorted(each.status for each in outcomes) == [0, 5], [each.story() for each in outcomes]
    winner = names[[each.status for each in outcomes].index(0)]
    assert [entry["args"]["answer"] for entry in project.fx()] == [winner]


def test_an_approval_and_a_cancellation_at_once_never_leave_a_call_open(project: Project) -> None:
    question = one_deletion(project)
    run_id = project.the_run()["run_id"]
    approved, cancelled = project.race(
        ("approve", question, "--json", *LONG_ENOUGH), ("cancel", run_id, "--json", *LONG_ENOUGH)
    )
    assert approved.status in {0, 1, 5}, approved.story()
    assert cancelled.status in {0, 5}, cancelled.story()
    assert project.the_run()["status"] in {"completed", "cancelled"}
    assert project.pending() == []
    ended = [record["type"] for record in project.journal(run_id) if record["type"].startswith("tool-")]
    assert len(project.fx()) == ended.count("tool-result")


def test_the_same_run_id_at_once_starts_one_run(project: Project) -> None:
    reading = turn(call("read_record", "c1", id="7"))
    agent = project.agent(tools=READ, script=[reading, say("It is {result}")])
    command = ("run", str(agent), "Read 7", "--run-id", "order-7", "--json", *LONG_ENOUGH)
    outcomes = project.race(*[command] * 4)
    assert [each.status for each in outcomes] == [0] * 4, [each.story() for each in outcomes]
    assert project.fx_calls() == ["c1"]
    assert len({each.result["text"] for each in outcomes}) == 1


# Killed


def kill_in_a_tool(project: Project, *command: str) -> None:
    """Start the command, and kill it once the tool `slow` runs."""
    process = project.start(*command)
    project.wait_for("a.started")
    process.kill9()


@pytest.mark.parametrize(
    ("tool", "source"), [("slow", SLOW), ("async_slow", SLOW_ASYNC), ("gated_slow", SLOW_GATED)]
)
def test_a_call_that_was_killed_while_it_ran_is_in_doubt_and_never_run_again(
    project: Project, tool: str, source: str
) -> None:
    agent = project.agent(tools=source, script=[turn(call(tool, "c1", name="a")), say("Done: {result}")])
    command: tuple[str, ...] = ("run", str(agent), "Go slowly")
    if source is SLOW_GATED:
        project.run("Go slowly", status=8)
        command = ("approve", project.only()["id"])
    kill_in_a_tool(project, *command)
    project.touch("a.go")
    doubt = project.only()
    assert (doubt["kind"], doubt["tool"], doubt["args"]) == ("in_doubt", tool, {"name": "a"})
    assert project.the_run()["status"] == "in_doubt"
    if source is SLOW_GATED:
        project.approve(command[1], status=7)
    project.resume(doubt["run_id"], status=7)
    project.resume(doubt["run_id"], status=7)
    assert project.fx_calls() == ["c1"]
    assert project.only()["id"] == doubt["id"], "the same doubt is the same question"


def test_a_retry_that_a_person_ordered_runs_the_call_once_more(project: Project) -> None:
    agent = project.agent(tools=SLOW, script=[turn(call("slow", "c1", name="a")), say("Done: {result}")])
    kill_in_a_tool(project, "run", str(agent), "Go slowly")
    project.touch("a.go")
    doubt = project.only()["id"]
    done = project.resolve(doubt, "--retry", status=0)
    assert done.result["text"] == "Done: slow a done"
    project.resolve(doubt, "--retry", status=0)
    assert project.fx_calls() == ["c1", "c1"]


@pytest.mark.parametrize(
    ("settlement", "told"),
    [
        (("--result", '{"deleted": 1}'), '{"deleted": 1}'),
        (("--result", '"by hand"'), "by hand"),
        (("--failed", "the disk was gone"), "Error: the disk was gone"),
    ],
)
def test_an_outcome_that_a_person_knows_reaches_the_model_without_a_second_run(
    project: Project, settlement: tuple[str, str], told: str
) -> None:
    agent = project.agent(tools=SLOW, script=[turn(call("slow", "c1", name="a")), say("Done: {result}")])
    kill_in_a_tool(project, "run", str(agent), "Go slowly")
    done = project.resolve(project.only()["id"], *settlement, status=0)
    assert done.result["text"] == f"Done: {told}"
    assert project.fx_calls() == ["c1"]


def test_an_idempotent_call_that_was_killed_runs_again_under_the_same_key(project: Project) -> None:
    source = SLOW_IDEMPOTENT.replace("fx(ctx, name=name)", "fx(ctx, key=ctx.idempotency_key)")
    script = [turn(call("idempotent_slow", "c1", name="a")), say("Done: {result}")]
    agent = project.agent(tools=source, script=script)
    kill_in_a_tool(project, "run", str(agent), "Go slowly")
    project.touch("a.go")
    done = project.resume(project.the_run()["run_id"], status=0)
    assert done.result["text"] == "Done: slow a done"
    first, second = (entry["args"]["key"] for entry in project.fx())
    assert first == second


def test_what_finished_beside_a_killed_call_is_kept(project: Project) -> None:
    both = turn(call("read_record", "c1", id="7"), call("slow", "c2", name="a"))
    agent = project.agent(tools=READ + SLOW, script=[both, say("Done")])
    process = project.start("run", str(agent), "Both", "--json")
    process.wait_for_stdout('"tool-result"')
    project.wait_for("a.started")
    process.kill9()
    doubt = project.only()
    assert doubt["tool_call_id"] == "c2"
    project.resolve(doubt["id"], "--result", '"fine"', status=0)
    assert project.fx_calls() == ["c1", "c2"]
    told = conversation(project, doubt["run_id"])
    assert told.count("Ada") == 1
    assert told.count("fine") == 1


@pytest.mark.parametrize("size", [1_000_000, pytest.param(50_000_000, marks=pytest.mark.soak)])
def test_a_question_that_was_announced_outlives_the_process_at_once(project: Project, size: int) -> None:
    script = [
        turn(call("export", "c1", size=size)),
        turn(call("delete_record", "c2", id="7")),
        say("Exported and deleted"),
    ]
    agent = project.agent(tools=BIG + DELETE, script=script)
    process = project.start("run", str(agent), "Export, then delete")
    process.wait_for_stderr("agentctl approve", timeout=120)
    process.kill9()
    assert project.only()["tool_call_id"] == "c2"
    project.approve(project.only()["id"], json=False, status=0)
    assert project.fx_calls() == ["c1", "c2"]


def settle(project: Project, run_id: str) -> bool:
    """Do what a person does after a crash until the run is over; whether a call was in doubt."""
    doubt = False
    for _ in range(4):
        status = project.the_run()["status"]
        match status:
            case "completed":
                return doubt
            case "suspended":
                project.approve(project.only()["id"], status=0)
            case "in_doubt":
                doubt = True
                project.resolve(project.only()["id"], "--result", '"settled"', status=0)
            case _:
                project.resume(run_id, status={0, 7, 8})
    pytest.fail(f"the run is still {status}")


def check_after_a_kill(project: Project) -> None:
    """The run can be brought to its end, and its one call ran once at most."""
    run_id = project.the_run()["run_id"]
    doubt = settle(project, run_id)
    assert len(project.fx()) <= 1
    assert doubt or project.fx_calls() == ["c1"]
    assert conversation(project, run_id).count("Done") == 1
    project.cli("verify", status=0)


@pytest.mark.soak
def test_a_kill_at_any_moment_loses_nothing_and_repeats_nothing(project: Project) -> None:
    for number in range(60):
        project.store = project.root / f"runs-{number}"
        (project.root / "fx.log").unlink(missing_ok=True)
        process = project.start("approve", one_deletion(project))
        time.sleep(random.Random(number).uniform(0.1, 0.6))
        process.kill9()
        check_after_a_kill(project)


SOME = {"fsync": (6, 9), "unlink": (2,), "rename": (1,)}
"""Where it hurt: around the start and the result of a call, and while a run is put away."""


@needs_strace
@pytest.mark.parametrize(
    ("saving", "moments"),
    [*SOME.items(), *[pytest.param(each, range(1, 40), marks=pytest.mark.soak) for each in SAVES]],
)
def test_a_kill_before_any_write_loses_nothing_and_repeats_nothing(
    project: Project, saving: str, moments: Iterable[int]
) -> None:
    killed = 0
    for number in moments:
        project.store = project.root / f"runs-{number}"
        (project.root / "fx.log").unlink(missing_ok=True)
        kill = f"strace -f -qq -o /dev/null -e trace={saving} -e inject={saving}:signal=SIGKILL:when={number}"
        command = f"exec {kill} {AGENTCTL} approve {one_deletion(project)}"
        ended = project.bash(command, env={"PYTHONDONTWRITEBYTECODE": "1"}, status={0, -signal.SIGKILL})
        check_after_a_kill(project)
        if ended.status == 0:
            break
        killed += 1
    assert killed, "nothing was killed"


UNSYNCED = DELETE.replace("fx(ctx, id=id)", 'print(ctx.tool_call_id, file=open(_PROJECT / "ran.log", "a"))')


@needs_strace
@pytest.mark.parametrize(
    "moments", [(6, 8), pytest.param(range(1, 40), marks=pytest.mark.soak)], ids=["some", "all"]
)
def test_a_disk_that_fails_at_any_sync_is_an_error_and_nothing_runs_twice(
    project: Project, moments: Iterable[int]
) -> None:
    failed = 0
    for number in moments:
        project.store = project.root / f"runs-{number}"
        (project.root / "ran.log").unlink(missing_ok=True)
        fault = f"strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:error=EIO:when={number}"
        command = f"exec {fault} {AGENTCTL} approve {one_deletion(project, tools=UNSYNCED)}"
        ended = project.bash(command, status={0, 1})
        if ended.status == 1:
            failed += 1
            assert "agentctl: " in ended.stderr
        doubt = settle(project, project.the_run()["run_id"])
        ran = project.root / "ran.log"
        assert doubt or ran.read_text() == "c1\n"
        assert not ran.exists() or ran.read_text() == "c1\n"
        project.cli("verify", status=0)
    assert failed, "nothing failed"


def traced(project: Project, *command: str) -> list[str]:
    """What a command wrote and synced, one system call a line; quotes in texts are escaped."""
    log = project.root / "strace.log"
    strace = f"strace -f -qq -s 4000 -o {log} -e trace=write,fsync {AGENTCTL}"
    project.bash(" ".join([strace, *[f"'{word}'" for word in command]]), status={0, 8})
    return log.read_text().splitlines()


def synced(lines: list[str], record: str) -> int:
    """Where the journal's record of this type is known to be on the disk."""
    written = told(lines, f'\\"type\\":\\"{record}\\"')
    return next(n for n, line in enumerate(lines[written:], written) if re.search(r"fsync.*= 0$", line))


def told(lines: list[str], text: str) -> int:
    """Where this text is first written."""
    return next(n for n, line in enumerate(lines) if "write(" in line and text in line)


@needs_strace
def test_nothing_is_told_or_executed_before_its_record_is_on_the_disk(project: Project) -> None:
    both = turn(call("delete_record", "c1", id="7"), call("read_record", "c2", id="7"))
    agent = project.agent(tools=DELETE + READ, script=[both, say("Done")])
    asking = traced(project, "run", str(agent), "Delete 7")
    assert synced(asking, "start") < told(asking, " started\\n")
    assert synced(asking, "tool-call-approval") < told(asking, "waiting for approval")
    assert synced(asking, "tool-start") < told(asking, '{\\"tool\\": \\"read_record')
    assert synced(asking, "tool-result") < told(asking, "read_record returned")
    driving = traced(project, "approve", project.only()["id"])
    assert told(driving, '\\"verdict\\":\\"approve\\"') < synced(driving, "decision")
    assert synced(driving, "decision") < told(driving, "approved")
    assert synced(driving, "tool-start") < told(driving, '{\\"tool\\": \\"delete_record')
    assert synced(driving, "tool-result") < told(driving, "delete_record returned")


# Kept


def test_a_free_call_runs_once_before_the_pause_and_its_result_is_told_once(project: Project) -> None:
    both = turn(call("read_record", "c1", id="7"), call("delete_record", "c2", id="7"))
    project.agent(tools=READ + DELETE, script=[both, say("Done: {result}")])
    waiting = project.run("Read and delete", status=8)
    assert project.fx_calls() == ["c1"]
    assert [each["tool_call_id"] for each in waiting.payloads("tool-result")] == ["c1"]
    done = project.approve(project.only()["id"], status=0)
    assert [each["tool_call_id"] for each in done.payloads("tool-result")] == ["c2"]
    assert project.fx_calls() == ["c1", "c2"]
    assert conversation(project, done.run_id).count("Ada") == 1


def test_a_question_is_announced_while_a_free_call_still_runs(project: Project) -> None:
    both = turn(call("slow", "c1", name="a"), call("delete_record", "c2", id="7"))
    agent = project.agent(tools=SLOW + DELETE, script=[both, say("Done")])
    process = project.start("run", str(agent), "Both", "--json")
    process.wait_for_stdout('"tool-call-approval"')
    assert project.only()["tool_call_id"] == "c2"
    assert project.the_run()["status"] == "running"
    project.touch("a.go")
    assert process.wait(status=8).payloads("tool-result")[0]["tool_call_id"] == "c1"


def test_a_call_that_is_approved_while_the_run_is_driven_is_run_by_its_driver(project: Project) -> None:
    both = turn(call("slow", "c1", name="a"), call("delete_record", "c2", id="7"))
    agent = project.agent(tools=SLOW + DELETE, script=[both, say("Done")])
    process = project.start("run", str(agent), "Both", "--json")
    process.wait_for_stdout('"tool-call-approval"')
    busy = project.approve(project.only()["id"], "--lock-timeout", "100ms", status=6)
    assert "driven" in busy.stderr or "drives" in busy.stderr
    process.wait_for_stdout('"Record 7 deleted"')
    project.touch("a.go")
    process.wait(status=0)
    assert project.fx_calls() == ["c1", "c2"]
    assert busy.payloads("tool-result") == []


def test_three_questions_in_a_row_keep_every_earlier_result(project: Project) -> None:
    script = [turn(call("delete_record", f"c{n}", id=f"record-{n}")) for n in range(3)]
    project.agent(tools=DELETE, script=[*script, say("Done: {result}")])
    run_id = project.run("Delete three, one by one", status=8).run_id
    for _ in range(2):
        project.approve(project.only()["id"], status=8)
    held = project.snapshot(run_id).read_text()
    assert "Record record-0 deleted" in held
    assert "Record record-1 deleted" in held
    project.approve(project.only()["id"], status=0)
    told = conversation(project, run_id)
    assert [told.count(f"Record record-{n} deleted") for n in range(3)] == [1, 1, 2]
    assert project.fx_calls() == ["c0", "c1", "c2"]


def test_an_answer_survives_until_the_tool_that_asked_has_run(project: Project) -> None:
    project.agent(tools=WEATHER, script=[turn(call("get_weather", "c1")), say("Done: {result}")])
    project.run("Weather", status=8)
    question = project.only()["id"]
    project.resume(question, "--data", '{"city": "Oslo"}', "--no-drive", status=0)
    done = project.resume(project.the_run()["run_id"], status=0)
    assert '"Oslo"' in done.result["text"]
    assert project.fx_calls() == ["c1"]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody who opens a file in the folder from now on write to it."""
    mount = ("mount", "--bind", str(folder), str(folder))
    subprocess.run(mount, check=True)
    subprocess.run(("mount", "-o", "remount,bind,ro", str(folder)), check=True)
    try:
        yield
    finally:
        subprocess.run(("umount", "-l", str(folder)), check=True)


@contextmanager
def full(disk: Disk) -> Iterator[None]:
    """Leave no free byte."""
    disk.fill()
    try:
        yield
    finally:
        disk.free()


@pytest.mark.parametrize("fault", ["read-only", "full"])
def test_an_outcome_that_cannot_be_saved_is_told_and_the_call_is_in_doubt(
    project: Project, small_disk: Callable[..., Disk], fault: str
) -> None:
    disk = small_disk("2m")
    project.store = disk.path / "runs"
    source = SLOW.replace('f"slow {name} done"', '"long " * 10_000')
    agent = project.agent(tools=source, script=[turn(call("slow", "c1", name="a")), say("Done")])
    process = project.start("run", str(agent), "Go slowly", "--json")
    project.wait_for("a.started")
    folder = project.folder_of(project.the_run()["run_id"])
    with full(disk) if fault == "full" else read_only(folder):
        project.touch("a.go")
        lost = process.wait(status=1)
    assert "`slow` ran" in lost.stderr
    assert "could not be saved" in lost.stderr
    assert lost.payloads("tool-result") == []
    assert lost.result["exit_status"] == 1
    assert project.only()["kind"] == "in_doubt"
    project.resume(lost.run_id, status=7)
    assert project.fx_calls() == ["c1"]


def test_a_run_that_cannot_be_saved_never_starts(project: Project, small_disk: Callable[..., Disk]) -> None:
    disk = small_disk("64k")
    project.store = disk.path / "runs"
    project.agent(tools=READ, script=[turn(call("read_record", "c1", id="7")), say("Done")])
    disk.fill()
    project.run("Read", status=1)
    assert project.fx() == []


def test_a_decision_that_cannot_be_saved_is_an_error_and_decides_nothing(
    project: Project, small_disk: Callable[..., Disk]
) -> None:
    disk = small_disk("1m")
    project.store = disk.path / "runs"
    question = one_deletion(project)
    disk.read_only()
    refused = project.approve(question, status=1)
    assert "read-only" in refused.stderr.lower()
    assert project.fx() == []
    assert project.only()["id"] == question
    disk.writable()
    project.approve(question, status=0)
    assert project.fx_calls() == ["c1"]


# Time


PATIENT = '''

@tool(require_approval=True, timeout="500ms")
def quick(ctx: ToolContext, name: str) -> str:
    """Quick once it is started."""
    if name and not ctx.resumed:
        return ctx.suspend({"question": "Ready?"})
    fx(ctx, name=name)
    return "was quick"
'''


def test_no_timeout_runs_while_a_call_waits(project: Project) -> None:
    project.agent(tools=PATIENT, script=[turn(call("quick", "c1", name="a")), say("It {result}")])
    project.run("Be quick", "--timeout", "1m", status=8)
    time.sleep(0.7)
    project.approve(project.only()["id"], status=8)
    time.sleep(0.7)
    done = project.resume(project.only()["id"], "--data", "true", status=0)
    assert done.result["text"] == "It was quick"


def test_an_approved_call_that_then_asks_is_not_approved_again(project: Project) -> None:
    project.agent(tools=GATED_ASK, script=[turn(call("deploy", "c1", target="prod")), say("{result}")])
    project.run("Deploy", status=8)
    approval = project.only()["id"]
    project.approve(approval, status=8)
    question = project.only()
    assert question["kind"] == "data"
    project.approve(approval, status=8)
    assert project.only()["id"] == question["id"]
    done = project.resume(question["id"], "--data", '"the night"', status=0)
    assert done.result["text"] == "Deployed prod in the night"
    assert project.fx_calls() == ["c1"]


def test_a_run_id_that_is_used_again_prints_the_same_answer_and_starts_nothing(project: Project) -> None:
    reading = turn(call("read_record", "c1", id="7"))
    project.agent(tools=READ, script=[reading, say("It is {result}")])
    again = [project.run("Read 7", "--run-id", "order-7", status=0) for _ in range(3)]
    assert len({each.result["text"] for each in again}) == 1
    assert project.fx_calls() == ["c1"]
    project.run("Read 8", "--run-id", "order-7", status=5)
    assert project.fx_calls() == ["c1"]
