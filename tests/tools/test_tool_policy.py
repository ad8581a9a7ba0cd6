"""Approval functions: whatever is not a clear `False` in time means that a human is asked."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentctl import tool
from agentctl.errors import DefinitionError
from agentctl.tools.loading import load_policy
from agentctl.tools.policy import Policy, PolicyCall, Verdict
from agentctl.tools.python import python_tool


def policy_call(**known: Any) -> PolicyCall:
    usual: dict[str, Any] = {
        "tool": "refund",
        "args": {"amount": 50},
        "request_context": {"tenant": "acme"},
        "workspace": "/work",
        "agent_path": ("records",),
        "run_id": "run-1",
        "thread": None,
        "resource": None,
    }
    return PolicyCall(**{**usual, **known})


def ask(function: Callable[[Any], Any], call: PolicyCall | None = None, timeout: float = 10.0) -> Verdict:
    return asyncio.run(Policy("policy.py:gate", lambda: function, timeout=timeout).ask(call or policy_call()))


def test_it_decides_by_the_arguments() -> None:
    def is_large(call: PolicyCall) -> bool:
        return bool(call.args["amount"] > 100)

    assert ask(is_large, policy_call(args={"amount": 101})) == Verdict(required=True, reason=None)
    assert ask(is_large, policy_call(args={"amount": 100})) == Verdict(required=False, reason=None)


def test_it_may_be_async() -> None:
    async def slowly(call: PolicyCall) -> bool:
        await asyncio.sleep(0)
        return call.tool == "refund"

    assert ask(slowly) == Verdict(True)
    assert ask(slowly, policy_call(tool="read")) == Verdict(False)


def test_it_is_told_everything_about_the_call() -> None:
    call = policy_call(thread="t", resource="ada")
    told: list[PolicyCall] = []

    def remember(call: PolicyCall) -> bool:
        told.append(call)
        return False

    ask(remember, call)
    assert told == [call]
    assert [field.name for field in dataclasses.fields(PolicyCall)] == [
        "tool",
        "args",
        "request_context",
        "workspace",
        "agent_path",
        "run_id",
        "thread",
        "resource",
    ]


def test_it_cannot_change_what_will_run() -> None:
    def tamper(call: PolicyCall) -> bool:
        call.args["items"].append("more")
        call.args["amount"] = 1
        call.request_context["tenant"] = "other"  # type: ignore[index]
        return False

    call = policy_call(args={"items": [], "amount": 500})
    ask(tamper, call)
    assert call.args == {"items": [], "amount": 500}
    assert call.request_context == {"tenant": "acme"}


def test_the_call_is_frozen() -> None:
    def replace_args(call: Any) -> bool:
        call.args = {}
        return False

    assert "raised FrozenInstanceError" in str(ask(replace_args).reason)


class Awkward:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("no", "`'no'`"),
        (None, "`None`"),
        (0, "`0`"),
        (1, "`1`"),
        ([], "`[]`"),
        ("x" * 500, "…`"),
        (Awkward(), "`Awkward`"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_is_no_boolean_asks_a_human(kind: str, value: Any, shown: str) -> None:
    def sync(call: PolicyCall) -> Any:
        return value

    async def asynchronous(call: PolicyCall) -> Any:
        return value

    verdict = ask(sync if kind == "sync" else asynchronous)
    assert verdict.required
    assert verdict.reason is not None
    assert verdict.reason.startswith("policy `policy.py:gate` returned ")
    assert shown in verdict.reason
    assert len(verdict.reason) < 200


@pytest.mark.parametrize(
    "error",
    [ValueError("boom"), SystemExit(0), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_raising_asks_a_human(kind: str, error: BaseException) -> None:
    def sync(call: PolicyCall) -> bool:
        raise error

    async def asynchronous(call: PolicyCall) -> bool:
        raise error

    verdict = ask(sync if kind == "sync" else asynchronous)
    assert verdict.required
    assert verdict.reason is not None
    assert verdict.reason.startswith("policy `policy.py:gate` raised ")
    assert type(error).__name__ in verdict.reason


def test_the_reason_holds_the_error() -> None:
    def broken(call: PolicyCall) -> bool:
        raise ValueError("boom")

    assert ask(broken).reason == "policy `policy.py:gate` raised ValueError: boom"


def test_taking_other_parameters_asks_a_human() -> None:
    def wrong(tool: str, args: dict[str, Any]) -> bool:
        return False

    assert "raised TypeError" in str(ask(wrong).reason)  # type: ignore[arg-type]


def test_arguments_too_deep_to_copy_ask_a_human() -> None:
    deep: Any = 0
    for _ in range(5000):
        deep = [deep]
    verdict = ask(lambda call: False, policy_call(args={"deep": deep}))
    assert verdict.required
    assert "RecursionError" in str(verdict.reason)


async def waits_forever(call: PolicyCall) -> bool:
    await asyncio.sleep(3600)
    return False


async def blocks_forever(call: PolicyCall) -> bool:
    time.sleep(3600)
    return False


def sleeps_forever(call: PolicyCall) -> bool:
    time.sleep(3600)
    return False


@pytest.mark.parametrize("function", [waits_forever, blocks_forever, sleeps_forever])
def test_never_ending_asks_a_human_and_blocks_nobody(function: Callable[[PolicyCall], Any]) -> None:
    async def beside_others() -> tuple[Verdict, int]:
        beats = 0
        asking = asyncio.create_task(
            Policy("policy.py:gate", lambda: function, timeout=0.05).ask(policy_call())
        )
        while not asking.done():
            await asyncio.sleep(0.001)
            beats += 1
        return asking.result(), beats

    verdict, beats = asyncio.run(beside_others())
    assert verdict == Verdict(True, "policy `policy.py:gate` gave no answer within 0.05s")
    assert beats > 1


def test_loading_that_never_ends_asks_a_human() -> None:
    release = threading.Event()

    def load() -> Any:
        release.wait(60)

    verdict = asyncio.run(Policy("policy.py:gate", load, timeout=0.05).ask(policy_call()))
    release.set()
    assert verdict == Verdict(True, "policy `policy.py:gate` gave no answer within 0.05s")


def test_leaving_while_it_is_loaded_asks_a_human() -> None:
    def load() -> Any:
        raise SystemExit(0)

    verdict = asyncio.run(Policy("policy.py:gate", load).ask(policy_call()))
    assert verdict == Verdict(True, "policy `policy.py:gate` could not be loaded: SystemExit: 0")


def test_ten_seconds_are_the_default() -> None:
    assert "timeout: float = 10.0" in Path(Policy.__init__.__code__.co_filename).read_text()


# Policies named in agent files


def test_a_policy_from_a_file(write_files: Any) -> None:
    folder = write_files(policy="def gate(call):\n    return call.args['amount'] > 100\n")
    policy = load_policy("policy.py:gate", folder)
    assert asyncio.run(policy.ask(policy_call())) == Verdict(False)
    assert asyncio.run(policy.ask(policy_call(args={"amount": 101}))) == Verdict(True)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (None, "no such file"),
        ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'"),
        ("def gate(call:\n", "was never closed"),
        ("raise ValueError('at import')\n", "ValueError: at import"),
        ("raise SystemExit(0)\n", "SystemExit"),
        ("def gates(call): return False\n", "no function `gate`"),
        ("gate = False\n", "`gate` is no function"),
    ],
)
def test_a_policy_that_does_not_load_asks_a_human_and_is_no_error(
    source: str | None, why: str, write_files: Any, tmp_path: Path
) -> None:
    folder = write_files(policy=source) if source is not None else tmp_path
    verdict = asyncio.run(load_policy("policy.py:gate", folder).ask(policy_call()))
    assert verdict.required
    assert str(verdict.reason).startswith("policy `policy.py:gate` could not be loaded: ")
    assert why in str(verdict.reason)


def test_a_policy_of_a_missing_module_asks_a_human(tmp_path: Path) -> None:
    verdict = asyncio.run(load_policy("nowhere.policies:gate", tmp_path).ask(policy_call()))
    assert verdict.reason == (
        "policy `nowhere.policies:gate` could not be loaded: "
        "there is no module `nowhere` for `nowhere.policies:gate`"
    )


@pytest.mark.parametrize(
    "ref", ["policy.py", "policy", "", ":gate", "policy.py:", "policy.py:a b", "../p.py:gate"]
)
def test_what_names_no_function_is_an_error(ref: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError):
        load_policy(ref, tmp_path)


def test_the_definition_of_a_policy_is_its_name_and_source(write_files: Any) -> None:
    def definition(source: str, ref: str = "policy.py:gate") -> Any:
        policy = load_policy(ref, write_files(policy=source))
        assert len(policy.digest) == 64
        return policy.digest

    first = definition("def gate(call):\n    return True\n")
    assert definition("# elsewhere\n\ndef gate(call):\n    return True\n") == first
    assert definition("def gate(call):\n    return False\n") != first
    assert (
        definition("def gate(call):\n    return True\ndef gates(call):\n    return True\n", "policy.py:gates")
        != first
    )
    # The text counts even where the file does not load, so that nobody is told of a change that is none.
    assert definition("import nowhere_to_be_found\ndef gate(call):\n    return True\n") == first


def test_a_policy_that_is_made_counts_with_its_whole_file(write_files: Any) -> None:
    source = "def limit(n):\n    return lambda call: call.args['amount'] > n\n\ngate = limit({n})\n"
    policies = [
        load_policy("policy.py:gate", write_files(policy=source.replace("{n}", n))).digest for n in ("1", "2")
    ]
    assert policies[0] != policies[1]


# Policies given to @tool


def gate_all(call: PolicyCall) -> bool:
    return True


def test_a_function_given_to_the_decorator_is_a_policy() -> None:
    @tool(require_approval=gate_all)
    def refund(amount: int) -> None: ...

    policy = python_tool(refund).require_approval
    assert isinstance(policy, Policy)
    assert policy.name == "gate_all"
    assert policy.source == "def gate_all(call: PolicyCall) -> bool:\n    return True\n"
    assert asyncio.run(policy.ask(policy_call())) == Verdict(True)


def test_a_lambda_is_one_too() -> None:
    @tool(require_approval=lambda call: call.args["amount"] > 100)
    def refund(amount: int) -> None: ...

    policy = python_tool(refund).require_approval
    assert isinstance(policy, Policy)
    assert policy.source == 'lambda call: call.args["amount"] > 100'
    assert asyncio.run(policy.ask(policy_call())) == Verdict(False)
