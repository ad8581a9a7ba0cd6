"""What counts as a whole answer: half of one never does, whatever is odd about the other half."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from agentctl.errors import ModelError
from agentctl.exit_status import ExitStatus
from agentctl.models.messages import ToolCall, User
from agentctl.models.protocol import Answer, Request
from agentctl.models.providers import ModelRef, open_model
from support.model_server import ModelServer, Reply, answer, chunk, refusal, serve, stream, text_stream


class Ask(Protocol):
    def __call__(self, server: ModelServer) -> Any: ...


def call_chunk(arguments: str = "{}", finish: str | None = None, **more: Any) -> dict[str, Any]:
    function = {"name": "ping", "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "c1", "function": function}], **more}, finish)


def ignore(_: str) -> None:
    """Hear nothing."""


PING = ToolCall("c1", "ping", "{}")


@pytest.fixture
def answered(ask: Ask) -> Callable[[Reply], Answer]:
    """The answer to a request that gets this reply."""

    def answered(reply: Reply) -> Answer:
        with serve([reply]) as server:
            given: Answer = ask(server).answer
            return given

    return answered


@pytest.fixture
def interrupted(ask: Ask) -> Callable[[Reply], str]:
    """What is said when this reply is no answer; that trying again may help is asserted."""

    def interrupted(reply: Reply) -> str:
        with serve([reply]) as server, pytest.raises(ModelError) as error:
            ask(server)
        assert error.value.status is ExitStatus.INTERRUPTED
        assert not error.value.ends_run
        return error.value.message

    return interrupted


Answered = Callable[[Reply], Answer]
Interrupted = Callable[[Reply], str]


def test_text_streams_piece_by_piece(ask: Ask) -> None:
    with serve([stream(chunk({"content": "a "}), chunk({"content": "b"}), chunk({}, "stop"))]) as server:
        assert ask(server).text == ["a ", "b"]


@pytest.mark.parametrize("finish", ["stop", "end_turn", "function_call", "tool_calls"])
def test_with_calls_the_finish_reason_is_tool_calls(answered: Answered, finish: str) -> None:
    given = answered(stream(call_chunk(), chunk({}, finish)))
    assert (given.finish_reason, given.message.calls) == ("tool_calls", (PING,))


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("length", "length"), ("max_tokens", "length"), ("content_filter", "content_filter")],
)
def test_an_answer_that_was_cut_says_so(answered: Answered, finish: str, reason: str) -> None:
    assert answered(stream(chunk({"content": "half"}), chunk({}, finish))).finish_reason == reason


def test_a_cut_is_not_forgotten_when_a_later_chunk_says_stop(answered: Answered) -> None:
    assert answered(stream(chunk({"content": "x"}, "length"), chunk({}, "stop"))).finish_reason == "length"


def test_a_cut_call_without_a_name_is_a_cut_answer(answered: Answered) -> None:
    cut = chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}, "length")
    assert answered(stream(cut)).finish_reason == "length"


def test_a_refusal_is_an_answer_that_the_user_sees(answered: Answered) -> None:
    given = answered(stream(chunk({"refusal": "I will"}), chunk({"refusal": " not."}), chunk({}, "stop")))
    assert (given.message.text, given.finish_reason) == ("I will not.", "stop")


def test_reasoning_that_comes_under_two_names_is_heard_once(answered: Answered) -> None:
    both = chunk({"reasoning": "Hm.", "reasoning_content": "Hm."})
    assert answered(stream(both, chunk({"content": "x"}, "stop"))).message.reasoning == "Hm."


def test_halves_of_a_surrogate_pair_from_two_chunks_are_one_character(ask: Ask) -> None:
    halves = chunk({"content": "a\ud83d"}), chunk({"content": "\ude00b"})
    with serve([stream(*halves, chunk({}, "stop"))]) as server:
        heard = ask(server)
    assert heard.answer.message.text == "".join(heard.text) == "a😀b"


def test_a_half_that_stays_alone_is_not_lost(answered: Answered) -> None:
    assert answered(stream(chunk({"content": "a\ud83d"}, "stop"))).message.text == "a\ud83d"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        {"choices": [None, 3, "x"]},
        {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None, "function_call": None}}]},
        {"choices": "x", "usage": "y"},
        {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]},
        {"error": None, "usage": None},
    ],
)
def test_a_chunk_without_anything_in_it_changes_nothing(answered: Answered, odd: object) -> None:
    given = answered(stream(chunk({"content": "a"}), odd, chunk({"content": "b"}), odd, chunk({}, "stop")))
    assert (given.message.text, given.finish_reason) == ("ab", "stop")


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 3}},
        chunk({}, "stop", usage={"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}),
        {
            "choices": [
                {
                    "delta": {},
                    "finish_reason": "stop",
                    "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": None},
                }
            ]
        },
    ],
)
def test_usage_is_found_where_servers_put_it(answered: Answered, last: object) -> None:
    usage = answered(stream(chunk({"content": "a"}), chunk({}, "stop"), last)).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.requests) == (2, 3, 5, 1)


@pytest.mark.parametrize("junk", [-1, True, "12", 1.5, None, {}])
def test_tokens_that_are_no_number_count_as_none(answered: Answered, junk: object) -> None:
    usage = {"prompt_tokens": junk, "completion_tokens_details": junk}
    assert answered(stream(chunk({"content": "a"}, "stop", usage=usage))).usage.total_tokens == 0


def test_without_done_a_finish_reason_is_the_end(answered: Answered) -> None:
    assert answered(stream(chunk({"content": "a"}, "stop"), done=False)).message.text == "a"


def test_without_a_finish_reason_done_is_the_end_of_text(answered: Answered) -> None:
    assert answered(stream(chunk({"content": "a"}))).finish_reason == "stop"


def test_without_a_finish_reason_done_is_the_end_of_a_whole_call(answered: Answered) -> None:
    given = answered(stream(call_chunk()))
    assert (given.finish_reason, given.message.calls) == ("tool_calls", (PING,))


@pytest.mark.parametrize("arguments", ["", '{"x":'])
def test_without_a_finish_reason_a_call_that_may_be_cut_is_not_taken(
    interrupted: Interrupted, arguments: str
) -> None:
    assert "in the middle of a tool call" in interrupted(stream(call_chunk(arguments)))


@pytest.mark.parametrize("begun", [chunk({"content": "a"}), call_chunk(), chunk({"reasoning": "a"})])
def test_without_done_and_finish_reason_an_answer_is_half(interrupted: Interrupted, begun: object) -> None:
    assert "in the middle of the answer" in interrupted(stream(begun, done=False))


def test_without_done_a_stop_that_came_with_every_chunk_does_not_end_a_call(interrupted: Interrupted) -> None:
    cut = stream(chunk({"content": "a"}, "stop"), call_chunk('{"x":', "stop"), done=False)
    assert "in the middle of a tool call" in interrupted(cut)


@pytest.mark.parametrize("reply", [stream(), Reply(b""), Reply(b": nothing\n\n"), stream({}, {})])
def test_a_stream_without_an_answer_is_none(interrupted: Interrupted, reply: Reply) -> None:
    assert "sent no answer" in interrupted(reply) or "instead of a stream" in interrupted(reply)


def test_calls_that_are_announced_and_do_not_come_are_missed(interrupted: Interrupted) -> None:
    assert "announced a tool call" in interrupted(stream(chunk({"content": "a"}, "tool_calls")))


def test_arguments_for_no_tool_are_not_an_answer(interrupted: Interrupted) -> None:
    nameless = chunk({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}, "tool_calls")
    assert "without naming a tool" in interrupted(stream(call_chunk(), nameless))


@pytest.mark.parametrize("finish", ["error", "abort", "insufficient_system_resource"])
def test_a_finish_reason_that_means_failure_interrupts(interrupted: Interrupted, finish: str) -> None:
    assert finish in interrupted(stream(chunk({"content": "a"}, finish), chunk({}, "stop")))


@pytest.mark.parametrize(
    "body",
    [
        b"<html><head><title>Sign in</title></head></html>",
        b"Sign in",
        b'{"error": {"message": "Sign in"}}',
        b'{"detail": "Sign in"}',
    ],
)
def test_what_is_no_stream_is_told_in_its_own_words(interrupted: Interrupted, body: bytes) -> None:
    said = interrupted(Reply(body, content_type="text/html; charset=utf-8"))
    assert "sent text/html instead of a stream: Sign in" in said


@pytest.mark.parametrize(
    "event", [b"data: {broken\n\n", b"data: [1]\n\n", b"data: " + b"[" * 100_000 + b"\n\n", b'data: "x"\n\n']
)
def test_an_event_that_is_no_object_interrupts(interrupted: Interrupted, event: bytes) -> None:
    before = stream(chunk({"content": "a"}), done=False).body
    assert "sent an event" in interrupted(Reply(before + event + b"data: [DONE]\n\n"))


def test_bad_utf8_interrupts(interrupted: Interrupted) -> None:
    assert "not UTF-8" in interrupted(Reply(b'data: {"choices": "\xff"}\n\n'))


@pytest.mark.parametrize(
    ("event", "status"),
    [
        ('data: {"error": {"message": "Boom", "code": 502}}', 9),
        ('data: {"error": {"message": "Boom", "status_code": 429}}', 9),
        ('data: {"error": {"message": "Boom", "code": "400"}}', 1),
        ('data: {"error": {"message": "Boom", "code": 401}}', 4),
        ('data: {"error": {"message": "Boom", "code": "invalid_api_key"}}', 4),
        ('data: {"error": {"message": "Boom", "code": "insufficient_quota"}}', 9),
        ('data: {"error": "Boom"}', 9),
        ('data: {"object": "error", "message": "Boom", "code": 400}', 1),
        ('event: error\ndata: {"message": "Boom"}', 9),
        ('event: error\ndata: {"error": {"message": "Boom", "status_code": 503}}', 9),
        ('event: error\ndata: ["Boom"]', 9),
    ],
)
def test_an_error_in_the_stream_is_told_in_the_words_of_the_provider(
    ask: Ask, event: str, status: int
) -> None:
    before = stream(chunk({"content": "a"}), done=False).body
    with serve([Reply(before + event.encode() + b"\n\n")]) as server, pytest.raises(ModelError) as error:
        ask(server)
    assert error.value.message == "`openai/gpt-x` broke off: Boom"
    assert error.value.status == status


def test_wherever_a_stream_breaks_off_the_answer_is_whole_or_none(tmp_path: Path) -> None:
    whole = answer("Let me see. ", ("c1", "ping", {"x": "ü"}), ("c2", "pong", {"y": [1, 2]}))
    replies = [Reply(whole.body, cut=place) for place in range(1, len(whole.body), 3)]
    replies += [Reply(whole.body, end=place) for place in range(1, len(whole.body), 3)]

    async def outcomes(server: ModelServer) -> list[Answer | ExitStatus]:
        model = open_model(ModelRef("openai", "gpt-x", server.url), tmp_path, {})
        seen: list[Answer | ExitStatus] = []
        for _ in replies:
            try:
                seen.append(await model.ask(Request("", [User("Hi")], [], 1), ignore, ignore))
            except ModelError as error:
                seen.append(error.status)
        await model.close()
        return seen

    with serve(replies) as server:
        seen = asyncio.run(outcomes(server))
    answers = [each for each in seen if isinstance(each, Answer)]
    assert {each for each in seen if not isinstance(each, Answer)} == {ExitStatus.INTERRUPTED}
    assert {each.message.calls for each in answers} == {
        (ToolCall("c1", "ping", '{"x": "\\u00fc"}'), ToolCall("c2", "pong", '{"y": [1, 2]}'))
    }
    assert {each.message.text for each in answers} == {"Let me see. "}


def test_a_half_answer_is_not_asked_for_again_behind_the_scenes(ask: Ask) -> None:
    with serve([Reply(answer("hello").body, cut=40), answer("hello")]) as server:
        with pytest.raises(ModelError, match="lost the connection"):
            ask(server)
        assert server.left == 1


def test_a_server_that_keeps_the_connection_open_after_the_end_does_not_hold_up(answered: Answered) -> None:
    assert answered(Reply(answer("hello").body, hang=True)).message.text == "hello"


def test_one_connection_serves_several_requests(tmp_path: Path) -> None:
    async def ask_twice(server: ModelServer) -> None:
        model = open_model(ModelRef("openai", "gpt-x", server.url), tmp_path, {})
        for _ in range(2):
            await model.ask(Request("", [User("Hi")], [], 1), ignore, ignore)
        await model.close()

    with serve([text_stream(3), text_stream(3)]) as server:
        asyncio.run(ask_twice(server))
        assert server.connections == 1


def test_cancelling_closes_the_connection(tmp_path: Path) -> None:
    async def ask_and_cancel(server: ModelServer) -> None:
        model = open_model(ModelRef("openai", "gpt-x", server.url), tmp_path, {})
        heard = asyncio.Event()
        request = Request("", [User("Hi")], [], 1)
        asking = asyncio.create_task(model.ask(request, lambda _: heard.set(), ignore))
        await heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(server.hung_up.wait, 10)
        await model.close()

    with serve([Reply(stream(chunk({"content": "a"}), done=False).body, hang=True)]) as server:
        asyncio.run(ask_and_cancel(server))


def test_what_goes_wrong_in_the_listener_is_not_blamed_on_the_connection(tmp_path: Path) -> None:
    def broken(_: str) -> None:
        raise BrokenPipeError("the reader left")

    with serve([answer("hello")]) as server:
        model = open_model(ModelRef("openai", "gpt-x", server.url), tmp_path, {})
        with pytest.raises(BrokenPipeError, match="the reader left"):
            asyncio.run(model.ask(Request("", [User("Hi")], [], 1), broken, ignore))


def test_outages_are_tried_again_before_the_answer_begins(ask: Ask) -> None:
    with serve([refusal(503, times=2), answer("hello")]) as server:
        assert ask(server).answer.message.text == "hello"
        assert len({json.dumps(request) for request in server.requests}) == 1
