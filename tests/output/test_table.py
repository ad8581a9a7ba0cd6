"""Tables are measured in the columns of a terminal, not in characters."""

from __future__ import annotations

from agentctl.output.style import Style
from agentctl.output.table import table


def test_wide_characters_count_twice() -> None:
    rows = [("漢字", "x" * 20), ("ab", "漢" * 14), ("c", "e\u0301" * 20)]
    assert table(("A", "LAST"), rows, 28, Style()) == [
        "A     LAST",
        "漢字  " + "x" * 20,
        "ab    " + "漢" * 10 + "…",
        "c     " + "e\u0301" * 20,
    ]
