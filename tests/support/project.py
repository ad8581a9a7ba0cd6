"""A folder with agents in it, and the installed `agentctl` run there in real processes.

    def test_approve_runs_the_call_once(project: Project) -> None:
        deletion = turn(call("delete_record", "c1", id="abc-123"))
        project.agent(tools=DELETE, script=[deletion, say("Done: {result}")])
        project.run("Delete record abc-123", status=8)
        done = project.approve(project.only()["id"], status=0)
        assert project.fx() == [{"tool": "delete_record", "call": "c1", "args": {"id": "abc-123"}}]
        assert done.result["text"] == "Done: Record abc-123 deleted"

Turns are built with `support.script`, tools are taken from `support.tools`. `run` and the deciding commands
add `--json`; `cli` adds nothing. Every command gets a clean environment, no standard input and a session of
its own; a hang or a traceback fails the test.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import pytest

from support.outcome import Outcome
from support.process import PATIENCE, Process
from support.script import script_text, yaml_text
from support.terminal import Terminal
from support.tools import prelude

BIN = Path(sys.executable).parent
AGENTCTL = BIN / "agentctl"

Statuses = int | Collection[int] | None
Environment = Mapping[str, str | None]


class Project:
    """One folder, one store, any number of agents; `root` is the current folder of every command."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = root / ".runs"
        self._agent: Path | None = None
        self._children: list[Process | Terminal] = []
        (root / "home").mkdir(parents=True)

    # Agents

    def agent(
        self,
        id: str = "records",
        *,
        tools: str = "",
        script: Iterable[dict[str, Any]] | None = None,
        instructions: str = "You keep records.",
        model: object = "scripted/demo.yaml",
        files: Mapping[str, str] | None = None,
        yaml: str = "",
        folder: str | None = None,
        **keys: object,
    ) -> Path:
        """Write an agent into a folder and return the folder; the agent is the default of `run`.

        `tools` is the source of its tools.py, `script` the turns of its demo.yaml, `files` are further
        files. `keys` are further keys of agent.yaml (`model=None` leaves the model out), `yaml` is appended
        to it as it is.
        """
        path = self.root / (folder or id)
        path.mkdir(parents=True, exist_ok=True)
        definition: dict[str, object] = {"id": id, "instructions": instructions}
        if model is not None:
            definition["model"] = model
        if tools:
            definition["tools"] = ["tools.py"]
            (path / "tools.py").write_text(prelude(self.root) + tools)
        definition |= keys
        lines = [f"{key}: {yaml_text(value)}\n" for key, value in definition.items()]
        (path / "agent.yaml").write_text("".join(lines) + yaml)
        if script is not None:
            self.script(path, script)
        for name, text in (files or {}).items():
            file = path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self._agent = path
        return path

    def script(self, agent: Path, turns: Iterable[dict[str, Any]]) -> None:
        """Give an agent another script."""
        (agent / "demo.yaml").write_text(script_text(turns))

    def edit(self, file: Path, old: str, new: str) -> None:
        """Replace `old` by `new` in a file that holds it."""
        text = file.read_text()
        assert old in text, f"{file.name} does not hold {old!r}"
        file.write_text(text.replace(old, new))

    # Commands

    def environment(self, extra: Environment | None = None) -> dict[str, str]:
        """The clean environment of a command, with what a test adds or, by None, removes."""
        env: dict[str, str | None] = {
            "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.root / "home"),
            "LANG": "C.UTF-8",
            "TMPDIR": os.environ.get("TMPDIR"),
            "AGENTCTL_USER": "tester",
            "AGENTCTL_STORE": str(self.store) if self.store != self.root / ".runs" else None,
            **(extra or {}),
        }
        return {name: value for name, value in env.items() if value is not None}

    def start(
        self,
        *args: str,
        input: str | bytes | None = None,
        env: Environment | None = None,
        cwd: Path | None = None,
        stdout: int | IO[bytes] | None = None,
    ) -> Process:
        """Start `agentctl` with these arguments beside the test; it is ended with the test."""
        return self._spawn((str(AGENTCTL), *args), input=input, env=env, cwd=cwd, stdout=stdout)

    def cli(
        self,
        *args: str,
        input: str | bytes | None = None,
        env: Environment | None = None,
        cwd: Path | None = None,
        stdout: int | IO[bytes] | None = None,
        timeout: float = PATIENCE,
        status: Statuses = None,
    ) -> Outcome:
        """Run `agentctl` with exactly these arguments to its end; `status` is what it must exit with."""
        return self.start(*args, input=input, env=env, cwd=cwd, stdout=stdout).wait(timeout, status)

    def run(
        self, prompt: str, *options: str, agent: Path | str | None = None, json: bool = True, **how: Any
    ) -> Outcome:
        """`agentctl run`, of the agent written last unless another is named; `how` as in `cli`."""
        named = agent or self._agent
        assert named is not None, "no agent was written"
        return self.cli("run", str(named), prompt, *options, *_json(json), **how)

    def approve(self, *args: str, json: bool = True, **how: Any) -> Outcome:
        """`agentctl approve`; `how` as in `cli`, here and in the four that follow."""
        return self.cli("approve", *args, *_json(json), **how)

    def decline(self, *args: str, json: bool = True, **how: Any) -> Outcome:
        return self.cli("decline", *args, *_json(json), **how)

    def resume(self, *args: str, json: bool = True, **how: Any) -> Outcome:
        return self.cli("resume", *args, *_json(json), **how)

    def resolve(self, *args: str, json: bool = True, **how: Any) -> Outcome:
        return self.cli("resolve", *args, *_json(json), **how)

    def cancel(self, *args: str, json: bool = True, **how: Any) -> Outcome:
        return self.cli("cancel", *args, *_json(json), **how)

    def race(self, *commands: tuple[str, ...], env: Environment | None = None) -> list[Outcome]:
        """Start all commands at once and wait for all; the outcomes stand in the order of the commands."""
        started = [self.start(*command, env=env) for command in commands]
        return [process.wait() for process in started]

    def bash(
        self,
        script: str,
        *,
        input: str | bytes | None = None,
        env: Environment | None = None,
        timeout: float = PATIENCE,
        status: Statuses = None,
    ) -> Outcome:
        """Run a bash script that finds `agentctl` on its PATH: pipes, loops, redirections."""
        return self._spawn(("bash", "-c", script), input=input, env=env).wait(timeout, status)

    def terminal(
        self,
        *args: str,
        cols: int = 100,
        rows: int = 30,
        env: Environment | None = None,
        cwd: Path | None = None,
    ) -> Terminal:
        """Run `agentctl` with these arguments at a terminal of this size."""
        environment = self.environment({"TERM": "xterm-256color", **(env or {})})
        command = (str(AGENTCTL), *args)
        terminal = Terminal(command, cwd=cwd or self.root, env=environment, cols=cols, rows=rows)
        self._children.append(terminal)
        return terminal

    # What stands in the store

    def pending(self, *options: str) -> list[dict[str, Any]]:
        """All suspensions, oldest first."""
        return _list(self.cli("pending", "--json", *options, status=0))

    def only(self) -> dict[str, Any]:
        """The one suspension that waits."""
        waiting = self.pending()
        assert len(waiting) == 1, f"{len(waiting)} suspensions wait instead of one: {waiting}"
        return waiting[0]

    def runs(self, *options: str) -> list[dict[str, Any]]:
        """All runs, newest first."""
        return _list(self.cli("runs", "--json", *options, status=0))

    def the_run(self) -> dict[str, Any]:
        """The one run of the store."""
        runs = self.runs()
        assert len(runs) == 1, f"{len(runs)} runs instead of one: {runs}"
        return runs[0]

    def show(self, ref: str) -> dict[str, Any]:
        """One run or suspension, whole."""
        shown = self.cli("show", ref, "--json", status=0).json
        assert isinstance(shown, dict)
        return shown

    def folder_of(self, run_id: str) -> Path:
        """The folder of a run in the store, live or finished."""
        folders = [self.store / "active" / run_id, self.store / "finished" / run_id]
        found = [folder for folder in folders if folder.exists()]
        assert len(found) == 1, f"{run_id} has {len(found)} folders in the store"
        return found[0]

    def snapshot(self, run_id: str) -> Path:
        """Where the snapshot of a run is, or would be."""
        return self.folder_of(run_id) / "snapshot.json"

    def journal(self, run_id: str) -> list[dict[str, Any]]:
        """The records of a run as they are on disk."""
        text = (self.folder_of(run_id) / "journal.jsonl").read_bytes()
        return [json.loads(line) for line in text.splitlines()]

    # What tools and tests tell each other

    def fx(self) -> list[dict[str, Any]]:
        """What really was executed, in order: `{"tool", "call", "args"}`."""
        log = self.root / "fx.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def fx_calls(self) -> list[str]:
        """The ids of the calls that really were executed, in order."""
        return [entry["call"] for entry in self.fx()]

    def touch(self, name: str) -> None:
        """Let a tool go on that holds for `name`."""
        (self.root / name).touch()

    def wait_for(self, name: str, timeout: float = 30) -> Path:
        """Wait until a tool says that it is at `name`."""
        path = self.root / name
        end = time.monotonic() + timeout
        while not path.exists():
            if time.monotonic() > end:
                said = "\n".join(each.stderr_so_far for each in self._children if isinstance(each, Process))
                pytest.fail(f"no {name} after {timeout} s; the processes said:\n{said}")
            time.sleep(0.01)
        return path

    def close(self) -> None:
        """End every process that a test left behind."""
        for child in self._children:
            child.close()

    def _spawn(
        self,
        args: tuple[str, ...],
        *,
        input: str | bytes | None = None,
        env: Environment | None = None,
        cwd: Path | None = None,
        stdout: int | IO[bytes] | None = None,
    ) -> Process:
        environment = self.environment(env)
        process = Process(args, cwd=cwd or self.root, env=environment, input=input, stdout=stdout)
        self._children.append(process)
        return process


def _json(wanted: bool) -> tuple[str, ...]:
    return ("--json",) if wanted else ()


def _list(outcome: Outcome) -> list[dict[str, Any]]:
    rows = outcome.json
    assert isinstance(rows, list)
    return rows
