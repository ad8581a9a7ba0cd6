"""Who must be asked: nobody for small refunds, a person for large ones."""

LIMIT = 100


def needs_approval(call) -> bool:
    return call.tool == "refund" and call.args["amount"] > LIMIT
