"""What is sent to a Chat Completions server: a valid conversation, and nothing of our own bookkeeping."""

from __future__ import annotations

import json
from typing import Any, Protocol

import pytest

from agentctl.models.messages import Assistant, Message, ToolCall, ToolResult, User
from agentctl.models.protocol import ToolSpec
from support.chat_requests import problems_of
from support.model_server import ModelServer, answer, serve

CALL = ToolCall("c1", "delete_record", '{ "id":"x" }')
CONVERSATION = (
    User("Delete x"),
    Assistant("On it.", "The user wants x gone.", (CALL, ToolCall("c2", "ping", "{}"))),
    ToolResult("c1", "delete_record", "gone"),
    ToolResult("c2", "ping", "no", is_error=True),
)


class Ask(Protocol):
    def __call__(self, server: ModelServer, *messages: Message, **more: Any) -> Any: ...


def sent(ask: Ask, *messages: Message, **more: Any) -> dict[str, Any]:
    """The one request that these messages make, which a strict server took."""
    with serve([answer("ok")]) as server:
        ask(server, *messages, **more)
    assert server.problems == []
    (request,) = server.requests
    return request


def test_the_conversation_is_sent_as_it_was(ask: Ask) -> None:
    request = sent(ask, *CONVERSATION, instructions="You keep records.")
    assert request["messages"] == [
        {"role": "system", "content": "You keep records."},
        {"role": "user", "content": "Delete x"},
        {
            "role": "assistant",
            "content": "On it.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "delete_record", "arguments": '{ "id":"x" }'},
                },
                {"id": "c2", "type": "function", "function": {"name": "ping", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "gone"},
        {"role": "tool", "tool_call_id": "c2", "content": "no"},
    ]


def test_nothing_is_sent_that_nobody_asked_for(ask: Ask) -> None:
    request = sent(ask, User("Hi"))
    assert request == {
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_are_offered_with_their_schemas(ask: Ask) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    request = sent(ask, User("Hi"), tools=(ToolSpec("delete_record", "Delete it.", schema),))
    function = {"name": "delete_record", "description": "Delete it.", "parameters": schema}
    assert request["tools"] == [{"type": "function", "function": function}]


def test_parameters_go_through_unchanged(ask: Ask) -> None:
    parameters = {"temperature": 0, "top_p": 0.5, "stop": ["a", "b"], "reasoning_effort": "low"}
    request = sent(ask, User("Hi"), parameters=parameters)
    assert {key: request[key] for key in parameters} == parameters


def test_content_is_null_where_the_model_said_nothing(ask: Ask) -> None:
    request = sent(ask, User("x"), Assistant(calls=(CALL,)), ToolResult("c1", "delete_record", ""))
    assert request["messages"][1]["content"] is None


def test_an_empty_answer_is_an_empty_text(ask: Ask) -> None:
    request = sent(ask, User("x"), Assistant(), User("y"))
    assert request["messages"][1] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize(
    "arguments", ['{"a":1}', ' {"a" : 1.0}\n', '{"a":1,"a":2}', '{"a":"\\ud800"}', '{"a":' + "9" * 99 + "}"]
)
def test_arguments_that_are_an_object_are_sent_to_the_letter(ask: Ask, arguments: str) -> None:
    call = ToolCall("c1", "f", arguments)
    request = sent(ask, User("x"), Assistant(calls=(call,)), ToolResult("c1", "f", "r"))
    assert request["messages"][1]["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize(
    "arguments",
    ["", " ", "null", "[1]", '"x"', '{"a":', '{"a":1}}', '{"a":NaN}', "[" * 9999, '{"a":' + "9" * 5000 + "}"],
)
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(ask: Ask, arguments: str) -> None:
    call = ToolCall("c1", "f", arguments)
    request = sent(ask, User("x"), Assistant(calls=(call,)), ToolResult("c1", "f", "not valid JSON"))
    assert request["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_half_a_surrogate_pair_does_not_stop_a_request(ask: Ask) -> None:
    half = "a\ud800b"
    call = ToolCall("c1", "f", json.dumps({"x": half}, ensure_ascii=False))
    tool = ToolSpec("f", half, {"type": "object", "properties": {half: {"description": half}}})
    request = sent(
        ask,
        User(half),
        Assistant(half, calls=(call,)),
        ToolResult("c1", "f", half),
        instructions=half,
        tools=(tool,),
    )
    assert request["messages"][0]["content"] == request["messages"][1]["content"] == "a\ufffdb"
    assert request["tools"][0]["function"]["parameters"]["properties"].keys() == {"a\ufffdb"}


def test_the_key_is_sent_to_the_server(ask: Ask) -> None:
    with serve([answer("ok")]) as server:
        ask(server)
    assert server.keys == ["sk-secret-0123456789"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"messages": [{"role": "user", "content": "a", "name": "b"}]}, "not a message"),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None}]}, "content"),
        ({"messages": [{"role": "tool", "content": "a", "tool_call_id": "c1"}]}, "a result for c1"),
        ({"messages": []}, "no messages"),
        ({"tools": []}, "tools must be left out"),
        ({"run_id": "r"}, "unknown parameter run_id"),
        ({"stream": False}, "stream must be true"),
    ],
)
def test_the_strict_server_refuses_what_is_wrong(change: dict[str, Any], problem: str) -> None:
    good: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "a"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert problems_of(good) == []
    assert any(problem in each for each in problems_of(good | change))


@pytest.mark.parametrize(
    "results", [[], ["c1"], ["c2", "c1"], ["c1", "c1", "c2"], ["c1", "c2", "c2"], ["c1", "c3"]]
)
def test_the_strict_server_wants_one_result_for_each_call_in_order(results: list[str]) -> None:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call_id in ("c1", "c2")
    ]
    request = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": call_id, "content": "r"} for call_id in results),
            {"role": "user", "content": "b"},
        ],
    }
    assert problems_of(request)
