"""Drives one run in this process: takes the lease, loads, lets the loop go on, saves, lets go."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentctl.clock import host_name, utc_now
from agentctl.exit_status import ExitStatus
from agentctl.runtime import body, stored
from agentctl.runtime.actions import next_actions
from agentctl.runtime.events import Event, Record, announcement
from agentctl.runtime.process import Process, seen_by_tools
from agentctl.runtime.records import live_event, usage_json
from agentctl.runtime.state import Run, begin
from agentctl.runtime.views import finish_reason, run_view, status_of
from agentctl_store import LeaseHeld, Store
from agentctl_store.decisions import CANCEL

if TYPE_CHECKING:
    from agentctl.agents.agent import Agent
    from agentctl.models.protocol import Model


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for the lease, and how long this process may drive; seconds."""

    lock_timeout: float = 2.0
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What a later process brings: a new budget or model, or consent to changed definitions."""

    max_steps: int | None = None
    model: str | None = None
    accept: bool = False


@dataclass(slots=True)
class Driven:
    """How a run stands after this process drove it.

    `drove` is False where nothing was left to do here. `status` is set where this process stops for a
    reason of its own, `signum` where it must die of a signal; `changed` maps calls that were not
    started to what is new in their tool.
    """

    run: Run
    drove: bool = True
    status: ExitStatus | None = None
    signum: int | None = None
    changed: Mapping[str, list[str]] = field(default_factory=dict)


class Driver:
    """Drives runs of one store. `announce` may raise `OSError`, where nobody reads or nothing is written."""

    def __init__(
        self,
        store: Store,
        announce: Callable[[Event], None],
        note: Callable[[str], None],
        environ: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self._store = store
        self._announce = announce
        self._note = note
        self._environ = environ
        self._limits = limits

    def start(self, run_id: str, opening: Record, agent: Agent, model: Model) -> Driven:
        """Create the run and drive it. Raises `RunExists`, and `LeaseHeld` if another creates it now."""
        with self._store.lease(run_id, self._limits.lock_timeout):
            run = begin(run_id, opening)
            head = stored.head(run_view(run, "interrupted", 0), [])
            self._store.create(run_id, head, body.encode(run), [opening.to_json()])
            driven = self._drive(run, agent, Changes(), opening=opening, model=model)
        return self._until_no_news(driven, lambda _: agent, Changes())

    def go_on(self, run_id: str, agent_of: Callable[[Run], Agent | None], changes: Changes) -> Driven:
        """Drive a run that exists, as far as it goes. Raises `LeaseHeld` if another process keeps it."""
        with self._store.lease(run_id, self._limits.lock_timeout):
            driven = self._go_on(run_id, agent_of, changes)
        return self._until_no_news(driven, agent_of, changes)

    def put_away(self, run_id: str) -> None:
        """Complete the end of a run, where a crash came between its last record and its move."""
        with suppress(LeaseHeld), self._store.lease(run_id, 0):
            self._store.finish(run_id)

    def _until_no_news(
        self, driven: Driven, agent_of: Callable[[Run], Agent | None], changes: Changes
    ) -> Driven:
        """Look once more after letting go: a decision that came just then must not be stranded."""
        while driven.run.outcome is None and driven.status is None and driven.signum is None:
            if not stored.undriven_decisions(self._store, driven.run):
                break
            try:
                with self._store.lease(driven.run.id, 0):
                    driven = self._go_on(driven.run.id, agent_of, changes)
            except LeaseHeld:
                break  # whoever holds it now has loaded the run after the decision was made
        return driven

    def _go_on(self, run_id: str, agent_of: Callable[[Run], Agent | None], changes: Changes) -> Driven:
        run = stored.load_run(self._store, run_id)
        if run.outcome is not None:
            self._store.finish(run_id)
            return Driven(run, drove=False)
        news = stored.undriven_decisions(self._store, run)
        if not (news or next_actions(run) or run.interruption or changes.max_steps or changes.model):
            return Driven(run, drove=False)
        if run.cancellation is not None or CANCEL in news:
            return self._drive(run, None, changes)
        agent = agent_of(run)
        # What cannot be used is refused before it is recorded.
        model = open_model_of(changes.model, agent, self._environ) if agent and changes.model else None
        return self._drive(run, agent, changes, model=model)

    def _drive(
        self,
        run: Run,
        agent: Agent | None,
        changes: Changes,
        *,
        opening: Record | None = None,
        model: Model | None = None,
    ) -> Driven:
        from agentctl.runtime.loop import Loop
        from agentctl.runtime.world import World

        process = Process(self._announce)
        world = World(utc_now, os.getpid(), host_name(), process.announce, self._note)
        journal = stored.StoredJournal(self._store, run.id)

        def open_model() -> Model:
            assert agent is not None
            return model or open_model_of(loop.run.model, agent, self._environ)

        loop = Loop(run, agent, journal, world, open_model, accept_changes=changes.accept)
        process.loop = loop
        if opening is not None:
            first = announcement(opening, run.id)
            assert first is not None
            process.announce(first)
        elif agent is not None:
            loop.record(self._resumption(run, agent, changes))
            if unsaid := stored.unsaid_answer(run):
                process.announce(live_event(run, utc_now(), "text-delta", {"text": unsaid}))
        with seen_by_tools(run.id):
            process.drive(self._limits.timeout)
        if loop.run.outcome is not None:
            self._store.finish(run.id)
        else:
            stored.save(self._store, loop.run)
            process.announce(_pause(loop.run))
        return Driven(loop.run, True, process.status, process.signum, loop.changed)

    def _resumption(self, run: Run, agent: Agent, changes: Changes) -> Record:
        """The record that another process drives on, and what it brings."""
        self._warn_of_changes(run, agent.parts)
        payload = {
            **start_payload(run.agent, run.prompt, run.thread, run.resource),
            "resumed": True,
            "max_steps": changes.max_steps or run.max_steps,
            "model": changes.model or run.model,
            "agent_parts": dict(agent.parts),
            "pid": os.getpid(),
            "host": host_name(),
        }
        return Record("start", utc_now(), payload, run.root.agent_path, run.root.call_path)

    def _warn_of_changes(self, run: Run, parts: Mapping[str, str]) -> None:
        """Tools are checked call by call; a change elsewhere in the agent is only worth a warning."""
        before = run.agent_parts or {}
        changed = [key for key in {*before, *parts} if before.get(key) != parts.get(key)]
        elsewhere = ", ".join(f"`{key}`" for key in sorted(changed) if key != "tools")
        if elsewhere:
            self._note(f"warning: {elsewhere} of agent `{run.agent}` changed since the run last went on")


def open_model_of(given: str | None, agent: Agent, environ: Mapping[str, str]) -> Model:
    """The model named `given`, else the agent's own. Raises `UsageError` where there is none."""
    from agentctl.errors import UsageError
    from agentctl.models.providers import open_model, parse_model

    ref = parse_model(given) if given else agent.model
    if ref is None:
        raise UsageError(
            f"agent `{agent.id}` names no model",
            "agentctl run … --model openai/gpt-5-mini",
            "export AGENTCTL_MODEL=openai/gpt-5-mini",
        )
    return open_model(ref, agent.folder, environ)


def start_payload(agent: str, prompt: str, thread: str | None, resource: str | None) -> dict[str, Any]:
    """What every `start` says."""
    from agentctl import __version__

    return {
        "agent": agent,
        "input": prompt,
        "thread": thread,
        "resource": resource,
        "agentctl": __version__,
        "schema": 1,
    }


def _pause(run: Run) -> Event:
    """The `finish` of this process's part of a run that goes on later."""
    reason = finish_reason(run, status_of(run, driven=False))
    payload = {"finish_reason": reason, "usage": usage_json(run.usage)}
    return live_event(run, utc_now(), "finish", payload)
