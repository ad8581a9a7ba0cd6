"""The commands that look and change nothing: `pending runs show log verify check`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, DELETE, DELETE_FREE, GATED_ASK, WEATHER

ONE = [turn(call("delete_record", "c1", id="a")), say("Done: {result}")]
HOSTILE = 'tab\there\nnext\x1b[2J line\u202e"\\'


def waiting(project: Project, run_id: str) -> dict[str, Any]:
    (found,) = project.run("Delete a", "--run-id", run_id, status=8).result["suspensions"]
    waits: dict[str, Any] = found
    return waits


def stored_files(project: Project) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in project.store.rglob("*") if file.is_file()}


# An empty place


def test_nothing_is_an_empty_list_and_no_store_is_made(project: Project) -> None:
    assert project.pending() == [] and project.runs() == []
    for verb in ("pending", "runs"):
        assert project.cli(verb, status=0).stdout == ""
    project.cli("pending", "--exit-status", status=0)
    project.cli("verify", status=0)
    for verb in ("show", "log", "verify", "approve", "cancel"):
        assert project.cli(verb, "nothing-there", status=3).stderr.startswith("agentctl: ")
    assert not project.store.exists()


def test_looking_changes_nothing(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = waiting(project, "first-run")
    before = stored_files(project)
    project.pending()
    project.runs()
    project.show(waits["id"])
    project.cli("log", "first-run", status=0)
    project.cli("verify", status=0)
    project.cli("check", "records", status=0)
    assert stored_files(project) == before


# pending


def test_pending_lists_what_waits_oldest_first(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    asked = [waiting(project, name) for name in ("run-b", "run-c", "run-a")]
    assert project.pending() == asked
    rows = project.cli("pending", status=0).rows
    assert rows == [
        [
            each["id"][:10],
            each["run_id"],
            "approval",
            "records",
            "delete_record",
            each["suspended_at"],
            '{"id": "a"}',
        ]
        for each in asked
    ]


def test_pending_leaves_out_what_was_decided(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    for name in ("run-a", "run-b", "run-c"):
        waiting(project, name)
    project.approve("run-a", "--no-drive", status=0)
    project.cancel("run-b", status=0)
    assert [each["run_id"] for each in project.pending()] == ["run-c"]
    assert [row[1] for row in project.cli("pending", status=0).rows] == ["run-c"]


def test_pending_tells_by_its_status_whether_something_waits(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waiting(project, "run-a")
    assert project.cli("pending", status=0).rows
    assert project.cli("pending", "--exit-status", status=8).rows
    assert len(project.cli("pending", "--exit-status", "--json", status=8).json) == 1
    project.approve("run-a", "--no-drive", status=0)
    project.cli("pending", "--exit-status", status=0)


def test_a_record_of_a_piped_list_is_one_line_whatever_it_holds(project: Project) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id=HOSTILE)), say("End")])
    project.run(HOSTILE, status=8)
    (row,) = project.cli("pending", status=0).rows
    assert len(row) == 7 and json.loads(row[6]) == {"id": HOSTILE}
    (row,) = project.cli("runs", status=0).rows
    assert len(row) == 5 and "\x1b" not in row[4] and "\u202e" not in row[4]
    assert project.only()["args"] == {"id": HOSTILE}


# runs


def test_runs_lists_every_run_newest_first_with_its_status(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    for name in ("run-waits", "run-done", "run-cancelled", "run-decided"):
        waiting(project, name)
    project.approve("run-done", status=0)
    project.cancel("run-cancelled", status=0)
    project.approve("run-decided", "--no-drive", status=0)
    project.agent("other", script=[say("Hello", when="never")])
    project.run("Hi", "--run-id", "run-failed", status=1)
    project.agent("stops", script=[{"error": {"message": "down"}}])
    project.run("Hi", "--run-id", "run-stopped", status=9)
    runs = project.runs()
    assert [(each["run_id"], each["status"]) for each in runs] == [
        ("run-stopped", "interrupted"),
        ("run-failed", "failed"),
        ("run-decided", "interrupted"),
        ("run-cancelled", "cancelled"),
        ("run-done", "completed"),
        ("run-waits", "suspended"),
    ]
    assert [each["suspensions"] for each in runs] == [0, 0, 0, 0, 0, 1]
    assert project.cli("runs", status=0).rows == [
        [each["run_id"], each["status"], each["agent"], each["updated_at"], each["prompt"]] for each in runs
    ]


# show


def test_show_tells_a_person_everything_and_what_to_type_next(project: Project) -> None:
    long = "x" * 5000 + "END"
    calls = [call("delete_record", "c1", id=long), call("ask", "q1", question="Which?")]
    project.agent(tools=DELETE + ASK, script=[turn(*calls, text="Let me see."), say("End")])
    approval, question = project.run("Delete it", "--run-id", "first-run", status=8).result["suspensions"]
    for ref in ("first-run", approval["id"][:10], question["id"]):
        shown = project.cli("show", ref, status=0).stdout
        for part in ("first-run", "suspended", "Delete it", "Let me see.", long, "Which?"):
            assert part in shown, f"{part[:20]} is missing in\n{shown}"
    shown = project.cli("show", "first-run", status=0).stdout
    assert f"agentctl approve {approval['id'][:10]}" in shown
    assert f"agentctl decline {approval['id'][:10]}" in shown
    assert f"agentctl resume {question['id'][:10]} --data" in shown


def test_show_tells_the_history_of_a_finished_run(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = waiting(project, "first-run")
    project.approve("first-run", "--by", "ada", "--reason", "Ticket 5", status=0)
    shown = project.cli("show", "first-run", status=0).stdout
    for part in ("completed", "Delete a", "Record a deleted", "ada", "Ticket 5", "Done: Record a deleted"):
        assert part in shown, f"{part} is missing in\n{shown}"
    assert project.show(waits["id"])["run"]["run_id"] == "first-run"


def test_show_escapes_what_could_deceive(project: Project) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id=HOSTILE), text=HOSTILE)])
    project.run(HOSTILE, "--run-id", "first-run", status=8)
    for verb in ("show", "log"):
        shown = project.cli(verb, "first-run", status=0).stdout
        assert "\x1b" not in shown and "\u202e" not in shown
    assert project.show("first-run")["suspensions"][0]["args"] == {"id": HOSTILE}


# log


def test_the_log_is_the_journal_as_it_is(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waiting(project, "first-run")
    assert project.cli("log", "first-run", "--json", status=0).lines == project.journal("first-run")
    project.approve("first-run", status=0)
    records = project.cli("log", "first-", "--json", status=0).lines
    assert records == project.journal("first-run")
    assert [each["seq"] for each in records] == list(range(1, len(records) + 1))
    readable = project.cli("log", "first-run", status=0).stdout
    for part in ("delete_record", "tester", "Record a deleted"):
        assert part in readable


def test_the_log_follows_a_run_to_its_end(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waiting(project, "first-run")
    following = project.start("log", "first-run", "--json", "--follow")
    following.wait_for_stdout("tool-call-approval")
    assert following.running
    project.approve("first-run", status=0)
    assert following.wait(status=0).lines == project.journal("first-run")
    again = project.cli("log", "first-run", "--follow", "--json", status=0)
    assert again.lines == project.journal("first-run")


# verify


def test_verify_finds_a_sound_store_sound(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    for name in ("run-a", "run-b"):
        waiting(project, name)
    project.approve("run-a", status=0)
    assert project.cli("verify", status=0).stdout == ""
    assert project.cli("verify", "--json", status=0).json == []
    project.cli("verify", "run-a", "run-b", status=0)
    project.cli("verify", "run-a", "run-nowhere", status=3)


def test_verify_names_the_run_that_is_damaged(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    for name in ("run-a", "run-b"):
        waiting(project, name)
    project.edit(project.folder_of("run-b") / "journal.jsonl", '"Delete a"', '"Delete b"')
    found = project.cli("verify", status=1)
    assert "run-b" in found.stdout and "run-a" not in found.stdout
    assert {each["run_id"] for each in project.cli("verify", "--json", status=1).json} == {"run-b"}
    project.cli("verify", "run-a", status=0)
    project.cli("verify", "run-b", status=1)


# check


def test_check_accepts_a_sound_agent_and_runs_nothing(project: Project) -> None:
    project.agent(tools=DELETE_FREE + WEATHER + GATED_ASK, script=ONE)
    project.cli("check", "records", status=0)
    project.cli("check", "records/agent.yaml", status=0)
    assert project.cli("check", "records", "--json", status=0).json
    assert project.fx() == [] and not project.store.exists()


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("agent.yaml", "id: records\n", "instructions"),
        ("agent.yaml", "", "agent.yaml"),
        ("tools.py", "def broken(:\n", "tools.py"),
        ("tools.py", "import absent_package\n", "absent_package"),
        ("tools.py", "x = 1\n", "tools.py"),
        ("demo.yaml", "turns: [{txet: Hello}]\n", "demo.yaml:1:"),
        ("demo.yaml", "turns: [\n", "demo.yaml:"),
    ],
    ids=["no instructions", "empty", "syntax", "import", "no tool", "bad script", "script syntax"],
)
def test_check_names_what_is_wrong(project: Project, file: str, text: str, named: str) -> None:
    project.agent(tools=DELETE, script=ONE)
    (project.root / "records" / file).write_text(text)
    found = project.cli("check", "records", status=2)
    assert found.stderr.startswith("agentctl: ") and named in found.stderr, found.story()
    assert not project.store.exists()


def test_check_of_an_agent_that_is_not_there_is_not_found(project: Project) -> None:
    project.cli("check", "nowhere", status=3)
