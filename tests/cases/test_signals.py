"""Signals and time limits: what was done is saved, what is unknown is in doubt, shells see the signal."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator

import pytest

from support.model_server import ModelServer, Reply, answer, chunk, serve, stream
from support.process import Process
from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE, READ, SLOW, SLOW_ASYNC, SLOW_GATED, SLOW_IDEMPOTENT

STOPS = pytest.mark.parametrize(
    "stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda stop: stop.name
)

# An answer that begins and never ends.
ENDLESS = Reply(stream(chunk({"content": "It is Ada"}), done=False).body, hang=True)

# An async tool that blocks the loop it runs in, as authors do by mistake.
BLOCKING = SLOW.replace("def slow", "async def blocking")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server; the test says what it answers."""
    with serve([]) as running:
        yield running
        assert running.problems == []


Shell = Callable[[str], Process]


@pytest.fixture
def shell(project: Project) -> Iterator[Shell]:
    """Starts a bash script beside the test, in the project."""
    started: list[Process] = []

    def start(script: str) -> Process:
        environment = project.environment()
        started.append(Process(("bash", "-c", script), cwd=project.root, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.close()


def slowly(project: Project, tool: str, source: str) -> tuple[str, ...]:
    """The command of a run with one call of a tool that waits for the test."""
    script = [turn(call(tool, "c1", name="a")), say("Done: {result}")]
    return ("run", str(project.agent(tools=source, script=script)), "Go slowly")


def started(project: Project, tool: str, source: str, *options: str) -> Process:
    """A process in which that tool runs."""
    process = project.start(*slowly(project, tool, source), *options)
    project.wait_for("a.started")
    return process


# Once


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_in_a_model_answer_saves_the_run_and_it_asks_again(
    project: Project, server: ModelServer, stop: signal.Signals
) -> None:
    server.add(answer("", ("c1", "read_record", {"id": "7"})), ENDLESS, answer("It is Ada."))
    model = {"provider": "openai", "name": "m", "base_url": server.url}
    agent = project.agent(tools=READ, model=model)
    process = project.start("run", str(agent), "Who is 7?", "--json")
    process.wait_for_stdout("It is Ada")
    process.signal(stop)
    stopped = process.wait(status=-stop)
    assert server.hung_up.wait(30), "the connection is closed"
    assert stopped.result["status"] == "interrupted"
    assert stopped.result["exit_status"] == 128 + stop
    done = project.resume(stopped.run_id, status=0)
    assert done.result["text"] == "It is Ada."
    assert project.fx_calls() == ["c1"]
    assert server.requests[1] == server.requests[2]


@STOPS
def test_the_first_signal_cancels_an_async_tool_which_is_then_in_doubt(
    project: Project, stop: signal.Signals
) -> None:
    process = started(project, "async_slow", SLOW_ASYNC, "--json")
    process.signal(stop)
    stopped = process.wait(status=-stop)
    assert stopped.result["status"] == "in_doubt"
    project.touch("a.go")
    doubt = project.only()
    assert doubt["kind"] == "in_doubt"
    project.resume(stopped.run_id, status=7)
    assert project.fx_calls() == ["c1"]
    project.resolve(doubt["id"], "--failed", "stopped by hand", status=0)


@STOPS
def test_the_first_signal_waits_for_a_sync_tool_says_so_and_keeps_its_result(
    project: Project, stop: signal.Signals
) -> None:
    process = started(project, "slow", SLOW, "--json")
    process.signal(stop)
    process.wait_for_stderr("`slow`")
    project.touch("a.go")
    stopped = process.wait(status=-stop)
    assert [each["result"] for each in stopped.payloads("tool-result")] == ["slow a done"]
    assert stopped.result["status"] == "interrupted"
    done = project.resume(stopped.run_id, status=0)
    assert done.result["text"] == "Done: slow a done"
    assert project.fx_calls() == ["c1"]


def test_the_first_signal_starts_no_further_call(project: Project) -> None:
    script = [turn(call("slow", "c1", name="a")), turn(call("read_record", "c2", id="7")), say("Done")]
    agent = project.agent(tools=SLOW + READ, script=script)
    process = project.start("run", str(agent), "Go")
    project.wait_for("a.started")
    process.interrupt()
    process.wait_for_stderr("`slow`")
    project.touch("a.go")
    process.wait(status=-signal.SIGINT)
    assert project.fx_calls() == ["c1"]
    project.resume(project.the_run()["run_id"], status=0)
    assert project.fx_calls() == ["c1", "c2"]


def test_a_signal_keeps_what_waits_for_a_person(project: Project) -> None:
    both = turn(call("slow", "c1", name="a"), call("delete_record", "c2", id="7"))
    agent = project.agent(tools=SLOW + DELETE, script=[both, say("Done")])
    process = project.start("run", str(agent), "Go")
    process.wait_for_stderr("agentctl approve")
    project.wait_for("a.started")
    process.interrupt()
    project.touch("a.go")
    process.wait(status=-signal.SIGINT)
    assert project.only()["tool_call_id"] == "c2"
    project.approve(project.only()["id"], status=0)
    assert project.fx_calls() == ["c1", "c2"]


def test_an_idempotent_call_that_was_stopped_runs_again_without_a_question(project: Project) -> None:
    source = SLOW_IDEMPOTENT.replace("def ", "async def ").replace("hold(", "await ahold(")
    process = started(project, "idempotent_slow", source)
    process.interrupt()
    process.wait(status=-signal.SIGINT)
    project.touch("a.go")
    run_id = project.the_run()["run_id"]
    if project.pending():
        project.resolve(project.only()["id"], "--retry", status=0)
    else:
        project.resume(run_id, status=0)
    assert project.fx_calls() == ["c1", "c1"]


# Twice


@pytest.mark.parametrize(
    ("tool", "source"), [("slow", SLOW), ("blocking", BLOCKING), ("gated_slow", SLOW_GATED)]
)
def test_the_second_signal_leaves_a_stuck_tool_at_once_and_in_doubt(
    project: Project, tool: str, source: str
) -> None:
    words = slowly(project, tool, source)
    if source is SLOW_GATED:
        project.cli(*words, status=8)
        words = ("approve", project.only()["id"])
    process = project.start(*words)
    project.wait_for("a.started")
    process.interrupt()
    if tool == "blocking":
        # It blocks the message too; and two signals at once are one.
        time.sleep(0.5)
    else:
        process.wait_for_stderr("stop again")
    process.interrupt()
    process.wait(timeout=20, status=-signal.SIGINT)
    project.touch("a.go")
    assert project.only()["kind"] == "in_doubt"
    project.resume(project.the_run()["run_id"], status=7)
    assert project.fx_calls() == ["c1"]


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_may_be_another_one(project: Project, second: signal.Signals) -> None:
    process = started(project, "slow", SLOW)
    process.signal(signal.SIGTERM)
    process.wait_for_stderr("stop again")
    process.signal(second)
    process.wait(timeout=20, status=-second)
    assert project.only()["kind"] == "in_doubt"


# At other moments


def test_a_signal_while_another_process_drives_leaves_the_decision_recorded(project: Project) -> None:
    both = turn(call("slow", "c1", name="a"), call("delete_record", "c2", id="7"))
    agent = project.agent(tools=SLOW + DELETE, script=[both, say("Done")])
    driver = project.start("run", str(agent), "Go")
    driver.wait_for_stderr("agentctl approve")
    question = project.only()["id"]
    waiter = project.start("approve", question, "--lock-timeout", "1m")
    run_id = project.the_run()["run_id"]
    decisions = project.folder_of(run_id) / "decisions"
    for _ in range(3000):
        if [*decisions.iterdir()]:
            break
        time.sleep(0.01)
    waiter.interrupt()
    waiter.wait(status=-signal.SIGINT)
    project.touch("a.go")
    driver.wait(status=0)
    assert project.fx_calls() == ["c1", "c2"]


def test_a_signal_in_the_first_of_two_runs_loses_no_decision_on_the_second(project: Project) -> None:
    words = slowly(project, "gated_slow", SLOW_GATED)
    project.cli(*words, status=8)
    project.cli(*words, status=8)
    first, second = project.pending()
    process = project.start("approve", first["id"], second["id"])
    project.wait_for("a.started")
    process.interrupt()
    process.wait_for_stderr("stop again")
    project.touch("a.go")
    process.wait(status=-signal.SIGINT)
    assert project.pending() == [], "both were decided"
    for run in project.runs():
        if run["status"] != "completed":
            project.resume(run["run_id"], status=0)
    assert len(project.fx()) == 2


@pytest.mark.parametrize("rounds", [8, pytest.param(100, marks=pytest.mark.soak)])
def test_a_signal_at_any_moment_leaves_no_traceback_and_no_half_run(project: Project, rounds: int) -> None:
    script = [turn(call("delete_record", "c1", id="7")), say("Done")]
    agent = project.agent(tools=DELETE, script=script)
    for number in range(rounds):
        project.store = project.root / f"runs-{number}"
        process = project.start("run", str(agent), "Delete 7")
        # Python itself needs the first hundredths of a second; a signal there is not ours to handle.
        time.sleep(0.08 + 0.4 * number / rounds)
        process.interrupt()
        process.wait(status={-signal.SIGINT, 8})
        for run in project.runs():
            assert run["status"] in {"interrupted", "suspended"}
            if run["status"] == "interrupted":
                project.resume(run["run_id"], status=8)
        assert project.fx() == []


def test_a_shell_loop_around_a_run_stops_at_ctrl_c(project: Project, shell: Shell) -> None:
    words = " ".join(f"'{word}'" for word in slowly(project, "async_slow", SLOW_ASYNC))
    process = shell(f"for n in 1 2 3; do agentctl {words}; echo NEXT >&2; done; echo AFTER >&2")
    project.wait_for("a.started")
    process.interrupt()
    stopped = process.wait(status=-signal.SIGINT)
    assert "NEXT" not in stopped.stderr
    assert "AFTER" not in stopped.stderr
    assert len(project.runs()) == 1


def test_a_signal_that_the_caller_ignores_stays_ignored(project: Project, shell: Shell) -> None:
    words = " ".join(f"'{word}'" for word in slowly(project, "slow", SLOW))
    process = shell(f"trap '' HUP INT; exec agentctl {words}")
    project.wait_for("a.started")
    process.signal(signal.SIGHUP)
    process.interrupt()
    project.touch("a.go")
    assert process.wait(status=0).stdout.strip() == "Done: slow a done"


# Time limits


def test_a_time_limit_leaves_a_sync_tool_in_doubt(project: Project) -> None:
    process = project.start(*slowly(project, "slow", SLOW), "--json", "--timeout", "1500ms")
    project.wait_for("a.started")
    stopped = process.wait(status=124)
    project.touch("a.go")
    assert stopped.result["exit_status"] == 124
    assert stopped.result["status"] == "in_doubt"
    project.resume(stopped.run_id, status=7)
    assert project.fx_calls() == ["c1"]


@pytest.mark.parametrize(("tool", "source"), [("async_slow", SLOW_ASYNC), ("blocking", BLOCKING)])
def test_a_time_limit_leaves_an_async_tool_in_doubt(project: Project, tool: str, source: str) -> None:
    process = project.start(*slowly(project, tool, source), "--json", "--timeout", "1500ms")
    project.wait_for("a.started")
    process.wait(timeout=20, status=124)
    project.touch("a.go")
    project.resume(project.the_run()["run_id"], status=7)
    assert project.fx_calls() == ["c1"]


def test_a_time_limit_in_a_model_answer_interrupts_the_run(project: Project, server: ModelServer) -> None:
    server.add(ENDLESS, answer("It is Ada."))
    project.agent(model={"provider": "openai", "name": "m", "base_url": server.url})
    stopped = project.run("Who is 7?", "--timeout", "3s", status=124)
    assert stopped.result["status"] == "interrupted"
    assert project.resume(stopped.run_id, status=0).result["text"] == "It is Ada."


def test_a_time_limit_that_is_not_reached_changes_nothing(project: Project) -> None:
    project.agent(script=[say("Hello")])
    assert project.run("Hello", "--timeout", "1m", status=0).result["text"] == "Hello"


@pytest.mark.parametrize("limit", ["0", "-1s", "soon", "1y", ""])
def test_a_time_limit_that_is_none_is_a_usage_error(project: Project, limit: str) -> None:
    project.agent(script=[say("Hello")])
    project.run("Hello", f"--timeout={limit}", status=2)
    assert project.runs() == []
