"""Customer records in `records.json` of the workspace; until the first change, those beside this file."""

import json
import threading
from pathlib import Path

from pydantic import BaseModel

from agentctl import ToolContext, tool

SEED = Path(__file__).with_name("records.json")

# Calls of one step run at the same time; each must see what the other has written.
changing = threading.Lock()


class Record(BaseModel):
    id: str
    name: str
    email: str


class Deleted(BaseModel):
    deleted: Record
    remaining: int


@tool
def list_records(ctx: ToolContext) -> list[Record]:
    """All customer records."""
    return read(Path(ctx.workspace))


@tool
def find_record(ctx: ToolContext, id: str) -> Record:
    """One record by its ID."""
    return pick(read(Path(ctx.workspace)), id)


@tool(require_approval=True)
def delete_record(ctx: ToolContext, id: str) -> Deleted:
    """Delete a record by ID."""
    with changing:
        records = read(Path(ctx.workspace))
        record = pick(records, id)
        records.remove(record)
        write(Path(ctx.workspace), records)
    return Deleted(deleted=record, remaining=len(records))


def read(workspace: Path) -> list[Record]:
    own = workspace / "records.json"
    source = own if own.exists() else SEED
    return [Record(**entry) for entry in json.loads(source.read_text(encoding="utf-8"))]


def write(workspace: Path, records: list[Record]) -> None:
    text = json.dumps([record.model_dump() for record in records], indent=2, ensure_ascii=False)
    new = workspace / "records.json.new"
    new.write_text(text + "\n", encoding="utf-8")
    new.replace(workspace / "records.json")


def pick(records: list[Record], id: str) -> Record:
    for record in records:
        if record.id == id:
            return record
    raise LookupError(f"there is no record {id}")
