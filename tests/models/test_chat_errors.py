"""What a provider's refusal means: the exit status, the provider's own words, a hint, and never the key."""

from __future__ import annotations

import socket
import traceback
from pathlib import Path
from typing import Any, Protocol

import pytest

from agentctl.errors import ModelError
from agentctl.models.messages import User
from agentctl.models.protocol import Model, Request
from agentctl.models.provider_errors import MAX_WORDS, words
from agentctl.models.providers import ModelRef, open_model
from support.model_server import ModelServer, Reply, refusal, serve

KEY = "sk-secret-0123456789"


class Ask(Protocol):
    def __call__(self, server: ModelServer) -> Any: ...


class Listen(Protocol):
    def __call__(self, model: Model, request: Request) -> Any: ...


def refused(ask: Ask, reply: Reply) -> ModelError:
    with serve([reply]) as server, pytest.raises(ModelError) as error:
        ask(server)
    assert server.left == 0
    return error.value


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_is_auth(ask: Ask, code: int) -> None:
    error = refused(ask, refusal(code, {"error": {"message": "No."}}))
    assert (error.code, error.message) == ("auth", f"`openai/gpt-x` answered {code}: No.")
    assert error.hints == ("export OPENAI_API_KEY=...",)


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
def test_where_trying_again_may_help_the_run_is_interrupted_after_three_attempts(ask: Ask, code: int) -> None:
    assert refused(ask, refusal(code, {"error": {"message": "Busy."}}, times=3)).code == "interrupted"


def test_a_used_up_quota_is_interrupted(ask: Ask) -> None:
    body = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    error = refused(ask, refusal(429, body, times=3))
    assert (error.code, "You exceeded your quota." in error.message) == ("interrupted", True)


@pytest.mark.parametrize("code", [400, 402, 404, 405, 413, 422])
def test_a_request_that_the_provider_calls_wrong_is_failed(ask: Ask, code: int) -> None:
    error = refused(ask, refusal(code, {"error": {"message": "Wrong."}}))
    assert (error.code, error.ends_run) == ("failed", False)


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b"[]", b"{", b"\xff\xfe"])
def test_a_refusal_without_words_is_told_by_its_status(ask: Ask, body: bytes) -> None:
    assert refused(ask, refusal(400, body)).message.startswith("`openai/gpt-x` answered 400: ")


@pytest.mark.parametrize("code", [401, 500])
def test_a_key_that_the_provider_quotes_is_not_shown(ask: Ask, code: int) -> None:
    error = refused(
        ask, refusal(code, {"error": {"message": f"Wrong key: {KEY}"}}, times=1 if code < 500 else 3)
    )
    assert "Wrong key: [key]" in error.message
    assert KEY not in "".join(traceback.format_exception(error))


def test_a_server_that_is_not_there_interrupts(listen: Listen, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://user:password@127.0.0.1:{port}/v1"
    model = open_model(ModelRef("openai", "gpt-x", url), tmp_path, {})
    with pytest.raises(ModelError) as error:
        listen(model, Request("", [User("Hi")], [], 1))
    assert error.value.code == "interrupted"
    assert error.value.message.startswith(f"`openai/gpt-x` cannot reach http://127.0.0.1:{port}/v1: ")
    assert "password" not in error.value.message


@pytest.mark.parametrize(
    ("variable", "value"), [("ALL_PROXY", "foo://x"), ("SSL_CERT_FILE", "/nowhere/certificates.pem")]
)
def test_an_environment_that_allows_no_connection_is_failed(
    listen: Listen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    model = open_model(ModelRef("openai", "gpt-x", "http://127.0.0.1:9/v1"), tmp_path, {})
    with pytest.raises(ModelError, match="cannot be connected") as error:
        listen(model, Request("", [User("Hi")], [], 1))
    assert error.value.code == "failed"
    assert variable in error.value.hints[0]


def test_the_message_beside_an_error_is_preferred(ask: Ask) -> None:
    body = {"status": 404, "error": "Not Found", "message": "No route for /v1."}
    assert refused(ask, refusal(404, body)).message == "`openai/gpt-x` answered 404: No route for /v1."


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "a"}}, "a"),
        ({"error": "a"}, "a"),
        ({"detail": "a"}, "a"),
        ({"detail": [{"loc": ["body", "x"], "msg": "a"}, {"msg": "b"}]}, "a; b"),
        ({"message": "a", "code": 1}, "a"),
        ({"message": {"detail": "a"}}, "a"),
        ({"errors": [{"message": "a"}]}, "a"),
        ([{"error": {"message": "a"}}], "a"),
        ({"message": "a", "metadata": {"raw": "b", "provider_name": "p"}}, "a (b)"),
        ("a\n  b\tc", "a b c"),
        ("<html><title>502 Bad Gateway</title><body>x</body></html>", "502 Bad Gateway"),
        ("<h1>a</h1> b", "a b"),
        ("a\x1b[31m\u202eb", "a\\x1b[31m\\u202eb"),
        ("x" * 9999, "x" * (MAX_WORDS - 1) + "…"),
        (None, ""),
        (3, ""),
        ({"error": {"message": None, "type": "x"}}, ""),
    ],
)
def test_the_words_of_a_provider_are_found_in_a_body_of_any_shape(body: object, said: str) -> None:
    assert words(body) == said
