"""Models behind the Chat Completions API, through the official `openai` package.

The package connects, authenticates and retries; the stream is read here as plain data (see
`event_stream.py` and `chat_assembly.py`), because only so a whole answer can be told from half of one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentctl.errors import ModelError
from agentctl.exit_status import ExitStatus
from agentctl.models.chat_assembly import Assembly, StreamError, Unusable
from agentctl.models.event_stream import Event, EventReader
from agentctl.models.messages import Assistant, Message, ToolCall, ToolResult, User
from agentctl.models.protocol import Answer, OnText, Request, ToolSpec
from agentctl.models.provider_errors import one_line, status_in_stream, status_of, words
from agentctl.models.surrogates import without_halves

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_DONE = "[DONE]"
# How much of a body that is no event stream is kept to say what it was.
_HEAD = 16_384
# The end of a body comes with its last event; a server that keeps it open must not hold up the run.
_END_WITHIN = 0.1


class OpenAIChat:
    """One model of one server. Connects at the first request."""

    def __init__(self, name: str, *, base_url: str, key: str, key_env: str) -> None:
        self._name = name
        self._base_url = base_url
        self._key = key
        self._key_env = key_env
        self._client: AsyncOpenAI | None = None

    def __repr__(self) -> str:
        return f"OpenAIChat({self._name!r})"

    async def ask(self, request: Request, on_text: OnText, on_reasoning: OnText) -> Answer:
        """Stream one answer (see `protocol.Model`)."""
        import openai

        assembly = Assembly(on_text, on_reasoning)
        completions = self._connected().chat.completions.with_streaming_response
        try:
            async with completions.create(**self._body(request)) as response:
                done = await self._read(response, assembly)
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        except openai.APITimeoutError:
            raise self._error("did not answer in time") from None
        except openai.OpenAIError as error:
            raise self._unconnected("cannot reach", error.__cause__ or error) from None
        except StreamError as error:
            status = status_in_stream(error.error)
            raise self._error(f"broke off: {words(error.error) or 'an error'}", status=status) from None
        try:
            return assembly.answer(done=done)
        except Unusable as error:
            raise self._error(str(error)) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI, OpenAIError

            try:
                self._client = AsyncOpenAI(api_key=self._key, base_url=self._base_url)
            # What the environment says about proxies and certificates is read here.
            except (OpenAIError, ImportError, ValueError, OSError) as error:
                what = f"cannot be connected: {one_line(str(error))}"
                hint = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
                raise self._error(what, hint, status=ExitStatus.FAILED) from None
        return self._client

    def _body(self, request: Request) -> dict[str, Any]:
        body = {
            **request.parameters,
            "model": self._name,
            "messages": chat_messages(request.instructions, request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        cleaned: dict[str, Any] = without_halves(body)
        return cleaned

    async def _read(self, response: Any, assembly: Assembly) -> bool:
        """Feed the body to `assembly`; whether the server marked its end."""
        reader = EventReader()
        head = b""
        began = False
        async with aclosing(self._pieces(response)) as pieces:
            async for piece in pieces:
                if not began and len(head) < _HEAD:
                    head += piece
                for event in self._events(reader, piece):
                    began = True
                    if event.data.startswith(_DONE):
                        await _drain(pieces)
                        return True
                    self._add(event, assembly)
            for event in self._events(reader, None):
                began = True
                if event.data.startswith(_DONE):
                    return True
                self._add(event, assembly)
        if not began:
            raise self._no_stream(response.headers.get("content-type", ""), head)
        return False

    async def _pieces(self, response: Any) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in response.iter_bytes():
                yield piece
        # Which transport is below, and what it raises, differs between releases of the package.
        except Exception as error:
            raise self._unconnected("lost the connection to", error) from None

    def _events(self, reader: EventReader, piece: bytes | None) -> list[Event]:
        try:
            return reader.finish() if piece is None else reader.feed(piece)
        except UnicodeDecodeError:
            raise self._error("sent text that is not UTF-8") from None

    def _add(self, event: Event, assembly: Assembly) -> None:
        if not event.data.strip():
            return
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError):
            raise self._error("sent an event that is not JSON, or broke off in it") from None
        if event.name == "error":
            raise StreamError(chunk.get("error") or chunk if isinstance(chunk, dict) else chunk)
        if not isinstance(chunk, dict):
            raise self._error("sent an event that is no JSON object")
        assembly.add(chunk)

    def _no_stream(self, content_type: str, head: bytes) -> ModelError:
        if not head.strip():
            return self._error("sent no answer")
        kind = one_line(content_type.partition(";")[0]) or "something else"
        said = words(_json_or_text(head))
        what = f"sent {kind} instead of a stream" + (f": {said}" if said else "")
        return self._error(what, f"is {self._place()} the right base URL?")

    def _refused(self, error: Any) -> ModelError:
        """The error for an HTTP status of 400 or more."""
        code = error.status_code
        said = words(_json_or_text(error.response.content)) or one_line(error.response.reason_phrase)
        hints = []
        if status_of(code) is ExitStatus.AUTH:
            hints = [f"export {self._key_env}=..."]
        elif code == 404:
            hints = [f"is there a model `{self._name}` at {self._place()}? --model names another"]
        return self._error(f"answered {code}: {said}", *hints, status=status_of(code))

    def _unconnected(self, what: str, error: BaseException) -> ModelError:
        said = one_line(str(error)) or type(error).__name__
        return self._error(f"{what} {self._place()}: {said}")

    def _error(self, what: str, *hints: str, status: ExitStatus = ExitStatus.INTERRUPTED) -> ModelError:
        return ModelError(self._without_key(f"`openai/{self._name}` {what}"), *hints, status=status)

    def _without_key(self, text: str) -> str:
        """Providers quote refused keys; short ones are placeholders, and syllables of other words."""
        return text.replace(self._key, "[key]") if len(self._key) >= 8 else text

    def _place(self) -> str:
        parts = urlsplit(self._base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def _json_or_text(body: bytes) -> Any:
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, so that the connection can be used again."""
    import asyncio

    try:
        async with asyncio.timeout(_END_WITHIN):
            async for _ in pieces:
                pass
    # The answer is whole; whether the connection can be kept does not matter to it.
    except (TimeoutError, ModelError):
        return


def chat_messages(instructions: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation as Chat Completions wants it; reasoning stays here, servers refuse it."""
    wire: list[dict[str, Any]] = []
    if instructions:
        wire.append({"role": "system", "content": instructions})
    wire.extend(_wire_message(message) for message in messages)
    return wire


def _wire_message(message: Message) -> dict[str, Any]:
    match message:
        case User(text):
            return {"role": "user", "content": text}
        case ToolResult(call_id, _, content):
            return {"role": "tool", "tool_call_id": call_id, "content": content}
        case Assistant(text, _, calls) if calls:
            wire_calls = [_wire_call(call) for call in calls]
            return {"role": "assistant", "content": text or None, "tool_calls": wire_calls}
        case Assistant(text):
            return {"role": "assistant", "content": text}


def _wire_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if _is_object(call.arguments) else "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": arguments}}


def _is_object(arguments: str) -> bool:
    """Servers were seen to answer 500 for ever to a history with arguments that are no JSON object."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return isinstance(json.loads(arguments, parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.id, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}
