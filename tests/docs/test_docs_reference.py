"""The reference names everything that there is: keys, options, members, events and fields."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest

from agentctl import ToolContext
from agentctl.agents.definition import Definition, ModelMapping, Options
from agentctl.models.protocol import Usage
from agentctl.runtime.events import _PUBLIC, _WHOLE
from agentctl.runtime.views import Status
from agentctl.tools import decorator
from agentctl.tools.policy import PolicyCall
from agentctl_store import layout
from agentctl_store.decisions import VERDICTS
from docs.pages import DOCS
from support.project import Project
from support.script import call, say, turn
from support.tools import WEATHER

AGENTS, OUTPUT, STORE = (DOCS / f"{name}.md" for name in ("agents", "output", "store"))
LIVE_EVENTS = ("text-delta", "reasoning-delta", "tool-output", "result")


def missing(page: Path, names: Iterable[str]) -> set[str]:
    """The names that do not stand on the page, in code or in a block."""
    text = page.read_text()
    return {name for name in names if not re.search(rf"[`\s,.\"]{re.escape(name)}[`\s,:(=\"/]", text)}


@pytest.mark.parametrize("model", [Definition, ModelMapping, Options], ids=lambda model: model.__name__)
def test_every_key_of_an_agent_file_is_described(model: type[Definition]) -> None:
    assert missing(AGENTS, model.model_fields) == set()


def test_every_option_of_a_tool_is_described() -> None:
    options = {field.name for field in dataclasses.fields(decorator.Options)} - {"applied_in"}
    assert missing(AGENTS, options) == set()


def test_every_member_of_the_context_is_described() -> None:
    members = {name for name, _ in inspect.getmembers(ToolContext) if not name.startswith("_")}
    assert missing(AGENTS, members) == set()


def test_everything_that_a_rule_is_told_is_described() -> None:
    assert missing(AGENTS, (field.name for field in dataclasses.fields(PolicyCall))) == set()


def test_every_event_and_all_of_its_payload_is_described() -> None:
    assert missing(OUTPUT, {*_PUBLIC, *_WHOLE, *LIVE_EVENTS}) == set()
    assert missing(OUTPUT, {field for fields in _PUBLIC.values() for field in fields}) == set()


def test_every_status_verdict_and_count_is_described() -> None:
    counts = [field.name for field in dataclasses.fields(Usage)]
    assert missing(OUTPUT, [*get_args(Status), *VERDICTS, *counts]) == set()


def test_every_field_that_a_script_reads_is_described(project: Project) -> None:
    project.agent(tools=WEATHER, script=[turn(call("get_weather", "c1")), say("{result}")])
    stopped = project.run("Weather?", status=8)
    (suspension,), run = project.pending(), project.the_run()
    shown = project.show(run["run_id"])
    read = {*stopped.lines[0], *stopped.result, *suspension, *run, *shown}
    read |= set(project.journal(run["run_id"])[1])
    assert missing(OUTPUT, read) == set()


def test_everything_in_the_store_is_described(project: Project) -> None:
    project.agent(tools=WEATHER, script=[turn(call("get_weather", "c1")), say("{result}")])
    run_id = project.run("Weather?", status=8).run_id
    assert run_id is not None
    there = {path.name for path in [*project.store.iterdir(), *project.folder_of(run_id).iterdir()]}
    assert missing(STORE, there | set(layout.FOLDERS)) == set()
