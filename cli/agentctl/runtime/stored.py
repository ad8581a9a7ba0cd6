"""Runs as the store keeps them: from records and snapshot to a `Run`, and back. Needs no agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentctl.models.messages import Assistant
from agentctl.runtime import body, state, views
from agentctl.runtime.call import Contradiction
from agentctl.runtime.events import Record
from agentctl.runtime.state import Run
from agentctl_store import Damaged, Store
from agentctl_store.decisions import CANCEL

# The head is for lists, which show one line of a prompt.
_HEAD_PROMPT = 200


@dataclass(frozen=True, slots=True)
class Standing:
    """A run as it stands now, for someone who does not drive it.

    `decided` are the decisions that no driver has seen yet, by suspension id (and `cancel`).
    `holder` says who drives it, or is None.
    """

    run: Run
    decided: Mapping[str, Mapping[str, Any]]
    holder: Mapping[str, Any] | None

    @property
    def driven(self) -> bool:
        return self.holder is not None

    @property
    def status(self) -> views.Status:
        return views.status_of(self.run, driven=self.driven, decided=self.decided.keys())

    @property
    def suspensions(self) -> list[dict[str, Any]]:
        return views.suspension_views(self.run, driven=self.driven, decided=self.decided.keys())

    @property
    def view(self) -> dict[str, Any]:
        return views.run_view(self.run, self.status, len(self.suspensions))


def load_run(store: Store, run_id: str) -> Run:
    """The run, from its snapshot and the records after it.

    Raises `agentctl_store.UnknownRun`, and `agentctl_store.Damaged` for records that contradict.
    """
    stored = store.load(run_id)
    records = [Record.from_json(record) for record in stored.records]
    try:
        if stored.head is None:
            return state.fold(state.begin(run_id, records[0]), records[1:])
        run = body.decode(stored.body)
        if run.id != run_id:
            raise Contradiction("the snapshot holds another run")
        return state.fold(run, records)
    except Contradiction as error:
        raise Damaged(run_id, str(error)) from error
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise Damaged(run_id, f"a record is not as expected: {error!r}") from error


def standing(store: Store, run_id: str) -> Standing:
    """The run as it stands, whoever drives it or not."""
    # In this order: a driver that lets go meanwhile has recorded what it did before we read it.
    holder = store.lease_holder(run_id)
    run = load_run(store, run_id)
    if run.outcome is not None:
        return Standing(run, {}, None)
    return Standing(run, undriven_decisions(store, run), holder)


def undriven_decisions(store: Store, run: Run) -> dict[str, Mapping[str, Any]]:
    """The decisions on what the run waits for, and its cancellation, where no driver saw them yet."""
    made = store.decision_ids(run.id)
    asked = {question.id for _, question in views.open_questions(run, driven=False)}
    wanted = made & asked
    if run.cancellation is None:
        wanted |= made & {CANCEL}
    found = {each: store.decision(run.id, each) for each in wanted}
    return {
        each: decision_content(run.id, each, decision)
        for each, decision in found.items()
        if decision is not None
    }


def save(store: Store, run: Run) -> None:
    """Write the snapshot from which the run continues."""
    status = views.status_of(run, driven=False)
    suspensions = views.suspension_views(run, driven=False)
    view = views.run_view(run, status, len(suspensions))
    store.save(run.id, head(view, suspensions), body.encode(run))


def head(view: Mapping[str, Any], suspensions: list[dict[str, Any]]) -> dict[str, Any]:
    """The part of a snapshot that lists read: the run, with the start of its prompt, and its questions."""
    prompt = view["prompt"]
    cut = {**view, "prompt": prompt[:_HEAD_PROMPT], "prompt_cut": len(prompt) > _HEAD_PROMPT}
    return {"run": cut, "suspensions": suspensions}


def answer_text(run: Run) -> str:
    """The last text of the model: the answer, once the run has completed."""
    last = run.root.messages[-1]
    return last.text if isinstance(last, Assistant) else ""


def unsaid_answer(run: Run) -> str:
    """The answer of a run that was killed between the answer and its end: nobody may have seen it."""
    last = run.root.messages[-1]
    ends = isinstance(last, Assistant) and not last.calls and run.outcome is None
    return last.text if ends and isinstance(last, Assistant) else ""


class StoredJournal:
    """The journal and the decisions of one run, for the loop that drives it."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._process = os.getpid()

    def append(self, new: list[Record]) -> None:
        """See `loop.Journal`. Ends a forked child, which holds a copy of the run and must not drive it."""
        if os.getpid() != self._process:
            os._exit(1)
        self._store.append(self._run_id, [record.to_json() for record in new])

    def decision_ids(self) -> set[str]:
        """See `loop.Journal`."""
        return set(self._store.decision_ids(self._run_id))

    def decision(self, decision_id: str) -> Mapping[str, Any]:
        """See `loop.Journal`."""
        found = self._store.decision(self._run_id, decision_id)
        if found is None:
            raise Damaged(self._run_id, f"the decision on `{decision_id[:10]}` disappeared")
        return decision_content(self._run_id, decision_id, found)

    def decide(self, decision_id: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `loop.Journal`."""
        stands, _ = self._store.decide(self._run_id, decision_id, content)
        return decision_content(self._run_id, decision_id, stands)


# What the store adds to a decision to protect it; the rest is the decision.
_OF_THE_STORE = frozenset({"format", "run_id", "id", "sum"})
_WITH_DATA = frozenset({"data", "result", "failed"})


def decision_content(run_id: str, decision_id: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The decision without what the store added. Raises `Damaged` for one that nobody could have made."""
    made = {key: value for key, value in stored.items() if key not in _OF_THE_STORE}
    about = None if decision_id == CANCEL else decision_id
    sound = (
        made.get("suspension_id") == about
        and all(isinstance(made.get(key), str) for key in ("verdict", "by", "at", "via"))
        and (made["verdict"] == CANCEL or about is not None)
        and isinstance(made.get("reason"), str | None)
        and isinstance(made.get("args"), dict | None)
        and ("data" in made) == (made["verdict"] in _WITH_DATA)
        and made.get("always") in (None, True)
    )
    if not sound:
        raise Damaged(run_id, f"the decision on `{decision_id[:10]}` is none that could be made")
    return made
