"""`check` validates a definition and everything it names, and runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentctl.agents.checking import check_agent
from agentctl.errors import DefinitionError, NotFound

AgentFolder = Callable[..., Path]

HEAD = "id: a\ninstructions: Help.\nmodel: openai/m\ntools: [tools.py]\n"


def test_a_sound_agent_has_no_warnings_and_nothing_of_it_runs(agent_folder: AgentFolder) -> None:
    assert check_agent(agent_folder(HEAD + "require_tool_approval: policy.py:gate")) == []
    assert check_agent(agent_folder(HEAD + "require_tool_approval: ['delete_*', read_record, '*']")) == []


def test_an_agent_without_model_or_tools_is_warned_about(agent_folder: AgentFolder) -> None:
    assert check_agent(agent_folder("id: a\ninstructions: x\n")) == [
        "my/agent.yaml:1:1: there is no `model`: each run needs --model or AGENTCTL_MODEL",
        "my/agent.yaml:1:1: the agent has no tools",
    ]
    assert check_agent(agent_folder("id: a\ninstructions: x\nmodel: openai/m\ntools: []")) == [
        "my/agent.yaml:4:1: the agent has no tools"
    ]


def test_a_glob_that_matches_no_tool_is_warned_about(agent_folder: AgentFolder) -> None:
    assert check_agent(agent_folder(HEAD + "require_tool_approval: ['delete_*', 'Read_*']")) == [
        "my/agent.yaml:5:37: `Read_*` matches no tool; tools: delete_record, read_record"
    ]


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("missing.py:gate", "missing.py"),
        ("policy.py:gat", "no function `gat`"),
        ("no.such.module:gate", "no module `no`"),
        ("broken.py:gate", "boom"),
        ("broken_exit.py:gate", "broken_exit.py"),
        ("number.py:LIMIT", "`number.py:LIMIT` is no function"),
    ],
)
def test_a_policy_that_does_not_load_is_a_warning_because_then_every_call_waits(
    agent_folder: AgentFolder, ref: str, says: str
) -> None:
    folder = agent_folder(
        HEAD + f"require_tool_approval: {ref}",
        {
            "broken.py": "raise ValueError('boom')",
            "broken_exit.py": "raise SystemExit(0)",
            "number.py": "LIMIT = 100",
        },
    )
    [warning] = check_agent(folder)
    assert warning.startswith("my/agent.yaml:5:24: every call will wait for approval: ")
    assert says in warning


def test_a_script_is_validated_with_the_agent_that_names_it(agent_folder: AgentFolder) -> None:
    text = "id: a\ninstructions: x\ntools: [tools.py]\nmodel: scripted/demo.yaml\n"
    assert check_agent(agent_folder(text, {"demo.yaml": "turns: [{text: hi}]"})) == []
    with pytest.raises(DefinitionError, match=r"^my/agent\.yaml:4:8: demo\.yaml:1:\d+: "):
        check_agent(agent_folder(text, {"demo.yaml": "turns: [{txt: hi}]"}))


def test_a_script_that_is_missing_is_an_error(agent_folder: AgentFolder) -> None:
    with pytest.raises(DefinitionError, match=r"^my/agent\.yaml:3:8: .*`none\.yaml`"):
        check_agent(agent_folder("id: a\ninstructions: x\nmodel: scripted/none.yaml\n"))


def test_errors_and_missing_agents_are_those_of_a_run(agent_folder: AgentFolder) -> None:
    with pytest.raises(DefinitionError, match=r"^my/agent\.yaml:1:1: the key `instructions` is missing$"):
        check_agent(agent_folder("id: a"))
    with pytest.raises(NotFound):
        check_agent(agent_folder("id: a") / "none")
