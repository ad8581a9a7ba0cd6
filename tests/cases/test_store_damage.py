"""A damaged, forged or unreadable store: named, never run, and never taken for "nothing pending"."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.needs import needs_strace
from support.project import AGENTCTL, Project
from support.script import call, raw_call, say, turn, yaml_text
from support.tools import ASK, DELETE, READ

Damage = Callable[[bytes], bytes]

ANYTHING = '''

@tool(require_approval=True, input_schema={"type": "object"})
def anything(_ctx: ToolContext, **args) -> str:
    """Take any arguments."""
    fx(_ctx, **args)
    return "took them"
'''


def waiting_run(project: Project, record: str = "7") -> dict[str, Any]:
    """A run that waits for the approval of a deletion; its question."""
    script = [turn(call("delete_record", "c1", id=record)), say("Done: {result}")]
    project.agent(tools=DELETE, script=script)
    [question] = project.run(f"Delete {record}", status=8).result["suspensions"]
    assert isinstance(question, dict)
    return question


def flip(position: float) -> Damage:
    """Change one bit of the byte at this part of the whole."""

    def damage(data: bytes) -> bytes:
        at = int(position * (len(data) - 1))
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    return damage


def cut(position: float) -> Damage:
    return lambda data: data[: int(position * len(data))]


def check_damaged(project: Project, damaged: dict[str, Any]) -> None:
    """The damaged run is named and refused, by its id and by its question's; nothing runs."""
    for ref in (damaged["run_id"], damaged["id"]):
        refused = project.approve(ref, status=1)
        assert damaged["run_id"] in refused.stderr
        assert "damaged" in refused.stderr
    assert project.fx() == []


def check_list(project: Project, damaged: dict[str, Any], other: dict[str, Any]) -> None:
    """The damaged run is named where it cannot be listed, and the other one is listed."""
    listed = project.cli("pending", "--json")
    waiting = [each["id"] for each in listed.json]
    assert other["id"] in waiting
    if damaged["id"] in waiting:
        assert listed.json[waiting.index(damaged["id"])] == damaged
        assert listed.status == 0
    else:
        assert listed.status == 1
        assert damaged["run_id"] in listed.stderr
        assert "damaged" in listed.stderr
        rows = project.cli("runs", "--json", status=1).json
        assert {row["run_id"]: row["status"] for row in rows} == {
            damaged["run_id"]: "damaged",
            other["run_id"]: "suspended",
        }


# What cannot be read


SNAPSHOT_DAMAGES: dict[str, Damage] = {
    **{f"a byte flipped at {part:.0%}": flip(part) for part in (0, 0.4, 0.8)},
    "cut in line 1": cut(0.1),
    "cut in the body": cut(0.8),
    "empty": lambda data: b"",
    "two documents": lambda data: data + data,
    "other JSON": lambda data: b'{"head":{},\n"body":{}}\n',
    "no JSON": lambda data: b"\x80\x04\x95 pickled",
    "spelled differently": lambda data: data.replace(b'"body":{', b'"body": {', 1),
}


def test_a_damaged_snapshot_is_named_and_never_run_and_hides_no_other(
    project: Project, subtests: pytest.Subtests
) -> None:
    other, damaged = waiting_run(project, "1"), waiting_run(project, "2")
    snapshot = project.snapshot(damaged["run_id"])
    whole = snapshot.read_bytes()
    for name, damage in SNAPSHOT_DAMAGES.items():
        with subtests.test(name):
            assert damage(whole) != whole
            snapshot.write_bytes(damage(whole))
            check_damaged(project, damaged)
            check_list(project, damaged, other)
    snapshot.write_bytes(whole)
    project.approve(damaged["id"], status=0)
    assert project.fx_calls() == ["c1"]


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    return lambda data: b"".join(change(data.splitlines(keepends=True)))


