"""REF: from what a user typed to the one question, or the one run, that it means.

A REF is a suspension id, a run with exactly one suspension, or a unique prefix of 6 or more of
either. What is not unique is refused with the candidates; nothing is guessed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentctl import listing
from agentctl.errors import Conflict, Failed, NotFound
from agentctl.runtime import stored
from agentctl_store import Store, StoreError
from agentctl_store.decisions import CANCEL
from agentctl_store.ids import is_suspension_id

SHORTEST_PREFIX = 6
SHOWN = 10
_CANDIDATES = 8
_ARGS_SHOWN = 120

Json = dict[str, Any]
Choice = Literal["one", "last", "all"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits, as users see it."""

    run_id: str
    suspension: Json


@dataclass(frozen=True, slots=True)
class Decided:
    """A question that has its decision; `finished` where its run has ended too."""

    run_id: str
    suspension_id: str
    decision: Mapping[str, Any]


def find_questions(store: Store, ref: str, choice: Choice = "one") -> list[Question | Decided]:
    """The questions that `ref` means.

    Raises `NotFound`, or `Conflict` where it is ambiguous or waits for nothing.
    """
    listed, ids = listing.waiting(store), store.run_ids()
    # A run may be named like a question, also like an old one: what was reviewed, and what was decided,
    # must not be taken over by it. A whole fingerprint is never the name of a run.
    runs = [] if is_suspension_id(ref) else _matching(ref, [run_id for run_id, _ in ids])
    questions = [each for each in listed.rows if _means(ref, each["id"])]
    decided = _decided(store, ref, [each for each, place in ids if place == "active"], listed.damaged)
    if runs or not (questions or decided):
        ended = [each for each, place in ids if place == "finished"]
        decided += _decided(store, ref, ended, listed.damaged)
    if len(questions) + len(decided) + len(runs) > 1:
        raise _ambiguous(ref, questions, decided, runs)
    if questions:
        return [Question(questions[0]["run_id"], questions[0])]
    if decided:
        return [decided[0]]
    if runs:
        return _of_run(store, runs[0], listed.rows, choice)
    if listed.damaged:
        raise _perhaps_damaged(ref, listed.damaged)
    raise _not_found(ref, listed.rows)


def find_run(store: Store, ref: str) -> str:
    """The id of the run that `ref` means: by its id or prefix, or by a suspension of it."""
    runs = _matching(ref, [run_id for run_id, _ in store.run_ids()])
    listed = listing.waiting(store)
    owners: set[str] = {each["run_id"] for each in listed.rows if _means(ref, each["id"])}
    every = sorted(owners if is_suspension_id(ref) else {*runs, *owners})
    if len(every) > 1:
        raise Conflict(f"`{ref}` is ambiguous: it may be run " + ", ".join(f"`{each}`" for each in every[:8]))
    if every:
        return every[0]
    decided = _decided(store, ref, [run_id for run_id, _ in store.run_ids()], listed.damaged)
    if len({each.run_id for each in decided}) == 1:
        return decided[0].run_id
    if listed.damaged:
        raise _perhaps_damaged(ref, listed.damaged)
    short = "" if len(ref) >= SHORTEST_PREFIX else f": give at least {SHORTEST_PREFIX} characters"
    raise NotFound(f"there is no run `{ref}`{short}", "agentctl runs")


def _means(ref: str, whole: str) -> bool:
    return ref == whole or (len(ref) >= SHORTEST_PREFIX and whole.startswith(ref))


def _matching(ref: str, ids: Sequence[str]) -> list[str]:
    return [ref] if ref in ids else [each for each in ids if _means(ref, each)]


def _of_run(store: Store, run_id: str, waiting: list[Json], choice: Choice) -> list[Question | Decided]:
    found = [each for each in waiting if each["run_id"] == run_id]
    if choice == "last":
        found = found[-1:]
    if len(found) > 1 and choice == "one":
        raise Conflict(
            f"run `{run_id}` has {len(found)} suspensions: say which one, or --last or --all",
            f"agentctl show {run_id}",
            *[waits(each) for each in found[:_CANDIDATES]],
        )
    if not found:
        raise nothing_waits(store, run_id)
    return [Question(run_id, each) for each in found]


