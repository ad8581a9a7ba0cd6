"""What the author of a tool imports, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentctl

HEAVY = {"pydantic", "asyncio", "openai", "yaml", "typing", "jsonschema", "typer"}


def loaded_after(source: str) -> set[str]:
    """The heavy modules that a fresh Python has loaded when `source` was executed."""
    code = f"import sys\nbefore = set(sys.modules)\n{source}\nprint(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.split())


def test_the_public_names() -> None:
    assert agentctl.__all__ == ["ToolContext", "__version__", "tool"]
    for name in agentctl.__all__:
        assert getattr(agentctl, name)
    with pytest.raises(AttributeError, match="no attribute 'tools_'"):
        agentctl.tools_  # noqa: B018


def test_the_version_is_that_of_the_installed_distribution() -> None:
    from importlib.metadata import version

    assert agentctl.__version__ == version("agentctl-cli")


def test_importing_the_package_loads_nothing() -> None:
    assert loaded_after("import agentctl") == set()


def test_marking_a_tool_needs_neither_pydantic_nor_asyncio() -> None:
    source = "from agentctl import tool, ToolContext\n@tool\ndef f(ctx: ToolContext, a: int): ...\nf(None, 1)"
    assert loaded_after(source) <= {"typing"}


def test_what_a_tool_is_can_be_known_without_pydantic() -> None:
    assert loaded_after("import agentctl.tools.tool, agentctl.tools.policy") <= {"typing"}