JOURNAL_DAMAGES: dict[str, Damage] = {
    **{f"a byte flipped at {part:.0%}": flip(part) for part in (0, 0.6)},
    "a line left out": lines(lambda all: all[:1] + all[2:]),
    "a line twice": lines(lambda all: [*all[:2], *all[1:]]),
    "two lines exchanged": lines(lambda all: [all[0], all[2], all[1], *all[3:]]),
    "the last line gone": lines(lambda all: all[:-1]),
    "empty": lambda data: b"",
}


def test_a_damaged_journal_is_named_and_never_run_and_hides_no_other(
    project: Project, subtests: pytest.Subtests
) -> None:
    other, damaged = waiting_run(project, "1"), waiting_run(project, "2")
    journal = project.folder_of(damaged["run_id"]) / "journal.jsonl"
    whole = journal.read_bytes()
    for name, damage in JOURNAL_DAMAGES.items():
        with subtests.test(name):
            journal.write_bytes(damage(whole))
            check_damaged(project, damaged)
            check_list(project, damaged, other)
            assert damaged["run_id"] in project.cli("verify", status=1).stdout
    journal.write_bytes(whole)
    project.approve(damaged["id"], status=0)
    assert project.fx_calls() == ["c1"]


def test_a_torn_last_line_of_the_journal_is_set_aside(project: Project) -> None:
    question = waiting_run(project)
    journal = project.folder_of(question["run_id"]) / "journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"agent_path":["records"],"at":"2026-')
    assert project.only()["id"] == question["id"]
    project.approve(question["id"], status=0)
    assert project.fx_calls() == ["c1"]
    project.cli("verify", status=0)


@pytest.mark.parametrize("name", ["snapshot.json", "journal.jsonl", "decisions"])
def test_a_missing_file_of_a_run_is_damage(project: Project, name: str) -> None:
    other, damaged = waiting_run(project, "1"), waiting_run(project, "2")
    path = project.folder_of(damaged["run_id"]) / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refused = project.approve(damaged["run_id"], status=1)
    assert damaged["run_id"] in refused.stderr
    assert project.fx() == []
    assert other["id"] in project.cli("pending", "--json").stdout
    assert project.cli("verify").status == 1


@pytest.mark.parametrize("name", ["snapshot.json", "journal.jsonl"])
def test_a_symlink_or_a_folder_in_the_place_of_a_file_is_refused(project: Project, name: str) -> None:
    other, damaged = waiting_run(project, "1"), waiting_run(project, "2")
    path = project.folder_of(damaged["run_id"]) / name
    path.rename(project.root / "elsewhere")
    path.symlink_to(project.root / "elsewhere")
    project.approve(damaged["run_id"], status=1)
    path.unlink()
    path.mkdir()
    project.approve(damaged["run_id"], status=1)
    assert project.fx() == []
    assert other["id"] in project.cli("pending", "--json").stdout


def test_a_run_copied_over_another_or_renamed_is_damaged(project: Project) -> None:
    first, second = waiting_run(project, "1"), waiting_run(project, "2")
    shutil.copy(project.snapshot(first["run_id"]), project.snapshot(second["run_id"]))
    check_damaged(project, second)
    check_list(project, second, first)
    copied = project.store / "active" / "copied-run"
    shutil.copytree(project.folder_of(first["run_id"]), copied)
    refused = project.approve("copied-run", status=1)
    assert "damaged" in refused.stderr
    assert project.fx() == []


def test_a_copied_store_is_a_store_of_its_own(project: Project) -> None:
    question = waiting_run(project)
    copy = project.root / "copy"
    shutil.copytree(project.store, copy)
    project.cli("decline", question["id"], "--store", str(copy), status=0)
    project.approve(question["id"], status=0)
    assert project.fx_calls() == ["c1"]


DECISION_DAMAGES: dict[str, Damage] = {
    "empty": lambda data: b"",
    "cut": cut(0.5),
    "a byte flipped": flip(0.5),
    "another verdict": lambda data: data.replace(b"decline", b"approve"),
    "true": lambda data: b"true\n",
    "a bare verdict": lambda data: b'{"verdict":"approve"}\n',
    "verdict true": lambda data: data.replace(b'"decline"', b"true"),
    "verdict null": lambda data: data.replace(b'"decline"', b"null"),
}


