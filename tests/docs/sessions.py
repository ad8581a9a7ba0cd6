"""Plays the sessions that the pages show, at a real terminal, and compares what is seen with what is shown.

A `console` block holds commands (`$ `, continued by `> `) and what they show on standard output and
standard error, as a terminal mixes them. What is typed at a prompt stands behind the prompt. All blocks of a
story share one folder, which holds the sample agents, and one shell of 100 columns without colour.

Ids and times differ from run to run. They are compared in one way only: the n-th new id that a command
shows stands for the n-th new one of its kind on the page, here and in every later command; any time equals
any other. All else must be equal to the letter, but for blanks at the ends of lines.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.pages import Block
from support.distribution import CHECKOUT
from support.project import Project
from support.terminal import Terminal

USER = "ada"
COLUMNS = 100

_RUN_ID = re.compile(r"\b01[0-9a-z]{16}\b")
_SUSPENSION_ID = re.compile(r"\b[0-9a-f]{10}(?=(?:[0-9a-f]{54})?\b)")
_REST_OF_ID = re.compile(r"(?<=\b[0-9a-f]{10})[0-9a-f]{54}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d\.\d{3})?Z")
_PROMPT = re.compile(
    r"^(approve\? .* waiting:|reason for the model, or Enter:|answer as JSON, .* waiting:) ?(.*)$",
    re.MULTILINE,
)
_DONE = "\x1e"
# The status of each command is there for the next one to ask for.
_SHELL = r"""exec 3<"$1"
while IFS= read -r -d '' command <&3; do
    (exit "$status"); eval "$command" 3<&-; status=$?; printf '\036'
done"""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a session, and what the page shows of it."""

    command: str
    shown: str


def steps_of(block: Block) -> Iterator[Step]:
    """The commands of a console block, in order."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        first, *lines = part.splitlines()
        command = [first]
        while lines and lines[0].startswith("> "):
            command.append(lines.pop(0)[2:])
        yield Step("\n".join(command), "\n".join(lines))


class Names:
    """Which id on the page stands for which id of this run."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def learn(self, shown: str, seen: str) -> None:
        """Pair the ids that are new in both texts, in order of appearance."""
        for kind in (_RUN_ID, _SUSPENSION_ID):
            new_here = [name for name in _once(kind, shown) if name not in self._real]
            new_there = [name for name in _once(kind, seen) if name not in self._real.values()]
            self._real |= dict(zip(new_here, new_there, strict=False))

    def in_this_run(self, text: str) -> str:
        """A text of the page with the ids of this run."""
        return _replaced(text, self._real)

    def on_the_page(self, text: str) -> str:
        """A text of this run with the ids of the page."""
        return _replaced(text, {real: shown for shown, real in self._real.items()})


class Shell:
    """bash at a terminal; it is told one command after the other."""

    def __init__(self, project: Project) -> None:
        pipe = project.root / "home" / "commands"
        os.mkfifo(pipe)
        self._commands = os.open(pipe, os.O_RDWR)
        self._terminal = Terminal(
            ("/bin/bash", "-c", f"status=0; {_SHELL}", "bash", str(pipe)),
            cwd=project.root,
            env=project.environment({"AGENTCTL_USER": USER, "NO_COLOR": "1", "TERM": "xterm-256color"}),
            cols=COLUMNS,
        )

    def play(self, command: str, answers: Iterable[tuple[str, str]]) -> str:
        """Run a command, type the answers at their prompts; everything that the terminal showed."""
        os.write(self._commands, command.encode() + b"\0")
        seen = ""
        for prompt, answer in answers:
            seen += self._terminal.expect(prompt + " ")
            self._terminal.send(answer + "\n")
        return seen + self._terminal.expect(_DONE).removesuffix(_DONE)

    def close(self) -> None:
        """End the shell and whatever it runs."""
        self._terminal.close()
        os.close(self._commands)


@dataclass(frozen=True, slots=True)
class Played:
    """A console block after it was played: `text` is what it should show."""

    block: Block
    text: str

    @property
    def is_true(self) -> bool:
        """Whether the page shows what was seen."""
        return comparable(self.text) == comparable(self.block.text)


def play(story: Iterable[Block], project: Project) -> Iterator[Played]:
    """Play a story from its first block to its last: write its files, run its commands."""
    shutil.copytree(CHECKOUT / "sample-agents", project.root / "sample-agents")
    names, shell = Names(), Shell(project)
    try:
        for block in story:
            if block.file is not None:
                _write(project.root / block.file, block.text)
            elif block.language == "console":
                yield Played(block, "".join(_play(step, shell, names) for step in steps_of(block)))
    finally:
        shell.close()


def comparable(text: str) -> str:
    """A session without what differs from run to run, but for short ids."""
    lines = "\n".join(line.rstrip() for line in text.rstrip().split("\n"))
    return _TIME.sub("<time>", _REST_OF_ID.sub("", lines))


def _play(step: Step, shell: Shell, names: Names) -> str:
    seen = shell.play(names.in_this_run(step.command), _PROMPT.findall(step.shown))
    names.learn(step.shown, seen)
    command = step.command.replace("\n", "\n> ")
    output = "".join(f"{line.rstrip()}\n" for line in names.on_the_page(seen).rstrip("\n").split("\n"))
    return f"$ {command}\n{output if output.strip() else ''}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _once(kind: re.Pattern[str], text: str) -> list[str]:
    return list(dict.fromkeys(kind.findall(text)))


def _replaced(text: str, by: dict[str, str]) -> str:
    for kind in (_RUN_ID, _SUSPENSION_ID):
        text = kind.sub(lambda found: by.get(found[0], found[0]), text)
    return text
