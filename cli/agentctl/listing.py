"""Lists over all runs: what waits, and which runs there are. Reads heads; whole runs only where it must.

A head tells the truth while the journal has not grown since and none of its questions was decided;
else the run itself is read. A damaged run never hides the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentctl_store import Damaged, Store, StoreError, UnknownRun

Json = dict[str, Any]


@dataclass(slots=True)
class Listed:
    """What was found, and the runs that cannot be read."""

    rows: list[Json] = field(default_factory=list)
    damaged: list[StoreError] = field(default_factory=list)


def waiting(store: Store) -> Listed:
    """Every suspension that waits for a human, oldest first."""
    listed = Listed()
    for _, suspensions in _active(store, listed, whole_prompts=False):
        listed.rows.extend(suspensions)
    listed.rows.sort(key=lambda each: each["suspended_at"])
    return listed


def runs(store: Store, *, whole_prompts: bool) -> Listed:
    """Every run, newest first; without `whole_prompts` a long prompt may be cut."""
    listed = Listed()
    for view, _ in _active(store, listed, whole_prompts=whole_prompts):
        listed.rows.append({key: value for key, value in view.items() if key != "prompt_cut"})
    seen = {row["run_id"] for row in listed.rows}
    for run_id, found in store.finished():
        if run_id in seen:
            continue  # it ended and was put away while we looked
        if isinstance(found, Damaged):
            listed.damaged.append(found)
        else:
            listed.rows.append(_finished_view(*found))
    listed.rows.extend(_damaged_view(each) for each in listed.damaged if isinstance(each, Damaged))
    listed.rows.sort(key=lambda row: row["started_at"] or "", reverse=True)
    return listed


def _active(store: Store, listed: Listed, *, whole_prompts: bool) -> Iterator[tuple[Json, list[Json]]]:
    """The view and the open suspensions of each run that was not put away."""
    for run_id, head in store.heads():
        if isinstance(head, Damaged):
            listed.damaged.append(head)
            continue
        try:
            asked = [each["id"] for each in head["suspensions"]]
            enough = not (whole_prompts and head["run"]["prompt_cut"])
            if enough and store.is_current(run_id, head, asked):
                yield head["run"], head["suspensions"]
                continue
            view, suspensions = _read_whole(store, run_id)
        except UnknownRun:
            continue  # it ended and was put away while we looked; or it was deleted
        except StoreError as error:
            listed.damaged.append(error)
            continue
        yield view, suspensions


def _read_whole(store: Store, run_id: str) -> tuple[Json, list[Json]]:
    """View and open suspensions, from snapshot and journal; a run that ended waits for nothing."""
    from agentctl.runtime import stored

    standing = stored.standing(store, run_id)
    return standing.view, standing.suspensions


def _damaged_view(damaged: Damaged) -> Json:
    """The view of a run that cannot be read: that it is there, and why nothing more can be told."""
    known = {"run_id": damaged.run_id, "status": "damaged", "suspensions": 0}
    error = {"code": "failed", "message": str(damaged), "hint": None}
    fields = "run_id status agent prompt thread resource started_at updated_at finished_at finish_reason"
    return {**dict.fromkeys(fields.split()), **known, "usage": None, "error": error}


def _finished_view(first: Json, last: Json) -> Json:
    """The view of a run that has ended, from the first and the last record of its journal."""
    began, ended = first["payload"], last["payload"]
    return {
        "run_id": first["run_id"],
        "status": ended["status"],
        "agent": began["agent"],
        "prompt": began["input"],
        "thread": began["thread"],
        "resource": began["resource"],
        "started_at": first["at"],
        "updated_at": last["at"],
        "finished_at": last["at"],
        "finish_reason": ended["finish_reason"],
        "suspensions": 0,
        "usage": ended["usage"],
        "error": ended["error"],
    }
