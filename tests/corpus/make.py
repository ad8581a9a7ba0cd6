"""Makes the store that later versions must still read: `python tests/corpus/make.py format-N.tar.gz`.

Run once for each released format, on a machine whose paths may be published. The archive is committed
and never made again: that it stays as it was written is what it is for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

AGENTCTL = str(Path(sys.executable).parent / "agentctl")
SAMPLES = Path(__file__).resolve().parent.parent.parent / "sample-agents"
PLACE = Path("/srv/shop")

SLOW = '''
import os, time
from agentctl import tool

@tool
def pay(order: str) -> str:
    """Pay an order."""
    open("paying", "w").close()
    time.sleep(60)
    return "paid"
'''
AGENT = "id: payer\nmodel: scripted/demo.yaml\ninstructions: Pay.\ntools: [tools.py]\n"
SCRIPT = "turns:\n  - tool_calls: [{id: c1, name: pay, args: {order: A-1}}]\n  - text: done\n"


def agentctl(*words: str, status: int) -> None:
    """Run one command in the place, as the user `ada`."""
    environ = {"PATH": os.environ["PATH"], "AGENTCTL_USER": "ada", "HOME": "/srv"}
    done = subprocess.run([AGENTCTL, *words], cwd=PLACE, env=environ, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != status:
        raise SystemExit(f"{words} exited with {done.returncode}")


def main(archive: str) -> None:
    """One run of every kind, then everything packed."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(SAMPLES, PLACE / "agents")
    payer = PLACE / "agents" / "payer"
    payer.mkdir()
    for name, text in {"tools.py": SLOW, "agent.yaml": AGENT, "demo.yaml": SCRIPT}.items():
        (payer / name).write_text(text)
    script = ("--model", "scripted/demo.yaml")
    agentctl("run", "agents/refunds", "Refund", *script, "--run-id", "approval", status=8)
    agentctl("run", "agents/weather", "Weather?", *script, "--run-id", "question", status=8)
    agentctl("run", "agents/records", "Delete record abc-123", *script, "--run-id", "decided", status=8)
    agentctl("approve", "decided", "--no-drive", status=0)
    agentctl("run", "agents/records", "Delete record abc-123", *script, "--run-id", "completed", status=8)
    agentctl("decline", "completed", "--reason", "keep it", status=0)
    agentctl("run", "agents/records", "Delete record abc-123", *script, "--run-id", "cancelled", status=8)
    agentctl("cancel", "cancelled", status=0)
    once = ("--max-steps", "1")
    agentctl("run", "agents/weather", "Weather?", *script, *once, "--run-id", "interrupted", status=8)
    agentctl("resume", "interrupted", "--data", '{"city": "Oslo"}', status=9)
    killed = subprocess.Popen(
        [AGENTCTL, "run", "agents/payer", "Pay", "--run-id", "in-doubt"], cwd=PLACE, stdin=subprocess.DEVNULL
    )
    while not (PLACE / "paying").exists():
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(PLACE / ".runs", ".runs")
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main(sys.argv[1])
