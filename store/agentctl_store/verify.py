"""What is wrong with a run or a store, as a list of lines: it reports and never mends.

Finds what `load` refuses, and what only a look at everything shows: permissions, strangers, forged decisions.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from agentctl_store import atomic, decisions, journal, layout, snapshot
from agentctl_store.canonical import canonical
from agentctl_store.errors import StoreError, one_line
from agentctl_store.protocol import Json, Store

_KNOWN_FILES = frozenset({journal.NAME, snapshot.NAME, decisions.FOLDER})


def run_problems(store: Store, folder: str, run_id: str, known_ids: Collection[str]) -> list[str]:
    """Everything that is wrong with the run in `folder`."""
    return [one_line(each) for each in _run_problems(store, folder, run_id, known_ids)]


def _run_problems(store: Store, folder: str, run_id: str, known_ids: Collection[str]) -> Iterator[str]:
    yield from _entry_problems(folder, run_id)
    try:
        finished = store.load(run_id).finished
        records = list(store.journal(run_id))
    except StoreError as error:
        yield error.message
        return
    if finished and os.path.lexists(os.path.join(folder, snapshot.NAME)):
        yield f"run `{run_id}`: it has ended and still has a {snapshot.NAME}"
    yield from _decision_problems(store, folder, run_id, records, known_ids)


def store_problems(place: layout.Layout) -> list[str]:
    """Everything that is wrong with the store's own folders and files, and what in them is no run."""
    return [one_line(each) for each in _store_problems(place)]


def _store_problems(place: layout.Layout) -> Iterator[str]:
    try:
        if place.store_id() is None:
            return
    except StoreError as error:
        yield error.message
        return
    own = (*layout.FOLDERS, layout.STORE_FILE, layout.IGNORE_FILE)
    for name in sorted(set(os.listdir(place.root)) - set(own)):
        yield f"the store: `{name}` does not belong there"
    yield from _mode_problems(place.root, own, "the store")
    places: dict[str, str] = {}
    for folder in (place.active, place.finished):
        try:
            for name, problem in place.run_names(folder):
                if problem is not None:
                    yield problem.message
                if places.setdefault(name, folder) != folder:
                    yield f"run `{name}` is in active/ and in finished/"
        except StoreError as error:
            yield error.message


def _entry_problems(folder: str, run_id: str) -> Iterator[str]:
    whose = f"run `{run_id}`"
    parent, name = os.path.split(folder)
    yield from _mode_problems(parent, [name], whose)
    names = [name for name in sorted(os.listdir(folder)) if not atomic.is_temporary(name)]
    yield from _mode_problems(folder, names, whose)
    for name in names:
        if name not in _KNOWN_FILES:
            yield f"{whose}: `{name}` does not belong there"
    deciding = os.path.join(folder, decisions.FOLDER)
    if not os.path.lexists(deciding):
        yield f"{whose}: `{decisions.FOLDER}` is missing"
    elif os.path.isdir(deciding) and not os.path.islink(deciding):
        yield from _mode_problems(deciding, sorted(os.listdir(deciding)), whose)


def _mode_problems(folder: str, names: Collection[str], whose: str) -> Iterator[str]:
    """Entries that are symlinks or special, belong to others, or are open to others."""
    for name in names:
        try:
            status = os.lstat(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            yield f"{whose}: `{name}` is neither a file nor a folder"
        elif status.st_uid != os.geteuid():
            yield f"{whose}: `{name}` belongs to user {status.st_uid}"
        elif status.st_mode & 0o077:
            yield f"{whose}: `{name}` is open to others (mode {stat.S_IMODE(status.st_mode):04o})"


def _decision_problems(
    store: Store, folder: str, run_id: str, records: list[Json], known_ids: Collection[str]
) -> Iterator[str]:
    journaled = _journaled_decisions(records)
    text = b"\n".join(canonical(record) for record in records)
    names = _decision_names(folder)
    for missing in sorted(journaled.keys() - set(names)):
        yield f"run `{run_id}`: the decision `{missing}` is in the journal, and its file is missing"
    for decision_id in names:
        if not decisions.is_decision_id(decision_id):
            yield f"run `{run_id}`: `{decisions.FOLDER}/{decision_id}` is not a decision"
            continue
        try:
            decision = store.decision(run_id, decision_id)
        except StoreError as error:
            yield error.message
            continue
        known = decision_id in known_ids or decision_id.encode() in text
        if decision_id != decisions.CANCEL and not known:
            yield f"run `{run_id}`: the decision `{decision_id}` is forged: the run never asked for it"
        if decision is not None and (differ := _differences(decision, journaled.get(decision_id, {}))):
            yield f"run `{run_id}`: the decision `{decision_id}` is not the one in the journal: {differ}"


def _decision_names(folder: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(folder, decisions.FOLDER))
    except OSError:
        return []
    return sorted(name.removesuffix(".json") for name in names)


def _journaled_decisions(records: list[Json]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for record in records:
        payload = record.get("payload")
        if record.get("type") == "decision" and isinstance(payload, dict):
            found.setdefault(payload.get("suspension_id") or decisions.CANCEL, payload)
    return found


def _differences(decision: Mapping[str, Any], journaled: Mapping[str, Any]) -> str:
    """The fields that both have, with other values."""
    shared = (decision.keys() & journaled.keys()) - decisions.OWN_FIELDS
    return ", ".join(sorted(key for key in shared if canonical(decision[key]) != canonical(journaled[key])))
