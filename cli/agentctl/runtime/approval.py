"""Who must be asked: whether a call can run, and whether a human decides first.

The verdict is recorded, frozen with the definition that it was made on, and never made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentctl.models.arguments import InvalidArguments, read_arguments
from agentctl.runtime import records
from agentctl.runtime.call import Call
from agentctl.runtime.state import Run

if TYPE_CHECKING:
    from agentctl.agents.agent import Agent
    from agentctl.tools.policy import Verdict
    from agentctl.tools.tool import Tool


async def judge(run: Run, call: Call, agent: Agent) -> dict[str, Any]:
    """The payload of the `tool-call` record: `verdict` is `run`, `ask` or `refuse`.

    A human is only asked about calls that could run: an unknown tool and arguments that break the
    schema are refused, with an `error` that is written for the model.
    """
    told = {"tool_call_id": call.id, "tool": call.tool, "args": records.shown_args(run, call)}
    tool = agent.tools.get(call.tool)
    if tool is None:
        return {**told, "verdict": "refuse", "error": _unknown(call.tool, agent)}
    try:
        # What a human edited is no longer what the model wrote.
        args = call.args if call.args is not None else read_arguments(records.model_text(run, call))
        tool.check_args(dict(args))
    except InvalidArguments as error:
        return {**told, "verdict": "refuse", "error": str(error)}
    verdict = await _must_ask(run, call, tool, agent)
    return {
        **told,
        "verdict": "ask" if verdict.required else "run",
        "reason": verdict.reason,
        "definition": frozen(tool, for_review=verdict.required),
    }


def frozen(tool: Tool, *, for_review: bool) -> dict[str, Any]:
    """The tool's definition as a call keeps it; with its input schema where arguments may be edited."""
    kept: dict[str, Any] = {
        "digest": tool.digest,
        "parts": dict(tool.parts),
        "idempotent": tool.idempotent,
    }
    return {**kept, "input_schema": tool.input_schema} if for_review else kept


def _unknown(name: str, agent: Agent) -> str:
    known = ", ".join(agent.tools) or "none"
    return f"There is no tool `{name}`. Tools: {known}"


async def _must_ask(run: Run, call: Call, tool: Tool, agent: Agent) -> Verdict:
    """The order of the contract: the run's globs, the tool's function, then agent and tool together."""
    from agentctl.tools.policy import Policy, Verdict

    if _matches(call.tool, run.options["require_approval"]):
        return Verdict(required=True, reason=None)
    if isinstance(tool.require_approval, Policy):
        return await tool.require_approval.ask(_policy_call(run, call))
    if tool.require_approval:
        return Verdict(required=True, reason=None)
    rule = agent.require_tool_approval
    if isinstance(rule, Policy):
        return await rule.ask(_policy_call(run, call))
    required = rule if isinstance(rule, bool) else _matches(call.tool, rule)
    return Verdict(required=required, reason=None)


def _matches(tool: str, globs: Any) -> bool:
    return any(fnmatchcase(tool, glob) for glob in globs)


def _policy_call(run: Run, call: Call) -> Any:
    from agentctl.tools.policy import PolicyCall

    args: Mapping[str, Any] = call.args or {}
    return PolicyCall(
        tool=call.tool,
        args=dict(args),
        request_context=run.options["context"],
        workspace=run.options["workspace"],
        agent_path=run.root.agent_path,
        run_id=run.id,
        thread=run.thread,
        resource=run.resource,
    )
