"""What surrounds the loop, as it is passed in: the journal, the time, where news goes, why to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentctl.runtime.events import Event, Record


class Journal(Protocol):
    """What the loop needs of the store, for the one run that it drives."""

    def append(self, new: list[Record]) -> None:
        """Make the records durable; raises where that is not certain."""

    def decision_ids(self) -> set[str]:
        """The suspension ids that have a decision, and `cancel`."""

    def decision(self, decision_id: str) -> Mapping[str, Any]:
        """The decision, checked against damage."""

    def decide(self, decision_id: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Record a decision unless there is one; the one that stands."""


@dataclass(frozen=True, slots=True)
class World:
    """What surrounds the loop: the time, who drives, and where news goes. `announce` never raises."""

    now: Callable[[], str]
    pid: int
    host: str
    announce: Callable[[Event], None]
    note: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why this process stops driving before the run waits or ends.

    The model is no longer asked. `cancel` also stops async tools, which are then in doubt; `wait`
    waits for those that run, else they are left in doubt.
    """

    message: str
    code: str
    cancel: bool
    wait: bool
