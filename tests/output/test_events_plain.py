"""Without `--json`: the answer is standard output, exactly; everything about the run is standard error."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from agentctl.errors import Conflict, DefinitionError, Failed, NotFound
from agentctl.output.reporter import Reporter, reporter_for
from agentctl.runtime.events import Event

AT = "2026-12-01T14:29:27.123Z"
RUN = "20261201-abc123"
Events = Callable[..., Event]
Suspensions = Callable[..., dict[str, Any]]
Outcomes = Callable[..., dict[str, Any]]


class Shown:
    """A reporter for people and what it wrote."""

    def __init__(self, stdout: io.StringIO | None = None, **options: Any) -> None:
        self._stdout = stdout or io.StringIO()
        self._stderr = io.StringIO()
        self.reporter: Reporter = reporter_for(
            **{"json": False, "quiet": False, "color": False, **options},
            stdout=self._stdout,
            stderr=self._stderr,
        )

    @property
    def stdout(self) -> str:
        return self._stdout.getvalue()

    @property
    def stderr(self) -> str:
        return self._stderr.getvalue()


# The answer


def test_text_is_written_as_it_comes_and_ends_with_a_line_end(event: Events, outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.event(event("text-delta", text="It is "))
    assert shown.stdout == "It is "
    shown.reporter.event(event("text-delta", text="sunny."))
    shown.reporter.result(RUN, outcome())
    assert shown.stdout == "It is sunny.\n"
    assert shown.stderr == ""


def test_a_line_end_of_the_model_is_not_doubled(event: Events, outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.event(event("text-delta", text="Done.\n"))
    shown.reporter.result(RUN, outcome())
    assert shown.stdout == "Done.\n"


def test_a_run_without_text_writes_nothing(outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.result(RUN, outcome())
    assert (shown.stdout, shown.stderr) == ("", "")


def test_text_is_exact_in_pipes(event: Events) -> None:
    shown = Shown()
    shown.reporter.event(event("text-delta", text="\x1b[31m\u202e\r\\x1b\x00"))
    assert shown.stdout == "\x1b[31m\u202e\r\\x1b\x00"


def test_text_is_escaped_on_terminals(event: Events, terminal: Callable[[], io.StringIO]) -> None:
    shown = Shown(terminal())
    for piece in ("\x1b[31m", "a\u202eb\t\n", "\\x1", "b"):
        shown.reporter.event(event("text-delta", text=piece))
    assert shown.stdout == "\\x1b[31ma\\u202eb\t\n\\\\x1b"


def test_text_that_was_held_back_is_shown_before_the_next_message(
    event: Events, terminal: Callable[[], io.StringIO]
) -> None:
    shown = Shown(terminal())
    shown.reporter.event(event("text-delta", text="C:\\"))
    assert shown.stdout == "C:"
    shown.reporter.note("still here")
    assert shown.stdout == "C:\\"


@pytest.mark.parametrize(
    ("first", "second", "written"),
    [
        ("Deleting.", "Done.", "Deleting.\nDone.\n"),
        ("Deleting. ", "Done.", "Deleting. Done.\n"),
        ("Deleting.\n", "Done.", "Deleting.\nDone.\n"),
        ("Deleting.", " Done.", "Deleting. Done.\n"),
        ("Deleting.", "", "Deleting.\n"),
        ("", "Done.", "Done.\n"),
    ],
)
def test_the_texts_of_two_steps_do_not_run_together(
    event: Events, outcome: Outcomes, first: str, second: str, written: str
) -> None:
    shown = Shown()
    for step, text in enumerate((first, second), 1):
        shown.reporter.event(event("step-start", step=step))
        for piece in (text[:4], text[4:]):
            shown.reporter.event(event("text-delta", text=piece))
        shown.reporter.event(event("step-finish", step=step))
    text = shown.reporter.text
    shown.reporter.result(RUN, outcome())
    assert shown.stdout == written
    assert text == written.removesuffix("\n")


def test_the_text_begins_anew_with_each_run(event: Events, outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.event(event("text-delta", text="one"))
    shown.reporter.result(RUN, outcome())
    shown.reporter.event(event("text-delta", text="two"))
    assert shown.reporter.text == "two"
    assert shown.stdout == "one\ntwo"


def test_text_and_messages_do_not_share_a_line_where_they_share_a_place(
    event: Events, outcome: Outcomes, both: Callable[[], tuple[TextIO, TextIO, Callable[[], str]]]
) -> None:
    stdout, stderr, written = both()
    reporter = reporter_for(json=False, quiet=False, color=False, stdout=stdout, stderr=stderr)
    reporter.event(event("step-start", step=1))
    reporter.event(event("text-delta", text="Deleting."))
    reporter.note("first")
    reporter.note("second")
    reporter.event(event("step-finish", step=1))
    reporter.event(event("step-start", step=2))
    reporter.event(event("text-delta", text="Done."))
    reporter.event(event("step-finish", step=2))
    reporter.result(RUN, outcome(status="cancelled"))
    assert written() == f"Deleting.\nfirst\nsecond\nDone.\nrun {RUN} cancelled\n"


def test_a_message_that_ended_the_last_line_leaves_nothing_to_end(
    event: Events, outcome: Outcomes, both: Callable[[], tuple[TextIO, TextIO, Callable[[], str]]]
) -> None:
    stdout, stderr, written = both()
    reporter = reporter_for(json=False, quiet=False, color=False, stdout=stdout, stderr=stderr)
    reporter.event(event("text-delta", text="Done."))
    reporter.note("note")
    reporter.result(RUN, outcome())
    assert written() == "Done.\nnote\n"


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Callable[[], tuple[TextIO, TextIO, Callable[[], str]]]]:
    """Makes two streams that end in one file, as with `2>&1`, and what was written to it."""
    opened: list[TextIO] = []

    def make() -> tuple[TextIO, TextIO, Callable[[], str]]:
        file = tmp_path / "both"
        stdout = file.open("a", encoding="utf-8")
        stderr = os.fdopen(os.dup(stdout.fileno()), "a", encoding="utf-8")
        opened.extend((stdout, stderr))
        return stdout, stderr, file.read_text

    yield make
    for stream in opened:
        stream.close()


def test_a_prompt_begins_on_a_line_of_its_own(
    event: Events,
    suspension: Suspensions,
    both: Callable[[], tuple[TextIO, TextIO, Callable[[], str]]],
) -> None:
    stdout, stderr, written = both()
    reporter = reporter_for(json=False, quiet=True, color=False, stdout=stdout, stderr=stderr, prompts=True)
    reporter.event(event("text-delta", text="Deleting."))
    reporter.event(event("tool-call-approval", **suspension()))
    assert written() == "Deleting.\n"


# A broken answer


def test_half_an_answer_is_marked_as_abandoned(event: Events, outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.event(event("step-start", step=1))
    shown.reporter.event(event("text-delta", text="I will"))
    shown.reporter.event(event("error", code="interrupted", message="the model broke off", hint="agentctl x"))
    shown.reporter.event(event("step-start", step=1))
    shown.reporter.event(event("text-delta", text="Done."))
    shown.reporter.event(event("step-finish", step=1))
    text = shown.reporter.text
    shown.reporter.result(RUN, outcome())
    assert shown.stderr == (
        "the answer broke off; the text above is abandoned\nagentctl: the model broke off\nhint: agentctl x\n"
    )
    assert shown.stdout == "I will\nDone.\n"
    assert text == "I will\nDone."


def test_an_answer_that_is_asked_for_again_was_abandoned(event: Events) -> None:
    shown = Shown()
    shown.reporter.event(event("text-delta", text="I will"))
    shown.reporter.event(event("step-start", step=1))
    assert shown.stderr == "the answer broke off; the text above is abandoned\n"


def test_an_answer_without_an_end_was_abandoned(event: Events, outcome: Outcomes) -> None:
    shown = Shown(quiet=True)
    shown.reporter.event(event("text-delta", text="I will"))
    shown.reporter.result(RUN, outcome(status="interrupted"))
    assert shown.stderr == "the answer broke off; the text above is abandoned\n"


@pytest.mark.parametrize("end", ["step-finish", "tool-call"])
def test_a_whole_answer_is_not_abandoned(event: Events, outcome: Outcomes, end: str) -> None:
    shown = Shown(quiet=True)
    shown.reporter.event(event("text-delta", text="I will"))
    shown.reporter.event(event(end, step=1, tool_call_id="c1", tool="delete_record", args={}))
    shown.reporter.event(event("error", code="interrupted", message="outage", hint=None))
    shown.reporter.result(RUN, outcome(status="interrupted"))
    assert shown.stderr == "agentctl: outage\n"


# Messages


def test_what_happens_is_told_line_by_line(event: Events) -> None:
    shown = Shown()
    call = {"tool_call_id": "c1", "tool": "delete_record", "args": {"id": "a\u202e"}}
    told = [
        event("start", agent="records"),
        event("start", agent="records", resumed=True),
        event("tool-call", **call),
        event("tool-output", tool_call_id="c1", text="half\x1b\nway\n"),
        event("tool-result", **call, result={"deleted": True}),
        event("tool-error", **call, error="gone"),
        event("tool-output-denied", **call, reason="not this one", by="alice"),
        event("tool-output", tool_call_id="c9", text="from an earlier process"),
    ]
    for each in told:
        shown.reporter.event(each)
    assert shown.stderr.splitlines() == [
        f"run {RUN} started",
        f"run {RUN} resumed",
        r'calls delete_record {"id": "a\u202e"}',
        r"delete_record: half\x1b",
        "delete_record: way",
        'delete_record returned {"deleted": true}',
        'delete_record failed: "gone"',
        'delete_record denied: "not this one"',
        "c9: from an earlier process",
    ]
    assert shown.stdout == ""


@pytest.mark.parametrize(
    ("verdict", "via", "reason", "told"),
    [
        ("approve", "cli", None, f"approved 3f2a9c81d0 by alice at {AT}"),
        ("approve", "always", None, f"approved 3f2a9c81d0 by alice (always) at {AT}"),
        ("decline", "cli", "no\nway", rf"declined 3f2a9c81d0 by alice at {AT}: no\nway"),
        ("data", "auto-resume", None, f"answered 3f2a9c81d0 by alice (auto-resume) at {AT}"),
        ("retry", "cli", None, f"to be retried: 3f2a9c81d0 by alice at {AT}"),
    ],
)
def test_a_decision_is_told_with_who_and_when(
    event: Events, verdict: str, via: str, reason: str | None, told: str
) -> None:
    shown = Shown()
    decided = {"suspension_id": "3f2a9c81d0" + "0" * 54, "by": "alice", "at": AT}
    shown.reporter.event(event("decision", **decided, verdict=verdict, via=via, reason=reason))
    assert shown.stderr == told + "\n"


def test_edited_arguments_are_told_with_the_decision(event: Events) -> None:
    shown = Shown()
    decided = {
        "suspension_id": "3f2a9c81d0" + "0" * 54,
        "by": "alice",
        "at": AT,
        "via": "cli",
        "reason": None,
    }
    shown.reporter.event(event("decision", **decided, verdict="approve", args={"id": "\u202e"}))
    told = rf'approved 3f2a9c81d0, with the arguments {{"id": "\u202e"}}, by alice at {AT}'
    assert shown.stderr == told + "\n"


def test_a_cancellation_is_told_although_it_answers_no_question(event: Events) -> None:
    shown = Shown()
    payload = {"suspension_id": None, "verdict": "cancel", "by": "alice", "at": AT, "via": "cli"}
    shown.reporter.event(event("decision", **payload, reason=None))
    assert shown.stderr == f"cancelled by alice at {AT}\n"


def test_long_values_say_how_much_is_missing(event: Events) -> None:
    shown = Shown()
    shown.reporter.event(
        event("tool-call", tool_call_id="c1", tool="write", args={"text": "x" * 1200, "to": "a"})
    )
    assert shown.stderr == 'calls write {"text": "' + "x" * 200 + '" … 1,000 more characters, "to": "a"}\n'


def test_events_of_later_versions_are_passed_over(event: Events) -> None:
    shown = Shown()
    shown.reporter.event(event("reasoning-delta", text="hm"))
    shown.reporter.event(event("of-a-later-version"))
    assert (shown.stdout, shown.stderr) == ("", "")


def test_the_text_of_sub_agents_goes_to_standard_error_by_lines(event: Events) -> None:
    shown = Shown()
    below = ("records", "data-agent")
    for text in ("Look", "ing\x1b\nFound", " it"):
        shown.reporter.event(event("text-delta", below, text=text))
    assert shown.stderr == "[data-agent] Looking\\x1b\n"
    shown.reporter.event(event("step-finish", below, step=1))
    assert shown.stderr == "[data-agent] Looking\\x1b\n[data-agent] Found it\n"
    assert (shown.stdout, shown.reporter.text) == ("", "")


# What waits


def test_an_approval_that_waits_says_what_will_run_and_what_to_type(
    event: Events, suspension: Suspensions
) -> None:
    shown = Shown()
    shown.reporter.event(event("tool-call-approval", **suspension(reason="policy.py did not load")))
    assert shown.stderr == (
        'waiting for approval: delete_record {"id": "abc-123"}\n'
        "  because: policy.py did not load\n"
        "  agentctl approve 3f2a9c81d0\n"
        "  agentctl decline 3f2a9c81d0\n"
    )


def test_a_question_says_what_is_asked_and_what_to_type(event: Events, suspension: Suspensions) -> None:
    shown = Shown()
    asked = suspension(kind="data", tool="get_weather", args={}, suspend_payload={"question": "Which city?"})
    shown.reporter.event(event("tool-call-suspended", **asked))
    assert shown.stderr == (
        'waiting for an answer: get_weather asks {"question": "Which city?"}\n'
        "  agentctl resume 3f2a9c81d0 --data JSON\n"
    )


def test_a_call_in_doubt_says_how_to_settle_it(event: Events, suspension: Suspensions) -> None:
    shown = Shown()
    shown.reporter.event(event("tool-call-suspended", **suspension(kind="in_doubt")))
    assert shown.stderr == (
        'in doubt: delete_record {"id": "abc-123"} was started, and its outcome is unknown\n'
        "  agentctl resolve 3f2a9c81d0 --retry\n"
        "  agentctl resolve 3f2a9c81d0 --result JSON\n"
        "  agentctl resolve 3f2a9c81d0 --failed TEXT\n"
    )


def test_arguments_that_are_cut_say_so_and_hide_no_other_argument(
    event: Events, suspension: Suspensions
) -> None:
    shown = Shown()
    args = {"note": "x" * 100_304, "id": "\x1b[2Kabc\u202e", "list": list(range(2000))}
    shown.reporter.event(event("tool-call-approval", **suspension(args=args)))
    first, second, *_ = shown.stderr.splitlines()
    assert '" … 98,304 more characters, "id": "\\u001b[2Kabc\\u202e", "list": [0, 1, ' in first
    assert first.endswith(" more characters}")
    assert second == "  cut for display; agentctl show 3f2a9c81d0 has all"


def test_many_arguments_are_cut_too(event: Events, suspension: Suspensions) -> None:
    shown = Shown()
    shown.reporter.event(event("tool-call-approval", **suspension(args={f"k{n}": n for n in range(5000)})))
    assert len(shown.stderr) < 10_000
    assert "cut for display" in shown.stderr


def test_commands_to_type_name_the_store_that_the_user_named(event: Events, suspension: Suspensions) -> None:
    shown = Shown(store="/my runs")
    shown.reporter.event(event("tool-call-approval", **suspension()))
    assert "  agentctl approve 3f2a9c81d0 --store '/my runs'\n" in shown.stderr


def test_what_waits_is_told_once(event: Events, suspension: Suspensions, outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.event(event("tool-call-approval", **suspension()))
    later = suspension(id="e" * 64)
    shown.reporter.result(RUN, outcome(status="suspended", suspensions=[suspension(), later]))
    assert shown.stderr.count("waiting for approval") == 2
    assert shown.stderr.count("approve 3f2a9c81d0") == shown.stderr.count("approve eeeeeeeeee") == 1


def test_what_a_prompt_will_show_is_left_to_it(event: Events, suspension: Suspensions) -> None:
    shown = Shown(prompts=True)
    shown.reporter.event(event("tool-call-approval", **suspension()))
    assert shown.stderr == ""
    shown.reporter.event(event("tool-call-suspended", **suspension(id="e" * 64, kind="in_doubt")))
    assert "agentctl resolve eeeeeeeeee --retry" in shown.stderr


# How it ends


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("interrupted", f"run {RUN} is saved; to go on:\n  agentctl resume {RUN}\n"),
        ("decided", f"run {RUN} has the decision; to drive it on:\n  agentctl resume {RUN}\n"),
        ("cancelled", f"run {RUN} cancelled\n"),
        ("completed", ""),
    ],
)
def test_the_end_says_what_to_type_next(outcome: Outcomes, status: str, told: str) -> None:
    shown = Shown()
    shown.reporter.result(RUN, outcome(status=status))
    assert shown.stderr == told


def test_an_error_is_told_once(event: Events, outcome: Outcomes) -> None:
    error = {"code": "failed", "message": "it `broke`", "hint": "try this\ntry that"}
    told = "agentctl: it `broke`\nhint: try this\nhint: try that\n"

    by_event = Shown()
    by_event.reporter.event(event("error", **error))
    by_event.reporter.result(RUN, outcome(status="failed", error=error))
    assert by_event.stderr == told

    by_result = Shown()
    by_result.reporter.result(RUN, outcome(status="failed", error=error))
    assert by_result.stderr == told

    by_error = Shown()
    by_error.reporter.error(NotFound("no run `abc`"))
    by_error.reporter.result(None, outcome(status="error", error={**error, "message": "no run `abc`"}))
    assert by_error.stderr == "agentctl: no run `abc`\n"


def test_an_error_that_says_what_to_type_is_the_only_advice(outcome: Outcomes) -> None:
    shown = Shown()
    shown.reporter.error(Conflict("the definition changed", "agentctl resume RUN --accept-changes"))
    shown.reporter.result(RUN, outcome(status="interrupted"))
    assert shown.stderr == "agentctl: the definition changed\nhint: agentctl resume RUN --accept-changes\n"


def test_where_an_unexpected_error_came_from_is_told_with_debug_only() -> None:
    error = Failed("it broke")
    error.__cause__ = ValueError("because \x1b")
    shown = Shown()
    shown.reporter.error(error)
    assert shown.stderr == "agentctl: it broke\n"
    shown.reporter.error(error, debug=True)
    assert shown.stderr.endswith("ValueError: because \\x1b\nagentctl: it broke\n")


def test_each_problem_of_a_definition_has_its_line() -> None:
    shown = Shown()
    shown.reporter.error(DefinitionError("agent.yaml:1:1: no `id`\nagent.yaml:2:1: unknown key `x\x1b`"))
    assert shown.stderr == (
        "agentctl: agent.yaml:1:1: no `id`\nagentctl: agent.yaml:2:1: unknown key `x\\x1b`\n"
    )


def test_quiet_silences_progress_but_no_error_and_nothing_that_waits(
    event: Events, suspension: Suspensions, outcome: Outcomes
) -> None:
    shown = Shown(quiet=True)
    shown.reporter.event(event("start"))
    shown.reporter.event(event("text-delta", text="Done."))
    shown.reporter.event(event("tool-call", tool_call_id="c1", tool="delete_record", args={}))
    shown.reporter.note("note")
    shown.reporter.event(event("tool-call-approval", **suspension()))
    shown.reporter.error(NotFound("no run `abc`"))
    shown.reporter.result(RUN, outcome(status="suspended", suspensions=[suspension()]))
    assert shown.stdout == "Done.\n"
    assert [line.split(":")[0] for line in shown.stderr.splitlines()] == [
        "waiting for approval",
        "  agentctl approve 3f2a9c81d0",
        "  agentctl decline 3f2a9c81d0",
        "agentctl",
    ]


def test_colour_is_only_added_to_the_text_of_messages(event: Events) -> None:
    plain, colored = Shown(color=False), Shown(color=True)
    for shown in (plain, colored):
        shown.reporter.event(event("start"))
        shown.reporter.error(NotFound("no run `abc`", "agentctl runs"))
    assert "\x1b" not in plain.stderr
    assert "\x1b[31magentctl:\x1b[0m no run `abc`\n" in colored.stderr
    assert re.sub("\x1b\\[[0-9]+m", "", colored.stderr) == plain.stderr
