"""What a user can do to runs: start, decide, drive, cancel. Commands call only this, and `reader.py`.

Everything takes plain values and gives plain values back; how they look is for `output/`. Deciding
adds a fact to the store, without a lock and, on request, without agent code; driving is the loop.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentctl import deciding, references, review
from agentctl.clock import utc_now
from agentctl.deciding import Approve, Data, Decision, Retry, Signature
from agentctl.errors import AgentctlError, Busy, Conflict, Failed, UsageError, explained
from agentctl.exit_status import ExitStatus
from agentctl.outcome import Outcome, outcome_of
from agentctl.references import Choice, Decided, Question
from agentctl.runtime import stored
from agentctl.runtime.driver import Changes, Driven, Driver, Limits, open_model_of, start_payload
from agentctl.runtime.events import Event, Record, announcement
from agentctl.runtime.records import live_event
from agentctl.runtime.state import Run
from agentctl_store import LocalStore, RunEnded, RunExists, StoreError
from agentctl_store.decisions import CANCEL
from agentctl_store.ids import check_id, is_suspension_id, new_run_id

if TYPE_CHECKING:
    from agentctl.agents.agent import Agent

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Start:
    """A task for an agent. `context` is what tools see as `request_context`."""

    agent: Path
    prompt: str
    model: str | None = None
    require_approval: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    workspace: Path | None = None
    max_steps: int | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """How to decide: which questions of a run, whether to drive on, whether changes are consented to."""

    choice: Choice = "one"
    drive: bool = True
    accept_changes: bool = False
    agent: Path | None = None
    max_steps: int | None = None
    model: str | None = None


class Runner:
    """The verbs, over one store. `announce` shows events, `note` says something about a run."""

    def __init__(
        self,
        store: LocalStore,
        announce: Callable[[Event], None],
        note: Callable[[str], None],
        environ: Mapping[str, str],
        limits: Limits,
        text: Callable[[], str] = str,
    ) -> None:
        self._store = store
        self._announce = announce
        self._note = note
        self._environ = environ
        self._text = text
        self._driver = Driver(store, announce, note, environ, limits)
        self._agents: dict[Path, Agent] = {}

    # Running

    def start(self, task: Start) -> Outcome:
        """Start a run and drive it; an id that exists is never started twice."""
        if not task.prompt.strip():
            raise UsageError("the prompt is empty", 'agentctl run AGENT "what to do"')
        if task.run_id is not None:
            self._check_run_id(task.run_id)
            if self._exists(task.run_id):
                return self._again(task)
        agent = self._load(task.agent)
        given = task.model or (None if agent.model else self._environ.get("AGENTCTL_MODEL") or None)
        model = open_model_of(given, agent, self._environ)
        for glob in task.require_approval:
            if not glob.strip():
                raise UsageError(
                    "--require-approval is empty, which would gate nothing", "--require-approval '*'"
                )
            if not any(fnmatchcase(tool, glob) for tool in agent.tools):
                self._note(f"warning: --require-approval `{glob}` matches no tool of `{agent.id}`")
        run_id = task.run_id or new_run_id(time.time_ns() // 1_000_000, os.urandom)
        opening = self._opening(task, agent, given)
        try:
            return self._outcome_of(run_id, lambda: self._driver.start(run_id, opening, agent, model))
        except RunExists:
            return self._again(task)  # another process was first, with the same id

    def _opening(self, task: Start, agent: Agent, model: str | None) -> Record:
        workspace = task.workspace or Path.cwd()
        if not workspace.is_dir():
            raise UsageError(f"the workspace `{workspace}` is no folder")
        parent = self._store.path.parent
        payload = {
            **start_payload(agent.id, task.prompt, None, None),
            "options": {
                "agent_file": str(agent.path),
                "agent_relative": os.path.relpath(agent.path, parent),
                "require_approval": list(task.require_approval),
                "context": dict(task.context),
                "workspace": str(workspace.absolute()),
            },
            "max_steps": task.max_steps or agent.max_steps,
            "model": model,
            "agent_parts": dict(agent.parts),
        }
        return Record("start", utc_now(), payload, (agent.id,))

    def _check_run_id(self, run_id: str) -> None:
        try:
            check_id(run_id)
        except StoreError as error:
            raise UsageError(error.message, error.hint) from error
        if is_suspension_id(run_id):
            raise UsageError(f"`{run_id}` is no run id: it looks like the id of a suspension")

    def _exists(self, run_id: str) -> bool:
        return any(found == run_id for found, _ in self._store.run_ids(run_id))

    def _again(self, task: Start) -> Outcome:
        """`--run-id` of a run that exists: go on with it, or give its answer again."""
        if task.run_id is None:
            raise Failed("two runs were given the same id by chance", "run it again")
        standing = stored.standing(self._store, task.run_id)
        run = standing.run
        agent = self._load(task.agent)
        if agent.id != run.agent or task.prompt != run.prompt:
            what = "agent" if agent.id != run.agent else "prompt"
            raise Conflict(f"run `{run.id}` exists and has another {what}", f"agentctl show {run.id}")
        if run.outcome is None:
            changes = Changes(max_steps=task.max_steps, model=task.model)
            return self._outcome_of(
                run.id, lambda: self._said_again(self._driver.go_on(run.id, lambda _: agent, changes))
            )
        self._driver.put_away(run.id)
        return self._outcome_of(run.id, lambda: self._said_again(Driven(run, drove=False)))

    def _said_again(self, driven: Driven) -> Driven:
        """Give the answer of a run that another process completed."""
        run = driven.run
        if not driven.drove and run.outcome is not None and run.outcome["status"] == "completed":
            payload = {"text": stored.answer_text(run)}
            self._announce(live_event(run, utc_now(), "text-delta", payload))
        return driven

    def drive(self, run_id: str, changes: Changes, agent: Path | None = None) -> Outcome:
        """Go on with a run that was decided or interrupted; a run that waits is left as it is."""
        standing = stored.standing(self._store, run_id)
        if standing.run.outcome is not None:
            self._driver.put_away(run_id)
            raise Conflict(f"run `{run_id}` has already ended: {standing.status}", f"agentctl show {run_id}")
        return self._outcome_of(
            run_id,
            lambda: self._told(self._driver.go_on(run_id, lambda run: self._agent_of(run, agent), changes)),
        )

    def _told(self, driven: Driven, decision: Event | None = None) -> Driven:
        """Say what another process did with the run, and with our decision, while we waited for it."""
        if not driven.drove and decision is not None:
            self._announce(decision)
        if not driven.drove and driven.run.outcome is not None:
            self._note(
                f"run {driven.run.id} was driven on by another process: {driven.run.outcome['status']}"
            )
        return driven

    # Deciding

    def decide(
        self, refs: Sequence[str], decision: Decision, signed: Signature, options: DecisionOptions
    ) -> Iterator[Outcome]:
        """Decide what the REFs mean, then drive their runs on, one by one, and say how each stands.

        All are checked before any is decided, and all are decided before any is driven.
        """
        store, choice = self._store, options.choice
        found = [each for ref in refs for each in references.find_questions(store, ref, choice)]
        targets = list({_suspension_id(each): each for each in found}.values())
        questions = [each for each in targets if isinstance(each, Question)]
        if len(targets) > 1 and isinstance(decision, Approve) and decision.args is not None:
            raise UsageError("--args is for one call: each has arguments of its own")
        told = [(each.run_id, self._repeat(each, decision)) for each in targets if isinstance(each, Decided)]
        contents = [self._checked(each, decision, signed, options) for each in questions]
        for question, content in zip(questions, contents, strict=True):
            repeat = self._write(question, content, announce=not options.drive)
            told += [(question.run_id, repeat)] if repeat else []
        for run_id in dict.fromkeys(each.run_id for each in targets):
            repeated = tuple(line for about, line in told if about == run_id)
            made = next((each for each in questions if each.run_id == run_id), None)
            yield self._after_decision(run_id, options, repeated, None if repeated else made)

    def check_answer(self, suspension: Mapping[str, Any], value: Any) -> None:
        """Raise `UsageError` for an answer that breaks the schema that was frozen with the question."""
        run = stored.load_run(self._store, suspension["run_id"])
        review.check_by_frozen(run, suspension, Data(value))

    def _repeat(self, decided: Decided, decision: Decision) -> str:
        wanted = deciding.content(decision, decided.suspension_id, Signature("", ""))
        told = deciding.already(decided.decision, decided.suspension_id)
        if not deciding.same(wanted, decided.decision):
            raise Conflict(told, f"agentctl show {decided.run_id}")
        return told

    def _checked(
        self, question: Question, decision: Decision, signed: Signature, options: DecisionOptions
    ) -> Json:
        """The decision to write, once nothing speaks against it."""
        suspension = question.suspension
        self._refuse_from_inside(question.run_id)
        deciding.check_kind(suspension, decision)
        run = stored.load_run(self._store, question.run_id)
        accepted = None
        if options.drive:
            needs_tool = isinstance(decision, Approve | Data | Retry)
            if needs_tool:
                agent = self._agent_of(run, options.agent)
                accepted = review.check_by_agent(
                    run, agent, suspension, decision, accept_changes=options.accept_changes
                )
        else:
            review.check_by_frozen(run, suspension, decision)
        return deciding.content(decision, suspension["id"], signed, accepted)

    def _refuse_from_inside(self, run_id: str) -> None:
        from agentctl.ancestry import is_inside

        if is_inside(run_id, self._store.lease_holder(run_id), self._environ):
            raise Conflict(f"a tool of run `{run_id}` cannot decide for its own run")

    def _write(self, question: Question, content: Json, *, announce: bool) -> str | None:
        """Record the decision durably; who was first, if it repeats one."""
        suspension_id = question.suspension["id"]
        try:
            stands, is_ours = self._store.decide(question.run_id, suspension_id, content)
        except RunEnded:
            # The run ended since we looked: by the decision that another process made, if there is one.
            found = self._store.decision(question.run_id, suspension_id)
            if found is None:
                raise
            stands, is_ours = found, False
        if is_ours:
            if announce:
                self._announce(self._decision_event(question))
            return None
        told = deciding.already(stands, suspension_id)
        if not deciding.same(content, stands):
            raise Conflict(told, f"agentctl show {question.run_id}")
        return told

    def _decision_event(self, question: Question) -> Event:
        """The event that tells of the decision that stands."""
        suspension = question.suspension
        stands = self._store.decision(question.run_id, suspension["id"]) or {}
        paths = tuple(suspension["agent_path"]), tuple(suspension["call_path"])
        event = announcement(Record("decision", utc_now(), stands, *paths), question.run_id)
        assert event is not None
        return event

    def _after_decision(
        self, run_id: str, options: DecisionOptions, repeated: tuple[str, ...], made: Question | None
    ) -> Outcome:
        standing = stored.standing(self._store, run_id)
        if not options.drive:
            decided = standing.decided.keys()
            return self._outcome(
                standing.run,
                driven=standing.driven,
                decided=decided,
                recorded_only=True,
                repeated=repeated,
            )
        if standing.run.outcome is not None:
            return self._outcome(standing.run, repeated=repeated)
        # Consent to changed definitions stands in the decisions: it is for these calls and no others.
        changes = Changes(options.max_steps, options.model)
        decision = self._decision_event(made) if made is not None else None
        return self._outcome_of(
            run_id,
            lambda: self._told(
                self._driver.go_on(run_id, lambda run: self._agent_of(run, options.agent), changes), decision
            ),
            repeated,
            recorded=True,
        )

    def cancel(self, ref: str, signed: Signature) -> Outcome:
        """End a live run. Needs nothing of its agent."""
        run_id = references.find_run(self._store, ref)
        self._refuse_from_inside(run_id)
        run = stored.load_run(self._store, run_id)
        if run.outcome is None:
            self._store.decide(run_id, CANCEL, deciding.cancellation(signed))
        elif run.outcome["status"] != "cancelled":
            status = run.outcome["status"]
            raise Conflict(f"run `{run_id}` has already ended: {status}", f"agentctl show {run_id}")
        outcome = self._outcome_of(
            run_id, lambda: self._driver.go_on(run_id, _no_agent, Changes()), recorded=True
        )
        if outcome.payload["status"] == "cancelled":
            # As asked: for this process that is no failure.
            return self._outcome(stored.load_run(self._store, run_id), recorded_only=True)
        return outcome

    # Agents

    def _load(self, path: Path) -> Agent:
        from agentctl.agents.loading import load_agent

        key = path.absolute()
        if key not in self._agents:
            self._agents[key] = load_agent(path)
        return self._agents[key]

    def _agent_of(self, run: Run, override: Path | None) -> Agent:
        """The agent of a run, found again. Raises `NotFound`, `DefinitionError` or `Conflict`."""
        from agentctl.agents.finding import relocate

        options = run.options
        parent = self._store.path.parent
        agent = self._load(relocate(options["agent_file"], options["agent_relative"], parent, override))
        if agent.id != run.agent:
            raise Conflict(f"`{agent.path}` defines agent `{agent.id}`, and the run is of `{run.agent}`")
        return agent

    # Outcomes

    def _outcome_of(
        self,
        run_id: str,
        drive: Callable[[], Driven],
        repeated: tuple[str, ...] = (),
        *,
        recorded: bool = False,
    ) -> Outcome:
        """Drive, and say how the run stands, also where this process could not drive it.

        `recorded`: a decision was made for it, which stands whatever happens here.
        """
        try:
            driven = drive()
        except RunExists:
            raise
        except Exception as error:  # the run stands somewhere, whatever went wrong here
            return self._failed(run_id, explained(error), repeated, recorded=recorded)
        cancelled = driven.run.cancellation
        if cancelled is not None and driven.run.outcome is not None:
            why = f": {cancelled.reason}" if cancelled.reason else ""
            told = Failed(f"run `{run_id}` was cancelled by {cancelled.by}{why}", f"agentctl show {run_id}")
            return self._outcome(driven.run, error=told, repeated=repeated)
        if driven.changed and driven.status is None:
            call_id, changed = next(iter(driven.changed.items()))
            tool = next(call.tool for call in driven.run.root.calls if call.id == call_id)
            refusal = review.changed(run_id, tool, changed, "resume")
            return self._outcome(driven.run, error=refusal, repeated=repeated)
        return self._outcome(driven.run, status=driven.status, signum=driven.signum, repeated=repeated)

    def _failed(
        self, run_id: str, error: AgentctlError, repeated: tuple[str, ...], *, recorded: bool
    ) -> Outcome:
        """The run could not be driven here: say so, with how it stands, where that can be told."""
        try:
            standing = stored.standing(self._store, run_id)
        except StoreError:
            raise error from error.__cause__
        if isinstance(error, Busy) and recorded:
            error = Busy(
                f"{error.message}; the decision is recorded, and that process will see it", *error.hints
            )
        elif recorded and error.status in (ExitStatus.USAGE, ExitStatus.NOT_FOUND):
            # These mean that nothing changed, and something did.
            error = AgentctlError(
                f"the decision is recorded, but the run cannot go on: {error.message}",
                f"agentctl resume {run_id}",
                status=ExitStatus.INTERRUPTED,
            )
        return self._outcome(
            standing.run,
            driven=standing.driven,
            decided=standing.decided.keys(),
            error=error,
            repeated=repeated,
        )

    def _outcome(self, run: Run, **how: Any) -> Outcome:
        return outcome_of(run, text=self._text(), **how)


def _suspension_id(found: Question | Decided) -> str:
    return found.suspension_id if isinstance(found, Decided) else found.suspension["id"]


def _no_agent(run: Run) -> None:
    return None
