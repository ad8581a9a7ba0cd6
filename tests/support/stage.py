"""A loop on a stage: journal, model, tools and clock are played, and everything is noted in order.

`Stage(tools, answers).drive()` is one process; `stage.again()` is the next, over the same journal.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentctl.agents.agent import Agent
from agentctl.errors import UsageError
from agentctl.models.arguments import InvalidArguments
from agentctl.models.messages import Assistant, ToolCall, ToolResult
from agentctl.models.protocol import Answer, OnText, Request, Usage
from agentctl.runtime import body, state
from agentctl.runtime.events import Event, Record
from agentctl.runtime.loop import Loop
from agentctl.runtime.world import World
from agentctl.tools.policy import Policy
from agentctl.tools.tool import CallInfo, Outcome, Succeeded
from agentctl_store.canonical import canonical, parse
from agentctl_store.errors import NotSaved
from support.story import AT, RUN, opening

Json = dict[str, Any]
Execute = Callable[[Json, CallInfo], Awaitable[Outcome]]
Reply = Answer | Exception | Callable[[Request, OnText], Awaitable[Answer]]


async def ok(args: Json, call: CallInfo) -> Outcome:
    """A tool that succeeds at once."""
    return Succeeded("ok")


async def until(condition: Callable[[], object]) -> None:
    """Let others run until something is so."""
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")


def ask(*calls: tuple[str, str, Any], text: str = "") -> Answer:
    """The model asks for calls: (id, tool, arguments); arguments that are text stay as they are."""
    asked = tuple(
        ToolCall(call_id, tool, args if isinstance(args, str) else json.dumps(args))
        for call_id, tool, args in calls
    )
    return Answer(Assistant(text, calls=asked), "tool_calls", Usage(total_tokens=3, requests=1))


def say(text: str) -> Answer:
    """The model's last word."""
    return Answer(Assistant(text), "stop", Usage(total_tokens=2, requests=1))


@dataclass
class PlayedTool:
    """A tool whose code is `body`; another `source` is another definition."""

    id: str
    body: Execute = ok
    require_approval: bool | Policy = False
    idempotent: bool = False
    is_async: bool = True
    source: str = "1"
    misfit: str = ""
    resume_schema: Json | None = None
    description: str = "A tool"
    input_schema: Json = field(default_factory=lambda: {"type": "object"})
    output_schema: Json | None = None
    suspend_schema: Json | None = None
    timeout: float | None = None

    @property
    def parts(self) -> Mapping[str, str]:
        return {"source": self.source}

    @property
    def digest(self) -> str:
        return f"d{self.source}"  # two tools of one source have one digest

    def check_args(self, args: Json) -> None:
        if self.misfit:
            raise InvalidArguments(self.misfit)

    def check_resume_data(self, data: Any) -> None:
        if self.misfit:
            raise UsageError(self.misfit)

    async def execute(self, args: Json, call: CallInfo) -> Outcome:
        return await self.body(args, call)


class PlayedJournal:
    """Keeps records and decisions; `breaks_at` names record types that cannot be written."""

    def __init__(self, log: list[str]) -> None:
        self.records: list[Record] = []
        self.appends: list[list[str]] = []
        self.decisions: dict[str, Json] = {}
        self.breaks_at: set[str] = set()
        self._log = log

    def append(self, new: list[Record]) -> None:
        types = [record.type for record in new]
        if self.breaks_at & set(types):
            raise NotSaved("the journal", OSError(28, "No space left on device"))
        self.records += [Record.from_json(parse(canonical(record.to_json()))) for record in new]
        self.appends.append([_short(record) for record in new])
        self._log += [f"kept {_short(record)}" for record in new]

    def decision_ids(self) -> set[str]:
        return set(self.decisions)

    def decision(self, decision_id: str) -> Mapping[str, Any]:
        return self.decisions[decision_id]

    def decide(self, decision_id: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.decisions.setdefault(decision_id, parse(canonical(dict(content))))


class PlayedModel:
    """Gives one reply after the other, and keeps what it was asked."""

    def __init__(self, replies: list[Reply], log: list[str]) -> None:
        self.replies = replies
        self.requests: list[Request] = []
        self.closed = 0
        self._log = log

    async def ask(self, request: Request, on_text: OnText, on_reasoning: OnText) -> Answer:
        self._log.append(f"asked {request.turn}")
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Answer) else await reply(request, on_text)

    async def close(self) -> None:
        self.closed += 1


