"""`show` and `log`: a run whole, for people and for scripts."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentctl.output.log import show_log
from agentctl.output.show import show_run

AT = "2026-12-01T14:29:27.123Z"
RUN = "20261201-abc123"
Make = Callable[..., dict[str, Any]]


def show(run: dict[str, Any], *, stdout: io.StringIO | None = None, json: bool = False, **parts: Any) -> str:
    """What `show` writes about a run with these suspensions, decisions and messages."""
    out = stdout or io.StringIO()
    whole = {"suspensions": [], "decisions": [], "messages": [], **parts}
    show_run({"run": run, **whole}, json=json, stdout=out, store=None)
    return out.getvalue()


def test_a_run_is_shown_whole(run: Make, suspension: Make) -> None:
    written = show(
        run(thread="t1"),
        suspensions=[suspension(reason="it says so")],
        decisions=[
            {
                "suspension_id": "e" * 64,
                "verdict": "approve",
                "by": "alice",
                "at": AT,
                "via": "cli",
                "reason": None,
                "args": {"id": "edited"},
            }
        ],
        messages=[
            {"role": "user", "text": "Delete record\n\tabc-123"},
            {
                "role": "assistant",
                "text": "Deleting.",
                "calls": [{"id": "c1", "tool": "delete_record", "arguments": '{"id": "abc-123"}'}],
            },
            {"role": "tool", "call_id": "c1", "tool": "delete_record", "content": "gone"},
        ],
    )
    assert written == (
        f"run       {RUN}\n"
        "status    suspended\n"
        "agent     records\n"
        "thread    t1\n"
        f"started   {AT}\n"
        f"updated   {AT}\n"
        "usage     input_tokens 12, requests 1\n"
        "\n"
        "prompt\n"
        "  Delete record abc-123\n"
        "\n"
        "conversation\n"
        "  user\n"
        "    Delete record\n"
        "    \tabc-123\n"
        "  assistant\n"
        "    Deleting.\n"
        '    calls delete_record {"id": "abc-123"}\n'
        "  tool delete_record\n"
        "    gone\n"
        "\n"
        "decisions\n"
        f"  approved eeeeeeeeee by alice at {AT}\n"
        "    args\n"
        "      {\n"
        '        "id": "edited"\n'
        "      }\n"
        "\n"
        "waiting\n"
        f"  3f2a9c81d0{'0' * 54}\n"
        f"    approval of delete_record, asked by records at {AT}\n"
        "    because: it says so\n"
        "    arguments\n"
        "      {\n"
        '        "id": "abc-123"\n'
        "      }\n"
        "\n"
        "next\n"
        "  agentctl approve 3f2a9c81d0\n"
        "  agentctl decline 3f2a9c81d0\n"
    )


def test_a_question_is_shown_with_what_is_asked_and_the_schema_of_its_answer(
    run: Make, suspension: Make
) -> None:
    asked = suspension(kind="data", suspend_payload={"question": "Which?"}, resume_schema={"type": "string"})
    written = show(run(), suspensions=[asked])
    assert '    asks\n      {\n        "question": "Which?"\n      }\n' in written
    assert '    schema of the answer\n      {\n        "type": "string"\n      }\n' in written
    assert written.endswith("next\n  agentctl resume 3f2a9c81d0 --data JSON\n")


def test_nothing_is_cut(run: Make, suspension: Make) -> None:
    long = "x" * 100_000
    written = show(
        run(prompt=long),
        suspensions=[suspension(args={"id": long})],
        messages=[{"role": "user", "text": long}],
    )
    assert written.count(long) == 3


def test_nothing_of_the_model_controls_a_terminal_or_hides(run: Make, suspension: Make) -> None:
    evil = "a\x1b[2J\u202e\u200b\r\x9bz"
    written = show(
        run(prompt=evil, agent=evil, error={"code": "failed", "message": evil, "hint": None}),
        suspensions=[suspension(args={evil: evil}, tool=evil, reason=evil)],
        messages=[
            {"role": "assistant", "text": evil, "calls": [{"id": "c", "tool": evil, "arguments": evil}]},
            {"role": "tool", "call_id": evil, "tool": evil, "content": evil},
        ],
        decisions=[
            {
                "suspension_id": "e" * 64,
                "verdict": "decline",
                "by": evil,
                "at": AT,
                "via": "cli",
                "reason": evil,
            }
        ],
    )
    assert written.replace("\n", "").isprintable()
    assert r"a\x1b[2J\u202e\u200b" in written


def test_a_text_cannot_pass_for_a_section_of_its_own(run: Make) -> None:
    written = show(
        run(status="completed"), messages=[{"role": "assistant", "text": "ok\n\nnext\n  agentctl x"}]
    )
    assert "\nnext\n" not in written
    assert "\n    next\n" in written


@pytest.mark.parametrize(
    ("status", "typed"),
    [
        ("interrupted", f"agentctl resume {RUN}"),
        ("suspended", f"agentctl resume {RUN}"),
        ("running", f"agentctl log {RUN} --follow"),
        ("damaged", f"agentctl verify {RUN}"),
    ],
)
def test_what_to_type_next_follows_from_the_status(run: Make, status: str, typed: str) -> None:
    assert show(run(status=status)).endswith(f"\nnext\n  {typed}\n")


def test_an_ended_run_has_nothing_to_type(run: Make) -> None:
    written = show(run(status="completed", finish_reason="stop", prompt=None))
    assert "next" not in written
    assert "reason" not in written


def test_an_unusual_reason_to_stop_is_told(run: Make) -> None:
    assert "reason    max_steps\n" in show(run(status="interrupted", finish_reason="max_steps"))


def test_json_is_the_one_object_as_it_is(
    run: Make, suspension: Make, terminal: Callable[[], io.StringIO]
) -> None:
    whole = {
        "run": run(),
        "suspensions": [suspension(args={"a": "\u202e\ud800"})],
        "decisions": [],
        "messages": [],
    }
    for stdout in (io.StringIO(), terminal()):
        show_run(whole, json=True, stdout=stdout)
        assert json.loads(stdout.getvalue().encode()) == whole
        assert stdout.getvalue().count("\n") == 1
    assert "\u202e" not in stdout.getvalue()


# log


def logged(kind: str, **payload: Any) -> str:
    stdout = io.StringIO()
    show_log([{"at": AT, "type": kind, "agent_path": ["records"], "payload": payload}], stdout)
    return stdout.getvalue()


def test_a_record_is_a_line_of_when_whose_and_what_happened() -> None:
    call = {"tool_call_id": "c1", "tool": "delete_record", "args": {"id": "a\x1b"}}
    assert logged("tool-call", **call, verdict="ask") == (
        f'{AT}  records  calls delete_record {{"id": "a\\u001b"}}, a human must decide\n'
    )
    assert logged("tool-start", **call, attempt=2, pid=7, host="h") == (
        f"{AT}  records  delete_record starts, attempt 2, by process 7 on h\n"
    )
    assert logged("finish", status="completed") == f"{AT}  records  ended: completed\n"


def test_a_long_value_in_the_log_says_how_much_is_missing() -> None:
    assert "more characters" in logged("answer", message={"text": "x" * 5000})


def test_a_record_of_a_later_version_is_shown_by_its_type() -> None:
    assert logged("handed-over", to="billing") == f'{AT}  records  handed-over {{"to": "billing"}}\n'


def test_records_are_shown_as_they_come() -> None:
    stdout = io.StringIO()
    seen = []

    def records() -> Iterator[dict[str, Any]]:
        for step in (1, 2):
            seen.append(stdout.getvalue().count("\n"))
            yield {"at": AT, "type": "step-start", "agent_path": ["records"], "payload": {"step": step}}

    show_log(records(), stdout)
    assert seen == [0, 1]
