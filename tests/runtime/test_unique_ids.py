"""Call ids are unique within their conversation before anything sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.models.messages import Assistant, ToolCall
from agentctl.runtime.call import Contradiction
from agentctl.runtime.state import with_unique_ids
from support.story import Story


def after(*used: str) -> Story:
    """A run whose earlier answers used these ids, one after the other."""
    story = Story(max_steps=99)
    for call_id in used:
        story.proposes((call_id, "delete", {})).judged("refuse", call_id).settled(call_id).step_ends()
    return story.asks_model()


def unique(story: Story, *ids: str) -> list[str]:
    message = Assistant(
        "Deleting", "because", tuple(ToolCall(each, f"t{n}", f"[{n}]") for n, each in enumerate(ids))
    )
    found = with_unique_ids(story.run, message)
    assert (found.text, found.reasoning) == (message.text, message.reasoning)
    assert [(call.tool, call.arguments) for call in found.calls] == [
        (c.tool, c.arguments) for c in message.calls
    ]
    return [call.id for call in found.calls]


@pytest.mark.parametrize(
    ("used", "asked", "ids"),
    [
        ([], [], []),
        ([], ["c1", "c2"], ["c1", "c2"]),
        ([], ["c1", "c1"], ["c1", "c1-2"]),
        ([], ["c1", "c1", "c1"], ["c1", "c1-2", "c1-3"]),
        (["c1"], ["c1"], ["c1-2"]),
        (["c1", "c1-2"], ["c1"], ["c1-3"]),
        (["c1", "c1-2"], ["c1-2"], ["c1-2-2"]),
        ([], ["c1", "c1", "c1-2"], ["c1", "c1-2", "c1-2-2"]),
        ([], ["c1-2", "c1", "c1"], ["c1-2", "c1", "c1-3"]),
        (["c1-2"], ["c1", "c1"], ["c1", "c1-3"]),
        ([], ["C1", "c1", "c1 ", "é", "e\u0301"], ["C1", "c1", "c1 ", "é", "e\u0301"]),
    ],
)
def test_a_repeated_id_gets_the_next_free_number(used: list[str], asked: list[str], ids: list[str]) -> None:
    assert unique(after(*used), *asked) == ids


def test_a_call_without_an_id_gets_one() -> None:
    first, second = unique(after("c1"), "", "")
    assert first and second and first != second


def test_a_made_id_does_not_collide_with_one_that_was_given() -> None:
    [made] = unique(after(), "")
    assert len(set(unique(after(), made, ""))) == 2
    assert len(set(unique(after(), "", made))) == 2


@given(
    used=st.lists(st.sampled_from(["c1", "c1-2", "c2", "call-1", "call-2"]), max_size=4, unique=True),
    asked=st.lists(
        st.sampled_from(["c1", "c1-2", "c1-2-2", "c1-3", "c2", "", "call-3", "call-5"]), max_size=8
    ),
)
def test_ids_are_unique_whatever_was_used_and_asked(used: list[str], asked: list[str]) -> None:
    ids = unique(after(*used), *asked)
    assert all(ids)
    assert len({*used, *ids}) == len(used) + len(asked)
    first_of_its_kind = [each for n, each in enumerate(asked) if each and each not in [*used, *asked[:n]]]
    assert set(first_of_its_kind) <= set(ids) | set(asked)


def test_unique_ids_are_left_alone() -> None:
    story = after("c1")
    message = Assistant(calls=(ToolCall("c2", "delete", "{}"), ToolCall("c3", "delete", "{}")))
    assert with_unique_ids(story.run, message) == message


def test_an_answer_whose_ids_repeat_is_refused() -> None:
    with pytest.raises(Contradiction):
        after().answers(("c1", "delete", {}), ("c1", "delete", {}))
    with pytest.raises(Contradiction):
        after("c1").answers(("c1", "delete", {}))
