"""Recorded answers of real providers, through the command line and the real `openai` package.

Each recording of a tool call is served with a recorded text after it: the run stops at the call, is
approved by another process, and ends with the text. The server refuses an invalid conversation.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from support.model_server import ModelServer, Reply, answer, chunk, recorded, refusal, serve, stream
from support.outcome import Outcome
from support.project import Project
from support.script import say
from support.tools import DELETE, READ

BESIDE = Path(__file__).resolve().parents[3] / "shared"
WIRE = Path(os.environ.get("AGENTCTL_SHARED") or BESIDE) / "wire"
NO_WIRE = pytest.mark.skipif(
    not WIRE.is_dir(), reason="needs the recordings; AGENTCTL_SHARED names their folder"
)

# Only one choice is asked for; of several the first is the answer.
SEVERAL_CHOICES = "openai-n3-choices.sse"
# The expectation knows only texts; a part of this one comes in a list.
LISTED = {"mistral-reasoning-content-list.sse": "144"}
Expected = dict[str, Any]


def expectations() -> dict[str, Expected]:
    """What each recording of the Chat Completions API must give; nothing where there are none."""
    file = WIRE / "expected.json"
    if not file.exists():
        return {}
    expected: dict[str, Expected] = json.loads(file.read_text())
    return {name: each for name, each in expected.items() if not name.endswith(".responses.sse")}


EXPECTED = expectations()
BROKEN = [name for name, each in EXPECTED.items() if each["error"] or "length" in each["finish"]]
CALLS = [name for name, each in EXPECTED.items() if each["calls"] and name not in BROKEN]
TEXTS = [name for name in EXPECTED if name not in BROKEN and name not in CALLS]
GROUPS = 4
ERRORS = sorted((WIRE / "errors").glob("*.json"))
SYNTHETIC = sorted((WIRE / "synthetic").glob("*.sse"))


def text_of(name: str) -> str:
    """The text a recording must give; a refusal is what the model says."""
    if name != SEVERAL_CHOICES:
        return LISTED.get(name) or str(EXPECTED[name]["text"] or EXPECTED[name]["refusal"])
    data = [line[6:] for line in (WIRE / name).read_text().splitlines() if line.startswith("data: {")]
    choices = [choice for line in data for choice in json.loads(line)["choices"] if choice["index"] == 0]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def tools_named(*names: str) -> str:
    """Free tools of these names that take any arguments."""
    return "".join(
        f'''

@tool(id={name!r}, input_schema={{"type": "object"}})
def tool_{number}(_ctx: ToolContext, **args) -> str:
    """A tool of a recording."""
    fx(_ctx, **args)
    return "{name} ran"
'''
        for number, name in enumerate(dict.fromkeys(names))
    )


def agent(project: Project, server: ModelServer, tools: str, id: str = "recorded") -> None:
    model = {"provider": "openai", "name": "recorded", "base_url": server.url}
    project.agent(id, tools=tools, model=model)


def arguments_of(call: Expected) -> Any:
    """What the tool gets: `null` and nothing are no arguments."""
    return json.loads(call["arguments"] or "{}") or {}


def usage_of(name: str) -> tuple[int, int]:
    usage = EXPECTED[name]["usage"] or {}
    return usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)


@NO_WIRE
def test_every_recording_has_a_test() -> None:
    recordings = {file.name for file in WIRE.glob("*.sse") if not file.name.endswith(".responses.sse")}
    assert recordings == {*CALLS, *TEXTS, *BROKEN}
    assert len(CALLS) >= len(TEXTS), "each text follows a call"


@NO_WIRE
@pytest.mark.parametrize("group", range(GROUPS))
def test_recorded_calls_wait_are_approved_and_resume(
    project: Project, subtests: pytest.Subtests, group: int
) -> None:
    """One process for each recorded call, one that approves all of the group."""
    pairs = [*zip(CALLS, cycle(TEXTS), strict=False)][group::GROUPS]
    served: dict[str, tuple[str, str, ModelServer]] = {}
    questions: list[str] = []
    with ExitStack() as servers:
        for number, (calling, ending) in enumerate(pairs):
            with subtests.test(calling):
                server = servers.enter_context(serve([WIRE / calling, WIRE / ending]))
                names = [each["name"] for each in EXPECTED[calling]["calls"]]
                agent(project, server, tools_named(*names), id=f"recorded-{number}")
                waiting = project.run("Go on", "--require-approval", "*", status=8)
                check_what_waits(waiting, calling)
                served[waiting.run_id] = (calling, ending, server)
                questions += [each["id"] for each in waiting.result["suspensions"]]
        assert project.fx() == []
        approved = project.approve(*questions, status=0)
    assert len(approved.results) == len(pairs)
    for line in approved.events("result"):
        calling, ending, server = served[line["run_id"]]
        with subtests.test(f"{calling}, then {ending}"):
            assert line["payload"]["text"] == text_of(ending)
            assert line["payload"]["finish_reason"] == "stop"
            results = [each for each in approved.events("tool-result") if each["run_id"] == line["run_id"]]
            ran = {each["payload"]["tool_call_id"]: each["payload"]["args"] for each in results}
            assert ran == {each["id"]: arguments_of(each) for each in EXPECTED[calling]["calls"]}
            check_second_request(server, calling)
    assert len(project.fx()) == sum(len(EXPECTED[calling]["calls"]) for calling, _ in pairs)


def check_what_waits(waiting: Outcome, name: str) -> None:
    """Text, calls and usage are those of the recording."""
    calls, result = EXPECTED[name]["calls"], waiting.result
    assert result["text"] == text_of(name)
    asked = [(each["tool_call_id"], each["tool"], each["args"]) for each in result["suspensions"]]
    assert asked == [(each["id"], each["name"], arguments_of(each)) for each in calls]
    assert (result["usage"]["input_tokens"], result["usage"]["output_tokens"]) == usage_of(name)


def check_second_request(server: ModelServer, name: str) -> None:
    """The provider gets its own answer back, and one result for each call."""
    assert server.problems == []
    first, second = (request["messages"] for request in server.requests)
    assert second[: len(first)] == first
    said, *results = second[len(first) :]
    assert said["content"] == (text_of(name) or None)
    calls = EXPECTED[name]["calls"]
    assert said["tool_calls"] == [
        {
            "id": each["id"],
            "type": "function",
            "function": {
                "name": each["name"],
                "arguments": each["arguments"].replace("null", "{}", not arguments_of(each)),
            },
        }
        for each in calls
    ]
    assert results == [
        {"role": "tool", "tool_call_id": each["id"], "content": f"{each['name']} ran"} for each in calls
    ]


@NO_WIRE
def test_recorded_answers_that_are_cut_run_nothing_and_leave_no_trace(
    project: Project, subtests: pytest.Subtests
) -> None:
    """One run gets them all, one after the other, and then a whole answer."""
    names = [call["name"] for broken in BROKEN for call in EXPECTED[broken]["calls"]]
    with serve([*[WIRE / broken for broken in BROKEN], WIRE / TEXTS[0]]) as server:
        agent(project, server, tools_named(*names))
        command: tuple[str, ...] = ("run", "recorded", "Go on", "--require-approval", "*")
        for broken in BROKEN:
            with subtests.test(broken):
                expected = EXPECTED[broken]
                cut = project.cli(*command, "--json", status=1).result
                command = ("resume", project.the_run()["run_id"])
                assert cut["status"] == "interrupted"
                assert cut["finish_reason"] == ("error" if expected["error"] else "length")
                assert cut["text"] == text_of(broken)
                assert cut["suspensions"] == []
                if expected["error"]:
                    assert expected["error"]["message"] in cut["error"]["message"]

        done = project.cli(*command, "--json", status=0)
        assert done.result["text"] == text_of(TEXTS[0])
        assert server.problems == []
        assert all(request == server.requests[0] for request in server.requests)
        assert project.fx() == []


@pytest.mark.soak
@pytest.mark.parametrize("odd", SYNTHETIC, ids=lambda file: file.name)
def test_an_odd_stream_never_runs_what_nobody_approved_and_keeps_the_run(project: Project, odd: Path) -> None:
    tools = tools_named("get_weather", "add", "mul", "f", "ping", "read_file", "glob", "list_files")
    with serve([odd, answer("Finished")]) as server:
        agent(project, server, tools)
        first = project.run("Go on", "--require-approval", "*", status={0, 1, 8, 9})
        assert project.fx() == []
        if first.status == 8:
            project.approve(first.run_id, "--all", status=0)
        elif first.status:
            project.resume(first.run_id, status=0)
        assert server.problems == []
        assert project.the_run()["status"] == "completed"
        assert len(project.fx()) == len(first.result["suspensions"])


# Outages: the run is kept, with its results


HALF_A_CALL = stream(
    chunk({"role": "assistant", "content": "Let me "}),
    chunk(
        {
            "tool_calls": [
                {"index": 0, "id": "c9", "function": {"name": "delete_record", "arguments": '{"id"'}}
            ]
        }
    ),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": ': "7"}'}}]}),
    chunk({}, "tool_calls"),
)
WHOLE_LENGTH = len(HALF_A_CALL.body)
# The package tries three times.
BUSY = refusal(429, {"error": {"message": "slow down"}}, times=3)
DOWN = refusal(500, {"error": {"message": "out of order"}}, times=3)


OUTAGES: dict[str, tuple[Reply, int, str]] = {
    "500": (DOWN, 9, "out of order"),
    "429": (BUSY, 9, "slow down"),
    "401": (refusal(401, {"error": {"message": "bad key"}}), 4, "bad key"),
    "400": (refusal(400, {"error": {"message": "too long"}}), 1, "too long"),
    "cut": (Reply(HALF_A_CALL.body, cut=WHOLE_LENGTH - 200), 9, "lost the connection"),
    "ended early": (Reply(HALF_A_CALL.body, end=WHOLE_LENGTH - 200), 9, "broke off"),
    "a web page": (Reply(b"<title>Sign in</title>", content_type="text/html"), 9, "Sign in"),
}


def test_no_outage_loses_what_a_tool_did_and_after_each_resume_asks_again(
    project: Project, subtests: pytest.Subtests
) -> None:
    with serve([answer("", ("c1", "read_record", {"id": "7"}))]) as server:
        agent(project, server, READ + DELETE)
        command: tuple[str, ...] = ("run", "recorded", "Who is 7?")
        for name, (outage, status, said) in OUTAGES.items():
            with subtests.test(name):
                server.add(outage)
                stopped = project.cli(*command, "--json", status=status)
                command = ("resume", stopped.run_id)
                assert stopped.result["status"] == "interrupted"
                assert stopped.result["exit_status"] == status
                assert stopped.result["finish_reason"] == "error"
                assert said in stopped.result["error"]["message"]
                assert server.left == 0
        assert project.pending() == []

        server.add(answer("It is Ada"))
        assert project.cli(*command, "--json", status=0).result["text"] == "It is Ada"
        assert server.problems == []
        assert project.fx_calls() == ["c1"]
        asked = [request["messages"] for request in server.requests[1:]]
        assert [message["role"] for message in asked[0]] == ["system", "user", "assistant", "tool"]
        assert all(each == asked[0] for each in asked)


def test_an_outage_after_an_approved_call_keeps_its_result(project: Project) -> None:
    with serve([answer("", ("c1", "delete_record", {"id": "7"})), DOWN, DOWN]) as server:
        agent(project, server, DELETE)
        project.run("Delete 7", status=8)
        question = project.only()["id"]
        stopped = project.approve(question, status=9)
        assert [each["tool_call_id"] for each in stopped.payloads("tool-result")] == ["c1"]
        assert project.approve(question, status=9).payloads("tool-result") == []
        assert project.fx_calls() == ["c1"]
        assert project.the_run()["status"] == "interrupted"


def test_without_a_key_nothing_is_started(project: Project) -> None:
    project.agent(model="openai/gpt-5-mini")
    refused = project.run("Hello", status=4)
    assert "OPENAI_API_KEY" in refused.stderr
    assert project.runs() == []


def test_a_key_that_is_gone_keeps_the_run_and_its_results_until_there_is_one(project: Project) -> None:
    with serve([answer("", ("c1", "delete_record", {"id": "7"})), answer("Gone")]) as server:
        agent(project, server, DELETE)
        run_id = project.run("Delete 7", status=8).run_id
        elsewhere = {"provider": "openai", "name": "m", "base_url": "https://models.invalid/v1"}
        project.agent("recorded", tools=DELETE, model=elsewhere)
        stopped = project.approve(run_id, status=4)
        assert stopped.result["status"] == "interrupted"
        assert "OPENAI_API_KEY" in stopped.result["error"]["message"]
        assert project.fx_calls() == ["c1"]

        agent(project, server, DELETE)
        done = project.resume(run_id, env={"OPENAI_API_KEY": "sk-1234567890"}, status=0)
        assert done.result["text"] == "Gone"
        assert server.keys[1] == "sk-1234567890"
        assert server.problems == []
        assert project.fx_calls() == ["c1"]


def test_a_server_that_is_not_there_interrupts_the_run(project: Project) -> None:
    project.agent(model={"provider": "openai", "name": "m", "base_url": "http://127.0.0.1:9/v1"})
    stopped = project.run("Hello", status=9)
    assert "127.0.0.1:9" in stopped.result["error"]["message"]


def test_another_model_may_go_on_after_an_outage(project: Project) -> None:
    with serve([DOWN]) as server:
        agent(project, server, "")
        stopped = project.run("Hello", status=9)
    # The outage was an answer to the first request.
    project.script(project.root / "recorded", [say("unused"), say("Hello yourself")])
    done = project.resume(stopped.run_id, "--model", "scripted/demo.yaml", status=0)
    assert done.result["text"] == "Hello yourself"


@NO_WIRE
@pytest.mark.soak
def test_every_recorded_refusal_is_told_keeps_the_run_and_shows_no_key(
    project: Project, subtests: pytest.Subtests
) -> None:
    key = "sk-secret-0123456789"
    with serve([]) as server:
        agent(project, server, "")
        run_id = ""
        for file in ERRORS:
            with subtests.test(file.name):
                http_status = int(file.name[:3])
                server.add(*[recorded(file)] * (3 if http_status >= 500 else 1))
                env = {"OPENAI_API_KEY": key}
                status = {401: 4, 403: 4, 500: 9}.get(http_status, 1)
                command = ("resume", run_id) if run_id else ("run", "recorded", "Hello")
                refused = project.cli(*command, "--json", env=env, status=status)
                run_id = refused.run_id
                assert refused.result["status"] == "interrupted"
                assert key not in refused.stdout + refused.stderr
                assert server.left == 0
        server.add(answer("Hello"))
        assert project.resume(run_id, env={"OPENAI_API_KEY": key}, status=0).result["text"] == "Hello"
