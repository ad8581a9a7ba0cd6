"""The id of a question is its fingerprint: whatever differs in the question, differs in the id."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.runtime.call import same_json
from agentctl.runtime.suspensions import fingerprint
from support.auditor import digest_of

QUESTION: dict[str, Any] = {
    "run_id": "run-1",
    "call_path": (),
    "call_id": "c1",
    "ordinal": 1,
    "kind": "approval",
    "tool": "delete",
    "subject": {"id": "abc", "force": False},
    "definition": "d1",
}
# sha256sum of
# ["agentctl-suspension-1","run-1",[],"c1",1,"approval","delete",{"force":false,"id":"abc"},"d1"]
KNOWN = "75926bac11bdfeca9ae16657bb596538e2d99ba25721212ec88ffe6a83f2b3a2"


def of(**changes: Any) -> str:
    return fingerprint(**{**QUESTION, **changes})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def test_an_id_is_64_hex_digits() -> None:
    assert re.fullmatch("[0-9a-f]{64}", of())


def test_ids_stay_the_same_over_releases() -> None:
    assert of() == KNOWN


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "run-2"},
        {"call_path": ("c1",)},
        {"call_id": "c1-2"},
        {"ordinal": 2},
        {"kind": "in_doubt"},
        {"kind": "data"},
        {"tool": "deletes"},
        {"subject": {"id": "abd", "force": False}},
        {"subject": {"id": "abc"}},
        {"subject": None},
        {"definition": "d2"},
        {"definition": ""},
    ],
    ids=str,
)
def test_every_part_of_the_question_counts(change: dict[str, Any]) -> None:
    assert of(**change) != of()


def test_the_order_of_keys_does_not_count() -> None:
    one, other = {"id": 1, "sub": {"a": 1, "b": 2}}, {"sub": {"b": 2, "a": 1}, "id": 1}
    assert list(one) != list(other)
    assert of(subject=one) == of(subject=other)


def test_the_order_of_a_list_counts() -> None:
    assert of(subject=[1, 2]) != of(subject=[2, 1])


def test_values_that_python_takes_for_equal_are_different() -> None:
    values = [
        1,
        1.0,
        "1",
        True,
        "true",
        [1],
        {"1": 1},
        0,
        0.0,
        -0.0,
        "0",
        False,
        None,
        "null",
        "",
        [],
        {},
        [[]],
    ]
    assert len({of(subject=value) for value in values}) == len(values)
    assert len({of(subject={"n": value}) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"call_id": "c1", "tool": "delete"}, {"call_id": "c1delete", "tool": ""}),
        ({"call_path": ("a", "b")}, {"call_path": ("ab",)}),
        ({"call_path": ("a,b",)}, {"call_path": ("a", "b")}),
        ({"call_path": ('a","b',)}, {"call_path": ("a", "b")}),
        ({"call_id": "c1\x00x"}, {"call_id": "c1", "tool": "x\x00delete"}),
        ({"run_id": "run-1", "call_path": ("c",)}, {"run_id": "run-1c"}),
        ({"subject": {"a": "b"}}, {"subject": '{"a":"b"}'}),
        ({"subject": {"a": "1,b:2"}}, {"subject": {"a": 1, "b": 2}}),
    ],
    ids=str,
)
def test_parts_that_look_alike_when_joined_do_not_collide(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert of(**one) != of(**other)


@pytest.mark.parametrize(
    "text", ["é", "e\u0301", "İ", "\u202e", "\u200b", "\x00", "日本", "\U0001f600", "\ud800", "\udfff"]
)
def test_text_of_every_kind_has_a_fingerprint_of_its_own(text: str) -> None:
    assert of(subject={"id": text}) != of(subject={"id": "e"})
    assert of(subject={"id": text}) == of(subject=json.loads(json.dumps({"id": text})))


def test_numbers_of_every_size_are_told_apart() -> None:
    numbers = [2**53, 2**53 + 1, 2**70, 2**70 + 1, float(2**70), 1e300, -(2**70)]
    assert len({of(subject=number) for number in numbers}) == len(numbers)


@given(one=json_values, other=json_values)
def test_two_questions_have_one_id_only_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (of(subject=one) == of(subject=other)) == same_json(one, other)
    assert of(subject=one) == of(subject=json.loads(json.dumps(one)))


@given(json_values, st.text(max_size=5), st.lists(st.text(max_size=3), max_size=2))
def test_an_id_is_sha_256_over_canonical_json(subject: Any, tool: str, path: list[str]) -> None:
    parts = ["agentctl-suspension-1", "run-1", path, "c1", 1, "approval", tool, subject, "d1"]
    assert of(subject=subject, tool=tool, call_path=path) == digest_of(parts)


def test_an_id_is_the_same_in_every_process() -> None:
    program = f"from agentctl.runtime.suspensions import fingerprint;print(fingerprint(**{QUESTION!r}))"
    environ = {"PYTHONHASHSEED": "1", "LC_ALL": "C"}
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environ
    )
    assert found.stdout.strip() == of()
