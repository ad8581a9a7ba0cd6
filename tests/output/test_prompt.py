"""The prompt: who is asked, what is shown, and that only a clear answer is one."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentctl.output.prompt import Leave, ask, may_prompt
from support.terminal import Terminal

APPROVE = "approve? [y]es, [n]o, Enter leaves it waiting:"
REASON = "declining; a reason for the model, or Enter:"
ANSWER = "answer as JSON, Enter leaves it waiting:"
LEFT = "left waiting:\n  agentctl approve 3f2a9c81d0\n  agentctl decline 3f2a9c81d0\n"

PROGRAM = """\
import json, select, signal, sys
from agentctl.errors import UsageError
from agentctl.output.prompt import Leave, ask
from agentctl.output.streams import prepare_streams

def check(value):
    if value == "wrong":
        raise UsageError("`wrong` is no city", "try another")

streams = prepare_streams()
suspension, ahead = json.loads(sys.argv[1]), sys.argv[2:]
signal.signal(signal.SIGINT, signal.SIG_IGN)
if ahead:
    print("type ahead", flush=True)
    select.select([0], [], [])
answer = ask(suspension, stdin=streams.stdin, stderr=streams.stderr, color=False, check=check)
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
print("->", ascii(answer))
"""

Make = Callable[..., dict[str, Any]]
Ask = Callable[..., Terminal]


@pytest.fixture
def at_terminal(tmp_path: Path) -> Iterator[Ask]:
    """Asks about a suspension at a real terminal and prints the answer after an arrow."""
    opened: list[Terminal] = []

    def start(suspension: dict[str, Any], *options: str) -> Terminal:
        command = (sys.executable, "-c", PROGRAM, json.dumps(suspension), *options)
        opened.append(Terminal(command, cwd=tmp_path, env={"PATH": os.defpath, "TERM": "xterm"}))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def answered(asked: Terminal, *typed: tuple[str, str]) -> str:
    """The answer after typing a line at each question; what was shown is in `asked.plain`."""
    for question, line in typed:
        asked.expect(question)
        asked.send(line)
    asked.expect("-> ")
    asked.wait(status=0)
    return asked.plain.rpartition("-> ")[2].strip()


# Approvals


def test_the_prompt_shows_what_will_run(at_terminal: Ask, suspension: Make) -> None:
    asked = at_terminal(suspension(args={"id": "a\u202e\x1b[2Jb"}, reason="policy.py did not load"))
    answered(asked, (APPROVE, "\n"))
    assert asked.plain.startswith(
        'waiting for approval: delete_record {"id": "a\\u202e\\u001b[2Jb"}\n'
        "  because: policy.py did not load\n"
        f"{APPROVE} "
    )


@pytest.mark.parametrize("yes", ["y", "yes", " Y ", "YES"])
def test_a_clear_yes_approves(at_terminal: Ask, suspension: Make, yes: str) -> None:
    assert answered(at_terminal(suspension()), (APPROVE, f"{yes}\n")) == "Approve()"


@pytest.mark.parametrize("no", ["n", "No"])
def test_a_no_declines_and_may_have_a_reason(at_terminal: Ask, suspension: Make, no: str) -> None:
    assert answered(at_terminal(suspension()), (APPROVE, f"{no}\n"), (REASON, "\n")) == "Decline(reason=None)"
    typed = ((APPROVE, f"{no}\n"), (REASON, " zu gefährlich \n"))
    assert answered(at_terminal(suspension()), *typed) == r"Decline(reason='zu gef\xe4hrlich')"


@pytest.mark.parametrize("nothing", ["", "  "])
def test_an_empty_line_leaves_it_waiting_and_says_what_to_type(
    at_terminal: Ask, suspension: Make, nothing: str
) -> None:
    asked = at_terminal(suspension())
    assert answered(asked, (APPROVE, f"{nothing}\n")) == "None"
    assert LEFT in asked.plain


@pytest.mark.parametrize("unclear", ["yy", "ye", "ja", "1", "true", "y n", "approve"])
def test_what_is_unclear_is_no_consent_and_asked_again(
    at_terminal: Ask, suspension: Make, unclear: str
) -> None:
    asked = at_terminal(suspension())
    assert answered(asked, (APPROVE, f"{unclear}\n"), (APPROVE, "\n")) == "None"
    assert "y, n or Enter, please" in asked.plain
    assert LEFT in asked.plain


def test_three_unclear_answers_leave_it_waiting(at_terminal: Ask, suspension: Make) -> None:
    assert answered(at_terminal(suspension()), *[(APPROVE, "yes!\n")] * 3) == "None"


@pytest.mark.parametrize("question", [APPROVE, REASON])
@pytest.mark.parametrize("leave", [Terminal.interrupt, Terminal.end_of_file])
def test_ctrl_c_and_end_of_file_leave_it_waiting(
    at_terminal: Ask, suspension: Make, leave: Callable[[Terminal], None], question: str
) -> None:
    asked = at_terminal(suspension())
    if question == REASON:
        asked.expect(APPROVE)
        asked.send("n\n")
    asked.expect(question)
    leave(asked)
    asked.expect("-> Leave()")
    asked.wait(status=0)
    assert LEFT in asked.plain


def test_what_was_typed_before_the_question_is_no_consent(at_terminal: Ask, suspension: Make) -> None:
    asked = at_terminal(suspension(), "ahead")
    asked.expect("type ahead")
    asked.send("y\ny\n")
    assert answered(asked, (APPROVE, "\n")) == "None"


def test_what_was_typed_before_the_reason_is_no_reason(at_terminal: Ask, suspension: Make) -> None:
    typed = ((APPROVE, "n\ntyped ahead\n"), (REASON, "typed in time\n"))
    assert answered(at_terminal(suspension()), *typed) == "Decline(reason='typed in time')"


# Questions


def question(suspension: Make, **changes: Any) -> dict[str, Any]:
    return suspension(kind="data", tool="get_weather", suspend_payload={"question": "Which city?"}, **changes)


def test_a_question_shows_what_is_asked_and_what_an_answer_looks_like(
    at_terminal: Ask, suspension: Make
) -> None:
    asked = at_terminal(question(suspension, resume_schema={"type": "string", "title": "\u202e"}))
    answered(asked, (ANSWER, "\n"))
    assert asked.plain.startswith(
        'waiting for an answer: get_weather asks {"question": "Which city?"}\n'
        '  schema of the answer: {"type": "string", "title": "\\u202e"}\n'
        f"{ANSWER} "
    )
    assert "left waiting:\n  agentctl resume 3f2a9c81d0 --data JSON\n" in asked.plain


@pytest.mark.parametrize("data", ["false", "0", '""', "null", "[]", "{}", '"Oslo"', '{"city": "Ås"}'])
def test_any_json_is_an_answer(at_terminal: Ask, suspension: Make, data: str) -> None:
    assert answered(at_terminal(question(suspension)), (ANSWER, f"{data}\n")) == (
        f"Data(value={json.loads(data)!a})"
    )


def test_what_is_no_json_is_asked_again_with_a_hint(at_terminal: Ask, suspension: Make) -> None:
    asked = at_terminal(question(suspension))
    assert answered(asked, (ANSWER, "Oslo\n"), (ANSWER, '"Oslo"\n')) == "Data(value='Oslo')"
    assert "agentctl: `Oslo` is not JSON" in asked.plain
    assert 'hint: text needs quotes: "Oslo"\n' in asked.plain


@pytest.mark.parametrize("line", ["NaN", "1e999", "[" * 3000, "{'a': 1}", '{"a": 1} {}'])
def test_what_only_looks_like_json_is_no_answer(at_terminal: Ask, suspension: Make, line: str) -> None:
    assert answered(at_terminal(question(suspension)), (ANSWER, f"{line}\n"), (ANSWER, "\n")) == "None"


def test_data_that_is_refused_is_asked_for_again(at_terminal: Ask, suspension: Make) -> None:
    asked = at_terminal(question(suspension))
    assert answered(asked, (ANSWER, '"wrong"\n'), (ANSWER, '"Oslo"\n')) == "Data(value='Oslo')"
    assert "agentctl: `wrong` is no city\nhint: try another\n" in asked.plain


def test_three_tries_are_enough(at_terminal: Ask, suspension: Make) -> None:
    assert answered(at_terminal(question(suspension)), *[(ANSWER, "Oslo\n")] * 3) == "None"


# Whom not to ask


def test_a_call_in_doubt_is_no_question_for_a_prompt(suspension: Make) -> None:
    stderr = io.StringIO()
    assert ask(suspension(kind="in_doubt"), stdin=io.StringIO("y\n"), stderr=stderr) is None
    assert stderr.getvalue() == ""


def test_input_that_ends_without_a_line_end_is_no_answer(suspension: Make) -> None:
    assert ask(suspension(), stdin=io.StringIO("y"), stderr=io.StringIO()) == Leave()


class HungUp(io.RawIOBase):
    """A terminal of which a process in the background is left."""

    def readable(self) -> bool:
        return True

    def readinto(self, _: object) -> int:
        raise OSError(errno.EIO, "Input/output error")


def test_a_terminal_that_hung_up_leaves_it_waiting(suspension: Make) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(HungUp()))
    assert ask(suspension(), stdin=stdin, stderr=io.StringIO()) == Leave()


def test_a_person_at_a_terminal_may_be_asked(terminal: Callable[[], io.StringIO]) -> None:
    assert may_prompt(terminal(), terminal(), {}, no_input=False, json=False)
    assert may_prompt(terminal(), terminal(), {"CI": ""}, no_input=False, json=False)


@pytest.mark.parametrize(
    "why", ["stdin", "stderr", "closed stdin", "closed stderr", "CI", "--no-input", "--json", "shut"]
)
def test_nobody_is_asked_where_nobody_may_be(terminal: Callable[[], io.StringIO], why: str) -> None:
    stdin: io.StringIO | None = terminal()
    stderr: io.StringIO | None = terminal()
    match why:
        case "stdin":
            stdin = io.StringIO()
        case "stderr":
            stderr = io.StringIO()
        case "closed stdin":
            stdin = None
        case "closed stderr":
            stderr = None
        case "shut":
            assert stdin is not None
            stdin.close()
    environ = {"CI": "1"} if why == "CI" else {}
    assert not may_prompt(stdin, stderr, environ, no_input=why == "--no-input", json=why == "--json")