def test_a_damaged_decision_is_an_error_and_never_a_verdict(
    project: Project, subtests: pytest.Subtests
) -> None:
    question = waiting_run(project)
    project.decline(question["id"], "--no-drive", status=0)
    [decision] = (project.folder_of(question["run_id"]) / "decisions").iterdir()
    whole = decision.read_bytes()
    decision.chmod(0o600)
    for name, damage in DECISION_DAMAGES.items():
        with subtests.test(name):
            assert damage(whole) != whole
            decision.write_bytes(damage(whole))
            refused = project.resume(question["run_id"], status=1)
            assert "decision" in refused.stderr
            project.approve(question["id"], status=1)
            assert project.fx() == []
    decision.write_bytes(whole)
    project.resume(question["run_id"], status=0)
    assert project.fx() == []


def test_a_decision_of_another_run_or_question_is_no_decision(project: Project) -> None:
    first, second = waiting_run(project, "1"), waiting_run(project, "2")
    project.approve(first["id"], "--no-drive", status=0)
    [approval] = (project.folder_of(first["run_id"]) / "decisions").iterdir()
    forged = project.folder_of(second["run_id"]) / "decisions" / f"{second['id']}.json"
    shutil.copy(approval, forged)
    project.resume(second["run_id"], status=1)
    assert project.fx() == []


# Data stays data


CONSTRUCTORS: dict[str, Any] = {
    "__class__": "os.system",
    "__reduce__": ["os.system", ["touch owned"]],
    "py/object/apply:os.system": ["touch owned"],
    "$type": "System.Diagnostics.Process",
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "tools", "ShellTool"],
    "__pydantic_validator__": {"nested": {"__class__": {"__init__": "touch owned"}}},
    "text": "!!python/object/apply:os.system ['touch owned'] {{7*7}} ${HOME} %(x)s {result}",
}


def test_constructor_markers_in_arguments_and_answers_stay_data(project: Project) -> None:
    question = {"question": yaml_text(CONSTRUCTORS)}
    script = [
        turn(raw_call("anything", "c1", CONSTRUCTORS)),
        turn(call("ask", "c2", **question)),
        say("{result}"),
    ]
    project.agent(tools=ANYTHING + ASK, script=script)
    project.run("Take it", status=8)
    assert project.only()["args"] == CONSTRUCTORS
    project.approve(project.only()["id"], status=8)
    done = project.resume(project.only()["id"], "--data", json.dumps(CONSTRUCTORS), status=0)
    assert [entry["args"] for entry in project.fx()] == [CONSTRUCTORS, {"answer": CONSTRUCTORS}]
    assert json.loads(done.result["text"]) == {"answer": CONSTRUCTORS}
    assert not [*project.root.rglob("owned")]


@pytest.mark.parametrize(
    "tagged",
    [
        "name: !!python/object/apply:os.system ['touch owned']\n",
        "name: !!python/name:os.system\n",
        "name: !!binary aGVsbG8=\n",
        "name: !unknown x\n",
        "description: !!str tagged\n",
    ],
)
def test_tags_in_an_agent_file_or_a_script_are_errors_and_build_nothing(
    project: Project, tagged: str
) -> None:
    agent = project.agent(tools=READ, script=[say("Hello")], yaml=tagged)
    refused = project.run("Hello", status=2)
    assert "agent.yaml:" in refused.stderr
    project.agent(tools=READ)
    (agent / "demo.yaml").write_text("turns:\n  - text: " + tagged.partition(": ")[2])
    refused = project.run("Hello", status=2)
    assert "demo.yaml:" in refused.stderr
    assert not [*project.root.rglob("owned")]
    assert project.runs() == []


# Forged


