"""What a tool is told about the call that it executes, and how it asks a human.

Knows neither runs nor schemas: what is asked and emitted goes to two functions that are given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Suspend = TypeVar("Suspend", default=Any)
    Resume = TypeVar("Resume", default=Any)
else:
    from typing import TypeVar

    Suspend = TypeVar("Suspend")
    Resume = TypeVar("Resume")

Anything = TypeVar("Anything")


class ToolContext(Generic[Suspend, Resume]):
    """Give a parameter of a tool this type, by any name, and it gets the context of the call.

    `ToolContext[Suspend, Resume]` names the types of the payload that the tool suspends with and of
    the answer that it gets; a bare `ToolContext` allows any JSON. For unit tests of a tool, make one:
    `ToolContext(resumed=True, resume_data=City(city="Oslo"))`.
    """

    def __init__(
        self,
        *,
        resumed: bool = False,
        resume_data: Resume | None = None,
        suspend_payload: Suspend | None = None,
        request_context: Mapping[str, Any] | None = None,
        workspace: str = ".",
        run_id: str = "",
        tool_call_id: str = "",
        idempotency_key: str = "",
        thread: str | None = None,
        resource: str | None = None,
        on_suspend: Callable[[Suspend], None] | None = None,
        on_emit: Callable[[str], None] | None = None,
    ) -> None:
        self._resumed = resumed
        self._resume_data = resume_data
        self._suspend_payload = suspend_payload
        self._request_context = request_context or {}
        self._workspace = workspace
        self._run_id = run_id
        self._tool_call_id = tool_call_id
        self._idempotency_key = idempotency_key
        self._thread = thread
        self._resource = resource
        self._on_suspend = on_suspend
        self._on_emit = on_emit

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: Any) -> Any:
            """`ToolContext[Question]` is `ToolContext[Question, Any]`, as for type checkers."""
            return super().__class_getitem__(types if isinstance(types, tuple) else (types, Any))

    # For type checkers it returns whatever the tool returns, so that `return ctx.suspend(...)` fits.
    def suspend(self, payload: Suspend) -> Anything:  # type: ignore[type-var]
        """Ask a human, and return: the usual `return ctx.suspend(...)` ends the tool.

        Does not raise. The call is suspended whatever the tool does, returns or raises afterwards;
        when a human has answered, the tool is called again with `resumed` true. The first payload of
        an execution counts. A payload of another type than `Suspend` makes the call a tool error.
        """
        if self._on_suspend is not None:
            self._on_suspend(payload)
        return None  # type: ignore[return-value]

    def emit(self, text: str) -> None:
        """Show progress to whoever watches the run; the model does not see it."""
        if self._on_emit is not None:
            self._on_emit(str(text))

    @property
    def resumed(self) -> bool:
        """Whether a human has answered the question that this call asked."""
        return self._resumed

    @property
    def resume_data(self) -> Resume:
        """The answer; `None` unless `resumed`."""
        return self._resume_data  # type: ignore[return-value]

    @property
    def suspend_payload(self) -> Suspend:
        """What this call last asked; `None` unless `resumed`."""
        return self._suspend_payload  # type: ignore[return-value]

    @property
    def request_context(self) -> Mapping[str, Any]:
        """What `--context` gave to the run."""
        return self._request_context

    @property
    def workspace(self) -> str:
        """The folder that the run works in, as an absolute path."""
        return self._workspace

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._run_id

    @property
    def tool_call_id(self) -> str:
        """The id of the call, unique within the conversation of the agent."""
        return self._tool_call_id

    @property
    def idempotency_key(self) -> str:
        """Stable over all executions of this call: give it to services that ignore repetitions."""
        return self._idempotency_key

    @property
    def thread(self) -> str | None:
        """The conversation that the run belongs to."""
        return self._thread

    @property
    def resource(self) -> str | None:
        """Whose conversation it is."""
        return self._resource