def nothing_waits(store: Store, run_id: str) -> Conflict:
    """Why the run has no question: it ended, it is driven, or what it asked was decided."""
    standing = stored.standing(store, run_id)
    if standing.run.outcome is not None:
        why = f"it has ended: {standing.status}"
        return Conflict(f"run `{run_id}` waits for nothing: {why}", f"agentctl show {run_id}")
    if standing.decided:
        made = next(iter(standing.decided.values()))
        why = f"decided by {made['by']} at {made['at']} ({made['verdict']})"
        return Conflict(f"run `{run_id}` waits for nothing: {why}", f"agentctl resume {run_id}")
    if standing.holder is not None:
        why = f"it is driven by process {standing.holder.get('pid')} on {standing.holder.get('host')}"
        return Conflict(f"run `{run_id}` waits for nothing: {why}", f"agentctl log {run_id} --follow")
    why = f"it is {standing.status}"
    return Conflict(f"run `{run_id}` waits for nothing: {why}", f"agentctl resume {run_id}")


def _decided(store: Store, ref: str, run_ids: Sequence[str], damaged: list[StoreError]) -> list[Decided]:
    """The decided questions whose id `ref` means; what cannot be read is added to `damaged`."""
    if len(ref) < SHORTEST_PREFIX or not set(ref) <= set("0123456789abcdef"):
        return []
    found = []
    for run_id in run_ids:
        try:
            made = [each for each in store.decision_ids(run_id) if each != CANCEL and _means(ref, each)]
            for suspension_id in made:
                decision = store.decision(run_id, suspension_id)
                if decision is not None:
                    found.append(Decided(run_id, suspension_id, decision))
        except StoreError as error:
            damaged.append(error)
    return found


def describe(suspension: Json) -> str:
    """What a question is about: the tool and its arguments, perhaps cut."""
    args = json.dumps(suspension["args"], ensure_ascii=False)
    shown = args if len(args) <= _ARGS_SHOWN else f"{args[:_ARGS_SHOWN]}…"
    return f"{suspension['tool']} {shown}"


def waits(suspension: Json, length: int = SHOWN) -> str:
    """One line about a question, as a comment: the verb that was typed may not be the one that it needs."""
    return f"# waits: {suspension['id'][:length]}  {describe(suspension)}"


def _ambiguous(ref: str, questions: list[Json], decided: list[Decided], runs: list[str]) -> Conflict:
    candidates = [
        *[waits(each, 2 * SHOWN) for each in questions],
        *[f"# decided: {each.suspension_id[: 2 * SHOWN]}  by {each.decision['by']}" for each in decided],
        *[f"# run: {each}" for each in runs],
    ]
    return Conflict(f"`{ref}` is ambiguous: it may be any of {len(candidates)}", *candidates[:_CANDIDATES])


def _perhaps_damaged(ref: str, damaged: list[StoreError]) -> Failed:
    """A run that cannot be read may hold what was asked for: that is not the same as not found."""
    why = "; ".join(list(dict.fromkeys(map(str, damaged)))[:_CANDIDATES])
    return Failed(f"`{ref}` was not found, but not every run can be read: {why}", "agentctl verify")


def _not_found(ref: str, waiting: list[Json]) -> NotFound:
    if len(ref) < SHORTEST_PREFIX:
        more = f"there is no suspension or run `{ref}`: give at least {SHORTEST_PREFIX} characters"
        return NotFound(more, "agentctl pending")
    if not waiting:
        return NotFound(f"there is no suspension or run `{ref}`, and nothing waits", "agentctl runs")
    # Not as commands: a slip must not be answered with approvals of other calls, ready to be pasted.
    candidates = [waits(each) for each in waiting[:_CANDIDATES]]
    return NotFound(f"there is no suspension or run `{ref}`", "agentctl pending", *candidates)
