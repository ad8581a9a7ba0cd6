"""What a tool is for the rest of the program: its definition, and the one way to execute it.

Knows nothing of Python functions, commands or pydantic; each kind of tool implements `Tool`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentctl_store.canonical import digest

if TYPE_CHECKING:
    from agentctl.tools.policy import Policy


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The tool gave a result; `value` is plain JSON."""

    value: Any


@dataclass(frozen=True, slots=True)
class Suspended:
    """The tool asks a human; `payload` is plain JSON."""

    payload: Any


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A tool error; `error` is text for the model."""

    error: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The tool was started and what became of it is not known: the call will be in doubt."""

    reason: str


Outcome = Succeeded | Suspended | FailedCall | Unknown


@dataclass(frozen=True, slots=True)
class CallInfo:
    """Everything that one execution of a tool may know. `emit` takes text while the tool runs."""

    run_id: str
    tool_call_id: str
    idempotency_key: str
    resumed: bool
    resume_data: Any
    suspend_payload: Any
    request_context: Mapping[str, Any]
    workspace: str
    thread: str | None
    resource: str | None
    emit: Callable[[str], None]


class Tool(Protocol):
    """Something that the model may call. A schema of `None` means any JSON."""

    @property
    def id(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def output_schema(self) -> dict[str, Any] | None: ...
    @property
    def suspend_schema(self) -> dict[str, Any] | None: ...
    @property
    def resume_schema(self) -> dict[str, Any] | None: ...
    @property
    def require_approval(self) -> bool | Policy: ...
    @property
    def idempotent(self) -> bool: ...

    @property
    def timeout(self) -> float | None:
        """Seconds that one execution may take."""
        ...

    @property
    def is_async(self) -> bool:
        """Whether cancelling `execute` stops the tool. A tool in a thread cannot be stopped."""
        ...

    @property
    def parts(self) -> Mapping[str, str]:
        """Names of the parts of the definition, each with a digest of 16 hex digits."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 over the parts: what a human reviewed is this definition and no other."""
        ...

    def check_args(self, args: dict[str, Any]) -> None:
        """Raise `agentctl.models.arguments.InvalidArguments`, written for the model, naming the fields."""
        ...

    def check_resume_data(self, data: Any) -> None:
        """Raise `agentctl.errors.UsageError`, naming the field, for an answer that breaks the schema."""
        ...

    async def execute(self, args: dict[str, Any], call: CallInfo) -> Outcome:
        """Run the tool once. Whatever its code does becomes an outcome, except cancellation."""
        ...


def digest_parts(definition: Mapping[str, Any]) -> dict[str, str]:
    """The `parts` of a definition whose values are plain JSON."""
    return {name: digest(value)[:16] for name, value in definition.items()}


def changed_parts(frozen: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What differs between two definitions of a tool, for people: `its source`, `its input schema`."""
    names = [*frozen, *(name for name in now if name not in frozen)]
    return [
        f"its {_READABLE.get(name, name.replace('_', ' '))}"
        for name in names
        if frozen.get(name) != now.get(name)
    ]


_READABLE = {"require_approval": "approval rule", "idempotent": "idempotent flag"}
