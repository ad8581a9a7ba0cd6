"""Where agent files are: from what a user typed, or from what a run remembers. Reads no file."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from pathlib import Path

from agentctl.errors import NotFound, UsageError
from agentctl.yaml12.text import shown

AGENT_FILE = "agent.yaml"
_SUFFIXES = (".yaml", ".yml")
_MOST_ENTRIES = 1000
_MOST_HINTS = 3
_LONGEST_PATH = 400


def find_agent_file(path: Path) -> Path:
    """The agent file that `path` means: the file itself, or `agent.yaml` in the folder.

    The result is as relative as `path`. Raises `NotFound` with what may have been meant.
    """
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.is_file():
            return path
        exists = path.exists()
    except OSError as error:
        raise UsageError(f"cannot read the agent `{_name(path)}`: {error.strerror}") from None
    if exists:
        raise UsageError(f"`{_name(path)}` is neither a file nor a folder")
    raise NotFound(f"there is no agent `{_name(path)}`", *_did_you_mean(_near(path)))


def relocate(stored_absolute: str, stored_relative: str, store_parent: Path, override: Path | None) -> Path:
    """The agent file of a run, found again: by `override`, else by absolute path, else relative to
    the folder of the store (a project that moved, or was checked out elsewhere).

    Raises `NotFound` when it is at none of these places.
    """
    if override is not None:
        return find_agent_file(override)
    absolute, relative = Path(stored_absolute), store_parent / stored_relative
    for candidate in (absolute, relative):
        try:
            if candidate.is_file():
                return candidate
        except OSError:
            continue  # a place that cannot be looked at is a place where it is not
    places = (
        f"`{_name(absolute)}`" if absolute == relative else f"`{_name(absolute)}`, nor at `{_name(relative)}`"
    )
    raise NotFound(f"the agent file is no longer at {places}", "say where it is with --agent PATH")


def _in_folder(folder: Path) -> Path:
    file = folder / AGENT_FILE
    if file.is_file():
        return file
    inside = (entry for entry in _entries(folder) if _is_agent(entry))
    hints = _did_you_mean(itertools.islice(inside, _MOST_HINTS))
    raise NotFound(f"the folder `{_name(folder)}` has no `{AGENT_FILE}`", *hints)


def _near(path: Path) -> Iterator[Path]:
    """Agents beside `path` whose names are like its name."""
    by_name: dict[str, Path] = {}
    for entry in _entries(path.parent):
        by_name[entry.name] = entry
        by_name.setdefault(entry.stem, entry)
    names = difflib.get_close_matches(path.name[:100], by_name, _MOST_HINTS)
    return (entry for entry in dict.fromkeys(by_name[name] for name in names) if _is_agent(entry))


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(itertools.islice(folder.iterdir(), _MOST_ENTRIES))
    except OSError:
        return []  # only hints are made of it


def _is_agent(entry: Path) -> bool:
    try:
        return entry.is_file() if entry.suffix in _SUFFIXES else (entry / AGENT_FILE).is_file()
    except OSError:
        return False


def _did_you_mean(entries: Iterator[Path]) -> list[str]:
    return [f"did you mean `{_name(entry)}`?" for entry in entries]


def _name(path: Path) -> str:
    return shown(str(path), _LONGEST_PATH)
