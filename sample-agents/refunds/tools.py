"""Orders and their refunds; refunds are lines in `refunds.jsonl` of the workspace."""

import json
import threading
from pathlib import Path

from pydantic import BaseModel

from agentctl import ToolContext, tool

ORDERS = {
    "A-1001": ("Desk lamp", 39.90),
    "A-1002": ("Coffee grinder", 89.00),
    "A-1003": ("Standing desk", 480.00),
}

# Calls of one step run at the same time; together they must not refund more than was paid.
refunding = threading.Lock()


class Order(BaseModel):
    order: str
    item: str
    paid: float
    refunded: float


class Refund(BaseModel):
    order: str
    amount: float


@tool
def lookup_order(ctx: ToolContext, order: str) -> Order:
    """An order: what was bought, paid, and refunded so far."""
    return find(Path(ctx.workspace), order)


@tool
def refund(ctx: ToolContext, order: str, amount: float) -> Refund:
    """Refund an amount of an order."""
    with refunding:
        if any(entry["key"] == ctx.idempotency_key for entry in refunds(Path(ctx.workspace))):
            return Refund(order=order, amount=amount)  # an earlier try of this call did it
        found = find(Path(ctx.workspace), order)
        if not 0 < amount <= found.paid - found.refunded:
            raise ValueError(f"{amount:.2f} cannot be refunded of {found.paid - found.refunded:.2f}")
        entry = {"key": ctx.idempotency_key, "order": order, "amount": amount}
        with (Path(ctx.workspace) / "refunds.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    return Refund(order=order, amount=amount)


def find(workspace: Path, order: str) -> Order:
    if order not in ORDERS:
        raise LookupError(f"there is no order {order}")
    item, paid = ORDERS[order]
    refunded = sum(entry["amount"] for entry in refunds(workspace) if entry["order"] == order)
    return Order(order=order, item=item, paid=paid, refunded=refunded)


def refunds(workspace: Path) -> list[dict]:
    file = workspace / "refunds.jsonl"
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
