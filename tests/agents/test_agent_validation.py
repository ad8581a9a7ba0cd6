"""What an agent file may say, and how each mistake is told: `file:line:column: what`, then hints."""

from __future__ import annotations

import pytest

from agentctl.agents.definition import Definition, ModelMapping
from agentctl.agents.validation import validate
from agentctl.errors import DefinitionError
from agentctl.yaml12.source import read_yaml

HEAD = "id: a\ninstructions: Help.\n"


def definition(text: str) -> Definition:
    return validate(read_yaml(text, "agent.yaml"))


def refusal(text: str) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        definition(text)
    return caught.value


def test_an_id_and_instructions_make_an_agent() -> None:
    smallest = definition(HEAD)
    assert (smallest.id, smallest.instructions) == ("a", "Help.")
    assert (smallest.name, smallest.description, smallest.model, smallest.tools) == (None, "", None, [])
    assert smallest.require_tool_approval is False
    assert smallest.options.max_steps == 20
    assert smallest.options.parameters() == {}


def test_every_key_is_read() -> None:
    full = definition(
        HEAD + "name: Keeper\ndescription: Keeps\nmodel: openai/gpt-5-mini\n"
        "tools: [tools.py, package.module:function]\nrequire_tool_approval: ['delete_*', x]\n"
        "options: {max_steps: 5, temperature: 0, top_p: 0.5, max_tokens: 100, seed: -1, stop: [a, b]}"
    )
    assert (full.name, full.description, full.model) == ("Keeper", "Keeps", "openai/gpt-5-mini")
    assert full.tools == ["tools.py", "package.module:function"]
    assert full.require_tool_approval == ["delete_*", "x"]
    assert full.options.max_steps == 5
    assert full.options.parameters() == {
        "temperature": 0,
        "top_p": 0.5,
        "max_tokens": 100,
        "seed": -1,
        "stop": ["a", "b"],
    }


def test_a_model_may_be_a_mapping() -> None:
    model = definition(HEAD + "model: {provider: openai, name: m, base_url: 'http://x/v1', api: chat}").model
    assert model == ModelMapping(provider="openai", name="m", base_url="http://x/v1")


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("false", False), ("policy.py:gate", "policy.py:gate"), ("[]", [])]
)
def test_approval_is_a_boolean_globs_or_a_function(text: str, value: object) -> None:
    assert definition(HEAD + f"require_tool_approval: {text}").require_tool_approval == value


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("instrutions: x", "3:1: unknown key `instrutions`; did you mean `instructions`?"),
        ("Tools: []", "3:1: unknown key `Tools`; did you mean `tools`?"),
        ("colour: red", "3:1: unknown key `colour`"),
        ("agents: [../data-agent]", "3:1: unknown key `agents`"),
        ("memory: true", "3:1: unknown key `memory`"),
        ("hooks: {}", "3:1: unknown key `hooks`"),
        ("name: 12", "3:7: `name` must be a text, not a number"),
        ("name: ''", "3:7: `name` must not be empty"),
        ("name:", "3:6: `name` must not be empty"),
        ("model:", "3:7: `model` must not be empty"),
        ("tools:", "3:7: `tools` must be a list, not empty"),
        (
            "require_tool_approval:",
            "3:23: `require_tool_approval` must be true, false, a list of globs, or `policy.py:function`, "
            "not empty",
        ),
        ("options: {temperature: }", "3:24: `options.temperature` must not be empty"),
        ("description: true", "3:14: `description` must be a text, not true"),
        ("model: 3", "3:8: `model` must be `provider/name` or a mapping, not a number"),
        ("model: {provider: openai}", "3:8: the key `name` is missing in `model`"),
        ("model: {provider: a, name: b, url: c}", "3:31: unknown key `url` in `model`"),
        ("model: {provider: a, name: 5}", "3:28: `model.name` must be a text, not a number"),
        ("model: {provider: a, name: b, api: grpc}", "3:36: `model.api` must be `chat`"),
        ("tools: tools.py", "3:8: `tools` must be a list, not a text"),
        ("tools: [a.py, {id: x}]", "3:15: `tools[1]` must be a text, not a mapping"),
        ("tools: [' ']", "3:9: `tools[0]` must not be empty"),
        (
            "require_tool_approval: delete_*",
            "3:24: `require_tool_approval` must be true, false, a list of globs, or `policy.py:function`",
        ),
        (
            "require_tool_approval: 1",
            "3:24: `require_tool_approval` must be true, false, a list of globs, or `policy.py:function`, "
            "not a number",
        ),
        ("require_tool_approval: [a, 1]", "3:28: `require_tool_approval[1]` must be a text, not a number"),
        ("options: []", "3:10: `options` must be a mapping, not a list"),
        ("options: {max_steps: 0}", "3:22: `options.max_steps` must be at least 1"),
        ("options: {max_steps: 1.0}", "3:22: `options.max_steps` must be a whole number, not a number"),
        ("options: {max_steps: '5'}", "3:22: `options.max_steps` must be a whole number, not a text"),
        ("options: {max_steps: yes}", "3:22: `options.max_steps` must be a whole number, not a text"),
        ("options: {temperature: true}", "3:24: `options.temperature` must be a number, not true"),
        ("options: {temperature: -1}", "3:24: `options.temperature` must be at least 0"),
        ("options: {top_p: 1.5}", "3:18: `options.top_p` must be at most 1"),
        ("options: {stop: 1}", "3:17: `options.stop` must be a text or a list of texts, not a number"),
        (
            "options: {tempreature: 0}",
            "3:11: unknown key `tempreature` in `options`; did you mean `temperature`?",
        ),
        (
            "options: {parallel_tool_calls: 1}",
            "3:32: `options.parallel_tool_calls` must be true or false, not a number",
        ),
    ],
)
def test_each_mistake_is_told_in_one_line_with_its_place(line: str, message: str) -> None:
    assert refusal(HEAD + line).message == f"agent.yaml:{message}"