def forge(snapshot: Path, old: bytes, new: bytes) -> None:
    """Replace text in the body and make all checksums right again, as somebody could who knows how."""
    head, _, body = snapshot.read_bytes().partition(b"\n")
    assert old in body
    body = body.replace(old, new)
    fields = json.loads(head + b'"body":0}')["head"]
    head = head.replace(fields["body_sum"].encode(), hashlib.sha256(body).hexdigest().encode())
    start = b'{"head":{"sum":"'
    signed = head[len(start) + 64 :] + b"\n"
    snapshot.write_bytes(start + hashlib.sha256(signed).hexdigest().encode() + signed + body)


def test_arguments_edited_in_the_snapshot_are_refused(project: Project) -> None:
    question = waiting_run(project, "seven")
    snapshot = project.snapshot(question["run_id"])
    snapshot.write_bytes(snapshot.read_bytes().replace(b"seven", b"eight"))
    project.approve(question["id"], status=1)
    assert project.fx() == []


def test_arguments_edited_with_matching_checksums_are_refused_all_the_same(project: Project) -> None:
    question = waiting_run(project, "seven")
    forge(project.snapshot(question["run_id"]), b'"args":{"id":"seven"}', b'"args":{"id":"eight"}')
    refused = project.approve(question["id"], status=1)
    assert "damaged" in refused.stderr
    assert project.fx() == []


def test_a_forgery_that_changes_nothing_is_accepted(project: Project) -> None:
    """So the tests before it are about what was forged, and not about the way it was done."""
    question = waiting_run(project, "seven")
    forge(project.snapshot(question["run_id"]), b"seven", b"seven")
    project.approve(question["id"], status=0)


@pytest.mark.parametrize("phase", [b'"phase":"ready"', b'"phase":"gated"'])
def test_a_call_forged_past_its_question_does_not_run(project: Project, phase: bytes) -> None:
    question = waiting_run(project)
    forge(project.snapshot(question["run_id"]), b'"phase":"waiting"', phase)
    project.resume(question["run_id"])
    assert project.fx() == []


# Fingerprints


def fingerprint(project: Project, args: object, tool: str = "anything", call_id: str = "c1") -> str:
    """The id of the question about one call, all else being equal."""
    project.store = project.root / f"runs-{len([*project.root.glob('runs-*')])}"
    project.agent(tools=ANYTHING, script=[turn(raw_call(tool, call_id, args)), say("Done")])
    [question] = project.run("Take it", "--run-id", "same-run", status=8).result["suspensions"]
    assert len(question["id"]) == 64
    return str(question["id"])


def test_the_order_of_keys_does_not_matter_to_a_fingerprint(project: Project) -> None:
    one = fingerprint(project, {"a": 1, "b": {"x": [1, 2], "y": None}})
    other = fingerprint(project, {"b": {"y": None, "x": [1, 2]}, "a": 1})
    assert one == other


def test_values_that_differ_in_type_alone_have_different_fingerprints(project: Project) -> None:
    values = [1, 1.0, "1", True, [1]]
    assert len({fingerprint(project, {"a": value}) for value in values}) == len(values)


def test_texts_that_look_the_same_when_joined_have_different_fingerprints(project: Project) -> None:
    alike = [
        {"a": "x", "b": "y"},
        {"a": 'x","b":"y'},
        {"a": "xb", "b": "y"},
        {"ab": "x", "": "y"},
        {"a": ["x", "b", "y"]},
        {"a": "x", "b": "y\u0000"},
        {"a": "é"},
        {"a": "e\u0301"},
    ]
    assert len({fingerprint(project, args) for args in alike}) == len(alike)


# A tool of the run itself


SELF_SERVICE = '''

import subprocess


@tool
def self_service(ctx: ToolContext, command: list[str], clean: bool) -> str:
    """Run agentctl on the run that this tool belongs to."""
    fx(ctx, command=command)
    agentctl = str(Path(sys.executable).parent / "agentctl")
    hold("waiting")
    question = (_PROJECT / "waiting").read_text()
    words = [word.replace("QUESTION", question).replace("RUN", ctx.run_id) for word in command]
    store = ["--store", str(_PROJECT / ".runs")]
    env = {"PATH": os.environ["PATH"]} if clean else None
    done = subprocess.run([agentctl, *words, *store], capture_output=True, text=True, env=env)
    return f"{done.returncode}: {done.stderr}"
'''


