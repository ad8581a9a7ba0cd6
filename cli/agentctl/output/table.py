"""Tables that fit a terminal: the last column is cut, and below a usable width records are stacked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from agentctl.output.style import Style

_GAP = "  "
_LEAST_FOR_LAST = 16


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, style: Style, spare: Sequence[str] = ()
) -> list[str]:
    """The lines of a table of `width` columns; cells are already safe to show.

    Where it is too wide, the columns named by `spare` are left out one after the other.
    """
    for dropped in range(len(spare) + 1):
        kept = [index for index, head in enumerate(heads) if head not in spare[:dropped]]
        lines = _aligned([[cells[index] for index in kept] for cells in (heads, *rows)], width, style)
        if lines:
            return lines
    return [line for row in rows for line in _stacked(row, width, style)]


def _aligned(cells: Sequence[Sequence[str]], width: int, style: Style) -> list[str]:
    """Heads and rows in columns; nothing where too little is left for the last column."""
    widths = [max(map(cell_len, column)) for column in zip(*(row[:-1] for row in cells), strict=True)]
    left = width - sum(widths) - len(_GAP) * len(widths)
    if left < _LEAST_FOR_LAST:
        return []
    heads, *rows = (_line(row, widths, left) for row in cells)
    ids = [len(row[0]) for row in cells[1:]]
    return [
        style.dim(heads),
        *(style.bold(row[:end]) + row[end:] for row, end in zip(rows, ids, strict=True)),
    ]


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [set_cell_size(cell, width) for cell, width in zip(cells, widths, strict=False)]
    return _GAP.join((*padded, _cut(cells[-1], left))).rstrip()


def _cut(cell: str, width: int) -> str:
    return cell if cell_len(cell) <= width else set_cell_size(cell, max(width - 1, 0)).rstrip() + "…"


def _stacked(row: Sequence[str], width: int, style: Style) -> list[str]:
    """One record below the other. Only the last cell is cut: ids must be whole to be typed."""
    first, *middle, last = row
    cells = [*middle, _cut(last, max(width - len(_GAP), 1))]
    return [style.bold(first), *(_GAP + cell for cell in cells if cell)]
