"""Decisions: one immutable file each, `decisions/<id>.json`; the first one written wins, without a lock.

A decision that is damaged, forged in form, or says anything but one of the known verdicts is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from agentctl_store import atomic
from agentctl_store.canonical import canonical, parse, sha256
from agentctl_store.errors import Damaged, Refused, check_format
from agentctl_store.ids import is_suspension_id

FOLDER = "decisions"
FORMAT = 1
CANCEL = "cancel"
VERDICTS = frozenset({"approve", "decline", "data", "retry", "result", "failed", "cancel"})
OWN_FIELDS = frozenset({"format", "run_id", "id", "sum"})

_SUFFIX = ".json"


def is_decision_id(text: str) -> bool:
    """Whether a decision may have this name: a suspension id, or `cancel` for the whole run."""
    return text == CANCEL or is_suspension_id(text)


def check_decision_id(text: str) -> str:
    """`text`, if a decision may have this name. Raises `Refused`."""
    if not is_decision_id(text):
        raise Refused(f"`{text[:80]}` is not a suspension id", hint="agentctl pending --json shows whole ids")
    return text


def encode(run_id: str, decision_id: str, content: Mapping[str, Any]) -> bytes:
    """The bytes of a decision file. Raises `ValueError` for a verdict that is none."""
    if not _is_verdict(content.get("verdict")):
        raise ValueError(f"{content.get('verdict')!r} is not a verdict")
    if taken := OWN_FIELDS & content.keys():
        raise ValueError(f"decision fields {sorted(taken)} belong to the store")
    decision = {**content, "format": FORMAT, "run_id": run_id, "id": decision_id}
    return canonical({**decision, "sum": sha256(canonical(decision))}) + b"\n"


def decode(data: bytes, run_id: str, decision_id: str) -> dict[str, Any]:
    """The decision in a file. Raises `Damaged` unless every byte, the name and the verdict are right."""
    where = f"{FOLDER}/{decision_id}{_SUFFIX}"
    try:
        decision = parse(data)
        unsigned = {key: value for key, value in decision.items() if key != "sum"}
        whole = canonical(decision) + b"\n" == data and decision["sum"] == sha256(canonical(unsigned))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Damaged(run_id, f"{where} is not a decision") from None
    if not whole:
        raise Damaged(run_id, f"{where} does not match its checksum")
    check_format(decision.get("format"), f"{where} of run `{run_id}`", FORMAT)
    if (decision.get("run_id"), decision.get("id")) != (run_id, decision_id):
        raise Damaged(run_id, f"{where} was written for another run or suspension")
    if not _is_verdict(decision.get("verdict")):
        raise Damaged(run_id, f"{where} has the verdict {decision.get('verdict')!r}, which is none")
    return decision  # type: ignore[no-any-return]


def _is_verdict(value: object) -> bool:
    return isinstance(value, str) and value in VERDICTS


def path_of(run_folder: str, decision_id: str) -> str:
    """Where the decision of this id lies, or would lie."""
    return f"{run_folder}/{FOLDER}/{decision_id}{_SUFFIX}"


def read(run_folder: str, run_id: str, decision_id: str) -> dict[str, Any] | None:
    """The decision, or None. Raises `Damaged`, `Refused`, or `FileNotFoundError` if the folder is gone."""
    folder = os.path.join(run_folder, FOLDER)
    atomic.is_folder(folder)
    try:
        data = atomic.read_file(path_of(run_folder, decision_id))
    except FileNotFoundError:
        # If the run was put away just now, that says nothing about its decisions.
        if not atomic.is_folder(folder):
            raise
        return None
    return decode(data, run_id, decision_id)


def names(run_folder: str, run_id: str) -> set[str]:
    """The ids that are decided, from file names alone. Raises `Damaged` for a file that is no decision.

    Raises `FileNotFoundError` if the folder is gone.
    """
    folder = os.path.join(run_folder, FOLDER)
    atomic.is_folder(folder)
    found = set()
    for name in os.listdir(folder):
        decision_id = name.removesuffix(_SUFFIX)
        if name.startswith("."):
            continue  # what file systems and file managers leave behind
        if not name.endswith(_SUFFIX) or not is_decision_id(decision_id):
            raise Damaged(run_id, f"{FOLDER}/{name} is not a decision")
        found.add(decision_id)
    return found
