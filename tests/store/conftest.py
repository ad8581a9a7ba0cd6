"""What the tests of the store share: a store, a run in it, and real processes that work on it."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentctl_store import LocalStore

PROGRAM = Path(__file__).parent / "store_process.py"
PATIENCE = 60.0

Start = Callable[..., subprocess.Popen[str]]
Act = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """A store that does not exist yet."""
    return LocalStore(tmp_path / ".runs")


@pytest.fixture
def run(store: LocalStore) -> str:
    """A suspended run of three records, all of them in its snapshot."""
    store.create("run1", {"status": "running"}, {"messages": []}, [{"type": "start", "payload": {"n": 1}}])
    store.append(
        "run1", [{"type": "step", "payload": {"text": "é"}}, {"type": "call", "payload": [1.0, None]}]
    )
    store.save("run1", {"status": "suspended"}, {"messages": ["hello"]})
    return "run1"


@pytest.fixture
def folder(store: LocalStore, run: str) -> Path:
    """The folder of that run."""
    return store.path / "active" / run


@pytest.fixture
def proceed() -> Callable[[LocalStore], None]:
    """What the action `proceed` does, in this process: bring the run from wherever it is to its end."""
    return runpy.run_path(str(PROGRAM))["proceed"]  # type: ignore[no-any-return]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `store_process.py` with the arguments, beside the test; ended with it at the latest."""
    started: list[subprocess.Popen[str]] = []

    def begin(*args: object, env: dict[str, str] | None = None, under: tuple[str, ...] = ()) -> Any:
        process = subprocess.Popen(
            [*under, sys.executable, str(PROGRAM), *map(str, args)],
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def act(start: Start) -> Act:
    """Run `store_process.py` with the arguments to its end."""

    def run_to_end(*args: object, **how: Any) -> subprocess.CompletedProcess[str]:
        process = start(*args, **how)
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run_to_end
