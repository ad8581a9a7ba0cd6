"""Approval functions: a function of the user's that says whether a human must be asked about a call.

It can only be wrong in one direction: whatever is not a clear `False` in time means that a human is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from agentctl.tools.duration import readable
from agentctl.tools.execution import Ending, Raised, Returned, TimedOut, finish, run_in_thread
from agentctl.tools.shape import described
from agentctl_store.canonical import digest as sha256


@dataclass(frozen=True, slots=True)
class PolicyCall:
    """What an approval function is told."""

    tool: str
    args: dict[str, Any]
    request_context: Mapping[str, Any]
    workspace: str
    agent_path: tuple[str, ...]
    run_id: str
    thread: str | None
    resource: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a human must be asked; `reason` says so where the function itself could not."""

    required: bool
    reason: str | None = None


class Policy:
    """An approval function that is loaded when it is first asked.

    `source` is its source text, part of the definition of a tool that it guards. `load` gives the
    function; the function may be async, and has `timeout` seconds, loading included.
    """

    def __init__(
        self, name: str, load: Callable[[], Callable[[Any], Any]], source: str = "", timeout: float = 10.0
    ) -> None:
        self.name = name
        self.source = source
        self._load = load
        self._timeout = timeout

    @property
    def definition(self) -> dict[str, str]:
        """What identifies the rule, for digests."""
        return {"policy": self.name, "source": self.source}

    @property
    def digest(self) -> str:
        """SHA-256 over the definition."""
        return sha256(self.definition)

    async def ask(self, call: PolicyCall) -> Verdict:
        """Ask the function about one call. It gets copies, so it cannot change what will run."""
        # In a thread even where it is async: a function that blocks must not stop the whole run.
        ending = await run_in_thread(lambda: self._decide(call), self._timeout, f"policy {self.name}")
        return self._verdict(ending)

    def _decide(self, call: PolicyCall) -> Any:
        try:
            function = self._load()
        except BaseException as error:
            raise _NotLoaded(described(error)) from error
        copied = replace(call, args=deepcopy(call.args), request_context=deepcopy(dict(call.request_context)))
        try:
            return finish(function(copied))
        except KeyboardInterrupt as error:  # its own, not the user's: those reach the main thread only
            raise RuntimeError("KeyboardInterrupt") from error

    def _verdict(self, ending: Ending) -> Verdict:
        match ending:
            case Returned(bool(required)):
                return Verdict(required)
            case Returned(value):
                problem = f"returned `{_shown(value)}`, neither True nor False"
            case Raised(_NotLoaded() as error):
                problem = f"could not be loaded: {error}"
            case Raised(error):
                problem = f"raised {described(error)}"
            case TimedOut():
                problem = f"gave no answer within {readable(self._timeout)}"
        return Verdict(True, f"policy `{self.name}` {problem}")


class _NotLoaded(Exception):
    """Loading failed: told apart from the errors of the function itself."""


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # `__repr__` is the author's code
        text = type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}…"
