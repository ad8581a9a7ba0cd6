"""Stores to measure: filled with suspended runs through the store itself, and one that a real run left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agentctl.runtime import body, records, state, stored, views
from agentctl.runtime.events import Record
from agentctl.runtime.state import Run
from agentctl_store import LocalStore
from agentctl_store.ids import new_run_id
from support.script import call, script_text, turn

AGENTCTL = str(Path(sys.executable).parent / "agentctl")
AT = "2026-01-01T00:00:00.000Z"
DEFINITION = {"digest": "0" * 64, "parts": {"source": "0" * 16}, "idempotent": False, "input_schema": {}}


def fill(folder: Path, *, runs: int, size: int) -> int:
    """Add suspended runs with snapshots of about `size` bytes; how many there are now."""
    store = LocalStore(folder)
    for _ in range(runs):
        run_id = new_run_id(time.time_ns() // 1_000_000, os.urandom)
        first, later = _suspended(run_id, "x" * (size - 2000))
        run = state.begin(run_id, first)
        with store.lease(run_id, 0):
            store.create(
                run_id,
                stored.head(views.run_view(run, "interrupted", 0), []),
                body.encode(run),
                [first.to_json()],
            )
            store.append(run_id, [record.to_json() for record in later])
            stored.save(store, state.fold(run, later))
    return len(store.run_ids())


def _suspended(run_id: str, text: str) -> tuple[Record, list[Record]]:
    """The records of a run that waits for one approval, with a long text in its conversation."""
    options = {
        "agent_file": "a",
        "agent_relative": "a",
        "require_approval": [],
        "context": {},
        "workspace": ".",
    }
    about = {
        "agent": "records",
        "input": "Delete it",
        "thread": None,
        "resource": None,
        "agentctl": "0",
        "schema": 1,
    }
    opening = {**about, "options": options, "max_steps": 10, "model": None, "agent_parts": {}}
    first = Record("start", AT, opening, ("records",))
    run = state.begin(run_id, first)
    later: list[Record] = []

    def add(kind: str, payload: dict[str, Any]) -> Run:
        later.append(records.of_step(state.fold(run, later), AT, kind, payload))
        return state.fold(run, later)

    asked = {"id": "c1", "tool": "delete_record", "arguments": '{"id": "abc-123"}'}
    add("step-start", {"step": 1})
    usage = records.usage_json(run.usage)
    add(
        "answer",
        {
            "message": {"role": "assistant", "text": text, "calls": [asked]},
            "finish_reason": "tool_calls",
            "usage": usage,
        },
    )
    judged = {
        "tool_call_id": "c1",
        "tool": "delete_record",
        "args": {"id": "abc-123"},
        "verdict": "ask",
        "reason": None,
    }
    now = add("tool-call", {**judged, "definition": DEFINITION})
    later.append(records.approval_question(now, AT, now.root.calls[0]))
    return first, later


TOOLS = '''
from agentctl import tool

@tool
def look_up(order: str) -> dict[str, object]:
    """Look up an order."""
    return {"order": order, "customer": "Ada Lovelace", "total": 129.5, "currency": "EUR", "status": "sent"}

@tool(require_approval=True)
def refund(order: str, amount: float) -> str:
    """Refund an order."""
    return "refunded"
'''


def suspended_conversation(folder: Path, turns: int) -> tuple[int, int]:
    """Run an agent that uses tools `turns` times and waits: bytes of its snapshot, and of its messages."""
    agent = folder / "agent"
    agent.mkdir(parents=True)
    (agent / "tools.py").write_text(TOOLS)
    options = {"max_steps": turns + 2}
    head = {"id": "orders", "instructions": "Help.", "model": "scripted/demo.yaml", "tools": ["tools.py"]}
    (agent / "agent.yaml").write_text(json.dumps({**head, "options": options}))
    steps = [
        turn(call("look_up", f"call_{n:024}", order=f"A-{n:04}"), text=f"Looking up order {n}.")
        for n in range(turns)
    ]
    last = turn(call("refund", "call_last", order="A-0001", amount=129.5), text="One to refund.")
    (agent / "demo.yaml").write_text(script_text([*steps, last]))
    done = subprocess.run(
        [AGENTCTL, "run", str(agent), "Check the orders"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 8, done.stderr
    (snapshot,) = (folder / ".runs" / "active").glob("*/snapshot.json")
    messages = json.loads(snapshot.read_bytes())["body"]["root"]["messages"]
    return snapshot.stat().st_size, len(json.dumps(messages, ensure_ascii=False).encode())
