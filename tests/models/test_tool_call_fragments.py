"""Tool calls from fragments: each real way of breaking the rules gives the calls that were meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.models.tool_call_fragments import Fragments, Unassigned

Call = tuple[str, str, str]
MISSING = object()


def fragment(
    index: object = MISSING, id: object = MISSING, name: object = MISSING, arguments: object = MISSING
) -> dict[str, Any]:
    """One item of `tool_calls`; what is not given is not there."""
    function = {"name": name, "arguments": arguments}
    item = {"index": index, "id": id, "function": {k: v for k, v in function.items() if v is not MISSING}}
    return {key: value for key, value in item.items() if value is not MISSING}


def calls(*deltas: object) -> list[Call]:
    fragments = Fragments()
    for delta in deltas:
        fragments.add(delta if isinstance(delta, list) else [delta])
    return [(call.id, call.tool, call.arguments) for call in fragments.calls()]


PARIS, TOKYO = '{"city":"Paris"}', '{"city":"Tokyo"}'


def test_a_call_is_put_together_by_its_index() -> None:
    assert calls(
        fragment(0, "a", "add", ""),
        fragment(1, "b", "mul", ""),
        fragment(1, arguments='{"x":'),
        fragment(0, arguments="{}"),
        fragment(1, arguments="2}"),
    ) == [("a", "add", "{}"), ("b", "mul", '{"x":2}')]


def test_an_index_that_starts_at_one_is_an_index() -> None:
    assert calls(fragment(1, "a", "f", '{"x":'), fragment(1, arguments="1}")) == [("a", "f", '{"x":1}')]


@pytest.mark.parametrize("index", [MISSING, None, "zero", [0]])
def test_without_a_usable_index_a_fragment_goes_on_with_the_last_call(index: object) -> None:
    assert calls(fragment(index, "a", "f", '{"x":'), fragment(index, arguments="1}")) == [
        ("a", "f", '{"x":1}')
    ]


def test_an_index_may_be_a_text() -> None:
    assert calls(fragment("0", "a", "f", '{"x":'), fragment(0, arguments="1}")) == [("a", "f", '{"x":1}')]


def test_without_index_another_id_with_a_name_is_another_call() -> None:
    assert calls(
        fragment(id="a", name="f", arguments=PARIS), fragment(id="b", name="f", arguments=TOKYO)
    ) == [
        ("a", "f", PARIS),
        ("b", "f", TOKYO),
    ]


def test_an_index_that_is_always_zero_does_not_merge_calls_with_ids_of_their_own() -> None:
    assert calls(
        fragment(0, "a", "add", ""),
        fragment(0, "", arguments='{"x":1}'),
        fragment(0, "b", "mul", ""),
        fragment(0, "", arguments='{"x":2}'),
    ) == [("a", "add", '{"x":1}'), ("b", "mul", '{"x":2}')]


def test_two_calls_without_arguments_are_told_apart_by_their_ids() -> None:
    assert calls(fragment(0, "a", "f", ""), fragment(0, "b", "f", "")) == [("a", "f", ""), ("b", "f", "")]


def test_without_ids_another_name_after_whole_arguments_is_another_call() -> None:
    assert calls(fragment(0, name="add", arguments=PARIS), fragment(0, name="mul", arguments=TOKYO)) == [
        ("call_1", "add", PARIS),
        ("call_2", "mul", TOKYO),
    ]


def test_without_ids_and_index_the_items_of_one_chunk_are_different_calls() -> None:
    assert calls([fragment(name="f", arguments=""), fragment(name="f", arguments="")]) == [
        ("call_1", "f", ""),
        ("call_2", "f", ""),
    ]


def test_without_ids_and_index_whole_arguments_end_a_call() -> None:
    assert calls(fragment(name="f", arguments=PARIS), fragment(name="f", arguments=TOKYO)) == [
        ("call_1", "f", PARIS),
        ("call_2", "f", TOKYO),
    ]


@pytest.mark.parametrize("index", [0, MISSING])
def test_id_and_name_that_are_repeated_with_each_fragment_are_not_joined(index: object) -> None:
    assert calls(
        fragment(index, "0", "f", ""), fragment(index, "0", "f", '{"x":'), fragment(index, "0", "f", "1}")
    ) == [("0", "f", '{"x":1}')]


def test_an_id_that_changes_with_each_fragment_does_not_split_a_call() -> None:
    assert calls(
        fragment(0, "a", "f", ""), fragment(0, "b", arguments='{"x":'), fragment(0, "c", "f", "1}")
    ) == [("a", "f", '{"x":1}')]


def test_the_same_id_under_two_indexes_is_two_calls() -> None:
    assert calls(fragment(0, "c", "f", PARIS), fragment(1, "c", "f", PARIS)) == [
        ("c", "f", PARIS),
        ("c", "f", PARIS),
    ]


def test_the_same_id_under_two_indexes_is_two_calls_also_without_arguments() -> None:
    assert calls(fragment(0, "c", "f", ""), fragment(1, "c", "f", "")) == [("c", "f", ""), ("c", "f", "")]


def test_the_same_id_without_index_is_two_calls_when_the_first_is_whole() -> None:
    assert calls(
        fragment(id="c", name="f", arguments=PARIS), fragment(id="c", name="f", arguments=TOKYO)
    ) == [
        ("c", "f", PARIS),
        ("c", "f", TOKYO),
    ]


def test_a_second_object_on_the_same_call_makes_its_arguments_invalid() -> None:
    assert calls(fragment(0, "a", "f", PARIS), fragment(0, name="", arguments=TOKYO)) == [
        ("a", "f", PARIS + TOKYO)
    ]


def test_an_id_or_a_name_may_come_late() -> None:
    assert calls(fragment(0, arguments="{"), fragment(0, name="f"), fragment(0, "a", arguments="}")) == [
        ("a", "f", "{}")
    ]


def test_a_name_may_come_in_pieces() -> None:
    assert calls(fragment(0, "a", "get_"), fragment(0, name="weather"), fragment(0, arguments="{}")) == [
        ("a", "get_weather", "{}")
    ]


@pytest.mark.parametrize(
    ("sent", "text"), [({"x": [1, "ü"]}, '{"x": [1, "ü"]}'), (None, ""), ("null", "null"), ([1], "[1]")]
)
def test_arguments_that_are_no_text_become_one(sent: object, text: str) -> None:
    assert calls(fragment(0, "a", "f", sent)) == [("a", "f", text)]


def test_halves_of_a_surrogate_pair_from_two_fragments_are_one_character() -> None:
    assert calls(fragment(0, "a", "f", '{"x":"\ud83d'), fragment(0, arguments='\ude00"}')) == [
        ("a", "f", '{"x":"😀"}')
    ]


def test_ids_that_are_missing_are_made_and_differ_from_the_others() -> None:
    made = calls(fragment(0, None, "f"), fragment(1, "", "f"), fragment(2, "call_1", "f"))
    assert [call[0] for call in made] == ["call_2", "call_3", "call_1"]


def test_arguments_for_a_tool_that_was_never_named_are_refused() -> None:
    with pytest.raises(Unassigned):
        calls(fragment(0, "a", "f", PARIS), fragment(1, arguments=TOKYO))


def test_what_carries_neither_name_nor_arguments_is_no_call() -> None:
    assert calls(fragment(0, "a"), fragment(), {"extra_content": {}}, None, "x", [[]], {"function": 3}) == []


def legacy(fragments: Fragments, *items: object) -> list[Call]:
    for item in items:
        fragments.add_legacy(item)
    return [(call.id, call.tool, call.arguments) for call in fragments.calls()]


def test_the_function_call_of_2023_is_a_call() -> None:
    items = {"name": "f", "arguments": ""}, {"arguments": '{"x":'}, {"arguments": "1}"}, None
    assert legacy(Fragments(), *items) == [("call_1", "f", '{"x":1}')]


def test_a_call_that_comes_in_both_forms_is_one_call() -> None:
    fragments = Fragments()
    fragments.add([fragment(0, "a", "f", PARIS)])
    assert legacy(fragments, {"name": "f", "arguments": PARIS}) == [("a", "f", PARIS)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4).map(json.dumps)
# Which of index and id a server sends, and whether it repeats id and name with every fragment.
ONCE, REPEATED, NO_ID = (True, True, False), (True, True, True), (True, False, False)
NO_INDEX, NO_INDEX_REPEATED = (False, True, False), (False, True, True)
Way = tuple[bool, bool, bool]


def deltas_of(number: int, name: str, pieces: list[str], way: Way) -> list[dict[str, Any]]:
    """The fragments of call `number`, with `pieces` of its arguments, as a server of this way sends them."""
    indexed, with_id, repeats = way
    index = number if indexed else MISSING
    first = fragment(index, f"id-{number}" if with_id else MISSING, name, pieces[0])
    again = {"id": first["id"], "name": name} if repeats else {}
    return [first, *(fragment(index, arguments=piece, **again) for piece in pieces[1:])]


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted(min(place, len(text)) for place in places)
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


CUTS = st.lists(st.integers(0, 60), max_size=5)


@given(
    st.lists(st.tuples(st.sampled_from(["f", "delete_record"]), OBJECTS, CUTS), max_size=4),
    st.sampled_from([ONCE, REPEATED, NO_ID, NO_INDEX, NO_INDEX_REPEATED]),
)
def test_fragments_that_are_cut_anywhere_give_the_same_calls(
    sent: list[tuple[str, str, list[int]]], way: Way
) -> None:
    deltas = [deltas_of(n, name, cut(text, places), way) for n, (name, text, places) in enumerate(sent)]
    made = [(name, text) for _, name, text in calls(*[delta for of_call in deltas for delta in of_call])]
    assert made == [(name, text) for name, text, _ in sent]


@given(
    st.lists(st.tuples(st.integers(0, 5), CUTS), min_size=1, max_size=4),
    st.sampled_from([ONCE, REPEATED, NO_ID, NO_INDEX_REPEATED]),
    st.data(),
)
def test_fragments_out_of_order_or_lost_never_mix_calls(
    sent: list[tuple[int, list[int]]], way: Way, data: st.DataObject
) -> None:
    tools = "abcd"
    deltas = [
        delta
        for number, (length, places) in enumerate(sent)
        for delta in deltas_of(number, tools[number], cut(f'{{"{tools[number] * length}":1}}', places), way)
    ]
    kept = data.draw(st.lists(st.sampled_from(deltas), unique_by=id))
    try:
        made = calls(*kept)
    except Unassigned:
        return
    for _, tool, arguments in made:
        assert tool in tools
        assert set(arguments) <= set('{":1}' + tool)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "0", "{", "}", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "function", "name", "arguments", "type"]), inner, max_size=6
        )
    ),
    max_leaves=12,
)


@given(st.lists(JUNK, max_size=6), st.lists(JUNK, max_size=3))
def test_nothing_a_server_sends_makes_a_traceback(deltas: list[object], legacy_deltas: list[object]) -> None:
    fragments = Fragments()
    for delta in deltas:
        fragments.add(delta)
    for delta in legacy_deltas:
        fragments.add_legacy(delta)
    try:
        assert all(call.id and call.tool for call in fragments.calls())
    except Unassigned:
        return
