"""The offline model: turn n answers request n, to the letter and the same in every process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import ModelError
from agentctl.models.messages import Assistant, Message, ToolCall, ToolResult, User
from agentctl.models.protocol import Model, Request, Usage
from agentctl.models.providers import open_model, parse_model
from agentctl.models.scripted import _pieces
from support.script import call, raw_call, say, script_text, turn


class Listen(Protocol):
    def __call__(self, model: Model, request: Request) -> Any: ...


Play = Callable[..., Any]


@pytest.fixture
def play(tmp_path: Path, listen: Listen) -> Play:
    """Answer one request from a script, given as YAML or as turns."""

    def play(*turns: Any, said: str = "", at: int = 1, after: tuple[Message, ...] = ()) -> Any:
        yaml = turns[0] if isinstance(turns[0], str) else script_text(turns)
        (tmp_path / "demo.yaml").write_text(yaml)
        model = open_model(parse_model("scripted/demo.yaml"), tmp_path, {})
        return listen(model, Request("", (*after, User(said)), (), at))

    return play


def refused(play: Play, *turns: Any, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as error:
        play(*turns, **more)
    return error.value


EXAMPLE = r"""
turns:                                  # turn n answers the n-th request
  - when: {user: 'delete record (?P<id>\S+)'}
    text: "Deleting {id}. "
    tool_calls: [{id: c1, name: delete_record, args: {id: "{id}"}}]
  - text: "Done: {result}"              # {result}: text of the last tool result
auto_resume:
  - when: {user: '(?P<city>.+)'}
    answer: {city: "{city}"}
