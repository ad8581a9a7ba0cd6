"""The pages that users read, as text and as fenced blocks.

A block that stands directly below a line like `mail/tools.py`: is that file. Every `console` block is a
session at a terminal, which `sessions.py` plays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from support.distribution import CHECKOUT

DOCS = CHECKOUT / "docs"
README = CHECKOUT / "README.md"
PAGES = (README, CHECKOUT / "CHANGELOG.md", *sorted(DOCS.glob("*.md")))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`:\n\n?\Z")
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `file` is the file that it shows."""

    page: Path
    line: int
    section: str
    language: str
    text: str
    file: str | None

    @property
    def where(self) -> str:
        """For messages: page and line."""
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, from top to bottom."""
    text = page.read_text()
    return [_block(page, text, fence) for fence in _FENCE.finditer(text)]


def all_blocks(*languages: str) -> list[Block]:
    """The blocks of all pages in these languages."""
    return [block for page in PAGES for block in blocks_of(page) if block.language in languages]


def by_section(blocks: Iterable[Block]) -> list[list[Block]]:
    """The blocks of each second-level section that holds any."""
    return [list(group) for _, group in groupby(blocks, key=lambda block: (block.page, block.section))]


def section(page: Path, heading: str) -> str:
    """The text of a second-level section."""
    pattern = rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, page.read_text(), re.DOTALL | re.MULTILINE)
    assert found, f"{page.name} has no section `{heading}`"
    return found[1]


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """What a link to a heading of the page may say after `#`."""
    return {_anchor(heading) for _, heading in _HEADING.findall(prose(page))}


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def _block(page: Path, text: str, fence: re.Match[str]) -> Block:
    before = text[: fence.start()]
    headings = re.findall(r"^## (.+)$", _FENCE.sub("", before), re.MULTILINE)
    file = _FILE.search(before)
    return Block(
        page=page,
        line=before.count("\n") + 1,
        section=headings[-1] if headings else "",
        language=fence[1],
        text=fence[2],
        file=file[1] if file else None,
    )