def self_service(project: Project, *command: str, clean: bool) -> tuple[str, str]:
    """What a tool sees of a command on its own run, and the question that waits in that run."""
    both = turn(
        call("self_service", "c1", command=list(command), clean=clean), call("delete_record", "c2", id="7")
    )
    agent = project.agent(tools=SELF_SERVICE + DELETE, script=[both, say("Done")])
    process = project.start("run", str(agent), "Serve yourself", "--json")
    process.wait_for_stdout('"tool-call-approval"')
    question: str = project.only()["id"]
    (project.root / "waiting.tmp").write_text(question)
    (project.root / "waiting.tmp").rename(project.root / "waiting")
    ran = process.wait(status=8)
    [told] = ran.payloads("tool-result")
    return told["result"], question


@pytest.mark.parametrize(
    ("command", "clean"),
    [
        (("approve", "QUESTION"), False),
        (("approve", "QUESTION"), True),
        (("approve", "RUN"), True),
        (("approve", "QUESTION", "--no-drive"), False),
        (("decline", "QUESTION"), True),
        (("cancel", "RUN"), False),
    ],
)
def test_a_tool_cannot_decide_for_its_own_run(
    project: Project, command: tuple[str, ...], clean: bool
) -> None:
    told, question = self_service(project, *command, clean=clean)
    assert told.startswith("5: agentctl: "), told
    assert project.fx_calls() == ["c1"]
    assert project.only()["id"] == question


def test_a_tool_may_look_at_its_own_run(project: Project) -> None:
    told, _ = self_service(project, "show", "RUN", clean=False)
    assert told.startswith("0: "), told


def test_a_tool_may_decide_for_another_run(project: Project) -> None:
    other = waiting_run(project)
    source = SELF_SERVICE.replace('hold("waiting")', "")
    (project.root / "waiting").write_text(other["id"])
    script = [turn(call("self_service", "c9", command=["approve", "QUESTION"], clean=False)), say("{result}")]
    project.agent("helper", tools=source, script=script)
    done = project.run("Help", status=0)
    assert done.result["text"].startswith("0: ")
    assert project.fx_calls() == ["c9", "c1"]


# What stays, and how much


def test_the_snapshot_is_gone_when_the_run_has_ended_however_it_ended(project: Project) -> None:
    approved = waiting_run(project, "1")
    project.approve(approved["id"], status=0)
    declined = waiting_run(project, "2")
    project.decline(declined["id"], status=0)
    cancelled = waiting_run(project, "3")
    project.cancel(cancelled["run_id"], status=0)
    project.agent("failing", tools=DELETE, script=[turn(call("delete_record", "c1", id="4"))])
    failed = project.run("Delete 4", status=8).run_id
    project.approve(failed, status=1)
    project.agent("speaking", script=[say("Hello")])
    never_suspended = project.run("Hello", status=0).run_id
    assert {run["status"] for run in project.runs()} == {"completed", "cancelled", "failed"}
    for run_id in (approved["run_id"], declined["run_id"], cancelled["run_id"], failed, never_suspended):
        assert not project.snapshot(run_id).exists()
        assert project.folder_of(run_id).parent.name == "finished"
    assert [*(project.store / "active").iterdir()] == []
    assert [*(project.store / "tmp").iterdir()] == []


def test_the_snapshot_is_little_more_than_the_messages_it_must_hold(project: Project) -> None:
    reading = [
        turn(call("read_record", f"c{n}", id=f"record number {n}"), text=f"Step {n}. ") for n in range(50)
    ]
    script = [*reading, turn(call("delete_record", "last", id="7")), say("Done")]
    project.agent(tools=READ + DELETE, script=script, options={"max_steps": 60})
    run_id = project.run("Read fifty records, then delete one", status=8).run_id
    messages = project.show(run_id)["messages"]
    assert len(messages) == 102
    held = len(json.dumps(messages, separators=(",", ":"), ensure_ascii=False).encode())
    assert project.snapshot(run_id).stat().st_size <= 1.5 * held


