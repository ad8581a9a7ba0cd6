"""What the author of a tool imports: `tool` and `ToolContext`. Nothing is loaded before it is used."""

from __future__ import annotations

# Type checkers take this name for `typing.TYPE_CHECKING`, whose module need not be imported then.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentctl.tools.context import ToolContext
    from agentctl.tools.decorator import tool

__version__ = "0.1.0"
__all__ = ["ToolContext", "__version__", "tool"]


def __getattr__(name: str) -> object:
    value: object
    if name == "tool":
        from agentctl.tools.decorator import tool as value
    elif name == "ToolContext":
        from agentctl.tools.context import ToolContext as value
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
