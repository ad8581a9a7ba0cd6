"""What a command works with: the streams, the runner, and the one way to end with the right status."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agentctl.commands.options import DEFAULT_STORE, STORE_VARIABLE, Common, seconds
from agentctl.errors import UsageError, of_store
from agentctl.exit_status import WORST_FIRST, ExitStatus
from agentctl.output.failure import show_error
from agentctl.output.reporter import Reporter, reporter_for
from agentctl.runtime.signals import DieOf

if TYPE_CHECKING:
    from agentctl.deciding import Signature
    from agentctl.listing import Listed
    from agentctl.outcome import Outcome
    from agentctl.reader import Reader
    from agentctl.runner import Runner
    from agentctl_store import LocalStore


class Session:
    """One invocation of one command."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.stdin, self.stdout, self.stderr = sys.stdin, sys.stdout, sys.stderr
        self.environ: Mapping[str, str] = os.environ
        self.lock_timeout = seconds(common.lock_timeout, "--lock-timeout", 2.0) or 0.0
        self.timeout = seconds(common.timeout, "--timeout", None)

    @property
    def color(self) -> bool | None:
        """False where colour is not wanted, None where the stream decides."""
        return False if self.common.no_color else None

    @property
    def store_option(self) -> str | None:
        """The store as the user named it, for commands to type next."""
        return self.common.store

    @cached_property
    def store(self) -> LocalStore:
        from agentctl_store import LocalStore

        given = self.common.store
        if given is None:
            given = self.environ.get(STORE_VARIABLE) or DEFAULT_STORE
        if not given or "\0" in given:
            raise UsageError("--store is empty; it names the folder where runs are kept", "--store .runs")
        return LocalStore(Path(given))

    def _tell_of_missing_store(self) -> None:
        """A store that was named and does not exist looks like one where nothing waits: say so."""
        named = self.common.store or self.environ.get(STORE_VARIABLE)
        if named and not self.store.path.exists():
            self.reporter.note(f"there is no store at `{named}` yet")

    @cached_property
    def reporter(self) -> Reporter:
        return reporter_for(
            json=self.common.json,
            quiet=self.common.quiet,
            color=self.color,
            stdout=self.stdout,
            stderr=self.stderr,
            store=self.store_option,
            prompts=self.may_prompt,
        )

    @cached_property
    def may_prompt(self) -> bool:
        """Whether a person is there to be asked."""
        from agentctl.output.prompt import may_prompt

        no_input, json = self.common.no_input, self.common.json
        return may_prompt(self.stdin, self.stderr, self.environ, no_input=no_input, json=json)

    @cached_property
    def reader(self) -> Reader:
        """For looking at runs."""
        from agentctl.reader import Reader

        return Reader(self.store)

    @cached_property
    def runner(self) -> Runner:
        """For doing something to runs."""
        from agentctl.runner import Runner
        from agentctl.runtime.driver import Limits

        limits = Limits(lock_timeout=self.lock_timeout, timeout=self.timeout)
        return Runner(
            self.store,
            self.reporter.event,
            self.reporter.note,
            self.environ,
            limits,
            text=lambda: self.reporter.text,
        )

    # Ending

    def end(self, outcomes: Iterable[Outcome], *, suspended_ok: bool = False) -> None:
        """Show how each run stands as it is known, then exit as the worst of them."""
        every = []
        for outcome in outcomes:
            told = self._converse(outcome)
            self._show(told, suspended_ok=suspended_ok)
            every.append(told)
        dying = next((each.signum for each in every if each.signum is not None), None)
        if dying is not None:
            raise DieOf(dying)
        status = worst([each.exit_status for each in every])
        raise typer.Exit(0 if suspended_ok and status is ExitStatus.SUSPENDED else int(status))

    def end_list(self, listed: Listed, status: ExitStatus) -> None:
        """Name the damaged runs, then exit: they never hide the others, and are never nothing."""
        if not (listed.rows or listed.damaged):
            self._tell_of_missing_store()
        for damaged in listed.damaged:
            show_error(of_store(damaged), self.stderr, color=self.color)
        raise typer.Exit(int(ExitStatus.FAILED if listed.damaged else status))

    def _show(self, outcome: Outcome, *, suspended_ok: bool) -> None:
        for told in outcome.repeated:
            self.reporter.note(told)
        if outcome.error is not None:
            self.reporter.error(outcome.error, debug=self.common.debug)
        payload = outcome.payload
        if suspended_ok and outcome.exit_status is ExitStatus.SUSPENDED:
            payload = {**payload, "exit_status": 0}
        self.reporter.result(outcome.run_id, payload)

    def _converse(self, outcome: Outcome) -> Outcome:
        """On a terminal, ask about each thing that waits; what is not answered stays waiting."""
        stands, left = outcome, set[str]()
        while self.may_prompt and stands.exit_status in (ExitStatus.SUSPENDED, ExitStatus.IN_DOUBT):
            asked = next(
                (
                    each
                    for each in stands.suspensions
                    if each["kind"] != "in_doubt" and each["id"] not in left
                ),
                None,
            )
            if asked is None:
                break
            left.add(asked["id"])
            try:
                stands = self._ask_about(asked) or stands
            except _Left:
                break
        return stands

    def _ask_about(self, suspension: Mapping[str, Any]) -> Outcome | None:
        from agentctl.deciding import Approve, Data, Decision, Decline
        from agentctl.output import prompt
        from agentctl.runner import DecisionOptions

        answer = prompt.ask(
            suspension,
            stdin=self.stdin,
            stderr=self.stderr,
            color=self.color,
            store=self.store_option,
            check=lambda value: self.runner.check_answer(suspension, value),
        )
        if answer is None:
            return None
        decision: Decision
        match answer:
            case prompt.Leave():
                raise _Left
            case prompt.Approve():
                decision = Approve()
            case prompt.Decline():
                decision = Decline()
            case prompt.Data(value):
                decision = Data(value)
        signed = self.signature(None, answer.reason if isinstance(answer, prompt.Decline) else None)
        return next(iter(self.runner.decide([suspension["id"]], decision, signed, DecisionOptions())))

    def signature(self, by: str | None, reason: str | None) -> Signature:
        """Who decides now."""
        from agentctl.clock import utc_now
        from agentctl.deciding import Signature

        if by is not None and not by.strip():
            raise UsageError("--by is empty; it says who decides", "--by NAME")
        return Signature(by or self.environ.get("AGENTCTL_USER") or login_name(), utc_now(), reason)


class _Left(Exception):
    """The person left the prompt, and with it whatever else waits."""


_ORDER = (
    *WORST_FIRST[:2],
    ExitStatus.USAGE,
    ExitStatus.NOT_FOUND,
    ExitStatus.AUTH,
    ExitStatus.CONFLICT,
    ExitStatus.BUSY,
    ExitStatus.TIMEOUT,
    *WORST_FIRST[2:],
)


def worst(statuses: list[ExitStatus]) -> ExitStatus:
    """The status of a process that left several runs: 1, 7, then other refusals, 9, 8, 0."""
    return next((status for status in _ORDER if status in statuses), ExitStatus.OK)


def login_name() -> str:
    """The name of the user that this process belongs to."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
