"""Decisions as values: what may answer what, when two are the same, and what is written down. Pure.

A decision never comes from a model: it is made here from what a person typed, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentctl.errors import Conflict
from agentctl.runtime.call import same_json
from agentctl.runtime.suspensions import VERDICTS

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Approve:
    """Run the call; with `args` instead of what the model asked; `always`: also later equal calls."""

    args: Mapping[str, Any] | None = None
    always: bool = False
    verdict = "approve"


@dataclass(frozen=True, slots=True)
class Decline:
    """Do not run the call."""

    verdict = "decline"


@dataclass(frozen=True, slots=True)
class Data:
    """The answer to what a tool asked: any JSON, also null."""

    value: Any
    verdict = "data"


@dataclass(frozen=True, slots=True)
class Retry:
    """Run the call in doubt again."""

    verdict = "retry"


@dataclass(frozen=True, slots=True)
class Result:
    """The call in doubt did run, with this result."""

    value: Any
    verdict = "result"


@dataclass(frozen=True, slots=True)
class Failure:
    """The call in doubt did not succeed."""

    text: str
    verdict = "failed"


Decision = Approve | Decline | Data | Retry | Result | Failure


@dataclass(frozen=True, slots=True)
class Signature:
    """Who decides, when, and why."""

    by: str
    at: str
    reason: str | None = None


def content(decision: Decision, suspension_id: str, signed: Signature, accepted: str | None = None) -> Json:
    """The decision as it is recorded; `accepted`: the digest of a changed definition."""
    written: Json = {
        "suspension_id": suspension_id,
        "verdict": decision.verdict,
        "by": signed.by,
        "at": signed.at,
        "via": "cli",
        "reason": signed.reason,
    }
    match decision:
        case Approve(args, always):
            written |= {"args": dict(args)} if args is not None else {}
            written |= {"always": True} if always else {}
        case Data(value) | Result(value):
            written["data"] = value
        case Failure(text):
            written["data"] = text
        case Decline() | Retry():
            pass
    return written if accepted is None else {**written, "accepted": accepted}


def cancellation(signed: Signature) -> Json:
    """The decision to end a whole run."""
    return {
        "suspension_id": None,
        "verdict": "cancel",
        "by": signed.by,
        "at": signed.at,
        "via": "cli",
        "reason": signed.reason,
    }


def same(wanted: Mapping[str, Any], stands: Mapping[str, Any]) -> bool:
    """Whether a decision repeats the one that stands: verdict, arguments and data are equal.

    An approval that holds for later calls covers one that does not, and not the other way round.
    """
    if wanted.get("always") and not stands.get("always"):
        return False
    return all(
        (key in wanted) == (key in stands) and same_json(wanted.get(key), stands.get(key))
        for key in ("verdict", "args", "data")
    )


_HOW = {
    "approval": ("an approval", "agentctl approve {0}", "agentctl decline {0}"),
    "data": ("a data question", "agentctl resume {0} --data JSON"),
    "in_doubt": (
        "in doubt",
        "agentctl resolve {0} --retry",
        "agentctl resolve {0} --result JSON",
        "agentctl resolve {0} --failed TEXT",
    ),
}


def check_kind(suspension: Mapping[str, Any], decision: Decision) -> None:
    """Raise `Conflict` where the decision does not answer this kind of question."""
    kind = suspension["kind"]
    if decision.verdict not in VERDICTS[kind]:
        what, *how = _HOW[kind]
        short = suspension["id"][:10]
        raise Conflict(f"`{short}` ({suspension['tool']}) is {what}", *[each.format(short) for each in how])


_DONE = {
    "approve": "approved",
    "decline": "declined",
    "data": "answered",
    "retry": "settled to be retried",
    "cancel": "cancelled with its run",
}


def already(stands: Mapping[str, Any], suspension_id: str) -> str:
    """Who decided, what and when."""
    done = _DONE.get(stands["verdict"], "settled")
    via = "" if stands.get("via") == "cli" else f" ({stands.get('via')})"
    given = f" with {json.dumps(stands['args'], ensure_ascii=False)}" if "args" in stands else ""
    return f"`{suspension_id[:10]}` was already {done}{given} by {stands['by']}{via} at {stands['at']}"
