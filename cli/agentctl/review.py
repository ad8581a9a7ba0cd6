"""What speaks against a decision: a changed definition, or an answer that breaks its schema.

Where the agent may be loaded, the tool as it is now decides; else the schemas that were frozen with
the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentctl.deciding import Approve, Data, Decision
from agentctl.errors import Conflict, Failed, UsageError
from agentctl.runtime.call import Call
from agentctl.runtime.state import Run

if TYPE_CHECKING:
    from agentctl.agents.agent import Agent


def check_by_agent(
    run: Run, agent: Agent, suspension: Mapping[str, Any], decision: Decision, *, accept_changes: bool
) -> str | None:
    """Check against the tool as it is now; the digest of its definition where a change is consented to.

    Raises `Conflict` for a changed definition, `UsageError` for an answer that breaks a schema.
    """
    from agentctl.models.arguments import InvalidArguments
    from agentctl.tools.tool import changed_parts

    tool = agent.tools.get(suspension["tool"])
    frozen = call_of(run, suspension).definition
    assert frozen is not None
    is_new = tool is None or tool.digest != frozen.digest
    if is_new and not accept_changes:
        what = changed_parts(frozen.parts, tool.parts) if tool else ["the tool is gone"]
        raise changed(suspension["id"][:10], suspension["tool"], what, decision.verdict)
    if tool is not None:
        try:
            if isinstance(decision, Approve) and decision.args is not None:
                tool.check_args(dict(decision.args))
            if isinstance(decision, Data):
                tool.check_resume_data(decision.value)
        except InvalidArguments as error:
            raise UsageError(f"the arguments do not fit `{tool.id}`: {error}") from error
    if not is_new:
        return None
    return tool.digest if tool is not None else ""


def check_by_frozen(run: Run, suspension: Mapping[str, Any], decision: Decision) -> None:
    """Check an answer against the schemas that were frozen with the question; loads nothing of the agent."""
    schema: Mapping[str, Any] | None
    if isinstance(decision, Data):
        schema, value, what = suspension["resume_schema"], decision.value, "the answer does not fit"
    elif isinstance(decision, Approve) and decision.args is not None:
        frozen = call_of(run, suspension).definition
        schema, value = frozen.input_schema if frozen else None, dict(decision.args)
        what = "the arguments do not fit"
    else:
        return
    if schema is None:
        return
    from agentctl.tools.shape import Misfit, SchemaShape

    try:
        SchemaShape(dict(schema)).check(value)
    except Misfit as error:
        raise UsageError(f"{what} `{suspension['tool']}`: {error}") from error


def call_of(run: Run, suspension: Mapping[str, Any]) -> Call:
    """The call that the question is about."""
    for call in run.root.calls:
        if call.id == suspension["tool_call_id"]:
            return call
    raise Failed(f"run `{run.id}` no longer has call `{suspension['tool_call_id']}`", "agentctl pending")


def changed(ref: str, tool: str, what: Sequence[str], verdict: str) -> Conflict:
    """The refusal of a call whose tool is not the one that was reviewed."""
    how = {"approve": "approve {}", "data": "resume {} --data JSON", "retry": "resolve {} --retry"}
    command = how.get(verdict, "resume {}").format(ref)
    return Conflict(
        f"the definition of `{tool}` changed since the call was reviewed: {', '.join(what)}",
        f"agentctl {command} --accept-changes",
        f"agentctl show {ref}",
    )
