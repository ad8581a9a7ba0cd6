"""The loop: does what the state says may happen next, records it, and asks again.

All effects of a run are here: the model is asked, tools run, records are kept and announced. What
is allowed is not decided here but in `state.py`, `actions.py` and `call.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentctl.errors import AgentctlError, Failed, ModelError
from agentctl.models.protocol import Answer, Request, ToolSpec
from agentctl.runtime import approval, records, state
from agentctl.runtime.actions import (
    Action,
    Ask,
    AskModel,
    Close,
    EndRun,
    FinishStep,
    Judge,
    Recover,
    Settle,
    StartCall,
    StepsUsedUp,
    next_actions,
)
from agentctl.runtime.call import Call, Contradiction, Phase, question_id
from agentctl.runtime.events import Record, announcement
from agentctl.runtime.state import Run
from agentctl.runtime.world import Journal, Stop, World
from agentctl_store.canonical import canonical, parse
from agentctl_store.errors import Damaged, NotSaved

if TYPE_CHECKING:
    from agentctl.agents.agent import Agent
    from agentctl.models.protocol import Model
    from agentctl.tools.tool import Tool

POLL_SECONDS = 0.2
CANCEL_SECONDS = 3.0


class Loop:
    """Drives one run as far as it goes, in one process that holds the lease.

    Afterwards `run` is how it stands, `stopped` why it was stopped from outside, and `changed` maps
    the calls that were approved but not started to what is new in their tool's definition.
    """

    def __init__(
        self,
        run: Run,
        agent: Agent | None,
        journal: Journal,
        world: World,
        open_model: Callable[[], Model],
        *,
        accept_changes: bool = False,
    ) -> None:
        self.run = run
        self.stopped: Stop | None = None
        self.changed: dict[str, list[str]] = {}
        self._loaded = agent
        self._journal = journal
        self._world = world
        self._open_model = open_model
        self._model: Model | None = None
        self._accept_changes = accept_changes
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._request: asyncio.Task[Answer] | None = None
        self._wake = asyncio.Event()

    async def drive(self) -> None:
        """Go on until the run ends, waits for humans, is interrupted, or is stopped."""
        try:
            self._recover()
            while self.stopped is None:
                self._absorb_decisions()
                actions = self._possible()
                if actions:
                    await self._do_all(actions)
                elif self._tasks:
                    await self._wait_for_a_tool(POLL_SECONDS)
                else:
                    return
            await self._wind_down(self.stopped)
        finally:
            if self._model is not None:
                await self._model.close()

    @property
    def _agent(self) -> Agent:
        """The agent; a run that is only being cancelled needs none, and has none."""
        assert self._loaded is not None
        return self._loaded

    def stop(self, stop: Stop) -> None:
        """Ask the loop to stop; safe to call again, the first reason counts."""
        if self.stopped is None:
            self.stopped = stop
            self._wake.set()
            if self._request is not None:
                self._request.cancel()

    def _possible(self) -> list[Action]:
        """What may happen next, but for approved calls whose tool is no longer what was reviewed."""
        return [
            action
            for action in next_actions(self.run, self._tasks.keys())
            if not (isinstance(action, StartCall) and action.call.id in self.changed)
        ]

    async def _do_all(self, actions: list[Action]) -> None:
        """Judge together, ask together, then do the rest: all that waits is listed before tools run."""
        judged = [action.call for action in actions if isinstance(action, Judge)]
        asked = [action.call for action in actions if isinstance(action, Ask)]
        if judged:
            await self._judge(judged)
        elif asked:
            self._use_grants(asked)
            now = self._world.now()
            self.record(*[records.approval_question(self.run, now, call) for call in asked])
        else:
            for action in actions:
                if self.stopped is None:
                    await self._do(action)

    async def _do(self, action: Action) -> None:
        run, now = self.run, self._world.now()
        match action:
            case StartCall(call):
                await self._start(call)
            case Settle(call):
                self.record(records.settlement(run, now, call))
            case Recover(call):
                self.record(records.recovery(run, now, call))
            case Close(call):
                self._close(call)
            case FinishStep():
                self.record(records.step_finish(run, now))
            case AskModel():
                await self._ask_model()
            case StepsUsedUp():
                more = f"agentctl resume {run.id} --max-steps {run.max_steps * 2}"
                requests = "request" if run.max_steps == 1 else "requests"
                message = f"The budget of {run.max_steps} model {requests} is used up"
                self._interrupt("interrupted", message, more, "max_steps")
            case EndRun(status, finish_reason):
                self.record(records.finish(run, now, status, finish_reason, None))
            case Judge() | Ask():
                raise AssertionError("judged and asked together, in `_do_all`")

    def record(self, *new: Record) -> None:
        """Check against the rules, write and fsync, then announce: in that order, always."""
        run = state.fold(self.run, new)
        self._journal.append(list(new))
        self.run = run
        for record in new:
            event = announcement(record, run.id)
            if event is not None:
                self._world.announce(event)

    def _interrupt(self, code: str, message: str, hint: str | None, finish: str, **more: Any) -> None:
        payload = {"code": code, "message": message, "hint": hint, "finish_reason": finish, **more}
        self.record(records.of_step(self.run, self._world.now(), "error", payload))

    # Judging and deciding

    async def _judge(self, judged: list[Call]) -> None:
        payloads = await asyncio.gather(*(approval.judge(self.run, call, self._agent) for call in judged))
        now = self._world.now()
        self.record(*[records.of_step(self.run, now, "tool-call", payload) for payload in payloads])

    def _use_grants(self, asked: list[Call]) -> None:
        """`approve --always`: a human has decided these very calls already.

        The decision comes before the question, so that no crash leaves the question open.
        """
        for call in asked:
            grant = state.granted(self.run, call)
            if grant is not None:
                asked_id = question_id(call, self.run.id, self.run.root.call_path, "approval")
                self._decide(asked_id, "approve", grant.by, via="always")

    def _recover(self) -> None:
        """Say what became of calls whose process is gone, before any decision on them is looked at."""
        now = self._world.now()
        gone = [call for call in self.run.root.calls if call.phase is Phase.STARTED]
        if gone:
            self.record(*[records.recovery(self.run, now, call) for call in gone])

    def _absorb_decisions(self) -> None:
        """Take note of what humans decided since the last look."""
        if self.run.cancellation is not None:
            return  # no other decision counts any more
        made = self._journal.decision_ids()
        for call in state.waiting(self.run):
            if call.suspension is not None and call.suspension.id in made:
                self._note_decision(self._journal.decision(call.suspension.id))
        if "cancel" in made:
            self._note_decision(self._journal.decision("cancel"))

    def _decide(self, asked_id: str, verdict: str, by: str, *, via: str, reason: str | None = None) -> None:
        """Record what follows from an earlier decision of a human."""
        at = self._world.now()
        made = {"suspension_id": asked_id, "verdict": verdict, "by": by, "at": at, "via": via}
        self._journal.decide(asked_id, {**made, "reason": reason})

    def _note_decision(self, decision: Mapping[str, Any]) -> None:
        try:
            self.record(records.of_step(self.run, self._world.now(), "decision", decision))
        except Contradiction as error:
            raise Damaged(self.run.id, f"a decision does not fit: {error}") from error

    def _close(self, call: Call) -> None:
        """Close a call of a cancelled run, and its question with it, so that nobody answers it later."""
        cancelled = self.run.cancellation
        if call.suspension is not None and cancelled is not None:
            self._decide(call.suspension.id, "cancel", cancelled.by, via="cli", reason=cancelled.reason)
        self.record(records.closing(self.run, self._world.now(), call))

    # Calls

    async def _start(self, call: Call) -> None:
        tool = self._agent.tools.get(call.tool)
        frozen = call.definition.digest if call.definition else None
        if tool is None or tool.digest != frozen:
            if call.decided:
                self._go_on_changed(call, tool)
            else:
                # Nobody has reviewed this call: who must be asked is for the tool as it is now.
                await self._judge([call])
            return
        key = f"{self.run.id}:{call.id}"
        started = {
            "attempt": call.attempt + 1,
            "idempotency_key": key,
            "pid": self._world.pid,
            "host": self._world.host,
        }
        self.record(records.of_call(self.run, self._world.now(), call, "tool-start", started))
        self._tasks[call.id] = asyncio.create_task(self._execute(tool, call, key))

    def _go_on_changed(self, call: Call, tool: Tool | None) -> None:
        """The tool is not the one that was reviewed: a human goes on with it, or the call is held."""
        from agentctl.tools.tool import changed_parts

        assert call.definition is not None
        if tool is None:
            changed, digest = ["the tool is gone"], ""
            after: dict[str, Any] = {"error": f"There is no tool `{call.tool}` any more"}
        else:
            changed, digest = changed_parts(call.definition.parts, tool.parts), tool.digest
            after = {"definition": approval.frozen(tool, for_review=True)}
        if not (self._accept_changes or call.accepted == digest):
            self.changed[call.id] = changed
            return
        payload = {"changed": changed, "before": call.definition.digest, **after}
        self.record(records.of_call(self.run, self._world.now(), call, "tool-changed", payload))

    async def _execute(self, tool: Tool, call: Call, key: str) -> Any:
        from agentctl.tools.tool import CallInfo

        loop = asyncio.get_running_loop()
        options = self.run.options

        def progress(text: str) -> None:
            payload = {"tool_call_id": call.id, "text": text}
            self._world.announce(records.live_event(self.run, self._world.now(), "tool-output", payload))

        def emit(text: str) -> None:
            loop.call_soon_threadsafe(progress, text)

        info = CallInfo(
            run_id=self.run.id,
            tool_call_id=call.id,
            idempotency_key=key,
            resumed=call.resumed,
            resume_data=call.resume_data,
            suspend_payload=call.suspend_payload,
            request_context=options["context"],
            workspace=options["workspace"],
            thread=self.run.thread,
            resource=self.run.resource,
            emit=emit,
        )
        return await tool.execute(dict(call.args or {}), info)

    async def _wait_for_a_tool(self, timeout: float | None) -> None:
        wake = asyncio.ensure_future(self._wake.wait())
        running = {*self._tasks.values(), wake}
        await asyncio.wait(running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        wake.cancel()
        self._take_outcomes()

    def _take_outcomes(self) -> None:
        """Record what became of the tools that are done."""
        for call_id in [call_id for call_id, task in self._tasks.items() if task.done()]:
            task = self._tasks.pop(call_id)
            call = self._call(call_id)
            try:
                self.record(self._outcome(call, task))
            except NotSaved as error:
                raise Failed(
                    f"`{call.tool}` ran, but its outcome could not be saved: {error}",
                    f"agentctl show {self.run.id}",
                ) from error

    def _call(self, call_id: str) -> Call:
        return next(call for call in self.run.root.calls if call.id == call_id)

    def _outcome(self, call: Call, task: asyncio.Task[Any]) -> Record:
        from agentctl.tools.tool import FailedCall, Succeeded, Suspended, Unknown

        run, now = self.run, self._world.now()
        if task.cancelled():
            return records.recovery(run, now, call, "It was cancelled while it ran")
        match task.result():
            case Succeeded(value):
                # In the order in which it is kept, so that it looks the same before and after.
                result = parse(canonical(value))
                return records.of_call(run, now, call, "tool-result", {"result": result})
            case Suspended(payload):
                schema = self._agent.tools[call.tool].resume_schema
                return records.data_question(run, now, call, payload, schema)
            case FailedCall(error):
                return records.of_call(run, now, call, "tool-error", {"error": error})
            case Unknown(reason):
                return records.doubt(run, now, call, reason)
            case other:
                raise AssertionError(f"a tool gave {other!r}")

    # The model

    async def _ask_model(self) -> None:
        try:
            model = self._model = self._model or self._open_model()
        except AgentctlError as error:
            self._model_failed(error, answered=False)
            return
        step = {"step": self.run.root.step + 1}
        self.record(records.of_step(self.run, self._world.now(), "step-start", step))
        if self.stopped is not None:
            return  # telling of the step is what stopped us: nobody reads any more
        request = self._model_request()
        self._request = asyncio.create_task(
            model.ask(request, self._streamed("text-delta"), self._streamed("reasoning-delta"))
        )
        try:
            self._take(await self._request)
        except asyncio.CancelledError:
            if self.stopped is None:
                raise
        except ModelError as error:
            self._model_failed(error, answered=True)
        finally:
            self._request = None

    def _model_request(self) -> Request:
        root = self.run.root
        tools = self._agent.tools.values()
        return Request(
            instructions=self._agent.instructions,
            messages=root.messages,
            tools=[ToolSpec(tool.id, tool.description, tool.input_schema) for tool in tools],
            turn=root.answered + 1,
            parameters=self._agent.parameters,
        )

    def _streamed(self, kind: str) -> Callable[[str], None]:
        def on_text(text: str) -> None:
            self._world.announce(records.live_event(self.run, self._world.now(), kind, {"text": text}))

        return on_text

    def _take(self, answer: Answer) -> None:
        if answer.finish_reason in ("length", "content_filter"):
            why = "length limit" if answer.finish_reason == "length" else "content filter"
            message = f"The answer was cut by the {why}; nothing of it is used"
            again, usage = f"agentctl resume {self.run.id}", records.usage_json(answer.usage)
            self._interrupt("failed", message, again, answer.finish_reason, usage=usage, answered=True)
            return
        message_ = state.with_unique_ids(self.run, answer.message)
        now = self._world.now()
        self.record(records.answer(self.run, now, message_, answer.finish_reason, answer.usage))

    def _model_failed(self, error: AgentctlError, *, answered: bool) -> None:
        hint = error.hints[0] if error.hints else None
        if isinstance(error, ModelError) and error.ends_run:
            told = {"code": error.code, "message": error.message, "hint": hint}
            self.record(records.finish(self.run, self._world.now(), "failed", "error", told))
            return
        # Nothing else means that nothing has changed, which would not be true any more.
        code = error.code if isinstance(error, ModelError) else "failed"
        usage = {"requests": 1 if answered else 0}
        self._interrupt(code, error.message, hint, "error", answered=answered, usage=usage)

    # Stopping

    async def _wind_down(self, stop: Stop) -> None:
        """Finish or give up what runs, say what became of it, and leave the run resumable."""
        self._wake.clear()
        if stop.cancel:
            for call_id, task in self._tasks.items():
                if self._agent.tools[self._call(call_id).tool].is_async:
                    task.cancel()
        if self._tasks and stop.wait:
            tools = ", ".join(sorted({f"`{self._call(call_id).tool}`" for call_id in self._tasks}))
            self._world.note(f"waiting for {tools} to finish; stop again to leave it in doubt")
        while self._tasks and stop.wait:
            await self._wait_for_a_tool(None)
        cancelled = {task for task in self._tasks.values() if task.cancelling()}
        if cancelled:
            await asyncio.wait(cancelled, timeout=CANCEL_SECONDS)
            self._take_outcomes()
        now = self._world.now()
        calls = [self._call(call_id) for call_id in self._tasks]
        if calls:
            self.record(*[records.recovery(self.run, now, call, stop.message) for call in calls])
        if self.run.outcome is None:
            waits = bool(state.waiting(self.run))
            hint = f"agentctl pending  # run {self.run.id}" if waits else f"agentctl resume {self.run.id}"
            self._interrupt(stop.code, stop.message, hint, "error")
