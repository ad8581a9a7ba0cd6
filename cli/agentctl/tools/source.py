"""The source text of functions: what a human reviewed must be what runs.

Text is cut by syntax, not by `inspect`, whose idea of where a function ends varies with the version
of Python, and then a run could not be taken from one machine to another.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from functools import lru_cache
from pathlib import Path
from typing import Any

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def source_of(function: Any) -> str | None:
    """The text of a function, decorators included; `None` where it is not to be had."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    text = "".join(linecache.getlines(code.co_filename, getattr(function, "__globals__", None)))
    for node in _functions(text):
        if _first_line(node) == code.co_firstlineno and node.name == code.co_name:
            return _cut(text, node)
    return _lambdas(text, code.co_firstlineno) if code.co_name == "<lambda>" else None


def named_source(text: str, name: str) -> str | None:
    """The text of the function called `name` in the source `text`, which is not executed."""
    found = [node for node in _functions(text) if node.name == name]
    return _cut(text, found[-1]) if found else None


def defined_twice(text: str) -> tuple[str, int, int] | None:
    """A function marked as a tool whose name another such function takes over: name and both lines."""
    lines: dict[str, int] = {}
    for node in _tree(text).body:
        if isinstance(node, _Function) and any(_is_tool_mark(each) for each in node.decorator_list):
            if node.name in lines:
                return node.name, lines[node.name], node.lineno
            lines[node.name] = node.lineno
    return None


def location_of(function: Any) -> tuple[str, int]:
    """The file of a function, and the line of its `def` or first decorator."""
    code = inspect.unwrap(function).__code__
    return code.co_filename, code.co_firstlineno


def lines(text: str) -> list[str]:
    """The lines of a source text as Python counts them; `str.splitlines` also breaks at form feeds."""
    return [f"{line}\n" for line in text.split("\n")]


def shown_path(path: str | Path) -> str:
    """A path for messages: from the current folder on where it is inside, else whole."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


@lru_cache(maxsize=16)
def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


@lru_cache(maxsize=16)
def _functions(text: str) -> tuple[_Function, ...]:
    return tuple(node for node in ast.walk(_tree(text)) if isinstance(node, _Function))


def _first_line(node: _Function) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _cut(text: str, node: _Function) -> str:
    return "".join(lines(text)[_first_line(node) - 1 : node.end_lineno])


def _lambdas(text: str, line: int) -> str | None:
    """The lambdas that begin in a line, as nothing tells two of them apart."""
    found = [node for node in ast.walk(_tree(text)) if isinstance(node, ast.Lambda) and node.lineno == line]
    return "\n".join(ast.get_source_segment(text, node) or "" for node in found) or None


def _is_tool_mark(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name | ast.Attribute) and ast.unparse(called).split(".")[-1] == "tool"
