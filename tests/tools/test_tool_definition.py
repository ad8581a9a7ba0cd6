"""The digest of a tool: what a human reviewed is this definition and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentctl.errors import DefinitionError
from agentctl.tools.loading import load_tools
from agentctl.tools.python import PythonTool, python_tool
from agentctl.tools.tool import changed_parts

HEAD = "from agentctl import tool, ToolContext\nfrom pydantic import BaseModel\n\n"
PLAIN = '''\
@tool
def save(id: str) -> str:
    """Save a record."""
    return id
'''


@pytest.fixture
def load(write_files: Any) -> Any:
    """The first tool of a file with this source."""

    def load(source: str, **files: str) -> PythonTool:
        return load_tools("tools.py", write_files(tools=HEAD + source, **files))[0]

    return load


def test_parts_are_short_digests_with_readable_names(load: Any) -> None:
    made = load(PLAIN)
    assert set(made.parts) == {
        "source",
        "description",
        "input_schema",
        "output_schema",
        "suspend_schema",
        "resume_schema",
        "require_approval",
        "idempotent",
        "timeout",
    }
    assert all(len(part) == 16 and int(part, 16) >= 0 for part in made.parts.values())
    assert len(made.digest) == 64


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return id", "return id + '!'", ["its source"]),
        ("return id", "return id  # the same", ["its source"]),
        ("Save a record.", "Save it.", ["its source", "its description"]),
        ("id: str", "id: int", ["its source", "its input schema"]),
        ("-> str", "-> int", ["its source", "its output schema"]),
        ("@tool", "@tool(require_approval=True)", ["its source", "its approval rule"]),
        (
            "@tool",
            "@tool(require_approval=lambda call: True)",
            ["its source", "its approval rule"],
        ),
        ("@tool", "@tool(require_approval=lambda call: False)", ["its source", "its approval rule"]),
        ("@tool", "@tool(idempotent=True)", ["its source", "its idempotent flag"]),
        ("@tool", "@tool(timeout=5)", ["its source", "its timeout"]),
        (
            "(id: str",
            "(ctx: ToolContext[str, int], id: str",
            ["its source", "its suspend schema", "its resume schema"],
        ),
    ],
)
def test_every_part_shows_its_change(old: str, new: str, changed: list[str], load: Any) -> None:
    before, after = load(PLAIN), load(PLAIN.replace(old, new))
    assert changed_parts(before.parts, after.parts) == changed
    assert before.digest != after.digest


def test_a_change_elsewhere_in_the_file_is_none(load: Any) -> None:
    before = load(PLAIN)
    after = load("X = 1\n\n\n" + PLAIN + "\n# a comment\ndef other(): pass\n")
    assert changed_parts(before.parts, after.parts) == []
    assert before.digest == after.digest


def test_a_change_of_a_model_that_the_tool_takes_is_one(load: Any) -> None:
    model = "class Record(BaseModel):\n    id: str\n\n@tool\ndef save(record: Record) -> None: ...\n"
    before, after = load(model), load(model.replace("    id: str", "    id: str\n    name: str = ''"))
    assert changed_parts(before.parts, after.parts) == ["its input schema"]


def test_a_change_of_the_approval_function_is_one(load: Any) -> None:
    gated = PLAIN.replace("@tool", "@tool(require_approval=gate)")
    before = load("def gate(call): return True\n" + gated)
    after = load("def gate(call): return False\n" + gated)
    assert changed_parts(before.parts, after.parts) == ["its approval rule"]


def test_the_line_endings_of_a_checkout_are_no_change(load: Any, write_files: Any) -> None:
    before = load(PLAIN)
    folder = write_files("windows", tools=HEAD + PLAIN)
    (folder / "tools.py").write_bytes((HEAD + PLAIN).replace("\n", "\r\n").encode())
    assert load_tools("tools.py", folder)[0].digest == before.digest


def test_the_folder_is_no_part_of_the_definition(write_files: Any) -> None:
    digests = {load_tools("tools.py", write_files(name, tools=HEAD + PLAIN))[0].digest for name in ("a", "b")}
    assert len(digests) == 1


def test_decorators_and_nested_functions_belong_to_the_source(load: Any) -> None:
    source = """\
import functools

def twice(function):
    @functools.wraps(function)
    def both(*args):
        return function(*args)
    return both

@twice
@tool
def save() -> None:
    def inner():
        return {n}
    inner()
"""
    one, two = load(source.replace("{n}", "1")), load(source.replace("{n}", "2"))
    assert changed_parts(one.parts, two.parts) == ["its source"]
    bare = load(source.replace("@twice\n", ""))
    assert changed_parts(load(source).parts, bare.parts) == ["its source"]


def test_two_functions_of_one_name_are_told_apart_by_their_lines(load: Any) -> None:
    source = "if {flag}:\n    @tool\n    def save(): return 1\nelse:\n    @tool\n    def save(): return 2\n"
    one, two = load(source.replace("{flag}", "1")), load(source.replace("{flag}", "0"))
    assert changed_parts(one.parts, two.parts) == ["its source"]


@pytest.mark.parametrize("separator", ["\x0c", "\x0b", "\u2028", "\x85", "\x1c"])
def test_characters_that_only_look_like_line_ends_hide_no_change(separator: str, load: Any) -> None:
    source = f"X = '{separator * 9}'\n\n{PLAIN}"
    before, after = load(source), load(source.replace("return id", "return 'x'"))
    assert changed_parts(before.parts, after.parts) == ["its source"]
    assert before.parts["source"] == load(PLAIN).parts["source"]


def test_without_source_text_there_is_no_tool() -> None:
    namespace: dict[str, Any] = {}
    exec(compile("def save(): pass", "<nowhere>", "exec"), namespace)
    with pytest.raises(DefinitionError, match="its source text cannot be read"):
        python_tool(namespace["save"])


def test_parts_that_came_or_went_are_changes() -> None:
    assert changed_parts({"source": "a", "command": "b"}, {"source": "a", "env": "c"}) == [
        "its command",
        "its env",
    ]
    assert changed_parts({}, {}) == []


def test_the_source_is_the_text_that_was_executed(load: Any, tmp_path: Path) -> None:
    before = load(PLAIN)
    (tmp_path / "agent" / "tools.py").write_text("# gone\n")
    assert python_tool(before.function).digest == before.digest
