"""The test library itself: processes, terminals and disks do what black-box tests rely on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.disk import Disk
from support.process import Process
from support.project import Project
from support.terminal import Terminal
from support.tools import prelude

Bash = Callable[..., Process]


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    started: list[Process] = []

    def start(script: str, input: str | None = None) -> Process:
        env = {"PATH": "/usr/bin:/bin"}
        started.append(Process(("bash", "-c", script), cwd=tmp_path, env=env, input=input))
        return started[-1]

    yield start
    for process in started:
        process.close()


def test_an_outcome_keeps_status_and_both_streams_apart(bash: Bash) -> None:
    outcome = bash("cat; echo oops >&2; exit 8", input="hello").wait(status=8)
    assert (outcome.stdout, outcome.stderr) == ("hello", "oops\n")


def test_without_input_standard_input_is_at_its_end(bash: Bash) -> None:
    assert bash("cat").wait(status=0).stdout == ""


def test_another_status_fails_the_test_and_shows_what_was_written(bash: Bash) -> None:
    with pytest.raises(AssertionError, match="why it failed"):
        bash("echo why it failed >&2; exit 1").wait(status={0, 8})


def test_a_traceback_fails_the_test(bash: Bash) -> None:
    with pytest.raises(AssertionError, match="Traceback"):
        bash("echo 'Traceback (most recent call last):' >&2").wait(status=0)


def test_a_process_that_hangs_fails_the_test(bash: Bash) -> None:
    with pytest.raises(pytest.fail.Exception, match="hangs"):
        bash("sleep 60").wait(timeout=0.1)


def test_kill9_ends_the_process_and_what_it_started(bash: Bash) -> None:
    process = bash("(sleep 0.5; touch late) & echo here; wait")
    process.wait_for_stdout("here")
    process.kill9()
    assert process.wait().status == -signal.SIGKILL
    assert bash("sleep 1; ls").wait().stdout == ""


def test_interrupt_reaches_the_whole_group(bash: Bash) -> None:
    process = bash("echo here >&2; sleep 60; echo not reached")
    process.wait_for_stderr("here")
    process.interrupt()
    assert process.wait(status=-signal.SIGINT).stdout == ""


def test_waiting_for_words_of_a_process_that_ended_fails(bash: Bash) -> None:
    with pytest.raises(pytest.fail.Exception, match="ended without 'never'"):
        bash("echo once").wait_for_stdout("never")


def terminal(folder: Path, source: str, cols: int = 80) -> Terminal:
    command = (sys.executable, "-c", source)
    return Terminal(command, cwd=folder, env={"TERM": "xterm"}, cols=cols)


def test_a_terminal_is_typed_at_and_read_from(tmp_path: Path) -> None:
    with terminal(tmp_path, "print('\\033[1mgot\\033[0m', input('name? '))") as screen:
        screen.expect("name? ")
        screen.send("Zoë\n")
        assert "Zoë" in screen.expect("got Zoë")
        screen.wait(status=0)
        assert "\x1b[1m" in screen.raw


def test_a_terminal_has_the_size_it_was_given(tmp_path: Path) -> None:
    with terminal(tmp_path, "import os; print(os.get_terminal_size().columns)", cols=37) as screen:
        screen.expect("37")


def test_ctrl_c_at_a_terminal_is_a_signal(tmp_path: Path) -> None:
    source = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); print('ready'); signal.pause()"
    with terminal(tmp_path, source) as screen:
        screen.expect("ready")
        screen.interrupt()
        screen.wait(status=-signal.SIGINT)


def test_ctrl_d_at_a_terminal_is_the_end_of_input(tmp_path: Path) -> None:
    with terminal(tmp_path, "import sys; print('ready'); print(repr(sys.stdin.read()))") as screen:
        screen.expect("ready")
        screen.end_of_file()
        screen.expect("''")


def test_text_that_is_never_shown_fails_the_test(tmp_path: Path) -> None:
    with (
        terminal(tmp_path, "print('shown')") as screen,
        pytest.raises(pytest.fail.Exception, match="never shown"),
    ):
        screen.expect("not this")


def test_a_full_disk_refuses_writes_until_it_is_freed(small_disk: Callable[..., Disk]) -> None:
    disk = small_disk("64k")
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        (disk.path / "file").write_bytes(bytes(4096))
    disk.free()
    (disk.path / "other").write_bytes(bytes(4096))


def test_a_read_only_disk_refuses_writes_even_from_root(small_disk: Callable[..., Disk]) -> None:
    disk = small_disk()
    disk.read_only()
    with pytest.raises(OSError, match="Read-only"):
        (disk.path / "file").touch()
    disk.writable()
    (disk.path / "file").touch()


def test_commands_get_a_clean_environment(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "NO_COLOR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENTCTL_MODEL"):
        monkeypatch.setenv(name, "1")
    env = project.environment({"EXTRA": "2", "LANG": None})
    assert set(env) - {"TMPDIR"} == {"PATH", "HOME", "AGENTCTL_USER", "EXTRA"}


def test_what_tools_execute_is_read_in_order(project: Project) -> None:
    scope: dict[str, object] = {}
    source = prelude(project.root).replace("from agentctl import ToolContext, tool\n", "")
    exec(source + "\ndef delete(id):\n    fx('c1', id=id)\ndelete('a')\ndelete('é')\nat('here')\n", scope)
    assert project.fx() == [
        {"tool": "delete", "call": "c1", "args": {"id": "a"}},
        {"tool": "delete", "call": "c1", "args": {"id": "é"}},
    ]
    assert project.fx_calls() == ["c1", "c1"]
    assert project.wait_for("here").exists()


def test_an_edit_that_changes_nothing_fails_the_test(project: Project) -> None:
    file = project.root / "tools.py"
    file.write_text("a = 1\n")
    project.edit(file, "1", "2")
    assert file.read_text() == "a = 2\n"
    with pytest.raises(AssertionError, match=r"tools\.py does not hold '1'"):
        project.edit(file, "1", "2")
