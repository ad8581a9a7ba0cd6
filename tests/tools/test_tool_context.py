"""`ToolContext`: what a tool knows of its call, and how it asks a human."""

from __future__ import annotations

import asyncio
import datetime
import math
import threading
from collections.abc import Callable
from typing import Any, assert_type

import pytest
from pydantic import BaseModel

import agentctl
from agentctl import ToolContext, tool
from agentctl import ToolContext as Told
from agentctl.errors import UsageError
from agentctl.tools.python import python_tool
from agentctl.tools.tool import FailedCall, Succeeded, Suspended, Unknown


class Question(BaseModel):
    question: str
    at: datetime.date | None = None


class City(BaseModel):
    city: str


@tool
async def get_weather(ctx: ToolContext[Question, City], city: str | None = None) -> str:
    """Weather for a city."""
    if city is None and not ctx.resumed:
        return ctx.suspend(Question(question="Which city?"))
    return f"Sunny in {city or ctx.resume_data.city}"


# Asking


def test_suspend_and_resume(run: Any) -> None:
    made = python_tool(get_weather)
    assert run(made) == Suspended({"question": "Which city?", "at": None})
    assert run(made, resumed=True, resume_data={"city": "Oslo"}) == Succeeded("Sunny in Oslo")
    assert run(made, {"city": "Rome"}) == Succeeded("Sunny in Rome")


def test_schemas_of_question_and_answer_come_from_the_context_type() -> None:
    made = python_tool(get_weather)
    assert made.suspend_schema is not None and set(made.suspend_schema["properties"]) == {"question", "at"}
    assert made.resume_schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    }


def test_a_bare_context_allows_any_json(run: Any) -> None:
    @tool
    def ask(ctx: ToolContext) -> Any:
        return ctx.resume_data if ctx.resumed else ctx.suspend(["any", {"n": 2**70}])

    made = python_tool(ask)
    assert (made.suspend_schema, made.resume_schema) == (None, None)
    assert run(made) == Suspended(["any", {"n": 2**70}])
    answers: list[Any] = [False, 0, "", None, [], {}, "bare", {"deep": [1]}]
    for answer in answers:
        made.check_resume_data(answer)
        assert run(made, resumed=True, resume_data=answer) == Succeeded(answer)


def test_code_after_suspend_runs(execute: Any) -> None:
    ran = []

    @tool
    def ask(ctx: ToolContext) -> None:
        assert ctx.suspend("first") is None
        ran.append("after")

    assert execute(ask) == Suspended("first")
    assert ran == ["after"]


def after_return(ctx: ToolContext) -> str:
    ctx.suspend("first")
    return "a result"


def after_wrong_result(ctx: ToolContext) -> int:
    ctx.suspend("first")
    return "no integer"  # type: ignore[return-value]


def after_error(ctx: ToolContext) -> None:
    ctx.suspend("first")
    raise ValueError("something else")


def after_exit(ctx: ToolContext) -> None:
    ctx.suspend("first")
    raise SystemExit(3)


def after_second(ctx: ToolContext) -> None:
    ctx.suspend("first")
    ctx.suspend("second")


async def after_async_error(ctx: ToolContext) -> None:
    ctx.suspend("first")
    raise asyncio.CancelledError


def in_a_helper_thread(ctx: ToolContext) -> str:
    thread = threading.Thread(target=ctx.suspend, args=("first",))
    thread.start()
    thread.join()
    return "a result"


@pytest.mark.parametrize(
    "function",
    [
        after_return,
        after_wrong_result,
        after_error,
        after_exit,
        after_second,
        after_async_error,
        in_a_helper_thread,
    ],
)
def test_the_call_is_suspended_whatever_happens_then(function: Callable[..., Any], execute: Any) -> None:
    assert execute(function) == Suspended("first")


def test_an_async_tool_that_suspends_and_lingers_is_suspended(execute: Any) -> None:
    @tool(timeout="20ms")
    async def ask(ctx: ToolContext) -> None:
        ctx.suspend("first")
        await asyncio.sleep(60)

    assert execute(ask) == Suspended("first")


def test_a_sync_tool_that_suspends_and_still_runs_is_unknown(execute: Any) -> None:
    go = threading.Event()

    @tool(timeout="20ms")
    def ask(ctx: ToolContext) -> None:
        ctx.suspend("first")
        go.wait(60)

    assert isinstance(execute(ask), Unknown)
    go.set()


@pytest.mark.parametrize(
    ("payload", "stored"),
    [
        (Question(question="q", at=datetime.date(2026, 1, 2)), {"question": "q", "at": "2026-01-02"}),
        ({"question": "q"}, {"question": "q", "at": None}),
    ],
)
def test_a_typed_payload_is_stored_as_json(payload: Any, stored: Any, execute: Any) -> None:
    @tool
    def ask(ctx: ToolContext[Question, City]) -> None:
        ctx.suspend(payload)

    assert execute(ask) == Suspended(stored)


