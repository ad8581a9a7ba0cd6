"""What a store of runs can do, whatever it is made of; `tests/store` holds the conformance suite.

Heads, bodies, entries and decisions are JSON objects of the caller's; the store adds its own fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agentctl_store.errors import Damaged

Json = dict[str, Any]
Place = Literal["active", "finished"]


@dataclass(frozen=True, slots=True)
class Stored:
    """A run as loaded: its snapshot, and the journal records that the snapshot does not include.

    `head` and `body` are None where there is no snapshot any more; then `records` are all records.
    `ended`: the journal ends with `finish`. `finished`: it was also put away. `torn`: the journal's last
    line was cut by a crash and is set aside.
    """

    run_id: str
    head: Json | None
    body: Any
    records: list[Json]
    last_seq: int
    ended: bool
    finished: bool
    torn: bool


class Store(Protocol):
    """Runs, their journals and decisions. Everything returned is durable; everything read is verified.

    Any method may raise `Damaged`, `Refused` or, where it writes, `NotSaved`; those that name a run
    raise `UnknownRun`. Records, snapshots and ends are written under the run's lease, decisions are not.
    """

    def create(
        self, run_id: str, head: Mapping[str, Any], body: Any, entries: Sequence[Mapping[str, Any]]
    ) -> list[Json]:
        """Create a run whole, with its first entries; the records as written. Raises `RunExists`."""
        ...

    def load(self, run_id: str) -> Stored:
        """The run's snapshot and later records, the whole journal verified."""
        ...

    def save(self, run_id: str, head: Mapping[str, Any], body: Any) -> None:
        """Replace the snapshot by one that includes every record appended so far."""
        ...

    def append(self, run_id: str, entries: Sequence[Mapping[str, Any]]) -> list[Json]:
        """Append entries to the journal in one durable step; the records as written. Raises `RunEnded`."""
        ...

    def finish(self, run_id: str) -> None:
        """Put away a run whose journal ends with `finish`: no snapshot, no more decisions. Idempotent."""
        ...

    def decide(self, run_id: str, decision_id: str, content: Mapping[str, Any]) -> tuple[Json, bool]:
        """Record a decision unless there is one: the one that stands, and whether this call made it.

        `decision_id` is a suspension id or `cancel`. Takes no lease. Raises `RunEnded`.
        """
        ...

    def decision(self, run_id: str, decision_id: str) -> Json | None:
        """The decision with this id, or None."""
        ...

    def decisions(self, run_id: str) -> dict[str, Json]:
        """All decisions of a run, by id."""
        ...

    def decision_ids(self, run_id: str) -> set[str]:
        """The ids that are decided, without reading the decisions."""
        ...

    def lease(self, run_id: str, timeout_s: float) -> AbstractContextManager[None]:
        """The right to drive the run while the block runs. Raises `LeaseHeld` after `timeout_s` seconds."""
        ...

    def lease_holder(self, run_id: str) -> Json | None:
        """Who holds the lease: `pid`, `host`, `since`; None if nobody does."""
        ...

    def heads(self) -> Iterator[tuple[str, Json | Damaged]]:
        """The snapshot heads of all live runs, oldest id first; one that cannot be read is its error."""
        ...

    def finished(self) -> Iterator[tuple[str, tuple[Json, Json] | Damaged]]:
        """First and last record of all ended runs, oldest id first; read `heads` before, to miss none."""
        ...

    def is_current(self, run_id: str, head: Mapping[str, Any], asked: Iterable[str] = ()) -> bool:
        """Whether a head still tells how its run stands.

        Nothing was appended to the journal since, and none of the suspension ids `asked` is decided.
        """
        ...

    def run_ids(self, prefix: str = "") -> list[tuple[str, Place]]:
        """All runs whose id begins with `prefix`, readable or not, and where they are."""
        ...

    def journal(self, run_id: str, after_seq: int = 0) -> Iterator[Json]:
        """The records with a later `seq`, verified as they are read. Call again to follow a live run."""
        ...

    def verify(self, run_id: str, known_ids: Collection[str] = ()) -> list[str]:
        """Everything that is wrong with one run. `known_ids`: suspension ids the journal need not name."""
        ...

    def verify_store(self) -> list[str]:
        """Everything that is wrong with the store itself; runs are verified one by one."""
        ...
