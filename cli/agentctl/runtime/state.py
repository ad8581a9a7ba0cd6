"""A run as a value, folded from its journal. Pure: no I/O, no clock, no randomness.

Theory of operation
-------------------
Everything that happens in a run is a record. `apply` gives the run after one record, `begin` the
run after the first; `actions.py` says what may happen next. The loop does one of those things,
records it, and asks again. Whoever holds the records holds the run: a resume, a crash and a second
process are the same fold, continued.

Rules
-----
1. The model is asked when every call of the last answer has exactly one result, and not before.
2. The results of a step join the conversation in call order, whatever order they came in.
3. A call is judged before it may run, and runs by the rules of `call.py`.
4. A started call that no process runs is lost: retried if its tool is idempotent, else in doubt,
   which only a human settles.
5. Each model request is counted before it is made; `max_steps` bounds the count over all processes.
6. An error interrupts the run; the next `start` goes on from the same conversation. Half an answer
   was never recorded, so it leaves no trace.
7. Once cancelled, nothing starts: open calls are closed, and the run ends.
8. After `finish` nothing follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentctl.models.arguments import InvalidArguments, read_arguments
from agentctl.models.messages import Assistant, Message, ToolCall, ToolResult, User, message_from_json
from agentctl.models.protocol import Usage
from agentctl.runtime import call as calls
from agentctl.runtime.call import CALL_RECORDS, Call, Contradiction, Phase
from agentctl.runtime.events import Record


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one agent and its model said, and the calls of the step under way.

    `answered` counts the requests that came to an answer or a recorded error: a request that a
    crash cut off is the same request again. `asking` is true while one is under way.
    """

    agent_path: tuple[str, ...]
    call_path: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    step: int = 0
    answered: int = 0
    asking: bool = False
    step_usage: Usage = Usage()
    finish_reason: str = ""


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why the run stopped without ending: `code` names an exit status."""

    code: str
    message: str
    hint: str | None
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Who ended the run, and why."""

    by: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Grant:
    """Calls that a human approved for the rest of the run: this tool with exactly these arguments."""

    agent_path: tuple[str, ...]
    tool: str
    args: Mapping[str, Any]
    definition: str
    by: str


@dataclass(frozen=True, slots=True)
class Run:
    """One task given to an agent, as far as it has come. `options` are those of the first start."""

    id: str
    agent: str
    prompt: str
    options: Mapping[str, Any]
    root: Conversation
    started_at: str
    updated_at: str
    max_steps: int
    model: str | None = None
    thread: str | None = None
    resource: str | None = None
    agent_parts: Mapping[str, str] | None = None
    usage: Usage = Usage()
    grants: tuple[Grant, ...] = ()
    interruption: Interruption | None = None
    cancellation: Cancellation | None = None
    finished_at: str | None = None
    outcome: Mapping[str, Any] | None = None


def begin(run_id: str, record: Record) -> Run:
    """The run after its first record, a `start`."""
    payload = record.payload
    if record.type != "start" or payload.get("resumed"):
        raise Contradiction(f"the journal begins with `{record.type}`, not with the start of the run")
    root = Conversation(agent_path=record.agent_path, messages=(User(payload["input"]),))
    return Run(
        id=run_id,
        agent=payload["agent"],
        prompt=payload["input"],
        options=payload["options"],
        root=root,
        started_at=record.at,
        updated_at=record.at,
        max_steps=payload["max_steps"],
        model=payload["model"],
        thread=payload["thread"],
        resource=payload["resource"],
        agent_parts=payload["agent_parts"],
    )


def apply(run: Run, record: Record) -> Run:
    """The run after `record`; raises `Contradiction` for one that cannot happen now."""
    if run.outcome is not None:
        raise Contradiction(f"`{record.type}` after the run ended")
    if (record.agent_path, record.call_path) != (run.root.agent_path, run.root.call_path):
        raise Contradiction(f"`{record.type}` for an agent that this run does not have")
    after = _APPLY.get(record.type, _apply_to_conversation)(run, record)
    return replace(after, updated_at=record.at)


def fold(run: Run, records: Sequence[Record]) -> Run:
    """The run after all of `records`."""
    for record in records:
        run = apply(run, record)
    return run


def waiting(run: Run) -> tuple[Call, ...]:
    """The calls that wait for a human, in call order."""
    return tuple(call for call in run.root.calls if call.phase is Phase.WAITING)


def with_unique_ids(run: Run, message: Assistant) -> Assistant:
    """The answer with call ids that are unique in its conversation: a repeated `c1` becomes `c1-2`."""
    used = {call.id for said in run.root.messages if isinstance(said, Assistant) for call in said.calls}
    unique = []
    for call in message.calls:
        wanted = call.id or f"call-{run.root.answered + 1}"
        name, number = wanted, 1
        while name in used:
            number += 1
            name = f"{wanted}-{number}"
        used.add(name)
        unique.append(replace(call, id=name))
    return replace(message, calls=tuple(unique))


def granted(run: Run, call: Call) -> Grant | None:
    """The standing approval of exactly this call, if a human gave one."""
    for grant in run.grants:
        same = grant.tool == call.tool and calls.same_json(grant.args, call.args)
        if same and call.definition is not None and grant.definition == call.definition.digest:
            return grant
    return None