@pytest.mark.parametrize(
    ("payload", "stored"),
    [
        (datetime.datetime(2026, 1, 2), "2026-01-02T00:00:00"),
        (b"bytes", "bytes"),
        ({"b", "a"}, ["a", "b"]),
        (2**70, 2**70),
        ("\ud800", "\ud800"),
        (Question(question="q"), {"question": "q", "at": None}),
    ],
)
def test_any_payload_with_a_json_form_is_stored(payload: Any, stored: Any, execute: Any) -> None:
    @tool
    def ask(ctx: ToolContext) -> None:
        ctx.suspend(payload)

    assert execute(ask) == Suspended(stored)


@pytest.mark.parametrize("payload", [math.nan, b"\xff", object(), {1: "a", "1": "b"}, [10**5000]])
@pytest.mark.parametrize("then", ["returns", "raises", "suspends again"])
def test_a_payload_without_one_is_a_tool_error_whatever_happens_then(
    payload: Any, then: str, execute: Any
) -> None:
    @tool
    def ask(ctx: ToolContext) -> str:
        ctx.suspend(payload)
        if then == "raises":
            raise ValueError
        if then == "suspends again":
            ctx.suspend("a good one")
        return "a result"

    outcome = execute(ask)
    assert isinstance(outcome, FailedCall)
    assert outcome.error.startswith("The tool suspended with a payload that cannot be used: ")


def test_a_payload_of_another_type_is_a_tool_error_that_names_the_field(execute: Any) -> None:
    @tool
    def ask(ctx: ToolContext[Question, City]) -> None:
        ctx.suspend({"quest": "q"})  # type: ignore[arg-type]

    assert "`question`: Field required" in execute(ask).error


def test_the_payload_is_what_it_was_when_it_was_asked(execute: Any) -> None:
    @tool
    def ask(ctx: ToolContext) -> None:
        payload = {"n": 1}
        ctx.suspend(payload)
        payload["n"] = 2

    assert execute(ask) == Suspended({"n": 1})


def test_a_context_that_outlives_its_tool_asks_and_tells_nothing(run: Any) -> None:
    kept: list[ToolContext] = []
    told: list[str] = []

    @tool
    def leak(ctx: ToolContext) -> str:
        kept.append(ctx)
        return "done"

    assert run(python_tool(leak), emit=told.append) == Succeeded("done")
    with pytest.raises(RuntimeError, match="has ended"):
        kept[0].suspend("too late")
    kept[0].emit("too late")
    assert told == []


# Answers


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "'city' is a required property"),
        ({"city": 5}, "`city`: 5 is not of type 'string'"),
        ("Oslo", "'Oslo' is not of type 'object'"),
        (None, "None is not of type 'object'"),
    ],
)
def test_an_answer_that_breaks_the_schema_is_refused_by_field(data: Any, complaint: str, run: Any) -> None:
    made = python_tool(get_weather)
    with pytest.raises(UsageError) as refused:
        made.check_resume_data(data)
    assert refused.value.message.startswith("the data does not fit what `get_weather` asks for: ")
    assert complaint in refused.value.message
    assert isinstance(run(made, resumed=True, resume_data=data), FailedCall)


@pytest.mark.parametrize("data", ["5", True, 1.5, None, [5]])
def test_an_answer_is_held_to_the_schema_that_a_human_reads(data: Any) -> None:
    @tool
    def ask(ctx: ToolContext[str, int]) -> None: ...

    python_tool(ask).check_resume_data(5)
    with pytest.raises(UsageError):
        python_tool(ask).check_resume_data(data)


def test_what_only_a_validator_knows_is_refused_too() -> None:
    @tool
    def ask(ctx: ToolContext[str, datetime.date]) -> None: ...

    python_tool(ask).check_resume_data("2026-01-02")
    with pytest.raises(UsageError, match="date"):
        python_tool(ask).check_resume_data("2026-13-02")


def test_schemas_by_hand_for_question_and_answer(run: Any) -> None:
    @tool(suspend_schema={"type": "string"}, resume_schema={"enum": ["S", "M"]})
    def size(ctx: ToolContext[str, str]) -> str:
        return ctx.resume_data if ctx.resumed else ctx.suspend("Which size?")

    made = python_tool(size)
    assert (made.suspend_schema, made.resume_schema) == ({"type": "string"}, {"enum": ["S", "M"]})
    assert run(made) == Suspended("Which size?")
    assert run(made, resumed=True, resume_data="M") == Succeeded("M")
    with pytest.raises(UsageError, match="'L' is not one of"):
        made.check_resume_data("L")


