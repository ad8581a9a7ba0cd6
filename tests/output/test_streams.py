"""Standard streams in real processes: closed, full, left by their reader, in a foreign locale."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentctl.output.streams import put, same_place, tell

PREPARE = "import os, sys; from agentctl.output.streams import *; streams = prepare_streams()\n"


def bash(
    command: str, code: str, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `code` after `prepare_streams` as `$PROGRAM` of a bash command."""
    program = cwd / "program.py"
    program.write_text(PREPARE + code)
    environ = {"PATH": os.environ["PATH"], "PROGRAM": f"{sys.executable} {program}", **(env or {})}
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=environ, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_there_all_the_same(tmp_path: Path, closed: str) -> None:
    code = """\
assert streams.stdin is sys.stdin and streams.stdin.read() == ""
file = open("file", "w")
assert file.fileno() > 2
put(streams.stdout, "out\\n"); tell(streams.stderr, "err\\n"); print("print")
assert os.system("echo from a child && echo from a child >&2") == 0
assert close_outputs() is None
open("done", "w").close()
"""
    done = bash(f"$PROGRAM </dev/null {closed}", code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "done").exists()
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}])
def test_output_is_utf8_in_every_locale(tmp_path: Path, locale: dict[str, str]) -> None:
    code = 'put(streams.stdout, "é漢\\ud800\\n"); tell(streams.stderr, "é\\udcff\\n")'
    done = bash("$PROGRAM", code, tmp_path, locale)
    assert done.stdout == "é漢\\ud800\n".encode()
    assert done.stderr == "é\\udcff\n".encode()


def test_input_is_utf8_and_what_is_none_can_be_read(tmp_path: Path) -> None:
    code = 'put(streams.stdout, ascii(streams.stdin.read()) + "\\n")'
    done = bash(r"printf 'caf\xc3\xa9 \xe9' | $PROGRAM", code, tmp_path, {"LC_ALL": "C"})
    assert done.stdout == rb"'caf\xe9 \udce9'" + b"\n"


def test_a_reader_that_left_is_a_broken_pipe(tmp_path: Path) -> None:
    code = """\
import signal
try:
    for _ in range(100_000):
        put(streams.stdout, "line\\n")
except BrokenPipeError:
    tell(streams.stderr, "left\\n")
assert isinstance(close_outputs(), BrokenPipeError)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGPIPE)
"""
    done = bash("$PROGRAM | head -1; echo ${PIPESTATUS[0]}", code, tmp_path)
    assert done.stdout.decode().split() == ["line", str(128 + signal.SIGPIPE)]
    assert done.stderr == b"left\n"


def test_a_full_disk_is_an_error_that_names_standard_output(tmp_path: Path) -> None:
    code = """\
try:
    put(streams.stdout, "text\\n")
except OSError as error:
    tell(streams.stderr, f"{error}\\n")
sys.exit(1 if close_outputs() else 0)
"""
    done = bash("$PROGRAM > /dev/full", code, tmp_path)
    assert done.returncode == 1
    assert done.stderr == b"[Errno 28] No space left on device: 'standard output'\n"


def test_what_print_left_unwritten_is_found_at_the_end_and_told_once(tmp_path: Path) -> None:
    code = 'print("text"); error = close_outputs(); tell(streams.stderr, f"{error.strerror}\\n")'
    done = bash("$PROGRAM > /dev/full", code, tmp_path)
    assert done.returncode == 0
    assert done.stderr == b"No space left on device\n"


def test_messages_that_nobody_can_read_are_dropped(tmp_path: Path) -> None:
    code = 'tell(streams.stderr, "message\\n"); put(streams.stdout, "text\\n"); print(close_outputs())'
    done = bash("$PROGRAM 2> /dev/full", code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"text\nNone\n", b"")


def test_writing_is_flushed_at_once() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")
    put(stream, "out")
    tell(stream, "err")
    assert raw.getvalue() == b"outerr"


def test_a_message_to_a_closed_stream_is_dropped() -> None:
    stream = io.StringIO()
    stream.close()
    tell(stream, "message\n")


def test_two_streams_in_one_place_are_known(tmp_path: Path) -> None:
    with (
        (tmp_path / "a").open("w") as one,
        (tmp_path / "a").open("a") as same,
        (tmp_path / "b").open("w") as other,
    ):
        assert same_place(one, same)
        assert not same_place(one, other)
        assert not same_place(one, io.StringIO())
