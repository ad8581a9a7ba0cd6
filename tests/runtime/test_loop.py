"""The loop, in the order in which it does things: write, then tell; record the start, then run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.errors import Failed
from agentctl.runtime import state, views
from agentctl.runtime.call import Contradiction
from agentctl.runtime.records import of_step
from agentctl.runtime.state import Run
from agentctl.tools.policy import Policy, PolicyCall
from agentctl.tools.tool import CallInfo, FailedCall, Outcome, Succeeded, Suspended, Unknown
from agentctl_store.errors import NotSaved
from support.stage import PlayedTool, Stage, ask, say, until
from support.story import AT, RUN

Json = dict[str, Any]
READ = PlayedTool("read")
DELETE = PlayedTool("delete", require_approval=True)


def status(run: Run) -> str:
    return views.status_of(run, driven=False)


def test_a_run_goes_from_prompt_to_answer() -> None:
    stage = Stage([READ], [ask(("c1", "read", {"id": "a"})), say("Done")]).drive()
    assert status(stage.loop.run) == "completed"
    assert stage.ran() == ["c1"]
    assert [event.type for event in stage.events] == [
        *("step-start", "tool-call", "tool-result", "step-finish"),
        *("step-start", "step-finish", "finish"),
    ]


# Write, then tell


def test_every_record_is_kept_before_it_is_told() -> None:
    stage = Stage([READ, DELETE], [ask(("c1", "read", {}), ("c2", "delete", {})), say("Done")]).drive()
    stage.decide("c2", "approve")
    stage.again()
    assert status(stage.loop.run) == "completed"
    for kind in {event.type for event in stage.events} - {"text-delta"}:
        for number, (kept, told) in enumerate(
            zip(_where(stage, f"kept {kind}"), _where(stage, f"told {kind}"), strict=False)
        ):
            assert kept < told, f"{kind} {number}"


def _where(stage: Stage, start: str) -> list[int]:
    return [n for n, line in enumerate(stage.log) if line == start or line.startswith(start + " ")]


@pytest.mark.parametrize("kind", ["step-start", "answer", "tool-call", "tool-start", "step-finish", "finish"])
def test_what_could_not_be_kept_is_not_told_and_has_no_effect(kind: str) -> None:
    stage = Stage([READ], [ask(("c1", "read", {})), say("Done")])
    stage.journal.breaks_at = {kind}
    with pytest.raises(NotSaved):
        stage.drive()
    assert stage.told(kind) == []
    first, *later = stage.journal.records
    assert stage.loop.run == state.fold(state.begin(RUN, first), later)
    assert stage.ran() == (["c1"] if kind in ("step-finish", "finish") else [])
    assert len(stage.model.requests) == {"step-start": 0, "finish": 2}.get(kind, 1)


def test_a_run_goes_on_where_it_could_last_be_kept() -> None:
    stage = Stage([READ], [ask(("c1", "read", {})), say("Done")])
    stage.journal.breaks_at = {"tool-start"}
    with pytest.raises(NotSaved):
        stage.drive()
    stage.journal.breaks_at = set()
    assert status(stage.again().loop.run) == "completed"
    assert stage.ran() == ["c1"]


def test_an_outcome_that_could_not_be_kept_is_reported_and_then_in_doubt() -> None:
    stage = Stage([READ], [ask(("c1", "read", {}))])
    stage.journal.breaks_at = {"tool-result"}
    with pytest.raises(Failed, match="`read` ran, but its outcome could not be saved"):
        stage.drive()
    assert stage.told("tool-result") == []
    stage.journal.breaks_at = set()
    assert status(stage.again().loop.run) == "in_doubt"
    assert stage.ran() == ["c1"]


def test_a_record_that_cannot_follow_is_neither_kept_nor_told() -> None:
    stage = Stage([READ], [])
    before = list(stage.log)
    with pytest.raises(Contradiction):
        stage.loop.record(
            of_step(stage.loop.run, AT, "step-start", {}), of_step(stage.loop.run, AT, "step-start", {})
        )
    assert stage.log == before


# Record the start, then run; record the result, then ask


def test_a_tool_runs_only_after_its_start_is_kept() -> None:
    stage = Stage([READ], [ask(("c1", "read", {}), ("c2", "read", {})), say("Done")]).drive()
    for call in ("c1", "c2"):
        assert stage.log.index(f"kept tool-start {call}") < stage.log.index(f"ran {call}")


def test_the_model_is_asked_only_after_every_result_is_kept() -> None:
    stage = Stage([READ], [ask(("c1", "read", {}), ("c2", "read", {})), say("Done")]).drive()
    asked = stage.log.index("asked 2")
    assert all(stage.log.index(f"kept tool-result {call}") < asked for call in ("c1", "c2"))
    assert stage.log.index("kept step-start") < stage.log.index("asked 1")


def test_the_start_says_which_process_began_which_attempt() -> None:
    stage = Stage([READ], [ask(("c1", "read", {"id": "a"})), say("Done")]).drive()
    [start] = stage.kept("tool-start")
    assert (start["attempt"], start["pid"], start["host"]) == (1, 7, "here")
    assert (start["tool_call_id"], start["tool"], start["args"]) == ("c1", "read", {"id": "a"})


# Several calls in one step


def test_all_are_judged_before_any_is_asked_about_and_all_asked_about_before_any_runs() -> None:
    calls = [
        ("c1", "delete", {"id": "a"}),
        ("c2", "read", {}),
        ("c3", "delete", {"id": "b"}),
        ("c4", "ghost", {}),
    ]
    stage = Stage([READ, DELETE], [ask(*calls)]).drive()
    judged = [f"tool-call {call}" for call in ("c1", "c2", "c3", "c4")]
    asked = [f"tool-call-approval {call}" for call in ("c1", "c3")]
    assert judged in stage.journal.appends
    assert asked in stage.journal.appends
    assert stage.journal.appends.index(judged) < stage.journal.appends.index(asked)
    assert stage.log.index("told tool-call-approval c3") < stage.log.index("ran c2")
    assert stage.ran() == ["c2"]
    assert status(stage.loop.run) == "suspended"


def test_calls_that_need_nobody_run_at_once() -> None:
    running: set[str] = set()

    async def together(args: Json, call: CallInfo) -> Outcome:
        running.add(call.tool_call_id)
        await until(lambda: len(running) == 3)
        return Succeeded("ok")

    calls = [(f"c{n}", "read", "{}") for n in (1, 2, 3)]
    stage = Stage([PlayedTool("read", together)], [ask(*calls), say("Done")]).drive()
    assert status(stage.loop.run) == "completed"


def test_results_are_told_as_they_come_and_sent_in_call_order() -> None:
    done: list[str] = []

    async def backwards(args: Json, call: CallInfo) -> Outcome:
        await until(lambda: len(done) == args["after"])
        done.append(call.tool_call_id)
        return Succeeded(f"result of {call.tool_call_id}")

    calls = [(f"c{n}", "read", {"after": 3 - n}) for n in (1, 2, 3)]
    stage = Stage([PlayedTool("read", backwards)], [ask(*calls), say("Done")]).drive()
    assert [told["tool_call_id"] for told in stage.told("tool-result")] == ["c3", "c2", "c1"]
    assert stage.said_to_model() == [(f"c{n}", f"result of c{n}") for n in (1, 2, 3)]


def test_a_result_is_told_while_others_still_run() -> None:
    stage = Stage([READ], [])

    async def slow(args: Json, call: CallInfo) -> Outcome:
        await until(lambda: stage.told("tool-result"))
        return Succeeded("slow")

    stage = Stage(
        [READ, PlayedTool("slow", slow)], [ask(("c1", "slow", {}), ("c2", "read", {})), say("Done")]
    )
    assert [each["tool_call_id"] for each in stage.drive().told("tool-result")] == ["c2", "c1"]


# Who is asked


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("c1", "ghost", {}), "There is no tool `ghost`"),
        (("c1", "picky", {"id": 1}), "id: not a string"),
        (("c1", "delete", "[1]"), "must be a JSON object"),
        (("c1", "delete", '{"id":'), "not valid JSON"),
        (("c1", "delete", '{"x": NaN}'), "NaN"),
        (("c1", "delete", '{"n": ' + "1" * 5000 + "}"), "not valid JSON"),
        (("c1", "delete", '{"n": ' + "[" * 990 + "]" * 990 + "}"), "nested"),
    ],
    ids=["unknown tool", "misfit", "array", "broken", "NaN", "endless number", "deep"],
)
def test_a_call_that_cannot_run_is_an_error_for_the_model_and_nobody_is_asked(call: Any, told: str) -> None:
    picky = PlayedTool("picky", require_approval=True, misfit="id: not a string")
    stage = Stage([DELETE, picky], [ask(call), say("Sorry")]).drive()
    assert status(stage.loop.run) == "completed"
    assert (stage.ran(), stage.told("tool-call-approval")) == ([], [])
    [(call_id, text)] = stage.said_to_model()
    assert call_id == "c1" and told in text


def counting(answers: list[Any], seen: list[PolicyCall]) -> Policy:
    def decide(call: PolicyCall) -> Any:
        seen.append(call)
        return answers.pop(0)

    return Policy("decide", lambda: decide)


def test_a_policy_is_asked_once_per_call_and_never_again() -> None:
    seen: list[PolicyCall] = []
    tool = PlayedTool("refund", require_approval=counting([True, False], seen))
    stage = Stage(
        [tool], [ask(("c1", "refund", {"amount": 500}), ("c2", "refund", {"amount": 5})), say("Done")]
    )
    assert stage.drive().ran() == ["c2"]
    stage.again()
    stage.decide("c1", "approve")
    assert stage.again().ran() == ["c2", "c1"]
    assert [dict(call.args) for call in seen] == [{"amount": 500}, {"amount": 5}]


ORDER: list[tuple[str, list[str], Callable[[], bool | Policy], bool | tuple[str, ...], bool]] = [
    ("nobody asks", [], lambda: False, False, False),
    ("the tool says so", [], lambda: True, False, True),
    ("the agent says so", [], lambda: False, True, True),
    ("a glob of the agent", [], lambda: False, ("del*",), True),
    ("a glob of the agent, of other tools", [], lambda: False, ("read*",), False),
    ("the run says so", ["*"], lambda: False, False, True),
    ("a function alone: no", [], lambda: counting([False], []), True, False),
    ("a function alone: yes", [], lambda: counting([True], []), False, True),
    ("the run before a function", ["delete"], lambda: counting([False], []), False, True),
    ("a function that fails", [], lambda: counting([], []), False, True),
    ("a function without an answer", [], lambda: counting([None], []), False, True),
]


@pytest.mark.parametrize(
    ("globs", "tool", "agent", "asked"), [each[1:] for each in ORDER], ids=[each[0] for each in ORDER]
)
def test_who_must_be_asked(
    globs: list[str], tool: Callable[[], bool | Policy], agent: bool | tuple[str, ...], asked: bool
) -> None:
    options = {"require_approval": globs, "context": {}, "workspace": "/work"}
    stage = Stage(
        [PlayedTool("delete", require_approval=tool())],
        [ask(("c1", "delete", {})), say("Done")],
        options=options,
    )
    stage.gate = agent
    stage.again()
    assert status(stage.loop.run) == ("suspended" if asked else "completed")
    assert stage.ran() == ([] if asked else ["c1"])


def test_a_policy_that_gave_no_answer_says_why_the_call_waits() -> None:
    stage = Stage(
        [PlayedTool("delete", require_approval=counting([None], []))], [ask(("c1", "delete", {}))]
    ).drive()
    [suspension] = stage.told("tool-call-approval")
    assert "neither True nor False" in suspension["reason"]


# What a tool is told, and what it says


def test_a_tool_is_told_about_its_call() -> None:
    seen: list[tuple[Json, CallInfo]] = []

    async def asking(args: Json, call: CallInfo) -> Outcome:
        seen.append((args, call))
        return Succeeded(call.resume_data) if call.resumed else Suspended({"question": "Which?"})

    options = {"require_approval": [], "context": {"user": "ada"}, "workspace": "/here"}
    tool = PlayedTool("ask", asking, resume_schema={"type": "string"})
    stage = Stage(
        [tool], [ask(("c1", "ask", {"n": 1})), say("Done")], options=options, thread="t", resource="r"
    )
    stage.drive()
    [suspension] = stage.told("tool-call-suspended")
    assert (suspension["suspend_payload"], suspension["resume_schema"]) == (
        {"question": "Which?"},
        {"type": "string"},
    )
    stage.decide("c1", "data", data=False)
    stage.again()
    (first_args, first), (second_args, second) = seen
    assert first_args == second_args == {"n": 1}
    assert (first.resumed, first.resume_data, first.suspend_payload) == (False, None, None)
    assert (second.resumed, second.resume_data, second.suspend_payload) == (
        True,
        False,
        {"question": "Which?"},
    )
    for info in (first, second):
        assert (info.run_id, info.tool_call_id, info.idempotency_key) == ("run-1", "c1", "run-1:c1")
        assert (info.request_context, info.workspace, info.thread, info.resource) == (
            {"user": "ada"},
            "/here",
            "t",
            "r",
        )


def test_the_idempotency_key_is_the_same_for_every_attempt() -> None:
    keys: list[str] = []

    async def unlucky(args: Json, call: CallInfo) -> Outcome:
        keys.append(call.idempotency_key)
        return Unknown("It ran too long") if len(keys) == 1 else Succeeded("ok")

    stage = Stage([PlayedTool("pay", unlucky)], [ask(("c1", "pay", {})), say("Done")]).drive()
    assert status(stage.loop.run) == "in_doubt"
    stage.decide("c1", "retry")
    assert status(stage.again().loop.run) == "completed"
    assert keys == ["run-1:c1"] * 2


def test_a_tool_that_fails_is_an_error_for_the_model() -> None:
    async def fail(args: Json, call: CallInfo) -> Outcome:
        return FailedCall("ValueError: no such record")

    stage = Stage([PlayedTool("fail", fail)], [ask(("c1", "fail", {})), say("Sorry")]).drive()
    assert stage.told("tool-error") == [
        {"tool_call_id": "c1", "tool": "fail", "args": {}, "error": "ValueError: no such record"}
    ]
    assert stage.said_to_model() == [("c1", "Error: ValueError: no such record")]


def test_progress_is_told_as_it_comes_and_not_kept() -> None:
    async def chatty(args: Json, call: CallInfo) -> Outcome:
        await asyncio.to_thread(call.emit, "half way")
        call.emit("nearly")
        return Succeeded("ok")

    stage = Stage([PlayedTool("chat", chatty)], [ask(("c1", "chat", {})), say("Done")]).drive()
    assert [each["text"] for each in stage.told("tool-output")] == ["half way", "nearly"]
    assert stage.log.index("told tool-output c1") < stage.log.index("told tool-result c1")
    assert stage.kept("tool-output") == []
