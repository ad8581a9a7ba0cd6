"""`run`: the agent, the prompt, every option, and run ids as idempotency keys."""

from __future__ import annotations

from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE, DELETE_FREE, SLOW, SLOW_GATED

ECHO = [say("You said <{what}>", when="(?s)^(?P<what>.*)$")]
ONE = [turn(call("delete_record", "c1", id="a")), say("End")]
LOOK = '''

@tool
def look(ctx: ToolContext) -> str:
    """Look around."""
    fx(ctx, context=dict(ctx.request_context), workspace=str(ctx.workspace), run=ctx.run_id)
    return "Looked"
'''


def nothing_started(project: Project) -> bool:
    return project.fx() == [] and not project.store.exists()


# AGENT


def test_an_agent_is_a_folder_or_a_file_by_any_path(project: Project) -> None:
    project.agent(script=[say("Hello")])
    inside = project.root / "records"
    for agent, cwd in (
        ("records", None),
        ("./records/", None),
        ("records/agent.yaml", None),
        (str(inside), None),
        (".", inside),
        ("agent.yaml", inside),
    ):
        done = project.cli("run", agent, "Hi", "--store", str(project.store), cwd=cwd, status=0)
        assert done.stdout == "Hello\n"


def test_an_agent_that_is_not_there_is_not_found_and_nothing_starts(project: Project) -> None:
    project.agent(script=[say("Hello")])
    (project.root / "empty").mkdir()
    for agent in ("nowhere", "records/other.yaml", "empty", "record"):
        missing = project.run("Hi", agent=agent, status=3)
        assert missing.lines[-1]["run_id"] is None
        assert missing.result["error"]["code"] == "not_found"
    assert "records" in project.run("Hi", agent="recrods", status=3).stderr
    assert nothing_started(project)


@pytest.mark.parametrize(
    ("yaml", "place"),
    [
        ("id: records\ninstructions: x\nmodle: scripted/demo.yaml\n", "agent.yaml:3:1"),
        ("id: records\nid: records\ninstructions: x\n", "agent.yaml:2:1"),
        ("id: Records\ninstructions: x\n", "agent.yaml:1:5"),
        ("id: records\ninstructions: !!python/name:os.system x\n", "agent.yaml:2:15"),
        ("id: records\ninstructions: [x\n", "agent.yaml:"),
        ("id: records\ninstructions: x\nmodel: scripted/absent.yaml\n", "absent.yaml"),
        ("id: records\ninstructions: x\nmodel: scripted/demo.yaml\ntools: [absent.py]\n", "agent.yaml:4:"),
    ],
    ids=["unknown key", "key twice", "bad id", "tag", "syntax", "no script", "no tools"],
)
def test_an_invalid_definition_names_the_place_and_nothing_starts(
    project: Project, yaml: str, place: str
) -> None:
    project.agent(script=[say("Hello")])
    (project.root / "records/agent.yaml").write_text(yaml)
    refused = project.run("Hi", status=2)
    assert place in refused.stderr, refused.story()
    assert refused.result["error"]["code"] == "usage"
    assert nothing_started(project)


# PROMPT


@pytest.fixture
def echo(project: Project) -> Project:
    project.agent(script=ECHO)
    return project


def test_a_prompt_is_an_argument_standard_input_or_a_file(echo: Project) -> None:
    (echo.root / "task.txt").write_text("Ünïcode\ntask")
    assert echo.run("A task", status=0).result["text"] == "You said <A task>"
    assert echo.run("@task.txt", status=0).result["text"] == "You said <Ünïcode\ntask>"
    assert "piped task" in echo.run("-", input="piped task", status=0).result["text"]
    assert "piped task" in echo.cli("run", "records", "--json", input="piped task", status=0).result["text"]
    dashed = echo.cli("run", "records", "--json", "--", "--prompt", status=0)
    assert dashed.result["text"] == "You said <--prompt>"
    assert echo.runs()[0]["prompt"] == "--prompt"


