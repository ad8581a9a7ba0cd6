"""The store in a folder: one folder per run, moved once when the run ends.

`LocalStore` puts together what the other modules do to snapshots, journals, decisions and leases.
One instance serves one thread at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from agentctl_store import atomic, decisions, journal, lease, snapshot, verify
from agentctl_store.errors import Damaged, NotSaved, RunEnded, RunExists, StoreError, UnknownRun, as_damage
from agentctl_store.ids import check_id, is_id
from agentctl_store.journal import Reader, Tail
from agentctl_store.layout import Layout, reading
from agentctl_store.protocol import Json, Place, Store, Stored

__all__ = ["LocalStore", "Store", "Stored"]

T = TypeVar("T")

# Somebody put back an old copy: it would be driven, and its decided calls run, a second time.
_TWICE = "it is in active/ and in finished/"


class LocalStore:
    """A `Store` in the folder `path`, which is created by the first method that writes.

    `clock` gives seconds since the epoch, for what `lease_holder` tells others.
    """

    def __init__(self, path: Path | str, clock: Callable[[], float] = time.time) -> None:
        self._layout = Layout(Path(path))
        self._clock = clock
        self._held: set[str] = set()
        # Where journals end, as far as this instance wrote or read them; None after a failed append.
        self._tails: dict[str, Tail | None] = {}
        self._followed: dict[str, Tail] = {}

    @property
    def path(self) -> Path:
        """The store's folder."""
        return Path(self._layout.root)

    # A run's life

    def create(
        self, run_id: str, head: Mapping[str, Any], body: Any, entries: Sequence[Mapping[str, Any]]
    ) -> list[Json]:
        """See `Store.create`."""
        check_id(run_id)
        if not entries:
            raise ValueError("a run begins with at least one entry")
        store_id = self._layout.ensure()
        if self._find(run_id) is not None:
            raise RunExists(run_id)
        lines, records, tail = journal.encode(entries, Tail(), store_id, run_id)
        document = snapshot.encode(_bond(store_id, run_id, tail), head, body)
        files = {journal.NAME: lines, snapshot.NAME: document}
        with atomic.saving(f"run `{run_id}`"):
            self._layout.remove_stale()
            self._layout.create_run(run_id, files, decisions.FOLDER)
        self._tails[run_id] = tail
        return records

    def load(self, run_id: str) -> Stored:
        """See `Store.load`. Under the lease it also removes what a crash left in the run's folder."""
        return self._read(run_id, lambda folder, finished: self._load(run_id, folder, finished))

    def _load(self, run_id: str, folder: str, finished: bool) -> Stored:
        # The snapshot first: the journal only grows, so it then holds at least what the snapshot includes.
        head, body = (None, None) if finished else self._snapshot(run_id, folder)
        included = head["seq"] if head else 0
        records = []
        reader = self._reader(run_id, folder)
        for record in reader:
            if record["seq"] > included:
                records.append(record)
            elif head and record["seq"] == included and record["sum"] != head["journal_sum"]:
                raise Damaged(run_id, f"{snapshot.NAME} was written for another {journal.NAME}")
        tail = reader.tail
        if tail.seq < included:
            raise Damaged(run_id, f"{journal.NAME} ends at record {tail.seq}, before {snapshot.NAME}")
        if head is None and not tail.ended:
            raise Damaged(run_id, f"{journal.NAME} has no end" if finished else f"{snapshot.NAME} is missing")
        if finished and tail.torn:
            raise Damaged(run_id, f"{journal.NAME} ends in a torn line")
        if not finished:
            self._tails[run_id] = tail
            if run_id in self._held:
                self._settle(run_id, folder)
        return Stored(run_id, head, body, records, tail.seq, tail.ended, finished, tail.torn)

    def _settle(self, run_id: str, folder: str) -> None:
        """Under the lease: make what a killed driver wrote, and we go on from, survive a power cut, too."""
        with atomic.saving(f"run `{run_id}`"):
            _remove_temporaries(folder)
            journal.sync(os.path.join(folder, journal.NAME))
            atomic.sync_folder(folder)

    def _snapshot(self, run_id: str, folder: str) -> tuple[Json | None, Any]:
        try:
            return snapshot.read(os.path.join(folder, snapshot.NAME), self._id(), run_id)
        except FileNotFoundError:
            return None, None

    def save(self, run_id: str, head: Mapping[str, Any], body: Any) -> None:
        """See `Store.save`."""
        folder = self._live(run_id)
        document = snapshot.encode(_bond(self._id(), run_id, self._tail(run_id)), head, body)
        with atomic.saving(f"the state of run `{run_id}`"):
            atomic.replace_file(os.path.join(folder, snapshot.NAME), document, "snapshot")

    def append(self, run_id: str, entries: Sequence[Mapping[str, Any]]) -> list[Json]:
        """See `Store.append`. After a failure the run must be loaded again."""
        folder = self._live(run_id)
        tail = self._tail(run_id)
        if tail.ended:
            raise RunEnded(run_id)
        if not entries:
            return []
        lines, records, new_tail = journal.encode(entries, tail, self._id(), run_id)
        # Until the new end is known to be on the disk, nothing may be chained to either.
        del self._tails[run_id]
        try:
            journal.append(os.path.join(folder, journal.NAME), lines, tail)
        except OSError:
            self._tails[run_id] = None
            raise
        self._tails[run_id] = new_tail
        return records

    def finish(self, run_id: str) -> None:
        """See `Store.finish`. Completes what a crash interrupted."""
        folder, finished = self._locate(run_id)
        target = os.path.join(self._layout.finished, run_id)
        if not finished and not self._tail(run_id).ended:
            raise ValueError(f"run {run_id} has no finish record")
        with atomic.saving(f"the end of run `{run_id}`"):
            if not finished:
                self._layout.ensure()
                atomic.unlink(os.path.join(folder, snapshot.NAME))
                _remove_temporaries(folder)
                atomic.sync_folder(folder)
                atomic.rename(folder, target)
            atomic.sync_folder(self._layout.finished)
            atomic.sync_folder(self._layout.active)
        self._tails.pop(run_id, None)

    # Decisions

    def decide(self, run_id: str, decision_id: str, content: Mapping[str, Any]) -> tuple[Json, bool]:
        """See `Store.decide`."""
        path = self._decision_path(run_id, decision_id)
        data = decisions.encode(run_id, decision_id, content)
        self._layout.ensure()
        with atomic.saving(f"the decision on `{decision_id[:10]}`"):
            try:
                created = atomic.publish(path, data, self._layout.tmp, "decision")
            except FileNotFoundError:
                # The run ended meanwhile and was moved away.
                self._live(run_id)
                raise
        standing = self.decision(run_id, decision_id)
        if standing is None:
            raise Damaged(run_id, f"the decision on `{decision_id[:10]}` disappeared")
        return standing, created

    def _decision_path(self, run_id: str, decision_id: str) -> str:
        decisions.check_decision_id(decision_id)
        folder = self._live(run_id)
        if not atomic.is_folder(os.path.join(folder, decisions.FOLDER)):
            self._live(run_id)
            raise Damaged(run_id, f"`{decisions.FOLDER}` is missing")
        return decisions.path_of(folder, decision_id)

    def decision(self, run_id: str, decision_id: str) -> Json | None:
        """See `Store.decision`."""
        decisions.check_decision_id(decision_id)
        return self._read(run_id, lambda folder, _: decisions.read(folder, run_id, decision_id))

    def decisions(self, run_id: str) -> dict[str, Json]:
        """See `Store.decisions`."""
        found = {each: self.decision(run_id, each) for each in sorted(self.decision_ids(run_id))}
        return {each: decision for each, decision in found.items() if decision is not None}

    def decision_ids(self, run_id: str) -> set[str]:
        """See `Store.decision_ids`."""
        return self._read(run_id, lambda folder, _: decisions.names(folder, run_id))

    # The lease

    @contextmanager
    def lease(self, run_id: str, timeout_s: float) -> Iterator[None]:
        """See `Store.lease`."""
        check_id(run_id)
        self._layout.ensure()
        holder = {"pid": os.getpid(), "host": os.uname().nodename, "since": _timestamp(self._clock())}
        with lease.lease(self._layout.lock_path(run_id), run_id, timeout_s, holder):
            # What was read before may be what another driver has changed since.
            self._tails.pop(run_id, None)
            self._held.add(run_id)
            try:
                yield
            finally:
                self._held.discard(run_id)
                self._tails.pop(run_id, None)

    def lease_holder(self, run_id: str) -> Json | None:
        """See `Store.lease_holder`."""
        path = self._layout.lock_path(check_id(run_id))
        if (
            self._layout.store_id() is None
            or not atomic.is_folder(self._layout.locks)
            or not lease.is_held(path)
        ):
            return None
        return lease.read_holder(path) or {"pid": None, "host": None, "since": None}

    # Listing

    def heads(self) -> Iterator[tuple[str, Json | Damaged]]:
        """See `Store.heads`."""
        ended = {run_id for run_id, _ in self._layout.run_names(self._layout.finished)}
        for run_id, problem in self._layout.run_names(self._layout.active):
            if problem is None and run_id in ended:
                problem = Damaged(run_id, _TWICE)
            if problem is not None:
                yield run_id, problem
                continue
            head = self._head(run_id)
            if head is not None:
                yield run_id, head

    def _head(self, run_id: str) -> Json | Damaged | None:
        """The head, or why it cannot be read; None for a run that has ended or just went away."""
        folder = f"{self._layout.active}/{run_id}"
        try:
            return snapshot.read_head(f"{folder}/{snapshot.NAME}", self._id(), run_id)
        except FileNotFoundError:
            ended = not os.path.lexists(folder) or isinstance(self._ends(run_id, folder), tuple)
            return None if ended else Damaged(run_id, f"{snapshot.NAME} is missing")
        except (StoreError, OSError) as error:
            return as_damage(run_id, error)

    def finished(self) -> Iterator[tuple[str, tuple[Json, Json] | Damaged]]:
        """See `Store.finished`."""
        layout = self._layout
        left = ((run_id, layout.active, None) for run_id in self._left_in_active())
        put_away = ((run_id, layout.finished, error) for run_id, error in layout.run_names(layout.finished))
        for run_id, parent, problem in sorted([*left, *put_away], key=lambda entry: entry[0]):
            yield run_id, problem or self._ends(run_id, os.path.join(parent, run_id))

    def _left_in_active(self) -> Iterator[str]:
        """Runs that ended, but whose driver was killed before it could put them away."""
        for run_id, problem in self._layout.run_names(self._layout.active):
            folder = os.path.join(self._layout.active, run_id)
            if problem is None and not os.path.lexists(os.path.join(folder, snapshot.NAME)):
                ends = self._ends(run_id, folder)
                if isinstance(ends, tuple):
                    yield run_id

    def _ends(self, run_id: str, folder: str) -> tuple[Json, Json] | Damaged:
        """First and last record of a run that has ended, or why they cannot be had."""
        try:
            first, last = journal.read_ends(os.path.join(folder, journal.NAME), self._id(), run_id)
        except (StoreError, OSError) as error:
            return as_damage(run_id, error)
        if last.get("type") != journal.FINISH:
            return Damaged(run_id, f"{journal.NAME} has no end")
        return first, last

    def is_current(self, run_id: str, head: Mapping[str, Any], asked: Iterable[str] = ()) -> bool:
        """See `Store.is_current`: the journal's length tells, without reading it, and names of decisions."""
        folder = f"{self._layout.active}/{check_id(run_id)}"
        try:
            if os.lstat(f"{folder}/{journal.NAME}").st_size != head["journal_size"]:
                return False
        except FileNotFoundError:
            return False
        return not any(os.access(decisions.path_of(folder, each), os.F_OK) for each in asked)

    def run_ids(self, prefix: str = "") -> list[tuple[str, Place]]:
        """See `Store.run_ids`."""
        places: tuple[tuple[Place, str], ...] = (
            ("active", self._layout.active),
            ("finished", self._layout.finished),
        )
        return sorted(
            (name, place)
            for place, folder in places
            for name, _ in self._layout.run_names(folder)
            if is_id(name) and name.startswith(prefix)
        )

    def journal(self, run_id: str, after_seq: int = 0) -> Iterator[Json]:
        """See `Store.journal`. Following continues where the last call of this instance ended."""
        self._locate(run_id)
        return self._later(run_id, after_seq)

    def _later(self, run_id: str, after_seq: int) -> Iterator[Json]:
        known = self._followed.get(run_id)
        start = known if known is not None and known.seq == after_seq else None
        reader = self._read(run_id, lambda folder, _: self._reader(run_id, folder, start))
        for record in reader:
            if record["seq"] > after_seq:
                yield record
        if reader.tail.file_size >= reader.tail.size:
            self._followed[run_id] = reader.tail

    # Integrity

    def verify(self, run_id: str, known_ids: Collection[str] = ()) -> list[str]:
        """See `Store.verify`."""
        return self._read(run_id, lambda folder, _: verify.run_problems(self, folder, run_id, known_ids))

    def verify_store(self) -> list[str]:
        """See `Store.verify_store`."""
        with reading():
            return verify.store_problems(self._layout)

    # Finding and reading

    def _id(self) -> str:
        return self._layout.store_id() or ""

    def _find(self, run_id: str) -> tuple[str, bool] | None:
        if self._layout.store_id() is None:
            return None
        # In this order a run that is put away meanwhile is seen at least once.
        with reading():
            for parent, finished in ((self._layout.active, False), (self._layout.finished, True)):
                folder = os.path.join(parent, run_id)
                if atomic.is_folder(parent) and atomic.is_folder(folder):
                    if not finished and os.path.lexists(os.path.join(self._layout.finished, run_id)):
                        raise Damaged(run_id, _TWICE)
                    return folder, finished
        return None

    def _locate(self, run_id: str) -> tuple[str, bool]:
        """The run's folder, and whether that is in `finished/`. Raises `UnknownRun`."""
        found = self._find(check_id(run_id))
        if found is None:
            raise UnknownRun(run_id)
        return found

    def _live(self, run_id: str) -> str:
        """The folder of a run that has not been put away. Raises `RunEnded` or `UnknownRun`."""
        folder, finished = self._locate(run_id)
        if finished:
            raise RunEnded(run_id)
        return folder

    def _read(self, run_id: str, read: Callable[[str, bool], T]) -> T:
        """What `read` makes of the run's folder, wherever it is; once more if it was moved meanwhile."""
        folder, finished = self._locate(run_id)
        try:
            return read(folder, finished)
        except FileNotFoundError as error:
            if not finished and self._locate(run_id)[1]:
                return self._read(run_id, read)
            raise as_damage(run_id, error) from error
        except StoreError:
            raise
        except OSError as error:
            raise as_damage(run_id, error) from error

    def _reader(self, run_id: str, folder: str, start: Tail | None = None) -> Reader:
        return Reader(os.path.join(folder, journal.NAME), self._id(), run_id, start)

    def _tail(self, run_id: str) -> Tail:
        """Where the journal ends, so that something can be chained to it."""
        if run_id not in self._tails:
            self.load(run_id)
        tail = self._tails[run_id]
        if tail is None:
            raise NotSaved(f"run `{run_id}`")
        return tail


def _bond(store_id: str, run_id: str, tail: Tail) -> snapshot.Bond:
    return snapshot.Bond(store_id, run_id, tail.seq, tail.sum, tail.size)


def _remove_temporaries(folder: str) -> None:
    """Remove what a killed driver left beside the snapshot; only under the lease, when nobody writes."""
    for name in os.listdir(folder):
        if atomic.is_temporary(name):
            atomic.discard(os.path.join(folder, name))


def _timestamp(seconds: float) -> str:
    whole, millis = divmod(int(seconds * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{millis:03d}Z"
