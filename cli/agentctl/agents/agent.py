"""An agent as a run uses it: loaded, with its tools, its model's name and its digests. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from agentctl.models.providers import ModelRef
from agentctl.tools.policy import Policy
from agentctl.tools.tool import Tool
from agentctl_store.canonical import digest

_PART_LENGTH = 16

Approval: TypeAlias = bool | tuple[str, ...] | Policy


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent definition and everything it names.

    `path` is the absolute path of its file, `folder` where paths in it start. `require_tool_approval`
    is an answer for every tool, globs of tool ids, or a policy that is asked. `parameters` go to the
    model as they are. `digest` covers the file's data and the tools; `parts` holds one short digest
    for each top-level key, so that a change can be named.
    """

    id: str
    name: str
    description: str
    instructions: str
    model: ModelRef | None
    path: Path
    folder: Path
    tools: Mapping[str, Tool]
    require_tool_approval: Approval
    max_steps: int
    parameters: Mapping[str, Any]
    digest: str
    parts: Mapping[str, str]


def digests(
    data: Mapping[str, Any], tools: Mapping[str, Tool], approval: Approval
) -> tuple[str, dict[str, str]]:
    """The digest of an agent whose file holds `data`, and that of each of its top-level keys."""
    behind: dict[str, Any] = {"tools": {id: tool.digest for id, tool in tools.items()}}
    if isinstance(approval, Policy):
        behind["require_tool_approval"] = approval.digest
    parts = {key: digest([value, behind.get(key)]) for key, value in data.items()}
    return digest(parts), {key: part[:_PART_LENGTH] for key, part in parts.items()}


def changed_parts(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The top-level keys that were changed, added or removed between two `parts`, sorted."""
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
