"""`--json`: one event a line, valid for every reader of lines, and the result is the last line of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import NotFound
from agentctl.output.events_json import json_line
from agentctl.output.reporter import Reporter, reporter_for
from agentctl.runtime.events import Event

NOW = "2026-12-01T15:00:00.000Z"
TEXTS = st.text() | st.text(st.sampled_from('a"\\\n\r\x0b\x1c\x85\u2028\u2029\ud800\udfff'))


class Shown:
    """A reporter for `--json` and what it wrote."""

    def __init__(self, *, quiet: bool = False, stdout: io.StringIO | None = None) -> None:
        self.stdout = stdout or io.StringIO()
        self.stderr = io.StringIO()
        self.reporter: Reporter = reporter_for(
            json=True, quiet=quiet, color=None, stdout=self.stdout, stderr=self.stderr, now=lambda: NOW
        )

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.getvalue().split("\n")[:-1]]


def test_an_event_is_one_line_with_these_keys_in_this_order(event: Callable[..., Event]) -> None:
    shown = Shown()
    shown.reporter.event(event("text-delta", ("top", "c1"), text="é漢"))
    assert shown.stdout.getvalue() == (
        '{"type":"text-delta","seq":1,"run_id":"20261201-abc123","at":"2026-12-01T14:29:27.123Z",'
        '"agent_path":["top","c1"],"call_path":["c1"],"payload":{"text":"é漢"}}\n'
    )


def test_a_result_is_a_line_of_the_top_agent_with_the_time_of_now(
    event: Callable[..., Event], outcome: Callable[..., dict[str, Any]]
) -> None:
    shown = Shown()
    shown.reporter.event(event("step-start", step=1))
    shown.reporter.event(event("text-delta", ("records", "weather"), text="below"))
    shown.reporter.result("20261201-abc123", outcome())
    last = shown.lines[-1]
    assert (last["type"], last["run_id"], last["at"]) == ("result", "20261201-abc123", NOW)
    assert (last["agent_path"], last["call_path"]) == (["records"], [])
    assert last["payload"] == outcome()


def test_a_result_stands_alone_where_nothing_could_start(outcome: Callable[..., dict[str, Any]]) -> None:
    shown = Shown()
    shown.reporter.result(None, outcome(status="error", exit_status=3))
    (line,) = shown.lines
    assert (line["seq"], line["run_id"], line["agent_path"]) == (1, None, [])


def test_the_lines_of_each_run_are_counted_from_one(
    event: Callable[..., Event], outcome: Callable[..., dict[str, Any]]
) -> None:
    shown = Shown()
    for _ in range(2):
        shown.reporter.event(event("start"))
        shown.reporter.result("20261201-abc123", outcome())
    assert [line["seq"] for line in shown.lines] == [1, 2, 1, 2]


def test_the_text_is_that_of_the_top_agent_in_the_current_run(
    event: Callable[..., Event], outcome: Callable[..., dict[str, Any]]
) -> None:
    reporter = Shown().reporter
    reporter.event(event("text-delta", text="Do"))
    reporter.event(event("text-delta", ("records", "weather"), text="below"))
    reporter.event(event("text-delta", text=""))
    reporter.event(event("text-delta", text="ne."))
    reporter.event(event("step-start", step=2))
    reporter.event(event("text-delta", text="More."))
    assert reporter.text == "Done.\nMore."
    reporter.result("20261201-abc123", outcome())
    assert reporter.text == ""


def test_errors_and_notes_are_for_people_on_standard_error() -> None:
    shown = Shown()
    shown.reporter.error(NotFound("no run `abc`", "agentctl runs"))
    shown.reporter.note("waiting for `slow`\x1b")
    assert shown.stdout.getvalue() == ""
    assert shown.stderr.getvalue() == "agentctl: no run `abc`\nhint: agentctl runs\nwaiting for `slow`\\x1b\n"


def test_quiet_silences_notes_but_no_error_and_no_event(event: Callable[..., Event]) -> None:
    shown = Shown(quiet=True)
    shown.reporter.note("waiting")
    shown.reporter.error(NotFound("no run `abc`"))
    shown.reporter.event(event("start"))
    assert shown.stderr.getvalue() == "agentctl: no run `abc`\n"
    assert len(shown.lines) == 1


@given(TEXTS)
def test_a_line_is_one_line_of_utf8_and_the_same_value_for_every_reader(text: str) -> None:
    line = json_line({"text": text})
    assert json.loads(line.encode()) == json.loads(json.dumps({"text": text}))
    assert len(line.splitlines()) == 1


def test_what_is_visible_is_not_escaped_in_a_pipe() -> None:
    assert json_line("é\u202e👍\u200d") == '"é\u202e👍\u200d"'


def test_nothing_is_hidden_in_lines_on_a_terminal(
    event: Callable[..., Event], terminal: Callable[[], io.StringIO]
) -> None:
    shown = Shown(stdout=terminal())
    shown.reporter.event(event("text-delta", text="a\u202eb\x7f"))
    assert r'"a\u202eb\u007f"' in shown.stdout.getvalue()
    assert shown.lines[0]["payload"]["text"] == "a\u202eb\x7f"


def test_a_number_that_json_lacks_is_refused_and_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_line(float("nan"))