"""


def test_a_script_with_every_part_plays(play: Play) -> None:
    first = play(EXAMPLE, said="Please delete record abc-123 now").answer
    assert first.message == Assistant(
        "Deleting abc-123. ", calls=(ToolCall("c1", "delete_record", '{"id": "abc-123"}'),)
    )
    assert first.finish_reason == "tool_calls"
    second = play(EXAMPLE, at=2, after=(ToolResult("c1", "delete_record", "Record deleted"),)).answer
    assert (second.message, second.finish_reason) == (Assistant("Done: Record deleted"), "stop")


@pytest.mark.parametrize("at", [1, 2, 3])
def test_the_turn_is_that_of_the_request(play: Play, at: int) -> None:
    assert play(say("1"), say("2"), say("3"), at=at).answer.message.text == str(at)


def test_a_script_without_a_next_turn_ends_the_run(play: Play) -> None:
    error = refused(play, say("1"), at=2)
    assert (error.code, error.ends_run) == ("failed", True)
    assert error.message == "`scripted/demo.yaml` has no turn 2: it ends after 1 turn"


def test_a_user_message_that_does_not_match_ends_the_run(play: Play) -> None:
    error = refused(play, say("x", when="delete .+"), said="Hello")
    assert (error.code, error.ends_run) == ("failed", True)
    assert "`delete .+`" in error.message


def test_the_pattern_is_searched_in_the_last_user_message(play: Play) -> None:
    turns = say("{n}", when=r"(?P<n>\d+)")
    assert play(turns, said="now 2", after=(User("then 1"), Assistant("ok"))).answer.message.text == "2"


def test_a_group_that_matched_nothing_is_empty(play: Play) -> None:
    assert play(say("[{a}{b}]", when="(?P<a>x)|(?P<b>y)"), said="y").answer.message.text == "[y]"


def test_groups_stand_in_ids_names_and_every_text_of_the_arguments(play: Play) -> None:
    turns = turn(
        call("{tool}_record", "c-{n}", a=[{"b": "<{n}>"}], c=1, d=None), when=r"(?P<tool>\w+) (?P<n>.)"
    )
    (made,) = play(turns, said="delete 7").answer.message.calls
    assert (made.id, made.tool) == ("c-7", "delete_record")
    assert json.loads(made.arguments) == {"a": [{"b": "<7>"}], "c": 1, "d": None}


def test_what_was_said_is_not_searched_for_placeholders_again(play: Play) -> None:
    result = (ToolResult("c", "t", "secret"),)
    turns = say("{a}", when="(?P<a>.+)")
    assert play(turns, said="{result}", after=result).answer.message.text == "{result}"


@pytest.mark.parametrize("text", ["{unknown}", "{}", "{{x}}", "{a b}", "{", "}", '{"a": 1}', "{result}"])
def test_braces_that_are_no_placeholder_stay(play: Play, text: str) -> None:
    assert play(say(text)).answer.message.text == text


def test_the_result_is_that_of_the_last_call(play: Play) -> None:
    results = (ToolResult("a", "t", "first"), ToolResult("b", "t", "second"))
    assert play(say("{result}"), after=results).answer.message.text == "second"


@pytest.mark.parametrize("args", [None, [1], "x", 0, {"x": 2**70}, {"ü": "😀"}])
def test_arguments_may_be_any_json(play: Play, args: object) -> None:
    (made,) = play(turn(raw_call("f", "c1", args))).answer.message.calls
    assert json.loads(made.arguments) == json.loads(json.dumps(args))


def test_arguments_may_be_text_that_is_no_json(play: Play) -> None:
    (made,) = play('turns: [{tool_calls: [{name: f, arguments: "{\\"x\\": {result}"}]}]').answer.message.calls
    assert made.arguments == '{"x": {result}'


def test_arguments_that_are_left_out_are_an_empty_object(play: Play) -> None:
    assert play("turns: [{tool_calls: [{name: f}]}]").answer.message.calls[0].arguments == "{}"


def test_ids_that_are_left_out_are_made_from_the_turn(play: Play) -> None:
    calls = play("turns: [{text: a}, {tool_calls: [{name: f}, {name: g}]}]", at=2).answer.message.calls
    assert [each.id for each in calls] == ["call-2-1", "call-2-2"]


def test_the_same_id_may_be_played_twice(play: Play) -> None:
    calls = play(turn(call("f", "c1"), call("f", "c1"))).answer.message.calls
    assert [each.id for each in calls] == ["c1", "c1"]


@pytest.mark.parametrize("reason", ["length", "content_filter", "stop", "tool_calls"])
def test_a_finish_reason_can_be_played(play: Play, reason: str) -> None:
    assert play(f"turns: [{{text: half, finish_reason: {reason}}}]").answer.finish_reason == reason


@pytest.mark.parametrize(("status", "code"), [(9, "interrupted"), (4, "auth"), (1, "failed")])
def test_an_outage_can_be_played_and_does_not_end_the_run(play: Play, status: int, code: str) -> None:
    error = refused(play, f"turns: [{{text: half, error: {{status: {status}, message: Overloaded}}}}]")
    assert (error.code, error.ends_run) == (code, False)
    assert error.message == "`scripted/demo.yaml`: Overloaded"


def test_reasoning_is_heard_before_text(play: Play) -> None:
    heard = play("turns: [{text: b, reasoning: a}]")
    assert (heard.reasoning, heard.text) == (["a"], ["b"])
    assert heard.answer.message == Assistant("b", "a")


def test_usage_is_one_request_unless_the_script_says_more(play: Play) -> None:
    assert play(say("x")).answer.usage == Usage(requests=1)
    told = play(
        "turns: [{text: x, usage: {input_tokens: 3, output_tokens: 4, cached_tokens: 1}}]"
    ).answer.usage
    assert told == Usage(3, 4, 7, 0, 1, 1)


def test_text_streams_in_several_pieces(play: Play) -> None:
    assert play(say("one two\nthree")).text == ["one ", "two\n", "three"]


@given(st.text(alphabet=" \n\tab\u00a0", max_size=200))
def test_the_pieces_of_a_text_are_few_and_lose_nothing(text: str) -> None:
    pieces = _pieces(text)
    assert "".join(pieces) == text
    assert len(pieces) <= 16
    assert all(pieces)


def test_a_turn_may_wait_before_it_begins(play: Play) -> None:
    assert play("turns: [{text: x, delay: 1ms}]").answer.message.text == "x"
