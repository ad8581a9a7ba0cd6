"""Where agent files are found, and what is said when they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentctl.agents.finding import find_agent_file, relocate
from agentctl.errors import AgentctlError, NotFound, UsageError


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `records/agent.yaml`, `weather.yaml` and other things; it is the current one."""
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "agent.yaml").touch()
    (tmp_path / "weather.yaml").touch()
    (tmp_path / "recordz").mkdir()
    (tmp_path / "tools.py").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_agent_is_a_file_or_a_folder_that_holds_agent_yaml(agents: Path) -> None:
    assert find_agent_file(Path("weather.yaml")) == Path("weather.yaml")
    assert find_agent_file(Path("records")) == Path("records/agent.yaml")
    assert find_agent_file(agents / "records") == agents / "records" / "agent.yaml"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("record", "records"),
        ("weather", "weather.yaml"),
        ("wether.yaml", "weather.yaml"),
        ("Records", "records"),
    ],
)
def test_a_near_name_is_suggested_where_it_is_an_agent(agents: Path, typed: str, meant: str) -> None:
    with pytest.raises(NotFound) as caught:
        find_agent_file(Path(typed))
    assert caught.value.message == f"there is no agent `{typed}`"
    assert list(caught.value.hints) == [f"did you mean `{meant}`?"]


def test_nothing_is_suggested_where_nothing_is_near(agents: Path) -> None:
    for typed in ("zzz", "none/at/all", "tools"):
        with pytest.raises(NotFound) as caught:
            find_agent_file(Path(typed))
        assert list(caught.value.hints) == []


def test_a_folder_without_agent_yaml_suggests_the_agents_in_it(agents: Path) -> None:
    with pytest.raises(NotFound) as caught:
        find_agent_file(agents)
    assert caught.value.message == f"the folder `{agents}` has no `agent.yaml`"
    assert list(caught.value.hints) == [
        f"did you mean `{agents / 'records'}`?",
        f"did you mean `{agents / 'weather.yaml'}`?",
    ]


def test_what_is_neither_file_nor_folder_is_refused(agents: Path) -> None:
    os.mkfifo("pipe")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        find_agent_file(Path("pipe"))


@pytest.mark.parametrize("name", ["", "x" * 5000, "a\0b", "a\nb\x1b[31m", "\udcff"])
def test_no_name_is_too_odd_for_a_clear_line(agents: Path, name: str) -> None:
    with pytest.raises(AgentctlError) as caught:
        find_agent_file(Path(name))
    assert caught.value.message.isprintable()


def test_a_symlink_is_followed_and_a_broken_one_is_not_found(agents: Path) -> None:
    Path("link").symlink_to("records")
    Path("broken").symlink_to("nowhere")
    Path("loop").symlink_to("loop")
    assert find_agent_file(Path("link")) == Path("link/agent.yaml")
    for name in ("broken", "loop"):
        with pytest.raises(NotFound):
            find_agent_file(Path(name))


# --- a run finds its agent again -------------------------------------------------------------


def test_the_absolute_path_comes_first(agents: Path) -> None:
    file = agents / "weather.yaml"
    assert relocate(str(file), "records/agent.yaml", agents, None) == file


def test_after_a_move_the_path_relative_to_the_folder_of_the_store_counts(agents: Path) -> None:
    assert relocate("/gone/agent.yaml", "records/agent.yaml", agents, None) == agents / "records/agent.yaml"


def test_an_explicit_agent_wins(agents: Path) -> None:
    file = agents / "weather.yaml"
    found = relocate(str(file), "weather.yaml", agents, agents / "records")
    assert found == agents / "records" / "agent.yaml"


def test_an_explicit_agent_that_is_missing_is_not_replaced_by_another(agents: Path) -> None:
    with pytest.raises(NotFound, match=r"^there is no agent `none`$"):
        relocate(str(agents / "weather.yaml"), "weather.yaml", agents, Path("none"))


def test_an_agent_that_is_nowhere_is_told_with_both_places_and_the_option(agents: Path) -> None:
    with pytest.raises(NotFound) as caught:
        relocate("/gone/agent.yaml", "moved/agent.yaml", agents, None)
    assert caught.value.message == (
        f"the agent file is no longer at `/gone/agent.yaml`, nor at `{agents / 'moved/agent.yaml'}`"
    )
    assert list(caught.value.hints) == ["say where it is with --agent PATH"]
