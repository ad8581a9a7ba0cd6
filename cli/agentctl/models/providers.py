"""From what an agent file or `--model` says to a model that can be asked. Adapters load when opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from agentctl.errors import ModelError, UsageError
from agentctl.exit_status import ExitStatus
from agentctl.models.protocol import Model

PROVIDERS = ("openai", "scripted")
OPENAI_BASE_URL = "https://api.openai.com/v1"
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))
# Local servers want some key but look at none.
_NO_KEY = "none"
_EXAMPLE = "for example `openai/gpt-5-mini` or `scripted/demo.yaml`"


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model as the user names it; `api_key_env` is the environment variable that holds the key."""

    provider: str
    name: str
    base_url: str | None = None
    api_key_env: str | None = None
    api: Literal["chat"] = "chat"

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


def parse_model(text: str) -> ModelRef:
    """The model that `provider/name` names; the name may hold slashes. Raises `UsageError`."""
    provider, slash, name = text.partition("/")
    if not slash:
        hint = f"write `openai/{text}`" if text.strip() and text not in PROVIDERS else _EXAMPLE
        raise UsageError(f"`{text}` is no model: it must be provider/name", hint)
    ref = ModelRef(provider, name)
    check_model(ref)
    return ref


def check_model(ref: ModelRef) -> None:
    """Raise `UsageError` for a model that could never be opened."""
    if ref.provider not in PROVIDERS:
        raise UsageError(f"there is no provider `{ref.provider}`", *_suggestions(ref))
    if not ref.name or ref.name != ref.name.strip() or not ref.name.isprintable():
        raise UsageError(f"`{ref}` is no model: the name is missing or holds spaces at its ends", _EXAMPLE)
    if ref.provider == "scripted" and (ref.base_url or ref.api_key_env):
        raise UsageError("a scripted model has no `base_url` and no `api_key_env`")
    if ref.base_url is not None:
        _check_url(ref.base_url, "base_url")


def open_model(ref: ModelRef, folder: Path, environ: Mapping[str, str]) -> Model:
    """The model, ready to be asked. `folder` is the agent's, where scripts lie.

    Raises `UsageError`, `DefinitionError` for a script that cannot be used, and `ModelError` for a
    missing key.
    """
    check_model(ref)
    if ref.provider == "scripted":
        from agentctl.models.scripted import open_scripted

        return open_scripted(ref.name, folder)
    from agentctl.models.openai_chat import OpenAIChat

    base_url = ref.base_url or environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_BASE_URL
    _check_url(base_url, "OPENAI_BASE_URL")
    key_env = ref.api_key_env or "OPENAI_API_KEY"
    return OpenAIChat(ref.name, base_url=base_url, key=_key(ref, key_env, base_url, environ), key_env=key_env)


def _key(ref: ModelRef, key_env: str, base_url: str, environ: Mapping[str, str]) -> str:
    key = environ.get(key_env, "").strip()
    hint = f"export {key_env}=..."
    if not key:
        if urlsplit(base_url).hostname in _LOCAL:
            return _NO_KEY
        raise ModelError(f"no key for `{ref}`: {key_env} is not set", hint, status=ExitStatus.AUTH)
    # Such a key cannot be sent, and the transport would quote it in its complaint.
    if not (key.isascii() and key.isprintable()):
        raise ModelError(
            f"the key in {key_env} holds characters that no key has", hint, status=ExitStatus.AUTH
        )
    return key


def _check_url(url: str, what: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise UsageError(f"{what} is no web address", "for example http://127.0.0.1:8080/v1")


def _suggestions(ref: ModelRef) -> list[str]:
    from difflib import get_close_matches

    close = get_close_matches(ref.provider.lower(), PROVIDERS, 1)
    if close:
        return [f"did you mean `{close[0]}/{ref.name}`?"]
    return [
        "providers: " + ", ".join(PROVIDERS),
        "servers that speak the OpenAI API: `provider: openai` with `base_url`",
    ]
