"""What an agent file may say: its keys and their types. Knows no files, tools or models behind the names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

DEFAULT_MAX_STEPS = 20

# Which of several forms a value has is told by its type; in angle brackets, so that the places of
# errors, which name the form too, can be told from keys.
TEXT, LIST, MAPPING, BOOLEAN = "<text>", "<list>", "<mapping>", "<boolean>"
FORMS = frozenset((TEXT, LIST, MAPPING, BOOLEAN))
_FORM_OF = {str: TEXT, list: LIST, dict: MAPPING, bool: BOOLEAN}

POLICY_FORMS = "true, false, a list of globs, or `policy.py:function`"


def _form(value: Any) -> str | None:
    return _FORM_OF.get(type(value))


def _not_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "must not be empty")
    return value


def _forms(expected: str) -> Discriminator:
    return Discriminator(_form, custom_error_type="form", custom_error_message=expected)


T = TypeVar("T")
# A key may be left out; a key without a value is a slip, and must not read as "nothing is gated".
Given = Annotated[T | None, BeforeValidator(_not_null)]
Reference = Annotated[str, Field(pattern=r"^[^:]+:[^:]+$")]
Text = Annotated[str, Field(pattern=r"\S")]
AtLeastOne = Annotated[int, Field(ge=1)]
Texts = Annotated[
    Annotated[Text, Tag(TEXT)] | Annotated[list[Text], Tag(LIST)],
    _forms("a text or a list of texts"),
]
Penalty = Annotated[float, Field(ge=-2, le=2)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ModelMapping(_Strict):
    """`model` written as a mapping."""

    provider: Text
    name: Text
    base_url: Given[Text] = None
    api_key_env: Given[Text] = None
    api: Literal["chat"] = "chat"


class Options(_Strict):
    """`options`: the step budget, and parameters that go to the model as they are."""

    max_steps: AtLeastOne = DEFAULT_MAX_STEPS
    temperature: Given[Annotated[float, Field(ge=0)]] = None
    top_p: Given[Annotated[float, Field(ge=0, le=1)]] = None
    max_tokens: Given[AtLeastOne] = None
    max_completion_tokens: Given[AtLeastOne] = None
    seed: Given[int] = None
    stop: Given[Texts] = None
    presence_penalty: Given[Penalty] = None
    frequency_penalty: Given[Penalty] = None
    reasoning_effort: Given[Text] = None
    verbosity: Given[Text] = None
    service_tier: Given[Text] = None
    parallel_tool_calls: Given[bool] = None

    def parameters(self) -> dict[str, Any]:
        """What the file gives for the model, by name."""
        return self.model_dump(exclude={"max_steps"}, exclude_none=True)


ModelForms = Annotated[
    Annotated[Text, Tag(TEXT)] | Annotated[ModelMapping, Tag(MAPPING)],
    _forms("`provider/name` or a mapping"),
]
ApprovalForms = Annotated[
    Annotated[bool, Tag(BOOLEAN)] | Annotated[list[Text], Tag(LIST)] | Annotated[Reference, Tag(TEXT)],
    _forms(POLICY_FORMS),
]


class Definition(_Strict):
    """An agent file as it is written; names in it are not looked up."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
    name: Given[Text] = None
    description: str = ""
    model: Given[ModelForms] = None
    instructions: Text
    tools: list[Text] = []
    require_tool_approval: ApprovalForms = False
    options: Options = Options()
