"""The exit statuses: what a process of agentctl tells the shell that started it.

The table is part of the contract; scripts and CI pipelines gate on it.
"""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """One status a process can end with; its lower-case name is the `code` of errors in JSON."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    AUTH = 4
    CONFLICT = 5
    BUSY = 6
    IN_DOUBT = 7
    SUSPENDED = 8
    INTERRUPTED = 9
    TIMEOUT = 124

    @property
    def code(self) -> str:
        """The name scripts see, for example `not_found`."""
        return self.name.lower()


# With several runs, the first of these that applies is the status of the process.
WORST_FIRST = (
    ExitStatus.FAILED,
    ExitStatus.IN_DOUBT,
    ExitStatus.INTERRUPTED,
    ExitStatus.SUSPENDED,
    ExitStatus.OK,
)


def signal_status(signum: int) -> int:
    """The status a shell reports for a process that died of signal `signum`."""
    return 128 + signum
