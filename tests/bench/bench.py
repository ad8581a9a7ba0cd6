"""What commands cost: whole processes, their CPU, as ratios to something bare measured in the same run.

    make bench

Machines are noisy and differ, ratios less so: each figure is the median over several rounds in which
the two processes take turns. The last column is the bound that the project holds itself to; the
status is 1 where one is exceeded.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.model_server import serve, text_stream  # noqa: E402
from support.stores import fill, suspended_conversation  # noqa: E402

PYTHON = sys.executable
AGENTCTL = str(Path(sys.executable).parent / "agentctl")
RECORDS = HERE.parent.parent / "sample-agents" / "records"
PROMPT = "Delete record abc-123"
ROUNDS = 9


@dataclass(frozen=True)
class Figure:
    """One line of the report: what, how much, and how much it may be."""

    what: str
    value: float
    bound: float
    unit: str = "x"

    def __str__(self) -> str:
        verdict = "ok" if self.value <= self.bound else "OVER"
        return (
            f"{self.what:<66} {self.value:9,.2f}{self.unit:<3} at most {self.bound:,g}{self.unit}  {verdict}"
        )


def main() -> int:
    """Measure, print one line a figure, and say whether all are within bounds."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for measure in (start_up, one_run, listing, bytes_read, snapshot_size, streaming):
            scratch = Path(folder) / measure.__name__
            scratch.mkdir()
            for figure in measure(scratch):
                print(figure, flush=True)
                figures.append(figure)
    return 1 if any(figure.value > figure.bound for figure in figures) else 0


def start_up(scratch: Path) -> Iterator[Figure]:
    bare = [PYTHON, "-c", "pass"]
    yield Figure("agentctl --version / python -c pass", ratio([AGENTCTL, "--version"], bare, scratch), 8)
    yield Figure(
        "agentctl pending, empty store / python -c pass", ratio([AGENTCTL, "pending"], bare, scratch), 8
    )


def one_run(scratch: Path) -> Iterator[Figure]:
    bare = [PYTHON, "-c", "pass"]
    run = [AGENTCTL, "run", str(RECORDS), PROMPT, "--model", "scripted/demo.yaml"]
    yield Figure("run to suspension / python -c pass", ratio(run, bare, scratch, status=8), 30)
    waiting = json.loads(output([AGENTCTL, "pending", "--json"], scratch))
    ids = iter([each["id"] for each in waiting])
    approve = ratio(lambda: [AGENTCTL, "approve", next(ids)], bare, scratch)
    yield Figure("approve to the end / python -c pass", approve, 30)


FIRST_LINES = """
import sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).glob("*/snapshot.json")):
    with path.open() as file:
        file.readline()
"""


def listing(scratch: Path) -> Iterator[Figure]:
    fill(scratch / ".runs", runs=1000, size=60_000)
    bare = [PYTHON, "-c", FIRST_LINES, str(scratch / ".runs" / "active")]
    yield Figure(
        "pending, 1,000 runs of 60 KB / reading first lines", ratio([AGENTCTL, "pending"], bare, scratch), 4
    )


COUNT_BYTES = """
import sys
from agentctl.__main__ import main
sys.argv = ["agentctl", "pending"]
try:
    main()
finally:
    with open("/proc/self/io") as counts, open("read", "w") as told:
        told.write(counts.readline().split()[1])
"""


def bytes_read(scratch: Path) -> Iterator[Figure]:
    if not Path("/proc/self/io").exists():
        print("bytes read by pending: not measured, there is no /proc/self/io")
        return

    def read() -> int:
        output([PYTHON, "-c", COUNT_BYTES], scratch)
        return int((scratch / "read").read_text())

    few = fill(scratch / ".runs", runs=1, size=60_000)
    before = read()
    fill(scratch / ".runs", runs=10_000, size=60_000)
    each = (read() - before) / 10_000
    yield Figure("pending, 10,000 runs: bytes read of each", each, 8192, " B")
    assert few == 1


def snapshot_size(scratch: Path) -> Iterator[Figure]:
    for turns in (20, 50):
        snapshot, messages = suspended_conversation(scratch / str(turns), turns)
        yield Figure(f"snapshot of {turns} tool turns / its messages as JSON", snapshot / messages, 1.5)


BARE_LOOP = """
import os, openai
client = openai.OpenAI(api_key="none", base_url=os.environ["OPENAI_BASE_URL"])
messages = [{"role": "user", "content": "Tell me"}]
options = {"include_usage": True}
stream = client.chat.completions.create(model="m", messages=messages, stream=True, stream_options=options)
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="", flush=True)
"""
TALKER = "id: talker\nmodel: openai/m\ninstructions: Talk.\n"


def streaming(scratch: Path) -> Iterator[Figure]:
    (scratch / "agent.yaml").write_text(TALKER)
    with serve([text_stream(20_000)] * 100) as server, environment(OPENAI_BASE_URL=server.url):
        run = [AGENTCTL, "run", str(scratch), "Tell me"]
        figure = ratio(run, [PYTHON, "-c", BARE_LOOP], scratch, rounds=5)
    yield Figure("run, 20,000 text deltas / a bare loop over openai", figure, 1.3)


# Measuring

Command = Sequence[str] | Callable[[], Sequence[str]]


def ratio(one: Command, other: Command, folder: Path, *, rounds: int = ROUNDS, status: int = 0) -> float:
    """The CPU of `one` over that of `other`: medians over rounds in which they take turns."""
    ours, bare = [], []
    for round_ in range(rounds + 1):
        spent = cpu(one, folder, status), cpu(other, folder, 0)
        if round_:  # the first warms the caches
            ours.append(spent[0])
            bare.append(spent[1])
    return statistics.median(ours) / statistics.median(bare)


def cpu(command: Command, folder: Path, status: int) -> float:
    """User and system seconds of one process and its children."""
    words = command() if callable(command) else command
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(words)} exited with {done.returncode}:\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def output(command: Sequence[str], folder: Path) -> str:
    """What a command prints."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set variables for the processes that are started meanwhile."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]


if __name__ == "__main__":
    sys.exit(main())
