"""The agents in sample-agents/: valid, and their tools and scripts really do what they say."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentctl.agents.agent import Agent
from agentctl.agents.checking import check_agent
from agentctl.agents.loading import load_agent
from agentctl.models.messages import Assistant, ToolResult, User
from agentctl.models.protocol import Request
from agentctl.models.providers import ModelRef, open_model
from agentctl.tools.policy import Policy, PolicyCall
from agentctl.tools.tool import CallInfo, FailedCall, Succeeded, Suspended

SAMPLES = Path(__file__).resolve().parents[2] / "sample-agents"


def execute(agent: Agent, tool: str, args: dict[str, Any], workspace: Path, **more: Any) -> Any:
    call: dict[str, Any] = {
        "run_id": "r",
        "tool_call_id": "c",
        "idempotency_key": "r-c",
        "resumed": False,
        "resume_data": None,
        "suspend_payload": None,
        "request_context": {},
        "workspace": str(workspace),
        "thread": None,
        "resource": None,
        "emit": lambda text: None,
    }
    return asyncio.run(agent.tools[tool].execute(args, CallInfo(**call | more)))


def ask(agent: Agent, script: str, *messages: Any) -> Assistant:
    model = open_model(ModelRef("scripted", script), agent.folder, {})
    turn = 1 + sum(isinstance(message, Assistant) for message in messages)
    request = Request(agent.instructions, messages, (), turn)
    return asyncio.run(model.ask(request, lambda text: None, lambda text: None)).message


def wanted(message: Assistant) -> list[tuple[str, dict[str, Any]]]:
    return [(call.tool, json.loads(call.arguments)) for call in message.calls]


@pytest.mark.parametrize("name", ["records", "weather", "refunds"])
def test_each_sample_is_sound_and_names_a_real_model(name: str) -> None:
    assert check_agent(SAMPLES / name) == []
    assert str(load_agent(SAMPLES / name).model) == "openai/gpt-5-mini"


# --- records ---------------------------------------------------------------------------------


def test_records_asks_before_it_deletes_and_only_then() -> None:
    tools = load_agent(SAMPLES / "records").tools
    gated = {id: tool.require_approval for id, tool in tools.items()}
    assert gated == {"list_records": False, "find_record": False, "delete_record": True}


def test_a_record_is_deleted_in_the_workspace_and_the_sample_stays_whole(tmp_path: Path) -> None:
    agent = load_agent(SAMPLES / "records")
    seed = (SAMPLES / "records" / "records.json").read_bytes()
    done = execute(agent, "delete_record", {"id": "abc-123"}, tmp_path)
    assert done.value["deleted"]["id"] == "abc-123"
    assert done.value["remaining"] == 4
    left = [record["id"] for record in json.loads((tmp_path / "records.json").read_text())]
    assert "abc-123" not in left
    assert [record["id"] for record in execute(agent, "list_records", {}, tmp_path).value] == left
    assert (SAMPLES / "records" / "records.json").read_bytes() == seed


def test_a_record_that_is_not_there_is_a_tool_error(tmp_path: Path) -> None:
    agent = load_agent(SAMPLES / "records")
    for tool in ("find_record", "delete_record"):
        outcome = execute(agent, tool, {"id": "nope"}, tmp_path)
        assert isinstance(outcome, FailedCall)
        assert "there is no record nope" in outcome.error
    assert not (tmp_path / "records.json").exists()


def test_the_script_of_records_deletes_the_record_of_the_prompt() -> None:
    agent = load_agent(SAMPLES / "records")
    prompt = User("Delete record abc-123")
    first = ask(agent, "demo.yaml", prompt)
    assert wanted(first) == [("delete_record", {"id": "abc-123"})]
    last = ask(agent, "demo.yaml", prompt, first, ToolResult("c1", "delete_record", "gone"))
    assert (last.text, last.calls) == ("Done: gone", ())


# --- weather ---------------------------------------------------------------------------------


def test_the_weather_asks_which_city_and_takes_the_answer(tmp_path: Path) -> None:
    agent = load_agent(SAMPLES / "weather")
    assert execute(agent, "get_weather", {}, tmp_path) == Suspended({"question": "Which city?"})
    answered = execute(agent, "get_weather", {}, tmp_path, resumed=True, resume_data={"city": "Oslo"})
    assert answered == Succeeded({"city": "Oslo", "celsius": 7, "sky": "snowy"})
    assert execute(agent, "get_weather", {"city": " oslo "}, tmp_path).value["celsius"] == 7


def test_a_city_that_is_not_in_the_almanac_is_a_tool_error(tmp_path: Path) -> None:
    outcome = execute(load_agent(SAMPLES / "weather"), "get_weather", {"city": "Atlantis"}, tmp_path)
    assert isinstance(outcome, FailedCall)
    assert "Atlantis" in outcome.error
    assert "oslo" in outcome.error


def test_the_scripts_of_the_weather_ask_and_know() -> None:
    agent = load_agent(SAMPLES / "weather")
    assert wanted(ask(agent, "demo.yaml", User("How is the weather?"))) == [("get_weather", {})]
    known = ask(agent, "demo-city.yaml", User("Weather in New York?"))
    assert wanted(known) == [("get_weather", {"city": "New York"})]


# --- refunds ---------------------------------------------------------------------------------


def policy_call(tool: str, args: dict[str, Any]) -> PolicyCall:
    return PolicyCall(
        tool=tool,
        args=args,
        request_context={},
        workspace="",
        agent_path=(),
        run_id="r",
        thread=None,
        resource=None,
    )


@pytest.mark.parametrize(
    ("tool", "args", "asks"),
    [
        ("refund", {"order": "A-1003", "amount": 100.01}, True),
        ("refund", {"order": "A-1003", "amount": 100}, False),
        ("lookup_order", {"order": "A-1003"}, False),
    ],
)
def test_only_large_refunds_need_a_person(tool: str, args: dict[str, Any], asks: bool) -> None:
    policy = load_agent(SAMPLES / "refunds").require_tool_approval
    assert isinstance(policy, Policy)
    verdict = asyncio.run(policy.ask(policy_call(tool, args)))
    assert (verdict.required, verdict.reason) == (asks, None)


def test_a_refund_is_written_down_once_for_one_call(tmp_path: Path) -> None:
    agent = load_agent(SAMPLES / "refunds")
    args = {"order": "A-1001", "amount": 30}
    assert execute(agent, "refund", args, tmp_path) == execute(agent, "refund", args, tmp_path)
    assert execute(agent, "lookup_order", {"order": "A-1001"}, tmp_path).value["refunded"] == 30


@pytest.mark.parametrize("amount", [-1, 0, 39.91])
def test_never_more_is_refunded_than_was_paid(tmp_path: Path, amount: float) -> None:
    outcome = execute(
        load_agent(SAMPLES / "refunds"), "refund", {"order": "A-1001", "amount": amount}, tmp_path
    )
    assert isinstance(outcome, FailedCall)
    assert not (tmp_path / "refunds.jsonl").exists()


def test_the_script_of_refunds_makes_three_calls_of_which_one_is_large() -> None:
    first = ask(load_agent(SAMPLES / "refunds"), "demo.yaml", User("Refund my orders"))
    assert wanted(first) == [
        ("lookup_order", {"order": "A-1001"}),
        ("refund", {"order": "A-1002", "amount": 25}),
        ("refund", {"order": "A-1003", "amount": 240}),
    ]
