"""Links lead somewhere, options exist, examples are well-formed, and the words are ours."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentctl.agents.validation import validate
from agentctl.models.script_file import read_script
from agentctl.tools.loading import load_tools
from agentctl.yaml12.source import read_yaml_file
from docs.pages import DOCS, PAGES, README, Block, all_blocks, anchors, blocks_of, prose
from support.distribution import CHECKOUT

COMMANDS = DOCS / "commands.md"
# Sentences of this place and of advertisements; and what is not there yet.
UNWANTED = re.compile(
    r"/(?:work|root|home|Users)/|TODO|FIXME|\b(?:powerful|seamless|easily|simply|blazing|robust|leverage)\b"
    r"|sub-agents?\b|\bhooks?\b|agentctl (?:init|prune|models|threads)\b|Responses API|--thread\b",
    re.IGNORECASE,
)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every_page
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.is_file(), f"{page.name}: {target}"
        assert linked.is_relative_to(CHECKOUT), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(linked), f"{page.name}: {target}"


@every_page
def test_every_page_is_reached_from_the_readme(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]+)", prose(README))
    assert page == README or str(page.relative_to(CHECKOUT)) in links


@every_page
def test_every_option_that_is_named_exists(page: Path) -> None:
    known = set(re.findall(r"--[a-z][a-z-]*", COMMANDS.read_text()))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page.read_text()))
    assert named - known == set()


@every_page
def test_no_page_speaks_of_this_machine_or_of_what_is_not_there(page: Path) -> None:
    found = [match[0] for match in UNWANTED.finditer(page.read_text())]
    assert found == []


@every_page
def test_lines_are_as_long_as_a_reader_of_the_source_likes(page: Path) -> None:
    lines = [line for line in prose(page).split("\n") if not line.startswith(("|", "- ["))]
    assert [line for line in lines if len(line) > 120] == []


def test_every_block_says_what_it_is() -> None:
    known = {"bash", "console", "json", "python", "sh", "text", "yaml"}
    assert {block.language for page in PAGES for block in blocks_of(page)} <= known


@pytest.mark.parametrize("block", all_blocks("python"), ids=lambda block: block.where)
def test_python_in_the_pages_compiles(block: Block) -> None:
    ast.parse(block.text)


TOOLS = [block for block in all_blocks("python") if "\n@tool" in block.text and block.page.parent == DOCS]


@pytest.mark.parametrize("block", TOOLS, ids=lambda block: block.where)
def test_tools_in_the_pages_are_tools(block: Block, tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(block.text)
    assert load_tools("tools.py", tmp_path) != []


@pytest.mark.parametrize("block", all_blocks("json"), ids=lambda block: block.where)
def test_json_in_the_pages_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", all_blocks("sh", "bash"), ids=lambda block: block.where)
def test_scripts_in_the_pages_are_scripts(block: Block) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True, check=False)
    assert checked.stderr == ""


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=lambda block: block.where)
def test_yaml_in_the_pages_is_part_of_an_agent_or_a_script(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "block.yaml"
    file.write_text(block.text)
    data = read_yaml_file(file).data
    if "turns" in data:
        read_script(file, file.name)
    else:
        file.write_text(json.dumps({"id": "whole", "instructions": "Work.", **data}))
        validate(read_yaml_file(file))


def test_the_page_of_commands_is_what_the_program_says() -> None:
    script = DOCS / "generate_commands.py"
    printed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert printed == COMMANDS.read_text(), "python docs/generate_commands.py prints it anew"
