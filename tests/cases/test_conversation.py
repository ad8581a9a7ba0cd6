"""The conversation that the provider sees stays valid, whatever was decided, broken off or resumed.

A local server plays the provider, refuses what a strict one would refuse, and keeps every request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.model_server import ModelServer, Reply, answer, chunk, serve, stream
from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, DELETE, FAIL, READ, WEATHER

DENIED = "Tool call was not approved by the user"
Messages = list[dict[str, Any]]

ANYTHING = '''

@tool(require_approval=True, input_schema={"type": "object"})
def anything(ctx: ToolContext, **args) -> str:
    """Take any arguments."""
    fx(ctx, **args)
    return "took them"
'''


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A provider; the test says what it answers. Every request must have been a valid one."""
    with serve([]) as running:
        yield running
        assert running.problems == []


def agent(project: Project, server: ModelServer, tools: str, **keys: Any) -> None:
    """The default agent, asking the server."""
    model = {"provider": "openai", "name": "test-model", "base_url": server.url}
    project.agent(tools=tools, model=model, **keys)


def as_written(text: str, *calls: tuple[str, str, str]) -> Reply:
    """An answer whose arguments are exactly these texts, in pieces of three characters."""
    chunks = [chunk({"role": "assistant", "content": piece}) for piece in (text[:3], text[3:]) if piece]
    for index, (call_id, name, arguments) in enumerate(calls):
        begun = {
            "index": index,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        chunks.append(chunk({"tool_calls": [begun]}))
        for start in range(0, len(arguments), 3):
            piece = {"index": index, "function": {"arguments": arguments[start : start + 3]}}
            chunks.append(chunk({"tool_calls": [piece]}))
    return stream(*chunks, chunk({}, "tool_calls" if calls else "stop"))


def messages(server: ModelServer) -> Messages:
    """The conversation of the last request."""
    sent: Messages = server.requests[-1]["messages"]
    return sent


def results(server: ModelServer) -> list[tuple[str, str]]:
    """The tool results of the last request, as (call id, content)."""
    sent = [message for message in messages(server) if message["role"] == "tool"]
    return [(message["tool_call_id"], message["content"]) for message in sent]


def waiting_for(project: Project, call_id: str) -> str:
    """The id of the question about a call."""
    found: str = next(each["id"] for each in project.pending() if each["tool_call_id"] == call_id)
    return found


# Declined


def test_a_declined_call_beside_a_free_one_gives_each_call_one_result_in_call_order(
    project: Project, server: ModelServer
) -> None:
    agent(project, server, READ + DELETE)
    server.add(
        answer("", ("c1", "delete_record", {"id": "7"}), ("c2", "read_record", {"id": "7"})),
        answer("Kept it"),
    )
    project.run("Delete 7", status=8)
    assert len(server.requests) == 1
    done = project.decline(project.only()["id"], status=0)
    assert done.result["text"] == "Kept it"
    assert results(server) == [("c1", DENIED), ("c2", '{"id": "7", "name": "Ada"}')]
    assert len(server.requests) == 2


def test_a_reason_reaches_the_model_verbatim_as_the_only_result(
    project: Project, server: ModelServer
) -> None:
    reason = 'Nicht löschen!\n\tFrag "Zoë" zuerst — 削除しない.\u202e'
    agent(project, server, DELETE)
    server.add(answer("", ("c1", "delete_record", {"id": "7"})), answer("Kept it"))
    project.run("Delete 7", status=8)
    project.decline(project.only()["id"], "--reason", reason, status=0)
    assert results(server) == [("c1", reason)]


@pytest.mark.parametrize(
    "order", [("c3", "c1", "c2"), pytest.param(("c2", "c3", "c1"), marks=pytest.mark.soak)]
)
def test_results_stand_in_call_order_whatever_the_order_of_decisions(
    project: Project, server: ModelServer, order: tuple[str, ...]
) -> None:
    agent(project, server, DELETE)
    calls = [(call_id, "delete_record", {"id": call_id}) for call_id in ("c1", "c2", "c3")]
    server.add(answer("", *calls), answer("Settled"))
    project.run("Delete three", status=8)
    for call_id in order:
        assert len(server.requests) == 1, "the model is not asked while a call waits"
        question = waiting_for(project, call_id)
        if call_id == "c2":
            project.decline(question, status={0, 8})
        else:
            project.approve(question, status={0, 8})
    assert results(server) == [("c1", "Record c1 deleted"), ("c2", DENIED), ("c3", "Record c3 deleted")]
    assert len(server.requests) == 2


STEPS = pytest.mark.parametrize("steps", [6, pytest.param(20, marks=pytest.mark.soak)])


@STEPS
def test_every_repetition_of_a_declined_call_is_a_new_question_until_the_budget_is_used_up(
    project: Project, steps: int
) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="7"))] * 30)
    project.run("Delete 7", "--max-steps", str(steps), status=8)
    asked = []
    for number in range(steps):
        asked.append(project.only()["id"])
        stopped = project.decline(asked[-1], status=9 if number == steps - 1 else 8)
    assert stopped.result["finish_reason"] == "max_steps"
    assert len(set(asked)) == steps
    assert project.fx() == []


