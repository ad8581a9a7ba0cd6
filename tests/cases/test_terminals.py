"""Terminals, scripts and pipes: who is asked, what is shown, which status a script gets."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.process import Process
from support.project import Project
from support.script import call, raw_call, say, turn
from support.tools import ASK, DELETE, READ, SLOW, WEATHER

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ESCAPES = re.compile(r"\x1b")
HIDDEN = "\x1b\x07\x9b\u202e\u2066\u200b\u200e\ufeff\U000e0041"

ANYTHING = '''

@tool(require_approval=True, input_schema={"type": "object"})
def anything(_ctx: ToolContext, **args) -> str:
    """Take any arguments."""
    fx(_ctx, **args)
    return "took them"
'''


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


def deleting(project: Project, **keys: Any) -> tuple[str, ...]:
    """The command of a run that waits for an approval."""
    script = [turn(call("delete_record", "c1", id="abc-123")), say("Done: {result}")]
    return ("run", str(project.agent(tools=DELETE, script=script, **keys)), "Delete record abc-123")


# Without a person


@pytest.mark.parametrize(
    ("options", "env"),
    [
        ((), {}),
        (("--json",), {}),
        (("--no-input",), {}),
        ((), {"CI": "true"}),
        ((), {"PATH": "/usr/bin:/bin", "HOME": "/", "LANG": None, "AGENTCTL_USER": None, "TERM": None}),
        ((), {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}),
    ],
    ids=["no terminal", "--json", "--no-input", "CI", "cron", "C locale"],
)
def test_without_a_terminal_a_gated_call_waits_at_once(
    project: Project, options: tuple[str, ...], env: dict[str, str | None]
) -> None:
    waiting = project.cli(*deleting(project), *options, env=env, status=8)
    assert "approve?" not in waiting.stderr
    assert project.fx() == []
    assert project.only()["tool"] == "delete_record"


@pytest.mark.parametrize("typed", ["y\n" * 50, ""])
def test_what_is_piped_in_is_no_consent(project: Project, typed: str) -> None:
    project.cli(*deleting(project), input=typed, status=8)
    assert project.fx() == []


@pytest.mark.parametrize(
    ("options", "env"),
    [(("--json",), {}), (("--no-input",), {}), ((), {"CI": "1"})],
    ids=["--json", "--no-input", "CI"],
)
def test_at_a_terminal_nobody_is_asked_who_does_not_want_it(
    project: Project, options: tuple[str, ...], env: dict[str, str]
) -> None:
    with project.terminal(*deleting(project), *options, env=env) as terminal:
        terminal.send("y\n")
        terminal.wait(status=8)
        assert "approve?" not in terminal.plain
    assert project.fx() == []


def test_the_prompt_of_a_run_is_not_taken_for_an_answer(project: Project) -> None:
    run, agent, _ = deleting(project)
    project.cli(run, agent, input="y\n", status=8)
    assert project.the_run()["prompt"].strip() == "y"
    assert project.fx() == []


# A person


def test_yes_at_the_prompt_approves_and_goes_on(project: Project) -> None:
    with project.terminal(*deleting(project)) as terminal:
        shown = terminal.expect("approve?")
        assert 'delete_record {"id": "abc-123"}' in shown
        terminal.send("y\n")
        terminal.expect("Done: Record abc-123 deleted")
        terminal.wait(status=0)
    assert project.fx_calls() == ["c1"]


def test_no_at_the_prompt_declines_with_the_reason_and_goes_on(project: Project) -> None:
    with project.terminal(*deleting(project)) as terminal:
        terminal.expect("approve?")
        terminal.send("n\n")
        terminal.expect("reason")
        terminal.send("not today, Zoë\n")
        terminal.expect("Done: not today, Zoë")
        terminal.wait(status=0)
    assert project.fx() == []


@pytest.mark.parametrize(
    "answer", ["\n", " \n", "\x04", "\x03"], ids=["Enter", "blank", "end of file", "Ctrl-C"]
)
def test_no_answer_at_the_prompt_leaves_the_call_waiting(project: Project, answer: str) -> None:
    with project.terminal(*deleting(project)) as terminal:
        terminal.expect("waiting:")
        terminal.send(answer)
        terminal.expect("left waiting")
        terminal.wait(status=8)
    assert project.fx() == []
    assert project.only()["tool"] == "delete_record"


def test_an_unclear_answer_at_the_prompt_is_neither_yes_nor_no(project: Project) -> None:
    for answer in ("maybe", "yy", "Y E S", "1", "true"):
        project.store = project.root / answer
        with project.terminal(*deleting(project)) as terminal:
            terminal.expect("waiting:")
            terminal.send(f"{answer}\n")
            terminal.expect("waiting:")
            terminal.send("\n")
            terminal.wait(status=8)
        assert project.only()["tool"] == "delete_record"
    assert project.fx() == []


@pytest.mark.parametrize("key", ["\x04", "\x03"], ids=["end of file", "Ctrl-C"])
def test_breaking_off_at_the_reason_declines_nothing(project: Project, key: str) -> None:
    with project.terminal(*deleting(project)) as terminal:
        terminal.expect("waiting:")
        terminal.send("n\n")
        terminal.expect("Enter:")
        terminal.send(key)
        terminal.wait(status=8)
    assert project.only()["tool"] == "delete_record"


def test_what_was_typed_before_the_question_is_no_consent(project: Project) -> None:
    script = [
        turn(call("slow", "c1", name="a")),
        turn(call("delete_record", "c2", id="7")),
        say("Done"),
    ]
    agent = project.agent(tools=SLOW + DELETE, script=script)
    with project.terminal("run", str(agent), "Go") as terminal:
        project.wait_for("a.started")
        terminal.send("y\ny\ny\n")
        project.touch("a.go")
        terminal.expect("approve?")
        terminal.send("\n")
        terminal.wait(status=8)
    assert project.fx_calls() == ["c1"]


def test_several_calls_are_asked_about_one_by_one(project: Project) -> None:
    calls = [call("delete_record", f"c{n}", id=f"r{n}") for n in range(3)]
    agent = project.agent(tools=DELETE, script=[turn(*calls), say("Settled")])
    with project.terminal("run", str(agent), "Delete three") as terminal:
        for answer in ("y", "n", "y"):
            terminal.expect("approve?")
            terminal.send(f"{answer}\n")
            if answer == "n":
                terminal.expect("reason")
                terminal.send("\n")
        terminal.expect("Settled")
        terminal.wait(status=0)
    assert sorted(project.fx_calls()) == ["c0", "c2"]


def test_a_question_is_answered_at_the_prompt_and_asked_again_when_the_answer_does_not_fit(
    project: Project,
) -> None:
    agent = project.agent(tools=WEATHER, script=[turn(call("get_weather", "c1")), say("Done: {result}")])
    with project.terminal("run", str(agent), "Weather?") as terminal:
        terminal.expect("Which city?")
        terminal.expect("answer as JSON")
        terminal.send("Oslo\n")
        terminal.expect("text needs quotes")
        terminal.expect("answer as JSON")
        terminal.send('{"town": "Oslo"}\n')
        terminal.expect("city")
        terminal.expect("answer as JSON")
        terminal.send('{"city": "Oslo"}\n')
        terminal.expect('"celsius": 21')
        terminal.wait(status=0)
    assert project.fx_calls() == ["c1"]


# What is shown


@pytest.mark.parametrize(
    ("options", "env"),
    [(("--no-color",), {}), ((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"})],
    ids=["--no-color", "NO_COLOR", "dumb"],
)
def test_no_escape_is_written_where_none_is_wanted(
    project: Project, options: tuple[str, ...], env: dict[str, str]
) -> None:
    with project.terminal(*deleting(project), *options, env=env) as terminal:
        terminal.expect("waiting:")
        terminal.send("\n")
        terminal.wait(status=8)
        assert not ESCAPES.search(terminal.raw), terminal.raw
    for command in (("pending",), ("runs",), ("show", project.only()["run_id"])):
        with project.terminal(*command, *options, env=env) as terminal:
            terminal.wait(status=0)
            assert "records" in terminal.raw
            assert not ESCAPES.search(terminal.raw), terminal.raw


@pytest.mark.parametrize("cols", [12, 400])
def test_every_width_of_terminal_works(project: Project, cols: int) -> None:
    run_id = project.cli(*deleting(project), "--json", status=8).run_id
    for command in (("pending",), ("runs",), ("show", run_id)):
        with project.terminal(*command, cols=cols) as terminal:
            terminal.wait(status=0)
            assert COLOUR.search(terminal.raw), "a terminal that can has colour"
    with project.terminal(*deleting(project), cols=cols) as terminal:
        terminal.expect("approve?")
        terminal.send("y\n")
        terminal.wait(status=0)
        assert COLOUR.search(terminal.raw)


def suspicious() -> dict[str, Any]:
    """Arguments that try to hide what they are: long, with escapes, bidi and zero-width marks."""
    return {
        "path": f"/tmp/{HIDDEN}harmless",
        "sql": "x" * 100_000 + "; drop table users",
        "title": "削除する" * 10 + " e\u0301 🙂\ufe0f",
        "line\n\u202ekey": "two\r\nlines\tand \x1b[2K\x1b[1Aerased",
        "force": True,
    }


def suspicious_run(project: Project) -> tuple[str, ...]:
    agent = project.agent(
        tools=ANYTHING, script=[turn(raw_call("anything", "c1", suspicious())), say("Done")]
    )
    return ("run", str(agent), "Take it")


def assert_nothing_hidden(shown: str) -> None:
    """Apart from our own colours nothing steers the terminal or is invisible."""
    rest = COLOUR.sub("", shown).replace("\r\n", "\n")
    found = {char for char in rest if char in HIDDEN + "\r" or (ord(char) < 32 and char not in "\n\t")}
    assert not found, f"raw {sorted(map(ascii, found))} in {rest[:2000]!a}"


def test_who_approves_at_a_terminal_sees_what_hides_and_that_something_is_cut(project: Project) -> None:
    with project.terminal(*suspicious_run(project)) as terminal:
        terminal.expect("waiting:")
        shown = terminal.raw
        assert_nothing_hidden(shown)
        assert "more characters" in shown
        assert "agentctl show" in shown
        assert '"force": true' in shown, "a long argument pushes no other out of sight"
        assert "\\u202e" in shown
        terminal.send("\n")
        terminal.wait(status=8)


@pytest.mark.parametrize("command", ["pending", "show", "log"])
def test_what_hides_is_shown_as_an_escape_on_terminals_and_in_pipes(project: Project, command: str) -> None:
    run_id = project.cli(*suspicious_run(project), "--json", status=8).run_id
    words = (command,) if command == "pending" else (command, run_id)
    piped = project.cli(*words, status=0).stdout
    assert_nothing_hidden(piped)
    assert "\\u202e" in piped
    with project.terminal(*words, cols=120) as terminal:
        terminal.wait(status=0)
        assert_nothing_hidden(terminal.raw)


def test_show_has_every_character_of_the_arguments(project: Project) -> None:
    run_id = project.cli(*suspicious_run(project), "--json", status=8).run_id
    assert project.show(run_id)["suspensions"][0]["args"] == suspicious()
    piped = project.cli("show", run_id, status=0).stdout
    assert "x" * 100_000 + "; drop table users" in piped


def test_a_piped_list_has_one_record_a_line_and_the_arguments_as_json(project: Project) -> None:
    project.cli(*suspicious_run(project), status=8)
    [[short, _, kind, agent, tool, _, args]] = project.cli("pending", status=0).rows
    assert project.only()["id"].startswith(short)
    assert (len(short), kind, agent, tool) == (10, "approval", "records", "anything")
    assert json.loads(args) == suspicious()


def test_the_answer_is_exact_in_pipes_and_escaped_at_terminals(project: Project) -> None:
    text = f"Look:{HIDDEN}\tend\\x1b 削除\n"
    agent = project.agent(script=[say(text)])
    assert project.run("Speak", json=False, status=0).stdout == text
    with project.terminal("run", str(agent), "Speak") as terminal:
        terminal.wait(status=0)
        assert_nothing_hidden(terminal.raw)
        assert "\\x1b" in terminal.raw


def test_nothing_but_the_answer_is_on_standard_output(project: Project) -> None:
    both = turn(call("read_record", "c1", id="7"), text="Reading.")
    project.agent(tools=READ, script=[both, say("It is Ada.\n")])
    done = project.run("Who is 7?", json=False, status=0)
    assert done.stdout == "Reading.\nIt is Ada.\n"
    assert "read_record" in done.stderr
    quiet = project.run("Who is 7?", "--quiet", json=False, status=0)
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")


# One status for one outcome


def in_doubt(project: Project) -> tuple[str, ...]:
    agent = project.agent(tools=SLOW, script=[turn(call("slow", "c1", name="a")), say("Done")])
    process = project.start("run", str(agent), "Go")
    project.wait_for("a.started").unlink()
    process.kill9()
    return ("resume", project.the_run()["run_id"])


def busy(project: Project) -> tuple[str, ...]:
    both = turn(call("slow", "c1", name="a"), call("delete_record", "c2", id="7"))
    agent = project.agent(tools=SLOW + DELETE, script=[both, say("Done")])
    project.start("run", str(agent), "Go").wait_for_stderr("agentctl approve")
    return ("approve", project.only()["id"], "--lock-timeout", "50ms")


def waiting(project: Project) -> str:
    """The id of the question that a run waits for."""
    [suspension] = project.cli(*deleting(project), "--json", status=8).result["suspensions"]
    return str(suspension["id"])


def ended(project: Project) -> str:
    question = waiting(project)
    project.approve(question, status=0)
    return question


def damaged(project: Project) -> tuple[str, ...]:
    question = waiting(project)
    [snapshot] = project.store.rglob("snapshot.json")
    snapshot.write_bytes(b"{}")
    return ("approve", question)


def timing_out(project: Project) -> tuple[str, ...]:
    agent = project.agent(tools=SLOW, script=[turn(call("slow", "c1", name="a")), say("Done")])
    return ("run", str(agent), "Go", "--timeout", "200ms")


def asking(project: Project) -> str:
    project.agent(tools=ASK, script=[turn(call("ask", "c1", question="Who?")), say("Done")])
    [suspension] = project.run("Ask", status=8).result["suspensions"]
    return str(suspension["id"])


def no_key(project: Project) -> tuple[str, ...]:
    return ("run", str(project.agent(model="openai/gpt-5-mini")), "Hello")


def at_its_end(project: Project) -> tuple[str, ...]:
    script = [turn(call("read_record", "c1", id="7"))]
    return ("run", str(project.agent(tools=READ, script=script)), "Read 7")


def reading(project: Project) -> tuple[str, ...]:
    script = [turn(call("read_record", "c1", id="7")), say("Done")]
    return ("run", str(project.agent(tools=READ, script=script)), "Read 7")


Command = Callable[[Project], tuple[str, ...]]
OUTCOMES: dict[str, tuple[int, Command]] = {
    "completed": (0, lambda project: ("run", str(project.agent(script=[say("Hello")])), "Hello")),
    "suspended": (8, deleting),
    "suspended, as wanted": (0, lambda project: (*deleting(project), "--suspended-ok")),
    "approved": (0, lambda project: ("approve", waiting(project))),
    "declined": (0, lambda project: ("decline", waiting(project))),
    "decided": (0, lambda project: ("approve", waiting(project), "--no-drive")),
    "cancelled": (0, lambda project: ("cancel", waiting(project))),
    "script at its end": (1, at_its_end),
    "damaged": (1, damaged),
    "empty prompt": (2, lambda project: ("run", str(project.agent(script=[say("Hello")])), " ")),
    "no data": (2, lambda project: ("resume", asking(project), "--data", "Oslo")),
    "unknown option": (2, lambda project: ("pending", "--no-such-option")),
    "no such agent": (3, lambda project: ("run", "nowhere", "Hello")),
    "no such suspension": (3, lambda project: ("approve", "0123456789")),
    "no key": (4, no_key),
    "ended": (5, lambda project: ("decline", ended(project))),
    "wrong kind": (5, lambda project: ("approve", asking(project))),
    "busy": (6, busy),
    "in doubt": (7, in_doubt),
    "budget used up": (9, lambda project: (*reading(project), "--max-steps", "1")),
    "timeout": (124, timing_out),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_status_depends_on_the_outcome_alone(project: Project, outcome: str) -> None:
    status, command = OUTCOMES[outcome]
    told = project.cli(*command(project), status=status)
    if 1 <= status <= 6:
        assert "\nagentctl: " in "\n" + told.stderr
    project.store = project.root / "other-runs"
    words = command(project)
    read = project.cli(*words, "--json", "--quiet", status=status)
    if words[0] != "pending":
        assert read.result["exit_status"] == status


@pytest.mark.parametrize("outcome", ["script at its end", "ended", "no key"])
def test_quiet_silences_no_error(project: Project, outcome: str) -> None:
    status, command = OUTCOMES[outcome]
    told = project.cli(*command(project), "--quiet", status=status)
    assert told.stderr.startswith("agentctl: ")


@pytest.mark.parametrize("outcome", ["completed", "decided", "no such suspension", "ended", "budget used up"])
def test_a_terminal_changes_no_status(project: Project, outcome: str) -> None:
    status, command = OUTCOMES[outcome]
    with project.terminal(*command(project)) as terminal:
        terminal.wait(status=status)


# Readers that leave, outputs that break


def two_lines(project: Project) -> tuple[str, ...]:
    """A run that says a line, waits in a tool, and says another line."""
    script = [turn(call("slow", "c1", name="a"), text="one\n"), say("two\n")]
    return ("run", str(project.agent(tools=SLOW, script=script)), "Go")


@pytest.mark.parametrize(("options", "lines"), [((), 1), (("--json",), 4)], ids=["plain", "--json"])
def test_a_reader_that_leaves_ends_the_process_by_sigpipe_and_the_run_goes_on_later(
    project: Project, shell: Shell, options: tuple[str, ...], lines: int
) -> None:
    """The lines are those up to the call of the tool, in which the reader leaves."""
    words = " ".join(two_lines(project) + options)
    script = f"agentctl {words} | {{ head -{lines}; exec <&-; touch left; }}; exit ${{PIPESTATUS[0]}}"
    process = shell(script)
    project.wait_for("left")
    project.wait_for("a.started")
    project.touch("a.go")
    process.wait(status=128 + signal.SIGPIPE)
    run = project.the_run()
    assert run["status"] == "interrupted"
    done = project.resume(run["run_id"], json=False, status=0)
    assert done.stdout == "two\n"
    assert project.fx_calls() == ["c1"]


def closed_pipe() -> int:
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["plain", "--json"])
def test_a_reader_that_was_never_there_loses_nothing(project: Project, options: tuple[str, ...]) -> None:
    script = [turn(call("delete_record", "c1", id="7"), text="Deleting.\n"), say("Done")]
    agent = project.agent(tools=DELETE, script=script)
    writer = closed_pipe()
    project.cli("run", str(agent), "Delete 7", *options, stdout=writer, status=-signal.SIGPIPE)
    os.close(writer)
    run_id = project.the_run()["run_id"]
    project.resume(run_id, status=8)
    project.approve(project.only()["id"], status=0)
    assert project.fx_calls() == ["c1"]


def looks(project: Project) -> list[tuple[str, ...]]:
    """Every command that only looks, in a store that has something to look at."""
    run_id = project.cli(*deleting(project), "--json", status=8).run_id
    return [("pending",), ("runs",), ("show", run_id), ("log", run_id), ("--help",), ("run", "--help")]


def test_a_list_that_nobody_reads_ends_by_sigpipe_without_a_traceback(
    project: Project, subtests: pytest.Subtests
) -> None:
    for words in looks(project):
        with subtests.test(words[0]):
            writer = closed_pipe()
            left = project.cli(*words, stdout=writer, status=-signal.SIGPIPE)
            os.close(writer)
            assert left.stderr == ""


def test_a_list_that_cannot_be_written_is_an_error(project: Project, subtests: pytest.Subtests) -> None:
    for words in looks(project):
        with subtests.test(words[0]), Path("/dev/full").open("wb") as full:
            assert project.cli(*words, stdout=full, status=1).stderr.startswith("agentctl: ")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["plain", "--json"])
def test_an_output_that_is_full_is_an_error_and_the_run_is_saved(
    project: Project, options: tuple[str, ...]
) -> None:
    words = deleting(project)
    with Path("/dev/full").open("wb") as full:
        refused = project.cli(*words, *options, stdout=full)
    if not options:
        # Nothing was to be written: the call waits.
        assert refused.status in {1, 8}
    else:
        assert refused.status == 1
        assert "standard output" in refused.stderr or "No space left" in refused.stderr
    run_id = project.the_run()["run_id"]
    project.resume(run_id, status=8)
    with Path("/dev/full").open("wb") as full:
        project.cli("approve", project.only()["id"], *options, stdout=full, status=1)
    if project.the_run()["status"] == "suspended":
        project.approve(project.only()["id"])
    if project.the_run()["status"] == "interrupted":
        project.resume(run_id, status=0)
    assert project.the_run()["status"] == "completed"
    assert project.fx_calls() == ["c1"]


@pytest.mark.parametrize(
    ("closed", "readable"),
    [("<&-", True), (">&-", False), ("2>&-", True), ("<&- >&- 2>&-", False), ("2>/dev/full", True)],
)
def test_streams_that_are_closed_change_nothing_and_the_run_can_be_resumed(
    project: Project, closed: str, readable: bool
) -> None:
    words = " ".join(f"'{word}'" for word in deleting(project))
    project.bash(f"agentctl {words} {closed}", status=8)
    approved = project.bash(f"agentctl approve {project.only()['id']} {closed}", status=0)
    assert project.fx_calls() == ["c1"]
    assert approved.stdout == ("Done: Record abc-123 deleted\n" if readable else "")


@pytest.mark.parametrize("redirection", ["</dev/null", "<&-", "< empty"])
def test_no_prompt_and_no_input_is_a_usage_error(project: Project, redirection: str) -> None:
    (project.root / "empty").touch()
    run, agent, _ = deleting(project)
    project.bash(f"agentctl {run} {agent} {redirection}", status=2)
    assert project.runs() == []
