"""A tool that is a Python function: built from its type hints and options, executed as one call.

Knows neither files nor agents; `loading.py` finds the functions.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from agentctl.errors import DefinitionError, UsageError
from agentctl.models.arguments import InvalidArguments
from agentctl.tools.context import ToolContext
from agentctl.tools.decorator import Options, check_function, check_id, options_of
from agentctl.tools.duration import readable
from agentctl.tools.execution import Ending, Raised, Returned, TimedOut, finish, run_async, run_in_thread
from agentctl.tools.policy import Policy
from agentctl.tools.shape import AnyShape, Misfit, Shape, described
from agentctl.tools.signature import (
    Hints,
    Mode,
    Signature,
    given,
    given_signature,
    read_hints,
    typed,
    typed_signature,
)
from agentctl.tools.source import location_of, shown_path, source_of
from agentctl.tools.tool import CallInfo, FailedCall, Outcome, Succeeded, Suspended, Unknown, digest_parts
from agentctl_store.canonical import digest as sha256


@dataclass(frozen=True, slots=True)
class PythonTool:
    """A function as the program sees it. `where` is its `file:line`, for messages."""

    id: str
    description: str
    function: Callable[..., Any]
    signature: Signature
    output: Shape
    suspend: Shape
    resume: Shape
    require_approval: bool | Policy
    idempotent: bool
    timeout: float | None
    parts: Mapping[str, str]
    where: str

    @property
    def input_schema(self) -> dict[str, Any]:
        return self.signature.schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        return self.output.schema

    @property
    def suspend_schema(self) -> dict[str, Any] | None:
        return self.suspend.schema

    @property
    def resume_schema(self) -> dict[str, Any] | None:
        return self.resume.schema

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @property
    def digest(self) -> str:
        return sha256(dict(self.parts))

    def check_args(self, args: dict[str, Any]) -> None:
        try:
            self.signature.bind(args, None)
        except Misfit as error:
            raise InvalidArguments(f"Invalid arguments for `{self.id}`: {error}") from error

    def check_resume_data(self, data: Any) -> None:
        try:
            self.resume.check(data)
        except Misfit as error:
            raise UsageError(f"the data does not fit what `{self.id}` asks for: {error}") from error

    async def execute(self, args: dict[str, Any], call: CallInfo) -> Outcome:
        question = _Question(self.suspend)
        try:
            positional, named = self.signature.bind(args, self._context(call, question))
        except Misfit as error:
            return FailedCall(f"The tool did not run: {error}")

        async def in_task() -> Outcome:
            return self._result(await self.function(*positional, **named))

        def in_thread() -> Outcome:
            # Behind a plain decorator an async function is not seen to be one before it is called.
            return self._result(finish(self.function(*positional, **named)))

        try:
            if self.is_async:
                ending = await run_async(in_task, self.timeout)
            else:
                ending = await run_in_thread(in_thread, self.timeout, f"tool {self.id}")
        finally:
            question.close()
        return self._outcome(ending, question)

    def _context(self, call: CallInfo, question: _Question) -> ToolContext[Any, Any]:
        try:
            resume_data = self.resume.read(call.resume_data) if call.resumed else None
        except Misfit as error:
            raise Misfit(f"the answer to its question does not fit: {error}") from error
        return ToolContext(
            resumed=call.resumed,
            resume_data=resume_data,
            suspend_payload=_read_if_it_fits(self.suspend, call.suspend_payload),
            request_context=AnyShape().read(dict(call.request_context)),
            workspace=call.workspace,
            run_id=call.run_id,
            tool_call_id=call.tool_call_id,
            idempotency_key=call.idempotency_key,
            thread=call.thread,
            resource=call.resource,
            on_suspend=question.ask,
            on_emit=lambda text: None if question.closed else call.emit(text),
        )

    def _outcome(self, ending: Ending, question: _Question) -> Outcome:
        limit = readable(self.timeout or 0)
        match ending:
            case TimedOut(stopped=False):
                return Unknown(f"it still ran after {limit}, its timeout")
            case _ if question.asked is not None:
                return question.asked
            case Returned(outcome):
                return cast("Outcome", outcome)
            case Raised(error):
                return FailedCall(described(error))
            case TimedOut():
                return FailedCall(f"timed out after {limit}; whether it took effect is not known")

    def _result(self, value: Any) -> Outcome:
        try:
            return Succeeded(self.output.write(value))
        except Misfit as error:
            return FailedCall(f"The tool ran, but its result cannot be used: {error}")


class _Question:
    """What one execution asks: the first payload counts, and none when the tool has ended."""

    def __init__(self, shape: Shape) -> None:
        self.asked: Suspended | FailedCall | None = None
        self.closed = False
        self._shape = shape
        self._lock = threading.RLock()  # a serializer may suspend too

    def ask(self, payload: Any) -> None:
        with self._lock:
            if self.closed:
                raise RuntimeError("the tool has ended; it can no longer suspend its call")
            if self.asked is None:
                self.asked = self._written(payload)

    def close(self) -> None:
        with self._lock:
            self.closed = True

    def _written(self, payload: Any) -> Suspended | FailedCall:
        try:
            return Suspended(self._shape.write(payload))
        except Misfit as error:
            return FailedCall(f"The tool suspended with a payload that cannot be used: {error}")


def _read_if_it_fits(shape: Shape, payload: Any) -> Any:
    try:
        return shape.read(payload)
    except Misfit:
        return deepcopy(payload)


def python_tool(function: Callable[..., Any], options: Options | None = None) -> PythonTool:
    """The tool that a function is, with the options of its `@tool` unless others are given.

    Raises `DefinitionError`, as `file:line: tool: what`.
    """
    options = options or options_of(function) or Options()
    name = options.id if options.id is not None else inspect.unwrap(function).__name__
    file, line = location_of(function)
    try:
        return _built(function, options, name, f"{shown_path(file)}:{line}")
    except DefinitionError as error:
        raise DefinitionError(
            f"{shown_path(file)}:{line}:1: tool `{name}`: {error.message}", *error.hints
        ) from error


def _built(function: Callable[..., Any], options: Options, name: str, where: str) -> PythonTool:
    check_function(function)
    check_id(name)
    source = source_of(function)
    if source is None:
        raise DefinitionError("its source text cannot be read, so that nobody could see it change")
    hints = read_hints(function)
    signature = _signature(function, hints, options.input_schema)
    output = _shape(
        options.output_schema, hints.result, "serialization", "output_schema", "the type of its result"
    )
    suspend = _shape(
        options.suspend_schema,
        hints.suspend,
        "serialization",
        "suspend_schema",
        "the type that it suspends with",
    )
    resume = _shape(
        options.resume_schema, hints.resume, "validation", "resume_schema", "the type of the answer"
    )
    approval = _approval(options.require_approval)
    described_as = options.description if options.description is not None else _first_paragraph(function)
    definition = {
        "source": source,
        "description": described_as,
        "input_schema": signature.schema,
        "output_schema": output.schema,
        "suspend_schema": suspend.schema,
        "resume_schema": resume.schema,
        "require_approval": approval.definition if isinstance(approval, Policy) else approval,
        "idempotent": options.idempotent,
        "timeout": options.timeout,
    }
    return PythonTool(
        id=name,
        description=described_as,
        function=function,
        signature=signature,
        output=output,
        suspend=suspend,
        resume=resume,
        require_approval=approval,
        idempotent=options.idempotent,
        timeout=options.timeout,
        parts=digest_parts(definition),
        where=where,
    )


def _signature(function: Callable[..., Any], hints: Hints, schema: dict[str, Any] | None) -> Signature:
    if schema is not None:
        return given_signature(function, hints, schema)
    return typed_signature(function, hints)


def _shape(schema: dict[str, Any] | None, hint: Any, mode: Mode, option: str, what: str) -> Shape:
    return given(schema, option) if schema is not None else typed(hint, mode, what)


def _approval(rule: bool | Callable[[Any], Any]) -> bool | Policy:
    if isinstance(rule, bool):
        return rule
    name = getattr(rule, "__qualname__", type(rule).__qualname__)
    return Policy(name, lambda: rule, source_of(rule) or "")


def _first_paragraph(function: Callable[..., Any]) -> str:
    return " ".join(inspect.cleandoc(function.__doc__ or "").strip().split("\n\n")[0].split())
