"""Prints docs/commands.md anew: what stands above the marker is kept, the rest is the program's own help.

python docs/generate_commands.py > commands.new && mv commands.new docs/commands.md
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from agentctl.app import VERBS

PAGE = Path(__file__).with_name("commands.md")
MARKER = "<!-- From here on written by docs/generate_commands.py -->\n"
# The first of the options that every command has; they stand last in every help text.
FIRST_COMMON = "  --store DIR"


def main() -> None:
    """Write the whole page to standard output."""
    kept = PAGE.read_text(encoding="utf-8").partition(MARKER)[0]
    own, common = divided(helped())
    sections = ["## agentctl", fenced(own), *(section(verb) for verb in VERBS)]
    sections += ["## Options of every command", "They may also stand before the command.", fenced(common)]
    sys.stdout.write(kept + MARKER + "\n" + "\n\n".join(sections) + "\n")


def section(verb: str) -> str:
    """The help of one command, without the options that every command has."""
    return f"## agentctl {verb}\n\n{fenced(divided(helped(verb))[0])}"


def helped(*verb: str) -> str:
    """What `--help` says on a terminal of 80 columns."""
    command = (sys.executable, "-m", "agentctl", *verb, "--help")
    environment = {**os.environ, "COLUMNS": "80"}
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return shown.stdout


def divided(text: str) -> tuple[str, str]:
    """A help text in two: what is the command's own, and the options that every command has."""
    lines = text.rstrip("\n").split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith(FIRST_COMMON))
    after = next((number for number in range(first, len(lines)) if not lines[number]), len(lines))
    own = "\n".join(lines[:first] + lines[after:]).removesuffix("\nOptions:").rstrip()
    return own, "\n".join(lines[first:after])


def fenced(text: str) -> str:
    """The text as a block."""
    return f"```text\n{text}\n```"


if __name__ == "__main__":
    main()
