"""An agent is its file and everything the file names; its digest knows when either changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from agentctl.agents.agent import changed_parts
from agentctl.agents.loading import load_agent
from agentctl.errors import DefinitionError, NotFound
from agentctl.models.providers import ModelRef
from agentctl.tools.policy import Policy

AgentFolder = Callable[..., Path]

HEAD = "id: a\ninstructions: Help.\n"
FULL = """\
id: records
name: Record keeper
description: Keeps customer records
model: openai/gpt-5-mini
instructions: You keep customer records.
tools:
  - tools.py
require_tool_approval: ["delete_*"]
options: {max_steps: 5, temperature: 0}
"""


def refusal(path: Path) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        load_agent(path)
    return caught.value


def test_an_agent_holds_all_that_its_file_says(agent_folder: AgentFolder, tmp_path: Path) -> None:
    agent = load_agent(agent_folder(FULL))
    assert (agent.id, agent.name, agent.description) == ("records", "Record keeper", "Keeps customer records")
    assert agent.instructions == "You keep customer records."
    assert agent.model == ModelRef("openai", "gpt-5-mini")
    assert list(agent.tools) == ["delete_record", "read_record"]
    assert agent.tools["delete_record"].require_approval is True
    assert agent.require_tool_approval == ("delete_*",)
    assert (agent.max_steps, agent.parameters) == (5, {"temperature": 0})
    assert (agent.path, agent.folder) == (tmp_path / "my" / "agent.yaml", tmp_path / "my")


def test_an_agent_cannot_be_changed(agent_folder: AgentFolder) -> None:
    agent = load_agent(agent_folder(FULL))
    with pytest.raises(FrozenInstanceError):
        agent.require_tool_approval = False  # type: ignore[misc]


def test_what_is_left_out_has_a_default(agent_folder: AgentFolder) -> None:
    agent = load_agent(agent_folder(HEAD))
    assert (agent.name, agent.description, agent.model, agent.tools) == ("a", "", None, {})
    assert (agent.require_tool_approval, agent.max_steps, agent.parameters) == (False, 20, {})


def test_a_model_may_be_a_mapping(agent_folder: AgentFolder) -> None:
    mapping = "{provider: openai, name: m, base_url: 'http://localhost/v1', api_key_env: KEY}"
    agent = load_agent(agent_folder(HEAD + f"model: {mapping}"))
    assert agent.model == ModelRef("openai", "m", "http://localhost/v1", "KEY")


def test_tools_keep_the_order_of_the_file(agent_folder: AgentFolder) -> None:
    refs = "tools: ['tools.py:read_record', 'tools.py:delete_record']"
    assert list(load_agent(agent_folder(HEAD + refs)).tools) == ["read_record", "delete_record"]


def test_an_approval_function_is_named_but_not_loaded(agent_folder: AgentFolder) -> None:
    folder = agent_folder(
        HEAD + "require_tool_approval: broken.py:gate", {"broken.py": "raise SystemExit(3)"}
    )
    approval = load_agent(folder).require_tool_approval
    assert isinstance(approval, Policy)
    assert approval.name == "broken.py:gate"


def test_a_path_with_dots_or_links_names_one_file(agent_folder: AgentFolder, tmp_path: Path) -> None:
    agent_folder(HEAD)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to("deep/er")
    assert load_agent(Path("link/../../my")).path == tmp_path / "my" / "agent.yaml"


def test_a_missing_agent_is_not_found(agent_folder: AgentFolder) -> None:
    agent_folder(HEAD)
    with pytest.raises(NotFound, match=r"^there is no agent `mine`$"):
        load_agent(Path("mine"))


# --- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tools: [missing.py]", r"3:9: .*missing\.py.*"),
        ("tools: [tools.py, 'tools.py:delte_record']", r"3:19: .*delte_record.*"),
        ("tools: [../tools.py]", r"3:9: `\.\./tools\.py` is outside the folder of the agent"),
        ("tools: [no.such.module:f]", r"3:9: .*no.*"),
        ("tools: [broken.py]", r"3:9: .*broken\.py:2:1: .*boom.*"),
        (
            "tools: [tools.py, 'tools.py:read_record']",
            "3:19: `tools.py:read_record` has a tool `read_record`, and so has `tools.py`",
        ),
        ("require_tool_approval: 'policy.py:not a name'", "3:24: .*does not name a function"),
        ("model: gpt-5-mini", "3:8: `gpt-5-mini` is no model: it must be provider/name"),
        ("model: {provider: opnai, name: x}", "3:8: there is no provider `opnai`"),
    ],
)
def test_each_mistake_is_told_at_its_reference(agent_folder: AgentFolder, line: str, message: str) -> None:
    folder = agent_folder(HEAD + line, {"broken.py": "import os\nraise ValueError('boom')\n"})
    assert re.fullmatch(f"my/agent.yaml:{message}", refusal(folder).message)


def test_all_mistakes_of_what_is_named_are_told_at_once(agent_folder: AgentFolder) -> None:
    folder = agent_folder(HEAD + "tools:\n  - one.py\n  - tools.py\n  - two.py\nmodel: none\n")
    places = [line.split(": ")[0] for line in refusal(folder).message.splitlines()]
    assert places == ["my/agent.yaml:4:5", "my/agent.yaml:6:5", "my/agent.yaml:7:8"]


def test_a_mistake_in_the_file_is_told_before_any_tool_is_imported(agent_folder: AgentFolder) -> None:
    folder = agent_folder(HEAD + "tols: []\ntools: [broken.py]", {"broken.py": "raise ValueError('boom')"})
    assert refusal(folder).message == "my/agent.yaml:3:1: unknown key `tols`; did you mean `tools`?"


def test_a_hint_about_a_reference_is_passed_on(agent_folder: AgentFolder) -> None:
    [hint] = refusal(agent_folder(HEAD + "tools: ['tools.py:delte_record']")).hints
    assert "did you mean `delete_record`" in hint


# --- digests ---------------------------------------------------------------------------------


def test_the_same_agent_has_the_same_digest_anywhere(
    agent_folder: AgentFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_agent(agent_folder(FULL))
    (tmp_path / "my").rename(tmp_path / "other")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    second = load_agent(tmp_path / "other")
    assert re.fullmatch("[0-9a-f]{64}", first.digest)
    assert (second.digest, second.parts) == (first.digest, first.parts)


def test_comments_and_layout_do_not_count(agent_folder: AgentFolder) -> None:
    first = load_agent(agent_folder(FULL))
    second = load_agent(agent_folder("# changed\n" + FULL.replace('["delete_*"]', "\n  - delete_*")))
    assert second.digest == first.digest


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("Record keeper", "Keeper", ["name"]),
        ("You keep", "Keep", ["instructions"]),
        ("gpt-5-mini", "gpt-5", ["model"]),
        ("temperature: 0", "temperature: 1", ["options"]),
        ("description: Keeps customer records\n", "", ["description"]),
        ('["delete_*"]', "true", ["require_tool_approval"]),
        ("- tools.py", "- tools.py:delete_record", ["tools"]),
        ("id: records", "id: recs", ["id"]),
    ],
)
def test_a_change_is_named_by_its_key(
    agent_folder: AgentFolder, old: str, new: str, changed: list[str]
) -> None:
    before = load_agent(agent_folder(FULL))
    after = load_agent(agent_folder(FULL.replace(old, new)))
    assert after.digest != before.digest
    assert changed_parts(before.parts, after.parts) == changed
    assert all(re.fullmatch("[0-9a-f]{16}", part) for part in after.parts.values())


def test_a_change_of_a_tool_or_of_the_policy_is_a_change_of_the_agent(
    agent_folder: AgentFolder, tmp_path: Path
) -> None:
    text = HEAD + "tools: [tools.py]\nrequire_tool_approval: policy.py:gate"
    before = load_agent(agent_folder(text))
    for name, key in (("tools.py", "tools"), ("policy.py", "require_tool_approval")):
        source = tmp_path / "my" / name
        unchanged = source.read_text()
        source.write_text(unchanged.replace("no ", "No, not any "))
        after = load_agent(Path("my"))
        assert after.digest != before.digest
        assert changed_parts(before.parts, after.parts) == [key]
        source.write_text(unchanged)
