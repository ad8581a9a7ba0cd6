"""Agents in a folder, written by the test that loads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

AgentFolder = Callable[..., Path]

TOOLS = '''
from agentctl import tool


@tool(require_approval=True)
def delete_record(id: str) -> str:
    """Delete a record by ID."""
    raise AssertionError("no tool may run here")


@tool
def read_record(id: str) -> str:
    """Read a record by ID."""
    raise AssertionError("no tool may run here")
'''

POLICY = """
def gate(call):
    raise AssertionError("no policy may be asked here")
"""


@pytest.fixture
def agent_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentFolder:
    """`agent_folder(yaml)` writes agent.yaml, tools.py and policy.py, `agent_folder(yaml, files)` others
    too; the current folder becomes the agent's parent, so the agent is `my`."""
    folder = tmp_path / "my"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)

    def write(yaml: str, files: Mapping[str, str] | None = None) -> Path:
        contents = {"agent.yaml": yaml, "tools.py": TOOLS, "policy.py": POLICY} | dict(files or {})
        for name, text in contents.items():
            (folder / name).write_text(dedent(text), encoding="utf-8")
        return Path("my")

    return write
