"""Tools for the agents of the tests, as source text: each stands for one kind of tool.

Sources are joined with `+`; `Project.agent` puts the prelude before them, so they need no imports.
"""

from __future__ import annotations

from pathlib import Path

_PRELUDE = '''\
import asyncio
import json
import os
import sys
import time
from pathlib import Path

from pydantic import BaseModel

from agentctl import ToolContext, tool

_PROJECT = Path({project!r})


def fx(ctx, /, **args):
    """Append one line to fx.log, in one durable write: this call was really executed."""
    tool = sys._getframe(1).f_code.co_name
    entry = {{"tool": tool, "call": getattr(ctx, "tool_call_id", ctx), "args": args}}
    log = os.open(_PROJECT / "fx.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(log, (json.dumps(entry) + "\\n").encode())
        os.fsync(log)
    finally:
        os.close(log)


def at(name):
    """Tell the test that the tool is here."""
    (_PROJECT / name).touch()


def hold(name, seconds=30):
    """Wait until the test touches `name`."""
    end = time.monotonic() + seconds
    while not (_PROJECT / name).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"nobody touched {{name}}")
        time.sleep(0.01)


async def ahold(name, seconds=30):
    """As `hold`, and can be cancelled."""
    end = time.monotonic() + seconds
    while not (_PROJECT / name).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"nobody touched {{name}}")
        await asyncio.sleep(0.01)
'''


def prelude(project: Path) -> str:
    """What every tool source starts with: imports, and `fx`, `at`, `hold`, `ahold` bound to the project.

    The folder is written into the source, so that it holds whatever environment a process has.
    """
    return _PRELUDE.format(project=str(project))


DELETE_FREE = '''

@tool
def delete_record(ctx: ToolContext, id: str) -> str:
    """Delete a record by ID."""
    fx(ctx, id=id)
    return f"Record {id} deleted"
'''

DELETE = DELETE_FREE.replace("@tool", "@tool(require_approval=True)")

READ = '''

@tool
def read_record(ctx: ToolContext, id: str) -> dict[str, str]:
    """Read a record by ID."""
    fx(ctx, id=id)
    return {"id": id, "name": "Ada"}
'''

REFUND = '''

def is_large(call):
    return call.args["amount"] > 100


@tool(require_approval=is_large)
def refund(ctx: ToolContext, order: str, amount: float) -> str:
    """Refund an amount for an order."""
    fx(ctx, order=order, amount=amount)
    return f"Refunded {amount:g} for {order}"
'''

WEATHER = '''

class Question(BaseModel):
    question: str


class City(BaseModel):
    city: str


class Weather(BaseModel):
    city: str
    celsius: int


@tool
async def get_weather(ctx: ToolContext[Question, City], city: str | None = None) -> Weather:
    """Weather for a city."""
    if city is None and not ctx.resumed:
        return ctx.suspend(Question(question="Which city?"))
    city = city or ctx.resume_data.city
    fx(ctx, city=city)
    return Weather(city=city, celsius=21)
'''

WIZARD = '''

@tool
def order_shirt(ctx: ToolContext) -> str:
    """Order a shirt, asking for its size and then for its colour."""
    if not ctx.resumed:
        return ctx.suspend({"question": "Which size?"})
    asked = ctx.suspend_payload
    if "size" not in asked:
        return ctx.suspend({"question": f"Which colour for {ctx.resume_data}?", "size": ctx.resume_data})
    fx(ctx, size=asked["size"], colour=ctx.resume_data, asked=asked["question"])
    return f"Ordered {asked['size']} {ctx.resume_data}"
'''

ASK = '''

@tool
def ask(ctx: ToolContext, question: str) -> dict:
    """Ask the user anything; any JSON is an answer."""
    if not ctx.resumed:
        return ctx.suspend({"question": question})
    fx(ctx, answer=ctx.resume_data)
    return {"answer": ctx.resume_data}
'''

CONFIRM = '''

class Confirm(BaseModel):
    confirmed: bool


@tool
def wipe(ctx: ToolContext[dict[str, str], Confirm], disk: str) -> str:
    """Wipe a disk once it is confirmed."""
    if not ctx.resumed:
        return ctx.suspend({"question": f"Really wipe {disk}?"})
    if not ctx.resume_data.confirmed:
        return "Not wiped"
    fx(ctx, disk=disk)
    return f"Wiped {disk}"
'''

GATED_ASK = '''

@tool(require_approval=True)
def deploy(ctx: ToolContext, target: str) -> str:
    """Deploy to a target, in a window that the user names."""
    if not ctx.resumed:
        return ctx.suspend({"question": "Which window?"})
    fx(ctx, target=target, window=ctx.resume_data)
    return f"Deployed {target} in {ctx.resume_data}"
'''

FAIL = '''

@tool
def fail(ctx: ToolContext, why: str) -> str:
    """Fail, and say why."""
    fx(ctx, why=why)
    raise ValueError(why)
'''

# The slow tools say that they started, then wait for the test: a kill lands between start and result.
SLOW = '''

@tool
def slow(ctx: ToolContext, name: str) -> str:
    """Take as long as the test wants."""
    fx(ctx, name=name)
    at(f"{name}.started")
    hold(f"{name}.go")
    return f"slow {name} done"
'''

SLOW_GATED = SLOW.replace("@tool", "@tool(require_approval=True)").replace("def slow", "def gated_slow")

SLOW_IDEMPOTENT = SLOW.replace("@tool", "@tool(idempotent=True)").replace("def slow", "def idempotent_slow")

SLOW_ASYNC = SLOW.replace("def slow", "async def async_slow").replace("hold(", "await ahold(")