def _propose(call: ToolCall) -> Call:
    try:
        return Call(call.id, call.tool, read_arguments(call.arguments))
    except InvalidArguments:
        return Call(call.id, call.tool, None)


def _start(run: Run, record: Record) -> Run:
    """A later process drives on; it may bring a new budget, model or context."""
    payload = record.payload
    if not payload.get("resumed"):
        raise Contradiction("the run is started twice")
    options = {**run.options, "context": payload.get("context", run.options["context"])}
    return replace(
        run,
        options=options,
        max_steps=payload["max_steps"],
        model=payload["model"],
        agent_parts=payload["agent_parts"],
        interruption=None,
        root=replace(run.root, asking=False),
    )


def _step_start(run: Run, record: Record) -> Run:
    root = run.root
    if root.calls or root.asking or isinstance(root.messages[-1], Assistant):
        raise Contradiction("a model request before every call has its result")
    if run.cancellation is not None or run.interruption is not None or root.step >= run.max_steps:
        raise Contradiction("a model request after the run was stopped, or beyond its budget")
    return replace(run, root=replace(root, step=root.step + 1, asking=True))


def _answer(run: Run, record: Record) -> Run:
    root = run.root
    if not root.asking:
        raise Contradiction("an answer that nobody asked for")
    message = message_from_json(record.payload["message"])
    if not isinstance(message, Assistant):
        raise Contradiction("an answer that is no answer")
    if with_unique_ids(run, message) != message:
        raise Contradiction("an answer that uses the id of a call twice")
    usage = Usage(**record.payload["usage"])
    answered = replace(
        root,
        messages=(*root.messages, message),
        calls=tuple(_propose(call) for call in message.calls),
        answered=root.answered + 1,
        asking=False,
        step_usage=usage,
        finish_reason=record.payload["finish_reason"],
    )
    return replace(run, root=answered, usage=run.usage + usage)


def _step_finish(run: Run, record: Record) -> Run:
    root = run.root
    if not root.finish_reason or any(call.phase is not Phase.DONE for call in root.calls):
        raise Contradiction("the step ends before every call has its result")
    results = tuple(ToolResult(call.id, call.tool, call.content, call.is_error) for call in root.calls)
    ended = replace(root, messages=(*root.messages, *results), calls=(), step_usage=Usage(), finish_reason="")
    return replace(run, root=ended)


def _decision(run: Run, record: Record) -> Run:
    if record.payload["verdict"] == "cancel" and record.payload["suspension_id"] is None:
        if run.cancellation is not None:
            raise Contradiction("the run is cancelled twice")
        by, reason = record.payload["by"], record.payload["reason"]
        return replace(run, cancellation=Cancellation(by, reason))
    for call in waiting(run):
        if call.suspension and call.suspension.id == record.payload["suspension_id"]:
            after = _with_call(run, calls.apply(call, record, run.id))
            return replace(after, grants=(*run.grants, *_grant(call, record)))
    raise Contradiction("a decision on a question that is not open")


def _grant(call: Call, record: Record) -> tuple[Grant, ...]:
    payload = record.payload
    if payload.get("always") is not True or call.definition is None or call.args is None:
        return ()
    if payload["verdict"] != "approve" or "args" in payload:
        raise Contradiction("only an approval of the call as it was asked holds for later calls")
    by = payload["by"]
    return (Grant(record.agent_path, call.tool, call.args, call.definition.digest, by),)


def _error(run: Run, record: Record) -> Run:
    payload = record.payload
    interruption = Interruption(
        payload["code"], payload["message"], payload["hint"], payload["finish_reason"]
    )
    usage = Usage(**payload["usage"]) if "usage" in payload else Usage()
    root = run.root
    if root.asking and payload.get("answered"):
        root = replace(root, answered=root.answered + 1)
    return replace(run, interruption=interruption, usage=run.usage + usage, root=replace(root, asking=False))


def _finish(run: Run, record: Record) -> Run:
    root, status = run.root, record.payload["status"]
    answered = not root.asking and isinstance(root.messages[-1], Assistant)
    sound = {
        "completed": answered,
        "cancelled": run.cancellation is not None,
        "failed": True,
    }
    if root.calls or root.finish_reason or not sound.get(status, False):
        raise Contradiction(f"the run ends as {status!r} before it could")
    return replace(run, finished_at=record.at, outcome=record.payload)


_APPLY = {
    "start": _start,
    "step-start": _step_start,
    "answer": _answer,
    "step-finish": _step_finish,
    "decision": _decision,
    "error": _error,
    "finish": _finish,
}


def _apply_to_conversation(run: Run, record: Record) -> Run:
    if record.type not in CALL_RECORDS:
        raise Contradiction(f"a record of unknown type `{record.type}`")
    call_id = record.payload["tool_call_id"]
    for call in run.root.calls:
        if call.id == call_id:
            cancelling = run.cancellation is not None
            return _with_call(run, calls.apply(call, record, run.id, cancelling=cancelling))
    raise Contradiction(f"`{record.type}` for call `{call_id}`, which was never proposed")


def _with_call(run: Run, changed: Call) -> Run:
    root = run.root
    after = tuple(changed if call.id == changed.id else call for call in root.calls)
    return replace(run, root=replace(root, calls=after))
