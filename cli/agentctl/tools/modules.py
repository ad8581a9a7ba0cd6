"""Importing the Python files of agents: each folder is a world of its own.

`import helpers` in an agent's file finds the `helpers.py` beside it, also from inside a function, and
never that of another agent: every folder is a package under a name of its own, and its modules get an
`__import__` that looks there first. Nothing is written into the folder and `sys.path` is not touched.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from agentctl.tools.source import lines

_PREFIX = "agentctl_agent_"


def import_file(path: Path) -> ModuleType:
    """The module of a Python file, executed once for as long as its folder's files stay as they are.

    Raises whatever the file raises; see `user_line` for where.
    """
    path = path.resolve()
    folder = _folder(path.parent)
    folder.forget_if_changed()
    return importlib.import_module(folder.module_name(path))


def source_text(path: Path) -> str:
    """The text of a Python file, by the encoding that it states."""
    return importlib.util.decode_source(path.read_bytes())


def plain_names(text: str) -> str:
    """`text` with the names of modules as their authors know them."""
    return re.sub(_PREFIX + r"[0-9a-f]{16}\.", "", text)


class _Folder:
    """One folder with Python files, as a package."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.package = _PREFIX + hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._odd_names: dict[str, Path] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}
        self.read: dict[Path, bytes] = {}

    def module_name(self, path: Path) -> str:
        """The full name of a file's module; a file such as `my-tools.py` gets a name that can be one."""
        if path.name == f"{path.stem}.py" and path.stem.isidentifier():
            return f"{self.package}.{path.stem}"
        stem = "file_" + hashlib.sha256(path.name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._odd_names[stem] = path
        return f"{self.package}.{stem}"

    def forget_if_changed(self) -> None:
        """Drop all modules of the folder when one of its files is no longer what was executed."""
        if all(_bytes(path) == data for path, data in list(self.read.items())):
            return
        self.read.clear()
        for name in list(sys.modules):
            if name == self.package or name.startswith(f"{self.package}."):
                del sys.modules[name]

    def spec(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        """Where a module of this package comes from."""
        if fullname == self.package:
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        stem = fullname.rpartition(".")[2]
        path = self._odd_names.get(stem) if fullname == f"{self.package}.{stem}" else None
        path = path or self._find(fullname.removeprefix(f"{self.package}.").split("."))
        if path is None:
            return None
        if path.is_dir():
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(path)]
            return spec
        return importlib.util.spec_from_file_location(
            fullname,
            path,
            loader=_Loader(fullname, path, self),
            submodule_search_locations=[str(path.parent)] if path.name == "__init__.py" else None,
        )

    def prepare(self, module: ModuleType) -> None:
        """Make the module import its neighbours first."""
        module.__dict__["__builtins__"] = self._builtins

    def _find(self, parts: Sequence[str]) -> Path | None:
        place = self.path.joinpath(*parts)
        for candidate in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if candidate.is_file():
                return candidate
        # A folder without `__init__.py` counts where it holds Python files and nothing else has the name.
        if place.is_dir() and any(place.glob("*.py")):
            return place
        return None

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level or not self._has(top):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        if fromlist:
            return builtins.__import__(f"{self.package}.{name}", globals, locals, fromlist, 0)
        importlib.import_module(f"{self.package}.{name}")
        return sys.modules[f"{self.package}.{top}"]

    def _has(self, top: str) -> bool:
        if top == "agentctl":
            return False
        found = self._find([top])
        if found is None or not found.is_dir():
            return found is not None
        return top not in sys.modules and importlib.util.find_spec(top) is None


class _Loader(importlib.abc.Loader):
    """Executes the very text that digests and tracebacks show; no bytecode is read or written."""

    def __init__(self, fullname: str, path: Path, folder: _Folder) -> None:
        self.name = fullname
        self.path = str(path)
        self._file = path
        self._folder = folder

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The usual module object will do."""

    def exec_module(self, module: ModuleType) -> None:
        self._folder.prepare(module)
        exec(self._code(), module.__dict__)

    def _code(self) -> CodeType:
        data = self._file.read_bytes()
        self._folder.read[self._file] = data
        text = importlib.util.decode_source(data)
        # Without a time of change: the text that was executed stays, whatever becomes of the file.
        linecache.cache[self.path] = (len(text), None, lines(text), self.path)
        code: CodeType = compile(text, self.path, "exec", dont_inherit=True)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the packages that `_folder` made and their modules, nothing else."""

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        folder = self.folders.get(fullname.partition(".")[0])
        return folder.spec(fullname) if folder is not None else None


_finder = _Finder()


def _folder(path: Path) -> _Folder:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    folder = _Folder(path)
    return _finder.folders.setdefault(folder.package, folder)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