@pytest.mark.parametrize("id", ["A", "a_b", "a b", "é", "a/b", "''", "'a\n\n'", "a" * 65])
def test_an_id_is_made_of_lower_case_letters_digits_and_dashes(id: str) -> None:
    message = refusal(f"id: {id}\ninstructions: x").message
    assert message.startswith("agent.yaml:1:5: the id `")
    assert message.endswith("must be 1 to 64 of a-z, 0-9 and `-`")


def test_a_number_where_a_text_belongs_has_the_hint_to_quote_it() -> None:
    error = refusal("id: 12\ninstructions: x")
    assert error.message == "agent.yaml:1:5: `id` must be a text, not a number"
    assert error.hints == ("put it in quotes",)


def test_an_unlikely_key_has_the_known_ones_as_hint() -> None:
    [hint] = refusal(HEAD + "colour: red").hints
    assert hint.startswith("known keys: id, name, description, model, instructions, tools, ")
    [hint] = refusal(HEAD + "options: {colour: red}").hints
    assert hint.startswith("known keys in `options`: max_steps, temperature, ")


def test_a_glob_that_is_no_list_has_the_list_as_hint() -> None:
    assert refusal(HEAD + "require_tool_approval: delete_*").hints == ('for a glob, write ["delete_*"]',)


@pytest.mark.parametrize("text", ["[]", "just text", "12", "~"])
def test_an_agent_is_a_mapping(text: str) -> None:
    assert refusal(text).message.startswith("agent.yaml:1:1: an agent is a mapping of keys, not ")


def test_missing_keys_are_told_at_the_start() -> None:
    assert refusal("# comment\nname: x").message.splitlines() == [
        "agent.yaml:2:1: the key `id` is missing",
        "agent.yaml:2:1: the key `instructions` is missing",
    ]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    error = refusal("options: {max_steps: 0}\nfoo: 1\nid: B\ntools: [1]\nname: 2\n")
    assert [line.split(": ")[0] for line in error.message.splitlines()] == [
        "agent.yaml:1:1",
        "agent.yaml:1:22",
        "agent.yaml:2:1",
        "agent.yaml:3:5",
        "agent.yaml:4:9",
        "agent.yaml:5:7",
    ]


def test_what_the_file_holds_cannot_forge_lines_or_colours() -> None:
    error = refusal('id: "x\\e[31m\\nforged:1:1: "\ninstructions: a\n"k\\n\\u202e": 1')
    assert len(error.message.splitlines()) == 2
    assert error.message.replace("\n", "").isprintable()