# Approved


def test_two_approvals_in_a_row_send_each_result_once_and_the_answers_unchanged(
    project: Project, server: ModelServer
) -> None:
    first, second = '{ "id" :"a\\u00e9\\/7" }', '{"id":\n"8"}'
    agent(project, server, DELETE)
    server.add(
        as_written("Deleting é. ", ("c1", "delete_record", first)),
        as_written("", ("c2", "delete_record", second)),
        answer("Both are gone"),
    )
    project.run("Delete two", status=8)
    project.approve(project.only()["id"], status=8)
    project.approve(project.only()["id"], status=0)
    assert messages(server) == [
        {"role": "system", "content": "You keep records."},
        {"role": "user", "content": "Delete two"},
        {
            "role": "assistant",
            "content": "Deleting é. ",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "delete_record", "arguments": first}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Record aé/7 deleted"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c2", "type": "function", "function": {"name": "delete_record", "arguments": second}}
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "Record 8 deleted"},
    ]
    assert server.requests[1]["messages"] == messages(server)[:4]


def test_a_request_holds_nothing_of_our_bookkeeping(project: Project, server: ModelServer) -> None:
    agent(project, server, DELETE, options={"temperature": 0, "max_steps": 5})
    server.add(answer("", ("c1", "delete_record", {"id": "7"})), answer("Gone"))
    run_id = project.run("Delete 7", "--context", "secret=hush", "--workspace", "home", status=8).run_id
    question = project.only()["id"]
    project.approve(question, "--reason", "looks fine", "--by", "ada", status=0)
    for request in server.requests:
        assert request.keys() == {"model", "messages", "stream", "stream_options", "tools", "temperature"}
        assert [tool["function"]["name"] for tool in request["tools"]] == ["delete_record"]
        sent = json.dumps(request)
        for ours in (run_id, question[:10], "hush", "looks fine", "ada", "digest", "approval", "agentctl"):
            assert ours not in sent
    assert server.requests[0]["tools"] == server.requests[1]["tools"]


def test_edited_arguments_reach_the_tool_and_the_model_is_told_what_really_ran(
    project: Project, server: ModelServer
) -> None:
    agent(project, server, DELETE)
    server.add(answer("", ("c1", "delete_record", {"id": "7"})), answer("Another one is gone"))
    run_id = project.run("Delete 7", status=8).run_id
    project.approve(project.only()["id"], "--args", '{"id": "8"}', status=0)
    assert project.fx() == [{"tool": "delete_record", "call": "c1", "args": {"id": "8"}}]
    asked, told = messages(server)[-2:]
    assert asked["tool_calls"][0]["function"]["arguments"] == '{"id": "7"}'
    assert "Record 8 deleted" in told["content"]
    assert '{"id": "8"}' in told["content"]
    kept = [record["payload"] for record in project.journal(run_id)]
    assert any(payload.get("args") == {"id": "7"} for payload in kept)
    assert any(payload.get("args") == {"id": "8"} for payload in kept)


