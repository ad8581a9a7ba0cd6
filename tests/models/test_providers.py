"""From the name of a model to a model: what is refused, where the key and the address come from."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import pytest

from agentctl.errors import ModelError, UsageError
from agentctl.models.openai_chat import OpenAIChat
from agentctl.models.providers import ModelRef, check_model, open_model, parse_model
from agentctl.models.scripted import ScriptedModel

KEY = "sk-secret-0123456789"


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("openai/gpt-5-mini", ModelRef("openai", "gpt-5-mini")),
        ("openai/meta/llama-3:70b", ModelRef("openai", "meta/llama-3:70b")),
        ("scripted/demo.yaml", ModelRef("scripted", "demo.yaml")),
        ("scripted//tmp/demo.yaml", ModelRef("scripted", "/tmp/demo.yaml")),
    ],
)
def test_a_model_is_provider_and_name(text: str, ref: ModelRef) -> None:
    assert parse_model(text) == ref
    assert str(ref) == text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("opnai/gpt-5-mini", "did you mean `openai/gpt-5-mini`?"),
        ("OpenAI/gpt-5-mini", "did you mean `openai/gpt-5-mini`?"),
        ("script/demo.yaml", "did you mean `scripted/demo.yaml`?"),
        ("groq/llama", "providers: openai, scripted"),
        ("/x", "providers: openai, scripted"),
        ("gpt-5-mini", "write `openai/gpt-5-mini`"),
        ("openai", "for example `openai/gpt-5-mini`"),
        ("", "for example `openai/gpt-5-mini`"),
        ("openai/", "for example `openai/gpt-5-mini`"),
        ("openai/ x", "for example `openai/gpt-5-mini`"),
        ("openai/x\n", "for example `openai/gpt-5-mini`"),
        ("openai/a\x1b[1mb", "for example `openai/gpt-5-mini`"),
    ],
)
def test_what_is_no_model_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_model(text)
    assert error.value.hints[0].startswith(hint)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080/v1", "ftp://x/v1", "http://", "http://x:99999/", "http://[", "http://a b/", ""]
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="base_url"):
        check_model(ModelRef("openai", "gpt-x", url))


def test_a_script_takes_no_address_and_no_key() -> None:
    with pytest.raises(UsageError, match="scripted"):
        check_model(ModelRef("scripted", "demo.yaml", base_url="http://localhost/v1"))


def test_a_missing_key_is_auth_with_the_line_to_type(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set") as error:
        open_model(ModelRef("openai", "gpt-x"), tmp_path, {"OPENAI_API_KEY": " \n"})
    assert (error.value.code, error.value.hints) == ("auth", ("export OPENAI_API_KEY=...",))


def test_the_key_comes_from_the_variable_that_the_model_names(tmp_path: Path) -> None:
    ref = ModelRef("openai", "gpt-x", api_key_env="GROQ_API_KEY")
    with pytest.raises(ModelError, match="GROQ_API_KEY is not set"):
        open_model(ref, tmp_path, {"OPENAI_API_KEY": KEY})
    assert isinstance(open_model(ref, tmp_path, {"GROQ_API_KEY": KEY}), OpenAIChat)


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:80"])
def test_a_local_server_needs_no_key(tmp_path: Path, host: str) -> None:
    assert open_model(ModelRef("openai", "gpt-x", f"http://{host}/v1"), tmp_path, {})
    assert open_model(ModelRef("openai", "gpt-x"), tmp_path, {"OPENAI_BASE_URL": f"http://{host}/v1"})


def test_another_server_needs_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        open_model(ModelRef("openai", "gpt-x", "http://127.0.0.1.example.org/v1"), tmp_path, {})


def test_the_address_from_the_environment_is_checked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        open_model(ModelRef("openai", "gpt-x"), tmp_path, {"OPENAI_BASE_URL": "localhost"})


@pytest.mark.parametrize("key", ["sk-sécret-0123456789", "sk-secret\n0123456789", "sk-\x00secret-0123456789"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(tmp_path: Path, key: str) -> None:
    with pytest.raises(ModelError) as error:
        open_model(ModelRef("openai", "gpt-x"), tmp_path, {"OPENAI_API_KEY": key})
    assert error.value.code == "auth"
    assert "0123456789" not in error.value.message


def test_blanks_around_a_key_are_not_part_of_it(tmp_path: Path) -> None:
    assert open_model(ModelRef("openai", "gpt-x"), tmp_path, {"OPENAI_API_KEY": f"{KEY}\n"})


def test_a_model_does_not_show_its_key(tmp_path: Path) -> None:
    assert KEY not in repr(open_model(ModelRef("openai", "gpt-x"), tmp_path, {"OPENAI_API_KEY": KEY}))


def test_a_script_is_found_beside_the_agent(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").write_text("turns: [{text: hi}]")
    assert isinstance(open_model(ModelRef("scripted", "demo.yaml"), tmp_path, {}), ScriptedModel)


def test_opening_a_model_loads_no_package_that_takes_long() -> None:
    program = (
        "import sys; from pathlib import Path; from agentctl.models.providers import *;"
        "open_model(parse_model('openai/x'), Path(), {'OPENAI_API_KEY': 'k'});"
        "print(*{'openai', 'pydantic', 'asyncio', 'yaml', 'rich', 'difflib'} & sys.modules.keys())"
    )
    done = run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
