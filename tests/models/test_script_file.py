"""A script is read strictly: what is wrong is told with its file, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentctl.errors import DefinitionError
from agentctl.models.script_file import read_script


def complaint(tmp_path: Path, yaml: str) -> str:
    file = tmp_path / "demo.yaml"
    file.write_text(yaml)
    with pytest.raises(DefinitionError) as error:
        read_script(file, "demo.yaml")
    return error.value.message


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("[]", "demo.yaml:1:1: `the script` must be a mapping, not `[]`"),
        ("{}", "demo.yaml:1:1: `turns` is missing"),
        ("turns: x", 'demo.yaml:1:8: `turns` must be a list, not `"x"`'),
        ("turns: []\nturn: []", "demo.yaml:2:1: unknown key `turn`"),
        ("turns:\n  - text: a\n    txt: b", "demo.yaml:3:5: unknown key `txt`"),
        ("turns:\n  - a", 'demo.yaml:2:5: `turns` must be a mapping, not `"a"`'),
        ("turns:\n  - {}", "demo.yaml:2:5: a turn needs `text`, `tool_calls` or `error`"),
        ("turns:\n  - delay: 1s", "demo.yaml:2:5: a turn needs `text`, `tool_calls` or `error`"),
        ("turns:\n  - text: 1", "demo.yaml:2:11: `text` must be a text, not `1`"),
        ("turns:\n  - text: null", "demo.yaml:2:11: `text` must be a text, not `null`"),
        ("turns: [{text: a, when: x}]", 'demo.yaml:1:25: `when` must be a mapping, not `"x"`'),
        ("turns: [{text: a, when: {}}]", "demo.yaml:1:25: `user` is missing"),
        ("turns: [{text: a, when: {user: 1}}]", "demo.yaml:1:32: `user` must be a text, not `1`"),
        (
            "turns: [{text: a, when: {user: '('}}]",
            "demo.yaml:1:32: not a regular expression: missing ), unterminated subpattern at position 0",
        ),
        ("turns: [{tool_calls: {}}]", "demo.yaml:1:22: `tool_calls` must be a list, not `{}`"),
        ("turns: [{tool_calls: [{}]}]", "demo.yaml:1:23: `name` is missing"),
        ("turns: [{tool_calls: [{name: ''}]}]", "demo.yaml:1:30: a tool call needs a name"),
        ("turns: [{tool_calls: [{name: f, id: 1}]}]", "demo.yaml:1:37: `id` must be a text, not `1`"),
        ("turns: [{tool_calls: [{name: f, arg: 1}]}]", "demo.yaml:1:33: unknown key `arg`"),
        (
            "turns: [{tool_calls: [{name: f, args: {}, arguments: x}]}]",
            "demo.yaml:1:23: give `args` or, as raw text, `arguments`, not both",
        ),
        (
            "turns: [{finish_reason: done}]",
            "demo.yaml:1:25: `finish_reason` is one of stop, tool_calls, length, content_filter",
        ),
        (
            "turns: [{finish_reason: [stop]}]",
            "demo.yaml:1:25: `finish_reason` is one of stop, tool_calls, length, content_filter",
        ),
        ("turns: [{text: a, usage: {tokens: 1}}]", "demo.yaml:1:27: unknown key `tokens`"),
        (
            "turns: [{text: a, usage: {input_tokens: -1}}]",
            "demo.yaml:1:41: `input_tokens` cannot be negative",
        ),
        (
            "turns: [{text: a, usage: {input_tokens: true}}]",
            "demo.yaml:1:41: `input_tokens` must be a whole number, not `true`",
        ),
        ("turns: [{error: {}}]", "demo.yaml:1:17: `message` is missing"),
        (
            "turns: [{error: {message: x, status: 8}}]",
            "demo.yaml:1:38: `status` is 1 (failed), 4 (auth) or 9 (interrupted)",
        ),
        (
            "turns: [{text: a, delay: soon}]",
            "demo.yaml:1:26: `delay` is a duration, such as 200ms or 2s",
        ),
        (
            "turns: [{text: a, delay: -1}]",
            "demo.yaml:1:26: `delay` is a duration, such as 200ms or 2s",
        ),
        ("turns: []\nauto_resume: [{}]", "demo.yaml:2:15: `answer` is missing"),
        ("turns: []\nauto_resume: [{answer: 1, x: 2}]", "demo.yaml:2:27: unknown key `x`"),
        (
            "turns: []\nauto_resume: [{answer: 1, when: {user: '['}}]",
            "demo.yaml:2:40: not a regular expression: unterminated character set at position 0",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, yaml: str, message: str) -> None:
    assert complaint(tmp_path, yaml) == message


def test_a_long_value_is_told_in_short(tmp_path: Path) -> None:
    said = complaint(tmp_path, f"turns: [{', '.join(['1'] * 999)}]")
    assert said == "demo.yaml:1:9: `turns` must be a mapping, not `1`"
    assert len(complaint(tmp_path, f"turns: {'x' * 9999}")) < 100


def test_a_script_that_is_not_there_is_an_invalid_definition(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="there is no file"):
        read_script(tmp_path / "demo.yaml", "demo.yaml")


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError):
        read_script(tmp_path, "demo.yaml")


@pytest.mark.parametrize(
    ("delay", "seconds"), [("200ms", 0.2), ("2s", 2.0), ("1m", 60.0), ("0.5", 0.5), ("3", 3.0)]
)
def test_a_delay_is_a_duration(tmp_path: Path, delay: str, seconds: float) -> None:
    (tmp_path / "demo.yaml").write_text(f"turns: [{{text: a, delay: {delay}}}]")
    (turn,) = read_script(tmp_path / "demo.yaml", "demo.yaml")
    assert turn.delay == pytest.approx(seconds)