USELESS = [
    '{"id": 8}',
    "{}",
    '{"id": "8", "x": 1}',
    "[]",
    "null",
    '{"id": "8"',
    "7",
    "",
    '{"id": NaN}',
    "@none",
]


def test_edited_arguments_that_cannot_be_used_consume_nothing(
    project: Project, subtests: pytest.Subtests
) -> None:
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="7")), say("Gone")])
    [question] = project.run("Delete 7", status=8).result["suspensions"]
    for edited in USELESS:
        with subtests.test(edited):
            project.approve(question["id"], "--args", edited, status=2)
    assert project.only() == question
    assert project.fx() == []


# What the model should not have sent


def test_an_unknown_tool_beside_a_gated_one_gets_an_error_and_the_gated_one_waits(
    project: Project, server: ModelServer
) -> None:
    agent(project, server, DELETE)
    server.add(
        answer("", ("c1", "ghost", {"id": "7"}), ("c2", "delete_record", {"id": "7"})),
        answer("Half of it is done"),
    )
    waiting = project.run("Delete 7", status=8)
    assert [each["tool"] for each in waiting.payloads("tool-error")] == ["ghost"]
    assert project.only()["tool_call_id"] == "c2"
    project.approve(project.only()["id"], status=0)
    ghost, deleted = results(server)
    assert ghost[0] == "c1"
    assert "ghost" in ghost[1]
    assert deleted == ("c2", "Record 7 deleted")


def test_arguments_that_cannot_be_used_are_errors_for_the_model_and_no_question(
    project: Project, server: ModelServer
) -> None:
    useless = [
        '{"id": "7"',
        '{"id": NaN}',
        "[1]",
        '"7"',
        "7",
        "true",
        '{"id": "7"}{"id": "8"}',
        '{"id": "7", "id": "8"}',
        '{"id": 7}',
        "{}",
        '{"id": "7", "force": true}',
    ]
    calls = [(f"c{number}", "delete_record", arguments) for number, arguments in enumerate(useless)]
    agent(project, server, DELETE)
    server.add(as_written("", *calls), answer("I was wrong"))
    done = project.run("Delete 7", status=0)
    assert project.fx() == []
    assert done.payloads("tool-call-approval") == []
    assert len(done.payloads("tool-error")) == len(useless)
    assert [call_id for call_id, _ in results(server)] == [call_id for call_id, _, _ in calls]
    assert all(content.startswith("Error") for _, content in results(server))


def test_no_arguments_in_any_spelling_are_an_empty_object(project: Project, server: ModelServer) -> None:
    spellings = ["", "null", "{}", "  "]
    agent(project, server, ANYTHING)
    server.add(
        as_written("", *[(f"c{n}", "anything", each) for n, each in enumerate(spellings)]), answer("Done")
    )
    run_id = project.run("Do anything", status=8).run_id
    assert [each["args"] for each in project.pending()] == [{}] * len(spellings)
    project.approve(run_id, "--all", status=0)
    sent = messages(server)[2]["tool_calls"]
    assert [each["function"]["arguments"] for each in sent] == ["{}"] * len(spellings)
    assert [entry["args"] for entry in project.fx()] == [{}] * len(spellings)


def test_call_ids_that_a_provider_repeats_are_made_unique_before_anything_sees_them(
    project: Project, server: ModelServer
) -> None:
    agent(project, server, DELETE)
    server.add(
        answer("", ("c1", "delete_record", {"id": "7"}), ("c1", "delete_record", {"id": "7"})),
        answer("", ("c1", "delete_record", {"id": "9"})),
        answer("All gone"),
    )
    project.run("Delete", status=8)
    assert len({each["id"] for each in project.pending()}) == 2
    project.approve(waiting_for(project, "c1"), status=8)
    project.approve(waiting_for(project, "c1-2"), status=8)
    project.approve(waiting_for(project, "c1-3"), status=0)
    assert [call_id for call_id, _ in results(server)] == ["c1", "c1-2", "c1-3"]
    assert project.fx_calls() == ["c1", "c1-2", "c1-3"]


