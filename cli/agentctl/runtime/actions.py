"""What may happen next in a run: the other half of the state machine. Pure.

`state.py` opens with the rules. The loop does what `next_actions` gives, records it, and asks again.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from agentctl.models.messages import Assistant
from agentctl.runtime.call import Call, Phase
from agentctl.runtime.state import Run


@dataclass(frozen=True, slots=True)
class Judge:
    """Find out whether the call can run, and whether a human must be asked."""

    call: Call


@dataclass(frozen=True, slots=True)
class Ask:
    """Put the question: may this call run?"""

    call: Call


@dataclass(frozen=True, slots=True)
class StartCall:
    """Record the start, then run the tool."""

    call: Call


@dataclass(frozen=True, slots=True)
class Settle:
    """Announce the outcome of a call that does not run."""

    call: Call


@dataclass(frozen=True, slots=True)
class Recover:
    """The process that ran this call is gone: retry it, or put it in doubt."""

    call: Call


@dataclass(frozen=True, slots=True)
class Close:
    """The run was cancelled: close this call without running it."""

    call: Call


@dataclass(frozen=True, slots=True)
class FinishStep:
    """Every call has its result: the step is over."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send the conversation to the model."""


@dataclass(frozen=True, slots=True)
class StepsUsedUp:
    """The budget of model requests is used up."""


@dataclass(frozen=True, slots=True)
class EndRun:
    """Nothing is left to do."""

    status: Literal["completed", "cancelled"]
    finish_reason: str


CallAction = Judge | Ask | StartCall | Settle | Recover | Close
Action = CallAction | FinishStep | AskModel | StepsUsedUp | EndRun


def next_actions(run: Run, running: Set[str] = frozenset()) -> tuple[Action, ...]:
    """What may happen next, given the call ids that this process is `running`.

    Empty while the run waits: for humans, for running calls, or for a new `start`.
    """
    if run.outcome is not None:
        return ()
    root = run.root
    open_calls = tuple(call for call in root.calls if call.phase is not Phase.DONE)
    if open_calls:
        cancelled = run.cancellation is not None
        found = (_next_of_call(call, running, cancelled=cancelled) for call in open_calls)
        return tuple(action for action in found if action is not None)
    if root.calls or root.finish_reason:
        return (FinishStep(),)
    if run.cancellation is not None:
        return (EndRun("cancelled", "cancelled"),)
    if run.interruption is not None:
        return ()
    if isinstance(root.messages[-1], Assistant):
        return (EndRun("completed", "stop"),)
    return (StepsUsedUp(),) if root.step >= run.max_steps else (AskModel(),)


def _next_of_call(call: Call, running: Set[str], *, cancelled: bool) -> CallAction | None:
    match call.phase:
        case Phase.STARTED:
            return None if call.id in running else Recover(call)
        case Phase.SETTLED:
            return Settle(call)
        case _ if cancelled:
            return Close(call)
        case Phase.PROPOSED:
            return Judge(call)
        case Phase.GATED:
            return Ask(call)
        case Phase.READY:
            return StartCall(call)
        case _:
            return None
