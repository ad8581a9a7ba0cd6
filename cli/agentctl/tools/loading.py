"""Finding the functions that an agent file names: in files of its folder, and in installed modules.

    tools.py                   every @tool of the file
    tools.py:delete_record     one function, a @tool or not
    package.module:function    one function of an installed module

Every error is a `DefinitionError` of one clear line that names the file, and the line where it is known.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import stat
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from agentctl.errors import DefinitionError
from agentctl.tools.decorator import is_function, options_of
from agentctl.tools.execution import user_output_to_stderr
from agentctl.tools.modules import import_file, plain_names, source_text
from agentctl.tools.policy import Policy
from agentctl.tools.python import PythonTool, python_tool
from agentctl.tools.shape import described
from agentctl.tools.source import defined_twice, named_source, shown_path


def load_tools(ref: str, folder: Path) -> list[PythonTool]:
    """The tools that `ref` names, relative to `folder`, in the order of the file.

    Raises `DefinitionError`.
    """
    target = _parse(ref, folder)
    with user_output_to_stderr():
        if target.name is not None:
            return [python_tool(_function(target))]
        module = target.load()
    _refuse_redefinition(target)
    tools = [python_tool(function) for function in _own_tools(module)]
    if not tools:
        raise DefinitionError(
            f"{target}: no function in it is marked with @tool", _hint_for_none(target, module)
        )
    _refuse_same_id(tools)
    return tools


def load_object(ref: str, folder: Path) -> Any:
    """Whatever `ref`, which names one thing such as `policy.py:function`, stands for."""
    target = _parse(ref, folder, needs_name=True)
    with user_output_to_stderr():
        return _named(target)


def load_policy(ref: str, folder: Path) -> Policy:
    """The approval function that `ref` names.

    It is loaded when it is first asked; if that fails a human is asked. Raises `DefinitionError`
    only for a reference that names no function at all.
    """
    target = _parse(ref, folder, needs_name=True)
    return Policy(ref, lambda: _function(target), _source_without_loading(target))


@dataclass(frozen=True, slots=True)
class _Target:
    """A reference, read: one of `file` and `module`, and the name in it, if one is given."""

    ref: str
    name: str | None
    file: Path | None = None
    module: str = ""

    def __str__(self) -> str:
        return shown_path(self.file) if self.file is not None else f"module `{self.module}`"

    def load(self) -> ModuleType:
        """The module, executed. Raises `DefinitionError` that names the line where it broke."""
        if self.file is not None:
            _refuse_no_file(self, self.file)
        try:
            with user_output_to_stderr():
                return (
                    import_file(self.file) if self.file is not None else importlib.import_module(self.module)
                )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the file is the author's code; it may even call sys.exit
            _refuse_import(self, error)


def _parse(ref: str, folder: Path, *, needs_name: bool = False) -> _Target:
    place, colon, name = ref.rpartition(":")
    if not colon:
        place, name = ref, ""
    if not place or (colon and not name.isidentifier()) or (needs_name and not name):
        raise DefinitionError(
            f"`{ref}` does not name a function", "write `file.py:function` or `package.module:function`"
        )
    if place.endswith(".py") or "/" in place or os.sep in place:
        return _Target(ref, name or None, file=_inside(ref, place, folder))
    if not all(part.isidentifier() for part in place.split(".")):
        raise DefinitionError(f"`{ref}` is neither a Python file nor a module")
    if not name:
        raise DefinitionError(
            f"`{ref}` is no Python file; of an installed module one function is named",
            f"write `{ref}:function`, or `{ref}.py` for a file beside the agent",
        )
    return _Target(ref, name, module=place)


def _inside(ref: str, place: str, folder: Path) -> Path:
    base = Path(os.path.abspath(folder))  # noqa: PTH100  (links may lead out of the folder, `..` may not)
    file = Path(os.path.abspath(base / place))  # noqa: PTH100
    if not file.is_relative_to(base):
        raise DefinitionError(f"`{ref}` is outside the folder of the agent")
    if "\0" in place:
        raise DefinitionError(f"{ref!r} is no file name")
    return file


def _own_tools(module: ModuleType) -> list[Any]:
    """The tools that the module made, in its order; not those that it imports for its own use."""
    found: dict[int, Any] = {}
    for value in list(vars(module).values()):
        options = _options_or_none(value)
        if options is not None and not _imported(value, options.applied_in, module):
            found.setdefault(id(value), value)
    return list(found.values())


def _imported(function: Any, applied_in: str, module: ModuleType) -> bool:
    home = sys.modules.get(applied_in)
    if home is None or home is module:
        return False
    return any(value is function for value in vars(home).values())


def _options_or_none(value: Any) -> Any:
    try:
        return options_of(value)
    except Exception:  # a module may hold objects that answer every attribute with an error
        return None


def _function(target: _Target) -> Callable[..., Any]:
    value = _named(target)
    if not is_function(value):
        raise DefinitionError(f"{target}: `{target.name}` is no function, but {type(value).__name__}")
    function: Callable[..., Any] = value
    return function


def _named(target: _Target) -> Any:
    module, name = target.load(), target.name or ""
    if name in vars(module):
        return vars(module)[name]
    try:
        return getattr(module, name)
    except AttributeError:
        functions = [
            key for key, value in vars(module).items() if is_function(value) or _options_or_none(value)
        ]
        raise DefinitionError(
            f"{target}: there is no function `{name}`", *_did_you_mean(name, functions)
        ) from None


def _refuse_no_file(target: _Target, file: Path) -> None:
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        raise DefinitionError(f"{target}: no such file", *_similar_files(file)) from None
    except OSError as error:
        raise DefinitionError(f"{target}: {error.strerror}") from None
    if not stat.S_ISREG(mode):  # to read from a pipe would wait for ever
        raise DefinitionError(f"{target}: is no regular file")


def _did_you_mean(name: str, candidates: Iterable[str]) -> list[str]:
    near = difflib.get_close_matches(name, list(candidates), n=3, cutoff=0.5)
    return [f"did you mean {' or '.join(f'`{each}`' for each in near)}?"] if near else []


def _similar_files(file: Path) -> list[str]:
    try:
        names = [each.name for each in file.parent.iterdir() if each.suffix == ".py"]
    except OSError:
        return []
    return _did_you_mean(file.name, names)


def _hint_for_none(target: _Target, module: ModuleType) -> str:
    example = next((name for name, value in vars(module).items() if is_function(value)), "function")
    return f"write @tool above a function, or name one: `{target.ref}:{example}`"


def _refuse_redefinition(target: _Target) -> None:
    assert target.file is not None
    twice = defined_twice(source_text(target.file))
    if twice is not None:
        name, first, second = twice
        raise DefinitionError(
            f"{target}:{second}:1: tool `{name}` is defined again; it also is in line {first}"
        )


def _refuse_same_id(tools: list[PythonTool]) -> None:
    first: dict[str, PythonTool] = {}
    for tool in tools:
        other = first.setdefault(tool.id, tool)
        if other is not tool:
            raise DefinitionError(f"{tool.where}:1: tool id `{tool.id}` is already that of {other.where}")


def _refuse_import(target: _Target, error: BaseException) -> NoReturn:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and f"{target.module}.".startswith(f"{missing}."):
        raise DefinitionError(f"there is no module `{missing}` for `{target.ref}`") from error
    if isinstance(error, SyntaxError) and error.filename:
        place, what = f"{shown_path(error.filename)}:{error.lineno or 1}:{error.offset or 1}", error.msg
    else:
        place, what = _place(target, error), described(error)
    hints = error.hints if isinstance(error, DefinitionError) else ()
    raise DefinitionError(f"{place}: {plain_names(' '.join(what.split()))}", *hints) from error


def _place(target: _Target, error: BaseException) -> str:
    """The line of the user's own code where it broke: the last one in the folder of the file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if target.file and _beside(frame.filename, target.file)]
    if not own and target.file:
        return f"{target}:1:1"
    own = own or [frame for frame in frames if _of_module(frame.filename)]
    if not own:
        return str(target)
    return f"{shown_path(own[-1].filename)}:{own[-1].lineno or 1}:1"


def _beside(filename: str, file: Path) -> bool:
    path = Path(filename)
    return path.is_relative_to(file.resolve().parent) and "site-packages" not in path.parts


def _of_module(filename: str) -> bool:
    """Whether a line is of the imported module or of what it imports, neither ours nor the importer's."""
    ours = Path(__file__).parent
    return not (filename.startswith("<") or filename == importlib.__file__ or ours in Path(filename).parents)


def _source_without_loading(target: _Target) -> str:
    """The source text of a function in a file that may not even load: executing it comes later."""
    try:
        file = target.file or _module_file(target.module)
        text = source_text(file) if file is not None else ""
    except (Exception, SystemExit):  # to find a module its parents are executed
        return ""
    return named_source(text, target.name or "") or text


def _module_file(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None