class Stage:
    """One run and what surrounds its loop. `log` holds `kept`, `told`, `ran` and `asked`, in order."""

    def __init__(self, tools: list[PlayedTool], replies: list[Reply], **opening_changes: Any) -> None:
        self.log: list[str] = []
        self.events: list[Event] = []
        self.notes: list[str] = []
        self.on_event: Callable[[Event], None] = lambda event: None
        self.gate: bool | tuple[str, ...] | Policy = False
        self.tools = {tool.id: tool for tool in tools}
        self.journal = PlayedJournal(self.log)
        self.model = PlayedModel(replies, self.log)
        self.journal.append([opening(**opening_changes)])
        self.loop = self._new_loop(accept_changes=False)

    def _new_loop(self, *, accept_changes: bool, model_error: Exception | None = None) -> Loop:
        def open_model() -> PlayedModel:
            if model_error is not None:
                raise model_error
            return self.model

        first, *later = self.journal.records
        run = body.decode(parse(canonical(body.encode(state.fold(state.begin(RUN, first), later)))))
        world = World(lambda: AT, 7, "here", self._announce, self.notes.append)
        return Loop(run, self._agent(), self.journal, world, open_model, accept_changes=accept_changes)

    def _agent(self) -> Agent:
        return Agent(
            id="records",
            name="Records",
            description="",
            instructions="Keep records.",
            model=None,
            path=Path("/agent/agent.yaml"),
            folder=Path("/agent"),
            tools={id: _noting(tool, self.log) for id, tool in self.tools.items()},
            require_tool_approval=self.gate,
            max_steps=20,
            parameters={"temperature": 0},
            digest="a",
            parts={},
        )

    def _announce(self, event: Event) -> None:
        self.events.append(event)
        self.log.append(f"told {_short(event)}")
        self.on_event(event)

    def drive(self) -> Stage:
        """This process drives as far as it can."""
        asyncio.run(self.loop.drive())
        return self

    def play(self, scene: Callable[[Stage], Awaitable[None]]) -> Stage:
        """Drive, and let the scene happen meanwhile."""

        async def both() -> None:
            driving = asyncio.create_task(self.loop.drive())
            await scene(self)
            await driving

        asyncio.run(both())
        return self

    def again(
        self, *, accept_changes: bool = False, model_error: Exception | None = None, **changes: Any
    ) -> Stage:
        """Another process, which knows what the journal knows, drives on as far as it can."""
        self.resume(accept_changes=accept_changes, model_error=model_error, **changes)
        return self.drive()

    def resume(
        self, *, accept_changes: bool = False, model_error: Exception | None = None, **changes: Any
    ) -> None:
        """Another process is about to drive on."""
        self.loop = self._new_loop(accept_changes=accept_changes, model_error=model_error)
        run = self.loop.run
        brings = {"resumed": True, "max_steps": run.max_steps, "model": None, "agent_parts": {}, **changes}
        self.loop.record(Record("start", AT, brings, run.root.agent_path))

    # The human

    def question(self, call_id: str) -> str:
        """The id of the question about a call."""
        call = next(call for call in self.loop.run.root.calls if call.id == call_id)
        assert call.suspension is not None
        return call.suspension.id

    def decide(self, call_id: str, verdict: str, **more: Any) -> None:
        """A human decides, in another process."""
        asked = self.question(call_id)
        said = {
            "suspension_id": asked,
            "verdict": verdict,
            "by": "ada",
            "at": AT,
            "via": "cli",
            "reason": None,
        }
        self.journal.decide(asked, {**said, **more})

    def cancel(self) -> None:
        """A human cancels the run, in another process."""
        said = {"verdict": "cancel", "by": "ada", "at": AT, "via": "cli", "reason": None}
        self.journal.decide("cancel", {"suspension_id": None, **said})

    # What happened

    def ran(self) -> list[str]:
        """The ids of the calls that were executed, in order."""
        return [line.removeprefix("ran ") for line in self.log if line.startswith("ran ")]

    def kept(self, kind: str) -> list[Json]:
        """The payloads of the records of this type."""
        return [dict(record.payload) for record in self.journal.records if record.type == kind]

    def told(self, kind: str) -> list[Json]:
        """The payloads of the events of this type."""
        return [dict(event.payload) for event in self.events if event.type == kind]

    def said_to_model(self) -> list[tuple[str, str]]:
        """The results that the last request carried: call id and text."""
        sent = self.model.requests[-1].messages
        return [(each.call_id, each.content) for each in sent if isinstance(each, ToolResult)]


@dataclass
class _Noting(PlayedTool):
    log: list[str] = field(default_factory=list)

    async def execute(self, args: Json, call: CallInfo) -> Outcome:
        self.log.append(f"ran {call.tool_call_id}")
        return await self.body(args, call)


def _noting(tool: PlayedTool, log: list[str]) -> PlayedTool:
    return _Noting(**vars(tool), log=log)


def _short(what: Record | Event) -> str:
    call_id = what.payload.get("tool_call_id")
    return f"{what.type} {call_id}" if call_id else what.type
