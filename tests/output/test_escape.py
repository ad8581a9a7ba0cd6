"""What a terminal would obey or hide is shown as an escape, and what is shown stands for one text."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentctl.output.escape import TextStream, escape_json, escape_line, escape_text, is_hidden

# Any text, dense with what escaping is about: hidden characters, backslashes, and what follows them.
SPECIAL = (
    "\\xuUnrt0123456789abcdefABCDEF\n\r\t\x00\x1b\x7f\x85\x9b"
    "\u200b\u202e\u2028\ufeff\ud800\udfff\U000e0041⚠\ufe0f"
)
TEXTS = st.text(st.characters(codec=None, categories=None)) | st.text(st.sampled_from(SPECIAL))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)


def unescape(shown: str, letters: str) -> str:
    """The text that a shown text stands for, by the rules of the module."""
    named = {"n": "\n", "r": "\r", "t": "\t"}
    shape = re.compile(
        rf"(\\+)(x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}{'|[nrt]' if letters else ''})"
    )

    def read(match: re.Match[str]) -> str:
        slashes, code = match.groups()
        if len(slashes) % 2 == 0:
            return "\\" * (len(slashes) // 2) + code
        return "\\" * (len(slashes) // 2) + (named.get(code) or chr(int(code[1:], 16)))

    return shape.sub(read, shown)


@pytest.mark.parametrize(
    ("name", "char", "shown"),
    [
        ("null", "\x00", r"\x00"),
        ("bell", "\x07", r"\x07"),
        ("escape", "\x1b", r"\x1b"),
        ("delete", "\x7f", r"\x7f"),
        ("next line", "\x85", r"\x85"),
        ("control sequence introducer", "\x9b", r"\x9b"),
        ("soft hyphen", "\xad", r"\xad"),
        ("Arabic letter mark", "\u061c", r"\u061c"),
        ("zero-width space", "\u200b", r"\u200b"),
        ("zero-width joiner", "\u200d", r"\u200d"),
        ("right-to-left mark", "\u200f", r"\u200f"),
        ("line separator", "\u2028", r"\u2028"),
        ("right-to-left override", "\u202e", r"\u202e"),
        ("word joiner", "\u2060", r"\u2060"),
        ("isolate", "\u2066", r"\u2066"),
        ("byte order mark", "\ufeff", r"\ufeff"),
        ("Hangul filler", "\u3164", r"\u3164"),
        ("combining grapheme joiner", "\u034f", r"\u034f"),
        ("private use", "\ue000", r"\ue000"),
        ("lone surrogate", "\ud800", r"\ud800"),
        ("unassigned", "\U0003ffff", r"\U0003ffff"),
        ("tag", "\U000e0041", r"\U000e0041"),
        ("variation selector", "\U000e0100", r"\U000e0100"),
    ],
)
def test_hidden_characters_are_shown_by_their_number(name: str, char: str, shown: str) -> None:
    assert escape_line(f"a{char}b") == escape_text(f"a{char}b") == f"a{shown}b"


@pytest.mark.parametrize("text", ["naïve", "漢字", "e\u0301", "👍🏽", "ไทย", "עברית", "a\xa0b", "\u3000"])
def test_letters_marks_and_wide_characters_stay(text: str) -> None:
    assert escape_line(text) == escape_text(text) == escape_json(text) == text


def test_a_line_has_no_line_ends_and_no_tabs() -> None:
    assert escape_line("a\tb\nc\r\n") == r"a\tb\nc\r\n"


def test_a_text_keeps_its_lines_and_tabs_but_no_carriage_return_that_overwrites_them() -> None:
    assert escape_text("a\tb\nc\rd") == "a\tb\nc\\x0dd"


def test_emoji_keep_their_presentation_in_an_answer_and_not_where_somebody_decides() -> None:
    assert escape_text("⚠\ufe0f") == "⚠\ufe0f"
    assert escape_line("⚠\ufe0f") == r"⚠\ufe0f"
    assert escape_json('"⚠\ufe0f"') == r'"⚠\ufe0f"'


@pytest.mark.parametrize("text", [r"C:\Users\me", r"\d+\.\w", r"\usepackage{x}", r"a\b\\c", "end\\"])
def test_backslashes_of_ordinary_text_stay_as_they_are(text: str) -> None:
    assert escape_line(text) == escape_text(text) == text


def test_a_backslash_that_would_read_as_an_escape_is_doubled() -> None:
    assert escape_line(r"\x1b") == r"\\x1b"
    assert escape_line("\\\x1b") == r"\\\x1b"
    assert escape_line(r"\new") == r"\\new"
    assert escape_text(r"\nu \x1b") == r"\nu \\x1b"


@given(TEXTS)
@example("\ufe0f")
def test_nothing_hidden_survives(text: str) -> None:
    assert not any(map(is_hidden, escape_line(text)))
    assert not any(map(is_hidden, escape_text(text).translate(dict.fromkeys(map(ord, "\n\t\ufe0e\ufe0f")))))


@given(st.characters(codec=None, categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"]))
def test_every_character_of_these_categories_is_hidden(char: str) -> None:
    assert is_hidden(char), unicodedata.name(char, hex(ord(char)))


@given(TEXTS)
@example("\\\\x1b")
@example("\\\x1b")
@example("\\n\n\\\n")
def test_what_is_shown_stands_for_one_text(text: str) -> None:
    assert unescape(escape_line(text), "nrt") == text
    assert unescape(escape_text(text), "") == text


@given(TEXTS)
def test_showing_a_shown_text_again_stays_safe_and_unambiguous(text: str) -> None:
    once = escape_line(text)
    assert unescape(escape_line(once), "nrt") == once


@given(JSON)
def test_shown_json_is_json_of_the_same_value_with_nothing_hidden(value: object) -> None:
    for written in (json.dumps(value, ensure_ascii=False), json.dumps(value, ensure_ascii=False, indent=2)):
        shown = escape_json(written)
        assert not any(map(is_hidden, shown.replace("\n", "")))
        # A pair of lone surrogates is one character once it is read; so JSON itself has it.
        assert json.loads(shown) == json.loads(json.dumps(value))


@given(TEXTS, st.lists(st.integers(min_value=1, max_value=4)))
@example("a\\x1b", [1, 1])
@example("\\\\\x1b", [1])
def test_a_text_in_pieces_is_shown_like_the_whole(text: str, sizes: list[int]) -> None:
    stream = TextStream()
    shown = [stream.feed(piece) for piece in pieces(text, sizes)]
    assert "".join(shown) + stream.end() == escape_text(text)


def test_a_piece_is_shown_at_once_unless_it_may_begin_an_escape() -> None:
    stream = TextStream()
    assert stream.feed("word ") == "word "
    assert stream.feed("a\\") == "a"
    assert stream.feed("b") == "\\b"


def pieces(text: str, sizes: list[int]) -> list[str]:
    cut: list[str] = []
    for size in sizes:
        cut.append(text[:size])
        text = text[size:]
    return [*cut, text]