def test_an_empty_prompt_is_refused_and_nothing_starts(echo: Project) -> None:
    (echo.root / "blank.txt").write_text("\n")
    for prompt in ("", " \n\t", "@blank.txt"):
        assert "prompt" in echo.run(prompt, status=2).stderr
    assert "prompt" in echo.run("-", input="", status=2).stderr
    assert "prompt" in echo.run("-", input="\n", status=2).stderr
    assert "prompt" in echo.cli("run", "records", status=2).stderr
    assert nothing_started(echo)


def test_a_prompt_file_that_cannot_be_read_is_refused(echo: Project) -> None:
    (echo.root / "binary").write_bytes(b"\xff\xfe\x00")
    for prompt in ("@missing.txt", "@.", "@binary"):
        refused = echo.run(prompt, status=2)
        assert refused.stderr.startswith("agentctl: "), refused.story()
    assert nothing_started(echo)


def test_a_second_prompt_is_a_usage_error(echo: Project) -> None:
    refused = echo.cli("run", "records", "Delete", "record", status=2)
    assert "record" in refused.stderr and nothing_started(echo)


def test_a_long_prompt_arrives_whole(echo: Project) -> None:
    long = "word " * 200_000
    done = echo.run("-", input=long, status=0)
    assert done.result["text"].startswith("You said <word word")
    assert echo.show(done.run_id)["run"]["prompt"].rstrip() == long.rstrip()


# Options


def test_the_model_comes_from_the_flag_else_the_agent_else_the_environment(project: Project) -> None:
    files = {"other.yaml": "turns: [{text: Other}]\n", "third.yaml": "turns: [{text: Third}]\n"}
    project.agent(script=[say("Agent")], files=files)
    environment = {"AGENTCTL_MODEL": "scripted/third.yaml"}
    assert project.run("Hi", env=environment, status=0).result["text"] == "Agent"
    assert project.run("Hi", "--model", "scripted/other.yaml", status=0).result["text"] == "Other"
    project.agent("bare", model=None, files=files)
    assert project.run("Hi", env=environment, status=0).result["text"] == "Third"
    assert "--model" in project.run("Hi", status=2).stderr
    for model in ("nonsense", "scripted/absent.yaml", "nobody/gpt", ""):
        project.run("Hi", "--model", model, status=2)
    assert len(project.runs()) == 3


def test_context_reaches_the_tool(project: Project) -> None:
    project.agent(tools=LOOK, script=[turn(call("look", "c1")), say("End")])
    (project.root / "more.json").write_text('{"n": [1, null], "b": "file"}')
    project.run("Go", "--context", "a=1=2", "--context", "e=", "--context", "@more.json", status=0)
    assert project.fx()[0]["args"]["context"] == {"a": "1=2", "e": "", "n": [1, None], "b": "file"}


def test_context_that_is_none_is_refused(project: Project) -> None:
    project.agent(tools=LOOK, script=[turn(call("look", "c1")), say("End")])
    (project.root / "list.json").write_text("[1]")
    (project.root / "broken.json").write_text("{")
    for context in ("novalue", "=x", "@list.json", "@broken.json", "@absent.json"):
        project.run("Go", "--context", context, status=2)
    assert nothing_started(project)


def test_the_workspace_is_the_current_folder_at_the_start_and_kept(project: Project) -> None:
    project.agent(tools=LOOK, script=[turn(call("look", "c1")), say("End")])
    other = project.root / "other"
    other.mkdir()
    agent = str(project.root / "records")
    store = ("--store", str(project.store))
    project.run("Go", *store, agent=agent, cwd=other, status=0)
    project.run("Go", "--workspace", "other", status=0)
    project.run("Go", status=0)
    seen = [each["args"]["workspace"] for each in project.fx()]
    assert seen == [str(other), str(other), str(project.root)]
    for workspace in ("absent", "records/agent.yaml"):
        project.run("Go", "--workspace", workspace, status=(2, 3))
    assert len(project.runs()) == 3


def test_the_budget_must_be_a_positive_number(project: Project) -> None:
    project.agent(script=[say("Hello")])
    for steps in ("0", "-1", "many"):
        project.run("Hi", "--max-steps", steps, status=2)
    assert nothing_started(project)
    project.run("Hi", "--max-steps", "1", status=0)


