"""Questions to a human: their fingerprint, and the shape that users see. Pure.

The id of a suspension is the fingerprint of the question. Whoever decides names exactly what they
reviewed: other arguments, another run or another definition of the tool give another id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentctl_store.canonical import digest

Kind = Literal["approval", "data", "in_doubt"]

# Part of every fingerprint: a later way of computing it can never give an id of this one.
FINGERPRINT_FORMAT = "agentctl-suspension-1"


@dataclass(frozen=True, slots=True)
class Suspension:
    """One question about one call. `ordinal` counts the questions of that call, from 1.

    `payload` is what the tool asked (kind `data`), `resume_schema` the JSON Schema of the answer.
    """

    id: str
    kind: Kind
    ordinal: int
    suspended_at: str
    reason: str | None = None
    payload: Any = None
    resume_schema: Mapping[str, Any] | None = None


def fingerprint(
    run_id: str,
    call_path: Sequence[str],
    call_id: str,
    ordinal: int,
    kind: Kind,
    tool: str,
    subject: Any,
    definition: str,
) -> str:
    """The suspension id: 64 hex digits of SHA-256 over the canonical JSON of the question.

    `subject` is what is decided on: the arguments, or for `data` what the tool asked.
    `definition` is the digest of the tool's definition.
    """
    return digest(
        [FINGERPRINT_FORMAT, run_id, list(call_path), call_id, ordinal, kind, tool, subject, definition]
    )


# Which verdicts answer which kind of question.
VERDICTS: Mapping[str, frozenset[str]] = {
    "approval": frozenset({"approve", "decline"}),
    "data": frozenset({"data"}),
    "in_doubt": frozenset({"retry", "result", "failed"}),
}
