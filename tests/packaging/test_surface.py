"""What others may build on, and what the store may build on."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator

import agentctl
from support.distribution import CHECKOUT

STORE = CHECKOUT / "store" / "agentctl_store"


def test_the_public_names_of_agentctl_are_these() -> None:
    assert sorted(agentctl.__all__) == ["ToolContext", "__version__", "tool"]


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(agentctl, name) is not None for name in agentctl.__all__)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    assert not hasattr(agentctl, "no_such_name")


def test_importing_agentctl_loads_nothing_that_is_not_used() -> None:
    source = "import sys, agentctl; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert not {"pydantic", "openai", "asyncio", "yaml", "rich", "typer"} & set(loaded.split())


def imports_of_the_store() -> Iterator[str]:
    """The top-level name of everything that any module of the store imports, wherever it does."""
    for file in STORE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module, f"{file.name}: imports are written in full"
                yield node.module.partition(".")[0]


def test_the_store_imports_the_standard_library_and_filelock_only() -> None:
    others = set(imports_of_the_store()) - set(sys.stdlib_module_names)
    assert others == {"agentctl_store", "filelock"}