def test_quiet_silences_progress_but_not_what_waits_or_fails(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=ONE)
    assert project.run("Go", "--quiet", json=False, status=0).stderr == ""
    project.agent(tools=DELETE, script=ONE)
    waits = project.run("Go", "--quiet", json=False, status=8)
    assert waits.stdout == "" and project.only()["id"][:10] in waits.stderr
    assert project.run("", "--quiet", json=False, status=2).stderr.startswith("agentctl: ")


def test_suspended_ok_makes_waiting_a_success_and_nothing_else(project: Project) -> None:
    project.agent(tools=DELETE, script=[ONE[0], turn(call("delete_record", "c2", id="b"))])
    for json_ in (True, False):
        project.run("Go", "--suspended-ok", json=json_, status=0)
    first, second = project.pending()
    again = project.approve(first["id"], "--suspended-ok", status=0)
    assert again.result["status"] == "suspended" and again.result["exit_status"] == again.status
    project.resume(second["run_id"], "--suspended-ok", status=0)
    project.decline(again.result["suspensions"][0]["id"], "--suspended-ok", status=1)


def test_a_script_without_a_next_turn_fails_the_run(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=ONE[:1])
    failed = project.run("Go", status=1)
    assert failed.result["status"] == "failed" and failed.result["finish_reason"] == "error"
    assert project.the_run()["status"] == "failed" and project.fx_calls() == ["c1"]
    project.agent(script=[say("Hello", when="^Delete")])
    assert project.run("Read", status=1).result["status"] == "failed"


# --timeout and --lock-timeout


def test_a_timeout_saves_the_run_which_then_goes_on(project: Project) -> None:
    slow = {"text": "Late", "delay": "60s"}
    project.agent(tools=DELETE_FREE, script=[ONE[0], slow])
    stopped = project.run("Go", "--timeout", "1500ms", status=124)
    assert stopped.result["exit_status"] == 124 and stopped.result["status"] == "interrupted"
    assert stopped.result["error"]["hint"] == f"agentctl resume {stopped.run_id}"
    project.script(project.root / "records", ONE)
    project.resume(stopped.run_id, status=0)
    assert project.fx_calls() == ["c1"]


def test_a_tool_that_still_runs_at_the_timeout_is_left_in_doubt(project: Project) -> None:
    project.agent(tools=SLOW, script=[turn(call("slow", "s1", name="s")), say("End")])
    stopped = project.run("Go", "--timeout", "1500ms", status=124)
    project.wait_for("s.started")
    assert stopped.result["status"] == "in_doubt"
    assert project.only()["kind"] == "in_doubt"
    project.resume(stopped.run_id, status=7)
    assert project.fx_calls() == ["s1"]


def test_durations_have_units_and_a_bare_number_is_seconds(project: Project) -> None:
    for good in ("300ms", "7d", "2", "0"):
        project.cli("pending", "--lock-timeout", good, status=0)
    for bad in ("", "2x", "-1s", "inf"):
        refused = project.cli("pending", "--lock-timeout", bad, status=2)
        assert "--lock-timeout" in refused.stderr, refused.story()
        assert "Error" not in refused.stderr
    project.agent(script=[say("Hello")])
    for bad in ("0s", "soon"):
        project.run("Go", "--timeout", bad, status=2)
    assert nothing_started(project)


# --run-id


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "a b", "_x", "é", "x" * 65, "a\n"])
def test_a_run_id_that_is_no_id_is_refused(project: Project, run_id: str) -> None:
    project.agent(script=[say("Hello")])
    refused = project.run("Go", f"--run-id={run_id}", status=2)
    assert refused.stderr.startswith("agentctl: ") and nothing_started(project)