def test_the_tool_sees_what_it_last_asked_in_its_own_type(run: Any) -> None:
    @tool
    def wizard(ctx: ToolContext[Question, str]) -> str:
        if not ctx.resumed:
            return ctx.suspend(Question(question="size?"))
        return f"{ctx.suspend_payload.question} {ctx.resume_data}"

    made = python_tool(wizard)
    asked = run(made).payload
    assert run(made, resumed=True, resume_data="M", suspend_payload=asked) == Succeeded("size? M")


def test_type_checkers_let_code_after_suspend_run() -> None:
    def ask(ctx: ToolContext[str, int]) -> int:
        ctx.suspend("first")
        after: str = 5  # type: ignore[assignment]
        return len(after)

    with pytest.raises(TypeError):
        ask(ToolContext())


def test_an_old_payload_that_no_longer_fits_is_given_as_it_is(run: Any) -> None:
    @tool
    def wizard(ctx: ToolContext[Question, str]) -> Any:
        return ctx.suspend_payload

    payload = {"old": "shape"}
    assert run(python_tool(wizard), resumed=True, resume_data="M", suspend_payload=payload) == Succeeded(
        payload
    )


def test_an_answer_no_to_a_confirmation_is_no(run: Any) -> None:
    class Confirm(BaseModel):
        confirmed: bool

    wiped = []

    def wipe(ctx):  # type: ignore[no-untyped-def]
        if ctx.resume_data.confirmed:
            wiped.append(1)

    wipe.__annotations__["ctx"] = ToolContext[str, Confirm]
    run(python_tool(wipe), resumed=True, resume_data={"confirmed": False})
    assert wiped == []


# Knowing


def test_the_context_tells_about_the_call(run: Any) -> None:
    @tool
    def who(ctx: ToolContext) -> list[Any]:
        return [
            ctx.resumed,
            ctx.resume_data,
            ctx.suspend_payload,
            dict(ctx.request_context),
            ctx.workspace,
            ctx.run_id,
            ctx.tool_call_id,
            ctx.idempotency_key,
            ctx.thread,
            ctx.resource,
        ]

    outcome = run(
        python_tool(who),
        request_context={"tenant": "acme"},
        workspace="/w",
        run_id="r",
        tool_call_id="c",
        idempotency_key="k",
        thread="t",
        resource="ada",
    )
    assert outcome == Succeeded([False, None, None, {"tenant": "acme"}, "/w", "r", "c", "k", "t", "ada"])


def test_what_a_tool_does_to_what_it_is_told_stays_inside(run: Any) -> None:
    @tool
    def greedy(ctx: ToolContext) -> None:
        ctx.request_context["list"].clear()
        ctx.resume_data.clear()
        ctx.suspend_payload.clear()

    context, data, payload = {"list": [1]}, [1], {"a": 1}
    run(python_tool(greedy), request_context=context, resumed=True, resume_data=data, suspend_payload=payload)
    assert (context, data, payload) == ({"list": [1]}, [1], {"a": 1})


def test_nothing_that_the_context_tells_can_be_set() -> None:
    ctx: ToolContext = ToolContext()
    for name in ("resumed", "resume_data", "run_id", "idempotency_key", "workspace"):
        with pytest.raises(AttributeError):
            setattr(ctx, name, "x")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_progress_is_passed_on_while_the_tool_runs(kind: str, run: Any) -> None:
    told: list[str] = []

    def sync(ctx: ToolContext) -> list[str]:
        ctx.emit("half")
        ctx.emit(50)  # type: ignore[arg-type]
        return list(told)

    async def asynchronous(ctx: ToolContext) -> list[str]:
        return sync(ctx)

    made = python_tool(sync if kind == "sync" else asynchronous)
    assert run(made, emit=told.append) == Succeeded(["half", "50"])


# Type hints


def test_type_checkers_know_question_and_answer() -> None:
    ctx = ToolContext[Question, City](resumed=True, resume_data=City(city="Oslo"))
    assert_type(ctx.resume_data, City)
    assert_type(ctx.suspend_payload, Question)
    ctx.suspend("not a question")  # type: ignore[arg-type]


def test_one_type_alone_is_that_of_the_question() -> None:
    def ask(ctx: ToolContext[Question]) -> None: ...

    made = python_tool(ask)
    assert made.suspend_schema is not None
    assert made.resume_schema is None


def test_the_context_is_recognised_by_whatever_name_it_is_imported(execute: Any) -> None:
    def by_module(ctx: agentctl.ToolContext[Question, City]) -> str:
        return ctx.run_id

    def by_another_name(ctx: Told) -> str:
        return ctx.run_id

    assert execute(by_module) == Succeeded("run-1")
    assert execute(by_another_name) == Succeeded("run-1")
