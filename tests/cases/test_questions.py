"""Case group F: tools that ask for data, and the answers they get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import ASK, CONFIRM, GATED_ASK, WEATHER, WIZARD


def asking(project: Project, tools: str, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """A run in which these calls ask; their suspensions."""
    project.agent(tools=tools, script=[turn(*calls), say("End: {result}")])
    found: list[dict[str, Any]] = project.run("Go", status=8).result["suspensions"]
    return found


# 47. There and back


def test_a_question_is_shown_and_its_answer_reaches_tool_and_model(project: Project) -> None:
    (asked,) = asking(project, WEATHER, call("get_weather", "w1"))
    assert asked["kind"] == "data" and asked["requires_approval"] is False
    assert asked["suspend_payload"] == {"question": "Which city?"}
    assert asked["resume_schema"]["required"] == ["city"]
    assert project.only() == asked
    done = project.resume(asked["id"], "--data", '{"city": "Oslo"}', status=0)
    assert project.fx() == [{"tool": "get_weather", "call": "w1", "args": {"city": "Oslo"}}]
    (result,) = done.payloads("tool-result")
    assert result == {
        "tool_call_id": "w1",
        "tool": "get_weather",
        "args": {},
        "result": {"city": "Oslo", "celsius": 21},
    }
    assert json.loads(done.result["text"].removeprefix("End: ")) == {"city": "Oslo", "celsius": 21}


def test_a_person_sees_the_question_and_how_to_answer_it(project: Project) -> None:
    project.agent(tools=WEATHER, script=[turn(call("get_weather", "w1")), say("End")])
    waits = project.run("Weather?", json=False, status=8)
    assert "Which city?" in waits.stderr and "--data" in waits.stderr
    assert project.only()["id"][:10] in waits.stderr
    assert waits.stdout == ""


def test_a_run_with_one_question_is_answered_by_the_name_of_the_run(project: Project) -> None:
    (asked,) = asking(project, WEATHER, call("get_weather", "w1"))
    project.resume(asked["run_id"], "--data", '{"city": "Rome"}', status=0)
    assert project.fx()[0]["args"] == {"city": "Rome"}


def test_resume_without_data_leaves_the_question_open(project: Project) -> None:
    (asked,) = asking(project, WEATHER, call("get_weather", "w1"))
    for ref in (asked["run_id"], asked["id"]):
        again = project.resume(ref, status=8)
        assert [each["id"] for each in again.result["suspensions"]] == [asked["id"]]
    assert project.fx() == []


# 48. Everything is an answer

ANSWERS = ["false", "0", '""', "null", "[]", "{}", '"Oslo"', str(2**70), '"\\ud800"']


def test_every_json_value_counts_as_an_answer_and_arrives_as_it_was_given(project: Project) -> None:
    questions = [call("ask", f"q{n}", question=answer) for n, answer in enumerate(ANSWERS)]
    waiting = asking(project, ASK, *questions)
    assert len(waiting) == len(ANSWERS)
    for number, (asked, answer) in enumerate(zip(waiting, ANSWERS, strict=True)):
        project.resume(asked["id"], "--data", answer, status=0 if number == len(ANSWERS) - 1 else 8)
    got = [json.dumps(each["args"]["answer"]) for each in project.fx()]
    assert got == [json.dumps(json.loads(answer)) for answer in ANSWERS]


def test_a_bare_word_is_no_json_and_the_hint_puts_it_in_quotes(project: Project) -> None:
    (asked,) = asking(project, ASK, call("ask", "q1", question="Which city?"))
    refused = project.resume(asked["id"], "--data", "Oslo", status=2)
    assert "--data '\"Oslo\"'" in refused.stderr
    assert project.only()["id"] == asked["id"]


@pytest.mark.parametrize("how", ["file", "standard input"])
def test_data_may_come_from_a_file_or_from_standard_input(project: Project, how: str) -> None:
    (asked,) = asking(project, ASK, call("ask", "q1", question="All of it?"))
    big = {"text": "ü" * 300_000, "list": list(range(1000))}
    if how == "file":
        (project.root / "answer.json").write_text(json.dumps(big))
        project.resume(asked["id"], "--data", "@answer.json", status=0)
    else:
        project.resume(asked["id"], "--data", "-", input=json.dumps(big, ensure_ascii=False) + "\n", status=0)
    assert project.fx()[0]["args"]["answer"] == big


# 49. What is no answer


def test_data_that_breaks_the_schema_names_the_field_and_the_question_still_waits(project: Project) -> None:
    (asked,) = asking(project, WEATHER, call("get_weather", "w1"))
    for data in ('{"city": 5}', "{}", '{"city": null}', '{"town": "Oslo"}'):
        refused = project.resume(asked["id"], "--data", data, status=2)
        assert "city" in refused.stderr, refused.story()
        assert refused.result["error"]["code"] == "usage"
    for data in ('"Oslo"', "null"):
        project.resume(asked["id"], "--data", data, status=2)
    assert project.fx() == [] and project.only()["id"] == asked["id"]
    assert project.show(asked["id"])["decisions"] == []
    project.resume(asked["id"], "--data", '{"city": "Oslo"}', status=0)


def test_data_that_is_not_json_is_refused_and_the_question_still_waits(project: Project) -> None:
    (asked,) = asking(project, ASK, call("ask", "q1", question="Which?"))
    (project.root / "empty.json").touch()
    (project.root / "binary.json").write_bytes(b'"\xff\xfe"')
    for data in (
        "",
        '{"city":',
        "[NaN]",
        '"a" "b"',
        "[" * 100_000,
        '{"city": "a", "city": "b"}',
        "@missing.json",
        "@.",
        "@empty.json",
        "@binary.json",
        "-",
    ):
        refused = project.resume(asked["id"], "--data", data, status=2)
        assert refused.stderr.startswith("agentctl: "), refused.story()
    assert "missing.json" in project.resume(asked["id"], "--data", "@missing.json", status=2).stderr
    assert project.fx() == [] and project.only()["id"] == asked["id"]


# 50. Approval, then a question


def test_a_call_that_was_approved_is_not_asked_again_when_it_asks_itself(project: Project) -> None:
    (approval,) = asking(project, GATED_ASK, call("deploy", "d1", target="prod"))
    assert approval["kind"] == "approval"
    (question,) = project.approve(approval["id"], status=8).result["suspensions"]
    assert question["kind"] == "data" and question["id"] != approval["id"]
    assert question["suspend_payload"] == {"question": "Which window?"}
    assert project.fx() == []
    done = project.resume(question["id"], "--data", '"night"', status=0)
    assert done.events("tool-call-approval") == []
    assert project.fx() == [{"tool": "deploy", "call": "d1", "args": {"target": "prod", "window": "night"}}]
    assert done.result["text"] == "End: Deployed prod in night"


# 51. A wizard


def test_a_wizard_asks_twice_and_sees_what_it_last_asked(project: Project) -> None:
    (size,) = asking(project, WIZARD, call("order_shirt", "c1"))
    assert size["suspend_payload"] == {"question": "Which size?"}
    (colour,) = project.resume(size["id"], "--data", '"L"', status=8).result["suspensions"]
    assert colour["suspend_payload"] == {"question": "Which colour for L?", "size": "L"}
    done = project.resume(colour["id"], "--data", '"red"', status=0)
    assert [each["args"] for each in project.fx()] == [
        {"size": "L", "colour": "red", "asked": "Which colour for L?"}
    ]
    assert done.result["text"] == "End: Ordered L red"


STUBBORN = '''

@tool
def stubborn(ctx: ToolContext, how: str) -> str:
    """Suspend, and do something else then."""
    if ctx.resumed:
        fx(ctx, how=how, asked=ctx.suspend_payload)
        return "Answered"
    ctx.suspend({"n": 1})
    at(f"{how}.after")
    if how == "raises":
        raise RuntimeError("after suspend")
    if how == "twice":
        return ctx.suspend({"n": 2})
    return "Done without an answer"


@tool
async def stubborn_async(ctx: ToolContext) -> str:
    """Suspend, and go on."""
    if not ctx.resumed:
        ctx.suspend({"n": 1})
        await asyncio.sleep(0)
    return "Answered" if ctx.resumed else "Done without an answer"
'''


def test_a_call_that_suspended_is_suspended_whatever_it_does_then(project: Project) -> None:
    ways = ("returns", "raises", "twice")
    calls = [call("stubborn", way, how=way) for way in ways]
    waiting = asking(project, STUBBORN, *calls, call("stubborn_async", "async"))
    assert [each["tool_call_id"] for each in waiting] == [*ways, "async"]
    assert [each["suspend_payload"] for each in waiting] == [{"n": 1}] * 4, "the first payload counts"
    assert all((project.root / f"{way}.after").exists() for way in ways), "suspend does not raise"
    for each in waiting:
        last = project.resume(each["id"], "--data", "true")
    assert last.status == 0
    assert [each["args"]["asked"] for each in project.fx()] == [{"n": 1}] * 3


# 52. Hostile payloads

PAYLOADS = '''

import datetime
import decimal


def generated():
    yield 1


class Odd:
    def __repr__(self):
        raise RuntimeError("no repr")


class Raising(BaseModel):
    when: datetime.date = datetime.date(2026, 2, 28)


cycle = []
cycle.append(cycle)

VALUES = {
    "datetime": datetime.datetime(2026, 12, 1, 14, 29, 27, tzinfo=datetime.timezone.utc),
    "text_bytes": b"caf\\xc3\\xa9",
    "bytes": b"\\xff\\x00",
    "set": {"b", "a"},
    "tuple": (1, (2,)),
    "model": Raising(),
    "decimal": decimal.Decimal("0.10"),
    "nan": float("nan"),
    "nested_nan": {"a": [float("inf")]},
    "big": 2**70,
    "surrogate": "\\ud800",
    "null_byte": "a\\x00b",
    "escape": "\\x1b[2J\\u202e",
    "number_key": {1: "a"},
    "key_clash": {1: "a", "1": "b"},
    "object": Odd(),
    "generator": generated(),
    "cycle": cycle,
    "long": "x" * 1_000_000,
    "none": None,
}


@tool
def offer(ctx: ToolContext, what: str) -> str:
    """Suspend with something odd."""
    if not ctx.resumed:
        return ctx.suspend({"value": VALUES[what]})
    fx(ctx, what=what, asked=ctx.suspend_payload)
    return "Taken"
'''

FAITHFUL: dict[str, Any] = {
    "datetime": "2026-12-01T14:29:27Z",
    "text_bytes": "café",
    "set": ["a", "b"],
    "tuple": [1, [2]],
    "model": {"when": "2026-02-28"},
    "decimal": "0.10",
    "big": 2**70,
    "surrogate": "\ud800",
    "null_byte": "a\x00b",
    "escape": "\x1b[2J\u202e",
    "number_key": {"1": "a"},
    "long": "x" * 1_000_000,
    "none": None,
}
REFUSED = ["bytes", "nan", "nested_nan", "key_clash", "object", "generator", "cycle"]


def test_odd_payloads_are_stored_faithfully_or_fail_the_call_clearly(project: Project) -> None:
    calls = [call("offer", name, what=name) for name in [*FAITHFUL, *REFUSED]]
    project.agent(tools=PAYLOADS, script=[turn(*calls), say("End")])
    ran = project.run("Go", status=8)
    errors = {each["tool_call_id"]: each["error"] for each in ran.payloads("tool-error")}
    assert sorted(errors) == sorted(REFUSED)
    for name, error in errors.items():
        assert error.strip() and "Traceback" not in error, name
    stored = {each["tool_call_id"]: each["suspend_payload"]["value"] for each in project.pending()}
    assert stored == FAITHFUL
    project.cli("verify", status=0)
    assert project.the_run()["suspensions"] == len(FAITHFUL)
    assert json.loads(project.snapshot(ran.run_id).read_bytes().decode("utf-8", "surrogatepass"))


def test_a_resumed_tool_sees_the_odd_payload_it_asked_with(project: Project) -> None:
    names = ["datetime", "big", "surrogate", "set"]
    waiting = asking(project, PAYLOADS, *[call("offer", name, what=name) for name in names])
    for each in waiting:
        last = project.resume(each["id"], "--data", "null")
    assert last.status == 0
    assert [each["args"]["asked"]["value"] for each in project.fx()] == [FAITHFUL[name] for name in names]


def test_a_payload_that_breaks_its_own_schema_is_a_tool_error(project: Project) -> None:
    tools = WEATHER.replace('Question(question="Which city?")', '{"other": 1}')
    project.agent(tools=tools, script=[turn(call("get_weather", "w1")), say("End: {result}")])
    done = project.run("Go", status=0)
    (error,) = done.payloads("tool-error")
    assert "question" in error["error"] and project.pending() == []


# 53. A no is a no


def test_an_answer_of_false_does_not_perform_the_operation(project: Project) -> None:
    (asked,) = asking(project, CONFIRM, call("wipe", "w1", disk="sda"))
    done = project.resume(asked["id"], "--data", '{"confirmed": false}', status=0)
    assert project.fx() == []
    assert done.result["text"] == "End: Not wiped"


def test_only_true_is_true(project: Project) -> None:
    (asked,) = asking(project, CONFIRM, call("wipe", "w1", disk="sda"))
    for value in ('"false"', '"true"', "1", "null"):
        refused = project.resume(asked["id"], "--data", f'{{"confirmed": {value}}}', status=2)
        assert "confirmed" in refused.stderr, refused.story()
    assert project.fx() == [] and project.only()["id"] == asked["id"]
    project.resume(asked["id"], "--data", '{"confirmed": true}', status=0)
    assert project.fx_calls() == ["w1"]
