"""A local server that speaks Chat Completions: it plays one reply for each request and checks the requests.

    with serve([recording, text_stream(100)]) as server:
        project.run("Hello", env={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"})
    assert server.problems == []

A request that a strict provider would refuse is answered with 400 and noted in `problems`. As a program:

    python model_server.py PORTFILE [--requests FILE] REPLY...

writes its port to PORTFILE when it listens, and runs until it is killed. A REPLY is the file of a recorded
stream or error body, or `text:N` for a generated answer of N pieces; options follow it after `@`:
`errors/401-x.json`, `busy.json@status=429@times=3`, `answer.sse@cut=800`, `answer.sse@end=800`, `text:20000`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.chat_requests import problems_of

EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer over HTTP.

    `cut` breaks the connection after that many bytes, `end` ends the body there as if it were whole, `hang`
    keeps the connection open after it; `piece` is the number of bytes that are sent at a time, `wait` the
    seconds before the first; `times` is how many requests get this reply.
    """

    body: bytes
    status: int = 200
    content_type: str = EVENT_STREAM
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    end: int | None = None
    hang: bool = False
    piece: int = 1 << 16
    wait: float = 0
    times: int = 1


def recorded(file: Path, *, piece: int = 1 << 16, times: int = 1) -> Reply:
    """The recorded stream in `file`, or the error body; the name of the latter begins with its status."""
    if file.suffix == ".sse":
        return Reply(file.read_bytes(), piece=piece, times=times)
    found = re.match(r"([45][0-9]{2})-", file.name)
    return refusal(int(found[1]) if found else 500, file.read_bytes(), times=times)


def refusal(status: int, body: object = None, *, times: int = 1) -> Reply:
    """An HTTP error; clients that try again are told to do it at once."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(raw, status, "application/json", {"retry-after-ms": "1"}, times=times)


def stream(*chunks: object, done: bool = True) -> Reply:
    """A stream of these chunks."""
    events = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"] * done
    return Reply("".join(f"data: {event}\n\n" for event in events).encode())


def chunk(delta: object = None, finish_reason: str | None = None, **more: object) -> dict[str, Any]:
    """One chunk with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **more}


def answer(text: str = "", *calls: tuple[str, str, dict[str, Any]]) -> Reply:
    """A whole answer: text, and calls as (id, name, arguments)."""
    chunks = [chunk({"role": "assistant", "content": text or None})]
    for index, (call_id, name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": index, "id": call_id, "type": "function", "function": function}
        chunks.append(chunk({"tool_calls": [call]}))
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    return stream(*chunks, chunk({}, "tool_calls" if calls else "stop"), {"choices": [], "usage": usage})


def text_stream(pieces: int, text: str = "word ") -> Reply:
    """An answer of `pieces` text deltas."""
    return stream(*[chunk({"content": text})] * pieces, chunk({}, "stop"))


class ModelServer:
    """The server while it runs; `requests` are the bodies it got, `problems` what was wrong with them."""

    def __init__(self, replies: Iterable[Reply], requests_file: Path | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.keys: list[str] = []
        self.connections = 0
        self.hung_up = threading.Event()
        self._requests_file = requests_file
        self._replies = deque(reply for each in replies for reply in [each] * each.times)
        self._lock = threading.Lock()
        self._http = _Http(self)

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        """The base URL to give to clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def left(self) -> int:
        """How many replies were not asked for."""
        return len(self._replies)

    def add(self, *replies: Reply) -> None:
        """Play these too, after the others."""
        with self._lock:
            self._replies.extend(reply for each in replies for reply in [each] * each.times)

    def reply_to(self, raw: bytes, key: str) -> Reply:
        """Take one request and give what it is answered with."""
        try:
            request = json.loads(raw.decode())
        except ValueError as error:
            request, problems = {}, [f"the body is not JSON: {error}"]
        else:
            problems = problems_of(request)
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            self.problems.extend(problems)
            if self._requests_file is not None:
                with self._requests_file.open("a") as file:
                    file.write(json.dumps(request) + "\n")
            if problems:
                return refusal(400, {"error": {"message": "; ".join(problems)}})
            if not self._replies:
                return refusal(418, {"error": {"message": "the model server has no reply left"}})
            return self._replies.popleft()

    def run(self) -> None:
        """Answer until `close`."""
        self._http.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serve(replies: Iterable[Reply | Path | bytes]) -> Iterator[ModelServer]:
    """A running server that plays `replies` in order: files of recordings, bodies of streams, or replies."""
    server = ModelServer([_reply(each) for each in replies])
    threading.Thread(target=server.run, daemon=True).start()
    try:
        yield server
    finally:
        server.close()


def _reply(given: Reply | Path | bytes) -> Reply:
    if isinstance(given, Path):
        return recorded(given)
    return Reply(given) if isinstance(given, bytes) else given


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    # Threads of hanging replies must not hold up the end of a test.
    block_on_close = False

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.model.connections += 1

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        key = self.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            self._play(self.server.model.reply_to(raw, key))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            self.server.model.hung_up.set()

    def _play(self, reply: Reply) -> None:
        time.sleep(reply.wait)
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        self.send_header("transfer-encoding", "chunked")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        limit = reply.cut if reply.cut is not None else reply.end
        body = reply.body[:limit]
        for start in range(0, len(body), reply.piece):
            piece = body[start : start + reply.piece]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        if reply.hang:
            self._hang()
        if reply.cut is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _hang(self) -> None:
        """Wait until the client goes; comments are the only way to find out."""
        while True:
            self.wfile.write(b"3\r\n:\n\n\r\n")
            time.sleep(0.02)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are looked at by tests, not by people."""


def parse_reply(text: str) -> Reply:
    """A reply as it is written on the command line."""
    name, *options = text.split("@")
    pieces = re.fullmatch(r"text:([0-9]+)", name)
    reply = text_stream(int(pieces[1])) if pieces else recorded(Path(name))
    for option in options:
        key, _, value = option.partition("=")
        if key not in ("status", "cut", "end", "piece", "times"):
            raise SystemExit(f"unknown option: {option}")
        changed: dict[str, Any] = {key: int(value)}
        reply = replace(reply, **changed)
    return reply


def main(args: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("portfile", type=Path)
    parser.add_argument("replies", nargs="+", type=parse_reply)
    parser.add_argument("--requests", type=Path)
    given = parser.parse_args(args)
    server = ModelServer(given.replies, given.requests)
    temporary = given.portfile.with_suffix(".tmp")
    temporary.write_text(str(server.port))
    temporary.replace(given.portfile)
    server.run()


if __name__ == "__main__":
    main()
