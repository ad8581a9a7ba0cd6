"""The store on disk: runs, journals, decisions, leases. It knows no agents."""

from __future__ import annotations

from agentctl_store.errors import (
    AlreadyDecided,
    Damaged,
    LeaseHeld,
    NotSaved,
    Refused,
    RunEnded,
    RunExists,
    StoreError,
    UnknownRun,
)
from agentctl_store.store import LocalStore, Store, Stored

__all__ = [
    "AlreadyDecided",
    "Damaged",
    "LeaseHeld",
    "LocalStore",
    "NotSaved",
    "Refused",
    "RunEnded",
    "RunExists",
    "Store",
    "StoreError",
    "Stored",
    "UnknownRun",
]
