"""What is shipped: the wheel holds the two import packages and nothing else, the sdist the source tree."""

from __future__ import annotations

import re
from pathlib import Path

import agentctl
from support.distribution import CHECKOUT, Distribution

PACKAGES = {"cli": "agentctl", "store": "agentctl_store"}
TREES = ("cli", "store", "sample-agents", "tests", "docs")
TOP = {"README.md", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml"}


def files_below(folder: Path, root: Path) -> set[str]:
    """Every file of a source tree, without what running leaves behind."""
    left_behind = {"__pycache__", ".runs"}
    return {
        str(file.relative_to(root))
        for file in folder.rglob("*")
        if file.is_file() and not left_behind & set(file.parts)
    }


def test_the_wheel_holds_the_two_packages_and_its_metadata(distribution: Distribution) -> None:
    code = {
        name
        for source, package in PACKAGES.items()
        for name in files_below(CHECKOUT / source / package, CHECKOUT / source)
    }
    info = f"agentctl_cli-{agentctl.__version__}.dist-info"
    metadata = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert distribution.files_of_wheel() == code | {f"{info}/{name}" for name in metadata}


def test_the_packages_hold_code_and_their_type_markers_only() -> None:
    for source, package in PACKAGES.items():
        files = files_below(CHECKOUT / source, CHECKOUT / source)
        assert {name for name in files if not name.endswith(".py")} == {f"{package}/py.typed"}
        assert {Path(name).parts[0] for name in files} == {package}, "a source root is no package"


def test_the_sdist_holds_the_source_tree(distribution: Distribution) -> None:
    sources = {name for tree in TREES for name in files_below(CHECKOUT / tree, CHECKOUT)}
    # The build backend adds the last two: metadata, and the rules by which it left files out.
    assert distribution.files_of_sdist() == sources | TOP | {"PKG-INFO", ".gitignore"}


def test_the_wheel_asks_for_exactly_the_dependencies_of_the_program(distribution: Distribution) -> None:
    wanted = re.findall(r"^Requires-Dist: ([\w-]+)", distribution.metadata(), re.MULTILINE)
    assert sorted(wanted) == ["filelock", "jsonschema", "openai", "pydantic", "pyyaml", "rich", "typer"]


def test_the_version_has_an_entry_in_the_changelog() -> None:
    assert f"## [{agentctl.__version__}]" in (CHECKOUT / "CHANGELOG.md").read_text()