def test_halves_of_characters_are_sent_as_text_that_a_provider_can_read(
    project: Project, server: ModelServer
) -> None:
    agent(project, server, ANYTHING + READ)
    odd = '{"\\ud800": "\\udc00 and \\ud83d\\ude00", "big": 1180591620717411303424}'
    server.add(as_written("", ("c1", "anything", odd)), answer("Done"))
    project.run("Do anything", status=8)
    assert project.only()["args"]["big"] == 2**70
    project.approve(project.only()["id"], status=0)
    assert json.loads(messages(server)[-2]["tool_calls"][0]["function"]["arguments"])["big"] == 2**70
    assert project.fx_calls() == ["c1"]


# Questions, errors, interruptions


def test_two_questions_answered_in_reverse_order_give_only_their_results_in_call_order(
    project: Project, server: ModelServer
) -> None:
    agent(project, server, ASK + WEATHER)
    server.add(
        answer("", ("c1", "ask", {"question": "Who?"}), ("c2", "get_weather", {})), answer("Ada is in Oslo")
    )
    project.run("Who, and the weather?", status=8)
    project.resume(waiting_for(project, "c2"), "--data", '{"city": "Oslo"}', status=8)
    project.resume(waiting_for(project, "c1"), "--data", '"Ada"', status=0)
    assert [(call_id, json.loads(content)) for call_id, content in results(server)] == [
        ("c1", {"answer": "Ada"}),
        ("c2", {"city": "Oslo", "celsius": 21}),
    ]
    assert "Which city" not in json.dumps(server.requests), "what a tool asked is between it and the user"


def test_an_error_of_a_tool_is_its_result(project: Project, server: ModelServer) -> None:
    agent(project, server, FAIL)
    server.add(answer("", ("c1", "fail", {"why": "no such record"})), answer("It failed"))
    project.run("Fail", status=0)
    [(call_id, content)] = results(server)
    assert call_id == "c1"
    assert "no such record" in content


def test_a_resumed_run_asks_with_the_same_request_as_before(project: Project, server: ModelServer) -> None:
    agent(project, server, READ)
    server.add(
        answer("Looking. ", ("c1", "read_record", {"id": "7"})),
        Reply(answer("Ada is").body, cut=200),
        answer("It is Ada"),
    )
    run_id = project.run("Who is 7?", status=9).run_id
    project.resume(run_id, status=0)
    assert server.requests[1] == server.requests[2]
    assert project.fx_calls() == ["c1"]


def test_a_cancelled_run_asks_nothing_more(project: Project, server: ModelServer) -> None:
    agent(project, server, DELETE)
    server.add(answer("", ("c1", "delete_record", {"id": "7"})))
    run_id = project.run("Delete 7", status=8).run_id
    project.cancel(run_id, status=0)
    assert len(server.requests) == 1
    assert project.fx() == []


def test_reasoning_is_shown_but_not_sent_back(project: Project, server: ModelServer) -> None:
    agent(project, server, READ)
    thinking = chunk({"role": "assistant", "reasoning_content": "I should look first"})
    called = {"index": 0, "id": "c1", "type": "function"}
    asking = chunk(
        {"tool_calls": [{**called, "function": {"name": "read_record", "arguments": '{"id": "7"}'}}]}
    )
    server.add(stream(thinking, asking, chunk({}, "tool_calls")), answer("It is Ada"))
    done = project.run("Who is 7?", status=0)
    assert done.payloads("reasoning-delta") == [{"text": "I should look first"}]
    assert "I should look first" not in json.dumps(server.requests)
