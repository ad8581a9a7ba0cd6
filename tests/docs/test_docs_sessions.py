"""What a page shows of the program is what a terminal shows.

`AGENTCTL_DOCS_REWRITE=1 pytest -n 0 tests/docs/test_docs_sessions.py` writes what is seen into the pages.
"""

from __future__ import annotations

import difflib
import os

import pytest

from docs.pages import DOCS, PAGES, README, Block, blocks_of, by_section
from docs.sessions import Played, comparable, play
from support.project import Project

# A reader goes through the tutorial from top to bottom; elsewhere each section stands for itself.
TUTORIAL = DOCS / "tutorial.md"
STORIES = [
    blocks_of(TUTORIAL),
    *by_section(block for page in PAGES if page != TUTORIAL for block in blocks_of(page)),
]
PLAYED = [story for story in STORIES if any(block.language == "console" for block in story)]


def named(story: list[Block]) -> str:
    first = story[0]
    return first.page.name if first.page == TUTORIAL else f"{first.page.name}: {first.section}"


@pytest.mark.parametrize("story", PLAYED, ids=named)
def test_a_page_shows_what_a_terminal_shows(story: list[Block], project: Project) -> None:
    played = list(play(story, project))
    if os.environ.get("AGENTCTL_DOCS_REWRITE"):
        rewrite(played)
    else:
        assert [difference(each) for each in played if not each.is_true] == []


def test_the_readme_and_the_tutorial_show_sessions() -> None:
    pages = {block.page for story in PLAYED for block in story}
    assert {README, TUTORIAL} <= pages


def difference(played: Played) -> str:
    shown, seen = comparable(played.block.text), comparable(played.text)
    lines = difflib.unified_diff(shown.split("\n"), seen.split("\n"), "page", "terminal", lineterm="")
    return "\n".join([played.block.where, *lines])


def rewrite(played: list[Played]) -> None:
    for each in played:
        if not each.is_true:
            page, fence = each.block.page, "```console\n{}```\n"
            text = page.read_text().replace(fence.format(each.block.text), fence.format(each.text), 1)
            page.write_text(text)
