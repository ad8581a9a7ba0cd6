"""Case group A: the decision is what happens, whichever process, folder or environment it is given in."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE, DELETE_FREE, READ, WEATHER

DELETION = turn(call("delete_record", "c1", id="abc-123"))
SCRIPT = [DELETION, say("Done: {result}")]
EXECUTED = [{"tool": "delete_record", "call": "c1", "args": {"id": "abc-123"}}]
DENIED = "Tool call was not approved by the user"


@pytest.fixture
def waiting(project: Project) -> dict[str, Any]:
    """A gated deletion that waits for its approval."""
    project.agent(tools=DELETE, script=SCRIPT)
    return suspended(project)


def suspended(project: Project, *options: str) -> dict[str, Any]:
    (waits,) = project.run("Delete record abc-123", *options, status=8).result["suspensions"]
    assert waits["kind"] == "approval" and project.fx() == []
    found: dict[str, Any] = waits
    return found


def said_to_model(project: Project, run_id: str) -> list[dict[str, Any]]:
    """The tool results that the model was sent."""
    return [each for each in project.show(run_id)["messages"] if each["role"] == "tool"]


# 1. Approve


def test_an_approved_call_runs_once_in_the_deciding_process(
    project: Project, waiting: dict[str, Any]
) -> None:
    done = project.approve(waiting["id"], status=0)
    assert project.fx() == EXECUTED
    assert done.result["status"] == "completed"
    assert done.result["text"] == "Done: Record abc-123 deleted"
    assert project.pending() == []


def test_an_approval_at_the_plain_prompt_prints_the_answer_and_nothing_else(
    project: Project, waiting: dict[str, Any]
) -> None:
    done = project.approve(waiting["id"], json=False, status=0)
    assert done.stdout == "Done: Record abc-123 deleted\n"
    assert project.fx() == EXECUTED


# 2, 3. Decline, and why


def test_a_declined_call_does_not_run_and_the_model_is_told(
    project: Project, waiting: dict[str, Any]
) -> None:
    done = project.decline(waiting["id"], status=0)
    assert project.fx() == []
    assert done.payloads("tool-output-denied") == [
        {
            "tool_call_id": "c1",
            "tool": "delete_record",
            "args": {"id": "abc-123"},
            "reason": DENIED,
            "by": "tester",
        }
    ]
    assert done.result["status"] == "completed"
    assert done.result["text"] == f"Done: {DENIED}"


def test_a_blank_reason_is_no_reason(project: Project, waiting: dict[str, Any]) -> None:
    done = project.decline(waiting["id"], "--reason", " \n\t ", status=0)
    assert done.result["text"] == f"Done: {DENIED}"


@pytest.mark.parametrize(
    "reason",
    [
        "Zu gefährlich:\n\n\tfrag erst Zoë 🙂\n",
        "  {result} is \"quoted\" \\n and 'not' read \x1b[31m",
        "x" * 100_000,
    ],
    ids=["lines and accents", "blanks, braces and escapes", "long"],
)
def test_a_reason_reaches_the_model_verbatim_and_stands_in_the_journal(
    project: Project, waiting: dict[str, Any], reason: str
) -> None:
    done = project.decline(waiting["id"], "--reason", reason, status=0)
    assert project.fx() == []
    assert done.result["text"] == f"Done: {reason}"
    assert [each["content"] for each in said_to_model(project, waiting["run_id"])] == [reason]
    decided = [each["payload"] for each in project.journal(waiting["run_id"]) if each["type"] == "decision"]
    assert [each["reason"] for each in decided] == [reason]


def test_a_reason_in_bytes_that_are_no_text_still_declines(project: Project, waiting: dict[str, Any]) -> None:
    done = project.decline(waiting["id"], "--reason", "caf\udce9", status=(0, 2))
    assert project.fx() == []
    assert done.status == 0 or project.only()["id"] == waiting["id"]


# 4, 5. The gate that was there when the call was judged


@pytest.fixture
def gated_by_flag(project: Project) -> dict[str, Any]:
    """A call that only waits because the run was started with `--require-approval`."""
    project.agent(tools=DELETE_FREE, script=SCRIPT)
    return suspended(project, "--require-approval", "delete_*")


def test_a_call_gated_by_a_run_flag_is_declined_without_repeating_the_flag(
    project: Project, gated_by_flag: dict[str, Any]
) -> None:
    done = project.decline(gated_by_flag["id"], status=0)
    assert project.fx() == []
    assert done.result["text"] == f"Done: {DENIED}"


def test_a_call_gated_by_a_run_flag_waits_through_resumes_without_the_flag(
    project: Project, gated_by_flag: dict[str, Any]
) -> None:
    project.resume(gated_by_flag["run_id"], status=8)
    assert project.fx() == []
    project.approve(gated_by_flag["id"], status=0)
    assert project.fx() == EXECUTED


def test_a_gate_taken_out_of_the_tool_does_not_free_a_declined_call(
    project: Project, waiting: dict[str, Any]
) -> None:
    project.edit(project.root / "records/tools.py", "@tool(require_approval=True)", "@tool")
    project.resume(waiting["run_id"], status=8)
    done = project.decline(waiting["id"], status=0)
    assert project.fx() == []
    assert done.result["text"] == f"Done: {DENIED}"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("@tool(require_approval=True)", "@tool", "source"),
        ("deleted", "kept", "source"),
        ("Delete a record by ID", "Read a record by ID", "description"),
        ("id: str)", "id: str, force: bool = False)", "input schema"),
        ("@tool(require_approval=True)", "@tool(require_approval=True, idempotent=True)", "idempotent"),
    ],
    ids=["gate removed", "source", "description", "schema", "flag"],
)
def test_an_approval_of_a_changed_definition_is_refused_and_says_what_changed(
    project: Project, waiting: dict[str, Any], old: str, new: str, part: str
) -> None:
    tools = project.root / "records/tools.py"
    project.edit(tools, old, new)
    refused = project.approve(waiting["id"], status=5)
    assert project.fx() == []
    assert "changed" in refused.stderr and part in refused.stderr
    assert "--accept-changes" in refused.stderr
    assert refused.result["error"]["code"] == "conflict"
    project.edit(tools, new, old)
    project.approve(waiting["id"], status=0)
    assert project.fx() == EXECUTED


def test_a_change_is_accepted_knowingly_and_recorded(project: Project, waiting: dict[str, Any]) -> None:
    project.edit(project.root / "records/tools.py", "deleted", "shredded")
    done = project.approve(waiting["id"], "--accept-changes", status=0)
    assert project.fx() == EXECUTED
    assert done.result["text"] == "Done: Record abc-123 shredded"
    changes = [each["payload"] for each in project.journal(waiting["run_id"]) if "changed" in each["payload"]]
    assert len(changes) == 1 and "source" in str(changes[0]["changed"])


def test_a_tool_that_is_gone_is_refused_and_can_be_declined(
    project: Project, waiting: dict[str, Any]
) -> None:
    tools = project.root / "records/tools.py"
    tools.write_text(tools.read_text().replace("delete_record", "erase_record"))
    project.approve(waiting["id"], status=5)
    assert project.only()["id"] == waiting["id"]
    project.decline(waiting["id"], status=0)
    assert project.fx() == []


def test_a_decision_without_driving_meets_the_change_when_it_is_driven(
    project: Project, waiting: dict[str, Any]
) -> None:
    project.approve(waiting["id"], "--no-drive", status=0)
    project.edit(project.root / "records/tools.py", "deleted", "shredded")
    refused = project.resume(waiting["run_id"], status=5)
    assert project.fx() == [] and "changed" in refused.stderr
    assert [each["verdict"] for each in project.show(waiting["run_id"])["decisions"]] == ["approve"]
    project.resume(waiting["run_id"], status=5)
    assert project.fx() == []
    done = project.resume(waiting["run_id"], "--accept-changes", status=0)
    assert project.fx() == EXECUTED
    assert done.result["text"] == "Done: Record abc-123 shredded"


def test_accepting_the_change_of_one_call_accepts_none_for_another(project: Project) -> None:
    both = DELETE + DELETE.replace("delete_record", "erase_record")
    calls = [call("delete_record", "c1", id="a"), call("erase_record", "c2", id="b")]
    project.agent(tools=both, script=[turn(*calls), say("End")])
    first, second = project.run("Go", status=8).result["suspensions"]
    project.approve(second["id"], "--no-drive", status=0)
    project.edit(project.root / "records/tools.py", "deleted", "shredded")
    project.approve(first["id"], "--accept-changes", status=5)
    assert project.fx_calls() == ["c1"]
    project.resume(first["run_id"], "--accept-changes", status=0)
    assert project.fx_calls() == ["c1", "c2"]


def test_an_answer_to_a_changed_tool_is_refused(project: Project) -> None:
    project.agent(tools=WEATHER, script=[turn(call("get_weather", "w1")), say("{result}")])
    (asked,) = project.run("Weather?", status=8).result["suspensions"]
    project.edit(project.root / "records/tools.py", "celsius=21", "celsius=-3")
    project.resume(asked["id"], "--data", '{"city": "Oslo"}', status=5)
    assert project.fx() == [] and project.only()["id"] == asked["id"]
    done = project.resume(asked["id"], "--data", '{"city": "Oslo"}', "--accept-changes", status=0)
    assert '"celsius":-3' in done.result["text"].replace(" ", "")


def test_a_changed_run_can_be_cancelled(project: Project, waiting: dict[str, Any]) -> None:
    project.edit(project.root / "records/tools.py", "deleted", "shredded")
    project.cancel(waiting["run_id"], status=0)
    assert project.fx() == [] and project.the_run()["status"] == "cancelled"


def test_a_change_elsewhere_in_the_agent_is_a_warning(project: Project) -> None:
    project.agent(tools=DELETE + READ, script=SCRIPT)
    waits = suspended(project)
    project.edit(project.root / "records/tools.py", "Read a record by ID.", "Read one record.")
    project.edit(project.root / "records/agent.yaml", "You keep records.", "You keep all records.")
    done = project.approve(waits["id"], status=0)
    assert project.fx() == EXECUTED
    assert "changed" in done.stderr


def test_the_gate_of_the_agent_is_frozen_with_the_call(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=SCRIPT, require_tool_approval=["delete_*"])
    waits = suspended(project)
    project.edit(project.root / "records/agent.yaml", "delete_*", "nothing_*")
    project.resume(waits["run_id"], status=8)
    project.decline(waits["id"], status=0)
    assert project.fx() == []


# 6. No decision is no consent


def test_resume_without_a_decision_still_waits(project: Project, waiting: dict[str, Any]) -> None:
    for ref in (waiting["run_id"], waiting["id"], waiting["run_id"]):
        again = project.resume(ref, status=8)
        assert [each["id"] for each in again.result["suspensions"]] == [waiting["id"]]
        assert again.result["finish_reason"] == "suspended"
    assert project.fx() == []
    assert project.only()["id"] == waiting["id"]


# 7. Several decisions in one step


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_a_mixed_batch_runs_what_was_approved_and_answers_in_call_order(
    project: Project, order: tuple[int, ...]
) -> None:
    calls = [call("delete_record", f"c{number}", id=f"r{number}") for number in range(3)]
    project.agent(tools=DELETE, script=[turn(*calls), say("End")])
    asked = project.run("Delete three", status=8).result["suspensions"]
    assert [each["tool_call_id"] for each in asked] == ["c0", "c1", "c2"]
    for position, index in enumerate(order):
        decide = project.decline if index == 1 else project.approve
        last = decide(asked[index]["id"], status=0 if position == 2 else 8)
    assert last.result["text"] == "End"
    assert project.fx_calls() == [f"c{index}" for index in order if index != 1]
    told = said_to_model(project, asked[0]["run_id"])
    assert [(each["call_id"], each["content"]) for each in told] == [
        ("c0", "Record r0 deleted"),
        ("c1", DENIED),
        ("c2", "Record r2 deleted"),
    ]


# 8. A decision is a strict value


def forge(file: Path, **changes: object) -> None:
    """Rewrite a decision with a checksum that fits, as somebody who knows the format could."""
    decision = json.loads(file.read_text())
    decision = {key: value for key, value in {**decision, **changes}.items() if value is not ...}
    unsigned = {key: value for key, value in decision.items() if key != "sum"}
    decision["sum"] = hashlib.sha256(canonical(unsigned)).hexdigest()
    file.chmod(0o600)
    file.write_bytes(canonical(decision) + b"\n")


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_a_decision_that_holds_no_verdict_is_an_error_and_never_consent(
    project: Project, waiting: dict[str, Any]
) -> None:
    project.approve(waiting["id"], "--no-drive", status=0)
    file = project.folder_of(waiting["run_id"]) / f"decisions/{waiting['id']}.json"
    genuine = file.read_bytes()
    for verdict in ("true", True, 1, None, "Approve", ["approve"], "data", ...):
        file.write_bytes(genuine)
        forge(file, verdict=verdict)
        refused = project.resume(waiting["run_id"], status=1)
        assert "damaged" in refused.stderr, f"{verdict!r}: {refused.story()}"
        assert project.fx() == [], f"{verdict!r} was taken for consent"
    for content in (b"", genuine[:-10], genuine + genuine):
        file.write_bytes(content)
        project.resume(waiting["run_id"], status=1)
        assert project.fx() == [], f"{content!r} was taken for consent"
    file.write_bytes(genuine)
    project.resume(waiting["run_id"], status=0)
    assert project.fx() == EXECUTED


def test_a_decision_on_another_question_is_no_consent(project: Project) -> None:
    project.agent(
        tools=DELETE,
        script=[turn(call("delete_record", "c1", id="a"), call("delete_record", "c2", id="b")), say("End")],
    )
    first, second = project.run("Delete two", status=8).result["suspensions"]
    project.approve(first["id"], "--no-drive", status=0)
    folder = project.folder_of(first["run_id"]) / "decisions"
    (folder / f"{second['id']}.json").write_bytes((folder / f"{first['id']}.json").read_bytes())
    project.resume(first["run_id"], status=1)
    assert "c2" not in project.fx_calls()


def test_a_data_answer_that_is_planted_as_an_approval_is_no_consent(
    project: Project, waiting: dict[str, Any]
) -> None:
    project.decline(waiting["id"], "--no-drive", status=0)
    file = project.folder_of(waiting["run_id"]) / f"decisions/{waiting['id']}.json"
    for verdict in ("data", "retry", "cancel"):
        forge(file, verdict=verdict)
        project.resume(waiting["run_id"], status=1)
        assert project.fx() == []


# 9. The environment differs

SURROUNDINGS = '''

@tool(require_approval=True)
def look(ctx: ToolContext) -> str:
    """Look around."""
    fx(ctx, context=dict(ctx.request_context), workspace=str(ctx.workspace))
    return "Looked"
'''


def test_the_stored_run_decides_whatever_surrounds_the_approving_process(project: Project) -> None:
    project.agent(tools=SURROUNDINGS, script=[turn(call("look", "c1")), say("Done: {result}")])
    project.run("Look", "--context", "tenant=a", agent="records", status=8)
    elsewhere = project.root / "elsewhere"
    elsewhere.mkdir()
    environment = {
        "AGENTCTL_STORE": str(project.store),
        "AGENTCTL_MODEL": "scripted/other.yaml",
        "AGENTCTL_USER": "someone",
        "HOME": str(elsewhere),
        "LANG": "de_DE.UTF-8",
        "TZ": "Pacific/Auckland",
    }
    done = project.approve("--all", project.the_run()["run_id"], cwd=elsewhere, env=environment, status=0)
    seen = {"context": {"tenant": "a"}, "workspace": str(project.root)}
    assert project.fx() == [{"tool": "look", "call": "c1", "args": seen}]
    assert done.result["text"] == "Done: Looked"
    assert [each["by"] for each in done.payloads("decision")] == ["someone"]
    assert not (elsewhere / ".runs").exists()


def test_a_project_that_was_moved_as_a_whole_goes_on_where_it_is(project: Project) -> None:
    project.store = project.root / "here/.runs"
    project.agent(tools=DELETE, script=SCRIPT, folder="here/records")
    waits = suspended(project)
    (project.root / "here").rename(project.root / "there")
    project.store = project.root / "there/.runs"
    project.approve(waits["id"], status=0)
    assert project.fx() == EXECUTED


def test_an_agent_that_moved_alone_is_named_by_the_decider(project: Project, waiting: dict[str, Any]) -> None:
    (project.root / "records").rename(project.root / "archive")
    lost = project.approve(waiting["id"], status=3)
    assert "--agent" in lost.stderr and project.fx() == []
    assert project.only()["id"] == waiting["id"]
    project.approve(waiting["id"], "--agent", "archive", status=0)
    assert project.fx() == EXECUTED


def test_a_decline_needs_no_agent_when_another_process_drives(
    project: Project, waiting: dict[str, Any]
) -> None:
    (project.root / "records").rename(project.root / "archive")
    project.decline(waiting["id"], "--no-drive", status=0)
    (project.root / "archive").rename(project.root / "records")
    project.resume(waiting["run_id"], status=0)
    assert project.fx() == []
