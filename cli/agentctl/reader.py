"""Looking at runs: what waits, which runs there are, one run whole, journals, integrity.

Changes nothing, loads no agent, and reads no more than it must: `pending` reads one line per run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentctl import listing
from agentctl_store import LocalStore, StoreError

Json = dict[str, Any]


class Reader:
    """The verbs that only look, over one store."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def pending(self) -> listing.Listed:
        """What waits for a human, oldest first."""
        return listing.waiting(self._store)

    def runs(self, *, whole_prompts: bool) -> listing.Listed:
        """All runs, newest first."""
        return listing.runs(self._store, whole_prompts=whole_prompts)

    def find_run(self, ref: str) -> str:
        """The id of the run that `ref` means."""
        from agentctl import references

        return references.find_run(self._store, ref)

    def show(self, ref: str) -> Json:
        """One run, whole: `run`, `suspensions`, `decisions`, `messages`."""
        from agentctl import references
        from agentctl.models.messages import message_to_json
        from agentctl.runtime import stored

        run_id = references.find_run(self._store, ref)
        standing = stored.standing(self._store, run_id)
        made = [record["payload"] for record in self._store.journal(run_id) if record["type"] == "decision"]
        undriven = list(standing.decided.values())
        messages = [message_to_json(message) for message in standing.run.root.messages]
        return {
            "run": standing.view,
            "suspensions": standing.suspensions,
            "decisions": [*made, *undriven],
            "messages": messages,
        }

    def journal(self, run_id: str, after: int = 0) -> Iterator[Json]:
        """The journal's records with a later `seq` than `after`, each verified."""
        return self._store.journal(run_id, after)

    def is_driven(self, run_id: str) -> bool:
        """Whether a process drives the run now."""
        return self._store.lease_holder(run_id) is not None

    def verify(self, refs: Sequence[str]) -> tuple[list[str], list[Json]]:
        """The ids of the runs that were checked, and every problem found: `run_id` and `problem`."""
        run_ids = [self.find_run(ref) for ref in refs]
        found = [] if refs else [{"run_id": None, "problem": each} for each in self._store.verify_store()]
        every = run_ids or [run_id for run_id, _ in self._store.run_ids()]
        for run_id in every:
            found.extend({"run_id": run_id, "problem": each} for each in self._problems(run_id))
        return every, found

    def _problems(self, run_id: str) -> list[str]:
        from agentctl.runtime import stored, views

        try:
            run = stored.load_run(self._store, run_id)
            known = {question.id for _, question in views.open_questions(run, driven=False)}
            return list(self._store.verify(run_id, known))
        except StoreError as error:
            return [str(error)]

    def check(self, agent: Path) -> list[str]:
        """Validate a definition and everything it names; the warnings."""
        from agentctl.agents.checking import check_agent

        return list(check_agent(agent))