def test_a_run_id_may_be_as_long_as_promised(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    run_id = "0" + "x-_Z" * 15 + "abc"
    assert len(run_id) == 64
    assert project.run("Go", "--run-id", run_id, status=8).run_id == run_id
    project.approve(run_id, status=0)


def test_run_ids_are_sortable_by_time_and_unlike_each_other(project: Project) -> None:
    project.agent(script=[say("Hello")])
    made = [project.run("Go", status=0).run_id for _ in range(3)]
    assert made == sorted(made) and len(set(made)) == 3
    assert [each["run_id"] for each in project.runs()] == made[::-1]


def test_the_same_run_id_again_finds_the_waiting_run(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    first = project.run("Go", "--run-id", "nightly", status=8)
    again = project.run("Go", "--run-id", "nightly", status=8)
    assert again.result["suspensions"] == first.result["suspensions"]
    project.approve("nightly", "--no-drive", status=0)
    done = project.run("Go", "--run-id", "nightly", status=0)
    assert done.result["text"] == "End" and project.fx_calls() == ["c1"]
    assert len(project.runs()) == 1


def test_the_same_run_id_again_prints_the_answer_of_a_completed_run(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=ONE)
    first = project.run("Go", "--run-id", "nightly", json=False, status=0)
    again = project.run("Go", "--run-id", "nightly", json=False, status=0)
    assert again.stdout == first.stdout == "End\n"
    told = project.run("Go", "--run-id", "nightly", status=0)
    assert told.result["status"] == "completed" and told.result["text"] == "End"
    assert project.fx_calls() == ["c1"] and len(project.runs()) == 1


def test_the_same_run_id_again_exits_as_the_run_ended(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=ONE[:1])
    project.run("Go", "--run-id", "nightly", status=1)
    again = project.run("Go", "--run-id", "nightly", status=1)
    assert again.result["status"] == "failed" and again.result["error"]["message"]
    assert project.fx_calls() == ["c1"]


def test_the_same_run_id_goes_on_with_an_interrupted_run(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=[ONE[0], {"error": {"message": "down"}}, say("End")])
    project.run("Go", "--run-id", "nightly", status=9)
    assert project.run("Go", "--run-id", "nightly", status=0).result["text"] == "End"
    assert project.fx_calls() == ["c1"] and len(project.runs()) == 1


def test_the_same_run_id_with_another_task_is_a_conflict(project: Project) -> None:
    project.agent("other", script=[say("Hello")])
    project.agent(tools=DELETE, script=ONE)
    project.run("Go", "--run-id", "nightly", status=8)
    for prompt, agent in (("Stay", "records"), ("Go ", "records"), ("Go", "other")):
        refused = project.run(prompt, "--run-id", "nightly", agent=agent, status=5)
        assert "nightly" in refused.stderr
    project.decline("nightly", status=0)
    project.run("Stay", "--run-id", "nightly", status=5)
    assert len(project.runs()) == 1 and project.fx() == []


def test_the_same_run_id_at_once_starts_one_run(project: Project) -> None:
    project.agent(tools=DELETE_FREE, script=ONE)
    command = ("run", "records", "Go", "--run-id", "nightly", "--json", "--lock-timeout", "20s")
    outcomes = project.race(*[command] * 4)
    assert [each.status for each in outcomes] == [0, 0, 0, 0], [each.story() for each in outcomes]
    assert project.fx_calls() == ["c1"] and len(project.runs()) == 1


def test_the_same_run_id_while_the_run_is_driven_is_busy(project: Project) -> None:
    project.agent(tools=SLOW_GATED, script=[turn(call("gated_slow", "s1", name="s")), say("End")])
    project.run("Go", "--run-id", "nightly", status=8)
    driver = project.start("approve", "nightly")
    project.wait_for("s.started")
    busy = project.run("Go", "--run-id", "nightly", "--lock-timeout", "100ms", status=6)
    assert busy.result["error"]["code"] == "busy"
    project.touch("s.go")
    driver.wait(status=0)


def test_a_run_leaves_the_environment_of_other_runs_alone(project: Project) -> None:
    """Two runs of one agent, interleaved, keep their own context."""
    gated = LOOK.replace("@tool", "@tool(require_approval=True)")
    project.agent(tools=gated, script=[turn(call("look", "c1")), say("End")])
    for name in ("run-a", "run-b"):
        project.run("Go", "--run-id", name, "--context", f"name={name}", status=8)
    project.approve("run-b", "run-a", status=0)
    seen: list[Any] = [(each["args"]["run"], each["args"]["context"]) for each in project.fx()]
    assert seen == [("run-b", {"name": "run-b"}), ("run-a", {"name": "run-a"})]
