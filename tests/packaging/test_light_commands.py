"""Commands that only look or decide start fast: they import nothing that is made for driving a run."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from support.project import AGENTCTL, Project
from support.script import call, say, turn
from support.tools import DELETE

HEAVY = {"openai", "pydantic", "asyncio", "yaml", "rich"}


def imported_by(project: Project, *args: str) -> set[str]:
    """The top-level names of all modules that a command imported."""
    command = shlex.join([sys.executable, "-X", "importtime", str(AGENTCTL), *args])
    outcome = project.bash(command, status=0)
    modules = re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s+([\w.]+)$", outcome.stderr, re.MULTILINE)
    assert "agentctl" in modules, "no imports were seen"
    return {module.partition(".")[0] for module in modules}


def suspend(project: Project) -> str:
    """A suspended run; the id of what it waits for."""
    project.agent(tools=DELETE, script=[turn(call("delete_record", "c1", id="abc-123")), say("Kept")])
    project.run("Delete record abc-123", status=8)
    suspension = project.only()["id"]
    assert isinstance(suspension, str)
    return suspension


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_asking_about_the_program_imports_nothing_heavy(project: Project, option: str) -> None:
    assert imported_by(project, option) & (HEAVY | {"filelock", "jsonschema"}) == set()


def test_listing_what_waits_imports_nothing_heavy(project: Project) -> None:
    assert imported_by(project, "pending") & (HEAVY | {"filelock", "jsonschema"}) == set()
    suspend(project)
    for options in ([], ["--json"]):
        assert imported_by(project, "pending", *options) & (HEAVY | {"filelock", "jsonschema"}) == set()


def test_recording_a_decision_imports_nothing_heavy(project: Project) -> None:
    suspension = suspend(project)
    assert imported_by(project, "decline", suspension, "--no-drive") & HEAVY == set()


def test_driving_a_run_does_import_what_it_needs(project: Project) -> None:
    suspension = suspend(project)
    assert {"pydantic", "yaml", "asyncio"} <= imported_by(project, "decline", suspension)
