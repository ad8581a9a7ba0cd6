"""What PyYAML found wrong, in words that help: place, message, hints. Both its loaders are known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

Explanation = tuple[tuple[int, int], str, tuple[str, ...]]


def explain(error: yaml.MarkedYAMLError, text: str) -> Explanation:
    """The place (line and column from 1), the message and the hints for a syntax error in `text`."""
    place = _place(error.problem_mark or error.context_mark)
    opened = _place(error.context_mark or error.problem_mark)
    problem = error.problem or "not valid YAML"
    character = _character(text, place)
    if "tab character" in problem or ("cannot start any token" in problem and character == "\t"):
        return place, "a tab cannot indent", ("indent with spaces",)
    if "cannot start any token" in problem:
        return place, f"`{character}` cannot start a plain value", ("put the value in quotes",)
    if "mapping values are not allowed" in problem:
        hint = 'put a text that holds ": " in quotes, and align keys that belong together'
        return place, "a `:` that makes a key cannot stand here", (hint,)
    if "',' or" in problem:
        bracket = _character(text, opened)
        return opened, f"the `{bracket}` is not closed, or a comma is missing after it", ()
    if problem.startswith(("found unexpected end of stream", "found unexpected document")):
        return opened, "the quote is not closed", ()
    if "could not find expected ':'" in problem:
        return opened, "a key without `:`, or a text that is indented too little", ()
    return place, _sentence(problem, error.context), ()


def _sentence(problem: str, context: str | None) -> str:
    return f"{problem} {context}" if context else problem


def _place(mark: yaml.Mark | None) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _character(text: str, place: tuple[int, int]) -> str:
    """The character at a place, or nothing beyond the end."""
    line, column = place
    lines = text.splitlines()
    return lines[line - 1][column - 1 : column] if line <= len(lines) else ""