# What cannot be listed is no empty list


LISTS = pytest.mark.parametrize("command", ["pending", "runs"])


@LISTS
def test_a_store_that_cannot_be_listed_is_an_error_and_not_nothing(project: Project, command: str) -> None:
    waiting_run(project)
    active = project.store / "active"
    active.rename(project.root / "elsewhere")
    active.write_text("no folder")
    refused = project.cli(command, "--json", status=1)
    assert refused.stderr.startswith("agentctl: ")
    active.unlink()
    active.symlink_to(project.root / "elsewhere")
    project.cli(command, "--json", status=1)


@LISTS
@pytest.mark.parametrize(
    "content", ["", "{}", '{"format":1}', '{"format":99,"id":"0123456789abcdef0123456789abcdef"}']
)
def test_a_store_without_its_identity_is_an_error(project: Project, command: str, content: str) -> None:
    waiting_run(project)
    (project.store / "store.json").write_text(content)
    refused = project.cli(command, status=1)
    assert refused.stdout == ""
    assert "store" in refused.stderr


@LISTS
def test_a_store_that_others_may_write_or_that_is_elsewhere_is_refused(
    project: Project, command: str
) -> None:
    waiting_run(project)
    project.store.chmod(0o777)
    refused = project.cli(command, status=1)
    assert "chmod 700" in refused.stderr
    project.store.chmod(0o700)
    project.store.rename(project.root / "elsewhere")
    project.store.symlink_to(project.root / "elsewhere")
    project.cli(command, status=1)
    project.store.unlink()
    project.store.write_text("a file")
    project.cli(command, status=1)


@needs_strace
@pytest.mark.parametrize("failing", ["openat", "getdents64", "read"])
def test_an_error_of_the_disk_while_listing_is_an_error(project: Project, failing: str) -> None:
    snapshot = project.snapshot(waiting_run(project)["run_id"])
    strace = f"strace -f -qq -o /dev/null -P {project.store}/active -P {snapshot}"
    fault = f"-e trace={failing} -e inject={failing}:error=EIO"
    listed = project.bash(f"exec {strace} {fault} {AGENTCTL} pending", status=1)
    assert listed.stdout == ""
    assert "Input/output error" in listed.stderr
    assert "``" not in listed.stderr


@pytest.mark.parametrize("rounds", [2, pytest.param(40, marks=pytest.mark.soak)])
def test_a_run_that_ends_meanwhile_is_listed_once(project: Project, rounds: int) -> None:
    seen = []
    for number in range(rounds):
        question = waiting_run(project, str(number))
        seen.append(question["run_id"])
        driver = project.start("approve", question["id"])
        while driver.running:
            assert sorted(row["run_id"] for row in project.runs()) == sorted(seen)
        driver.wait(status=0)
    assert len(project.fx()) == rounds


def test_a_missing_store_holds_nothing_and_is_not_made_by_looking(project: Project) -> None:
    assert project.pending() == []
    assert project.runs() == []
    assert not project.store.exists()


def test_a_store_is_private_and_kept_out_of_git(project: Project) -> None:
    waiting_run(project)
    assert project.store.stat().st_mode & 0o777 == 0o700
    assert (project.store / ".gitignore").read_text() == "*\n"
    for file in project.store.rglob("*"):
        assert file.stat().st_mode & 0o077 == 0, f"{file} is open to others"


@pytest.mark.parametrize("run_id", ["../escape", "a/b", ".hidden", "-x", "", "a" * 65, "a b", "a\nb", "é"])
def test_an_id_that_is_no_id_never_becomes_a_path(project: Project, run_id: str) -> None:
    project.agent(tools=READ, script=[say("Hello")])
    project.run("Hello", f"--run-id={run_id}", status=2)
    assert not project.store.exists()
    assert project.cli("show", f"./{run_id}").status == 3
