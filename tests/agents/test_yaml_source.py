"""The YAML that is read: plain JSON data with places; everything else is refused where it stands."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import DefinitionError, NotFound
from agentctl.yaml12 import composer as yaml_composer
from agentctl.yaml12.composer import scalar
from agentctl.yaml12.source import Document, read_yaml, read_yaml_file

LOADERS = [yaml.SafeLoader] + ([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.__name__)
def each_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_composer, "_loader", lambda: request.param)


def read(text: str | bytes) -> Document:
    return read_yaml(text, "f.yaml")


def value(text: str) -> object:
    return read(f"key: {text}").data["key"]


def refusal(text: str | bytes) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        read(text)
    return caught.value


# --- scalars ---------------------------------------------------------------------------------


NO_NUMBERS = """
    no No NO yes on off y n 1:30 1:30:00 2024-01-01 2024-01-01T00:00:00Z 1_000 0b11 0x 0o8 1e +0x1F
    -0o7 .e1 e1 tRUE nuLL 0.1.2 1,000 \u0663 = .. inf nan Infinity NaN -- -x
"""


@pytest.mark.parametrize("text", NO_NUMBERS.split())
def test_what_yaml_1_2_does_not_call_a_number_or_a_word_is_a_text(each_loader: None, text: str) -> None:
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("False", False),
        ("FALSE", False),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("18446744073709551616", 2**64),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("1E+2", 100.0),
        ("1e-400", 0.0),
    ],
)
def test_words_and_numbers_are_those_of_yaml_1_2(each_loader: None, text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("quoted", ["'12'", '"12"', "'true'", '"~"', "''", "|-\n  12", ">-\n  null"])
def test_a_quoted_or_block_scalar_is_always_a_text(each_loader: None, quoted: str) -> None:
    assert isinstance(value(quoted), str)


@pytest.mark.parametrize(
    "text", [".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", "1e999", "-1e999", "9" * 401]
)
def test_numbers_that_json_does_not_have_are_refused(each_loader: None, text: str) -> None:
    error = refusal(f"a: 1\nkey: {text}")
    assert error.message.startswith("f.yaml:2:6: ")
    assert error.hints == ("put it in quotes if it is a text",)


texts = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_is_yaml_with_the_same_meaning(data: object) -> None:
    assert read(json.dumps(data)).data == data


@given(st.text("0123456789.eE+-xo_:aF ", min_size=1))
def test_a_scalar_is_a_text_or_the_number_that_python_reads_too(text: str) -> None:
    found = scalar(text)
    if isinstance(found, str):
        assert found == text
    elif text[1:2] in ("x", "o"):
        assert found == int(text, 0)
    else:
        assert found == (int(text) if isinstance(found, int) else float(text))


# --- structure and places --------------------------------------------------------------------

SAMPLE = """\
# a comment
id: records
options: {max_steps: 20,
          stop: [a, "b"]}
tools:
- one
-   two
- name: three
  args: [{x: 1}]
"""


@pytest.mark.parametrize(
    ("path", "place", "key_place"),
    [
        ((), (2, 1), (2, 1)),
        (("id",), (2, 5), (2, 1)),
        (("options",), (3, 10), (3, 1)),
        (("options", "stop"), (4, 17), (4, 11)),
        (("options", "stop", 1), (4, 21), (4, 21)),
        (("tools", 1), (7, 5), (7, 5)),
        (("tools", 2, "args", 0, "x"), (9, 14), (9, 11)),
        (("missing",), (2, 1), (2, 1)),
        (("tools", 2, "missing"), (8, 3), (8, 3)),
        (("tools", 7), (6, 1), (6, 1)),
        (("id", "deeper", 0), (2, 5), (2, 5)),
    ],
)
def test_every_value_and_every_key_has_its_place(
    each_loader: None, path: tuple[str | int, ...], place: tuple[int, int], key_place: tuple[int, int]
) -> None:
    document = read(SAMPLE)
    assert document.locate(path) == place
    assert document.locate(path, key=True) == key_place


def test_an_error_of_a_document_names_file_line_column_and_hints() -> None:
    error = read(SAMPLE).error(("tools", 1), "there is no tool `two`", "write it", key=True)
    assert isinstance(error, DefinitionError)
    assert error.message == "f.yaml:7:5: there is no tool `two`"
    assert error.hints == ("write it",)


def test_columns_count_characters() -> None:
    assert read("{né: 1, 日本: 😀, z: 2}").locate(("z",), key=True) == (1, 16)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_counts(each_loader: None, end: str) -> None:
    assert read(f"a: 1{end}b: 2{end}c: 3{end}").locate(("c",)) == (3, 4)


@pytest.mark.parametrize("content", ["\ufeffa: é", "\ufeffa: é".encode(), "a: é".encode(), "a: é"])
def test_text_and_utf8_with_or_without_a_mark_are_read_alike(content: str | bytes) -> None:
    document = read(content)
    assert document.data == {"a": "é"}
    assert document.locate(("a",)) == (1, 4)


def test_any_quoted_text_may_be_a_key() -> None:
    assert read("{'<<': 1, '1': 2, 'true': 3, '': 4}").data == {"<<": 1, "1": 2, "true": 3, "": 4}


@pytest.mark.parametrize("text", ["%YAML 1.2\n---\na: 1", "--- {a: 1}\n...\n", "# first\n\na: 1\n# last"])
def test_one_document_may_be_marked_as_such(each_loader: None, text: str) -> None:
    assert read(text).data == {"a": 1}


# --- what is refused, and where --------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: the file is empty"),
        ("\n# only a comment\n", "1:1: the file is empty"),
        ("a: 1\n---\nb: 2", "2:1: a second document begins here; only one is allowed"),
        ("a: 1\n...\n---\n", "3:1: a second document begins here; only one is allowed"),
        ("%YAML 1.1\n---\na: 1", "1:1: only YAML 1.2 is read"),
        ("%TAG ! tag:x,2000:\n---\na: 1", "1:1: tags are not allowed"),
        (
            "a: 1\nb: !!python/object/apply:os.system [ls]",
            "2:4: tags are not allowed: `!!python/object/apply:os.system`",
        ),
        ("a: !!str 1", "1:4: tags are not allowed: `!!str`"),
        ("a: ! 1", "1:4: tags are not allowed: `!`"),
        ("a:\n  !x b: 1", "2:3: tags are not allowed: `!x`"),
        ("!include x", "1:1: tags are not allowed: `!include`"),
        ("id: a\nname: b\nid: c", "3:1: the key `id` is given twice; it stands at 1:1 already"),
        ("a: [{b: 1, 'b': 2}]", "1:12: the key `b` is given twice; it stands at 1:6 already"),
        ("a: {1: x}", "1:5: a key must be a text, not `1`"),
        ("true: x", "1:1: a key must be a text, not `true`"),
        ("?\n: x", "1:2: a key must be a text, not an empty one"),
        ("? [a]\n: b", "1:3: a key must be a text"),
        ("{{id}: x}", "1:2: a key must be a text"),
        ("a: 1\n<<: {b: 2}", "2:1: merge keys (`<<`) are not part of YAML 1.2"),
        ("a: *b", "1:4: there is no anchor `&b` before this alias"),
        ("a: &a [1, *a]", "1:11: the alias `*a` stands inside what it names"),
        ("a: &a 1\n*a : 2", "2:1: a key must be a text"),
        ("a:\n\tb: 1", "2:1: a tab cannot indent"),
        ("a: |\n\tb", "2:1: a tab cannot indent"),
        ("a: @x", "1:4: `@` cannot start a plain value"),
        ("a: %x", "1:4: `%` cannot start a plain value"),
        ("text: Done: it", "1:11: a `:` that makes a key cannot stand here"),
        ("a: 1\n b: 2", "2:3: a `:` that makes a key cannot stand here"),
        ("a: 1\nb: [x", "2:4: the `[` is not closed, or a comma is missing after it"),
        ("a: {b: 1", "1:4: the `{` is not closed, or a comma is missing after it"),
        ("a: 'x\nb: 1\n", "1:4: the quote is not closed"),
        ('a: "x', "1:4: the quote is not closed"),
        ("a: 1\nsome text\nc: 2", "2:1: a key without `:`, or a text that is indented too little"),
        ("a: 1\x1b[31m", "1:5: the character U+001B cannot stand in YAML"),
        ("a: 1\nb: \x00", "2:4: the character U+0000 cannot stand in YAML"),
        ("a: x\u2028y", "1:5: the character U+2028 cannot stand in YAML"),
        ("a: x\x85y", "1:5: the character U+0085 cannot stand in YAML"),
        ("a: \ufeffx", "1:4: the character U+FEFF cannot stand in YAML"),
        ("a: \ud800", "1:4: the character U+D800 cannot stand in YAML"),
    ],
)
def test_what_is_no_plain_data_is_refused_where_it_stands(each_loader: None, text: str, message: str) -> None:
    assert refusal(text).message == f"f.yaml:{message}"


@pytest.mark.parametrize(
    "text",
    [
        "[a]]",
        '"a":b',
        "a: >x\n b",
        "- a\nb: 1",
        'a: "\\q"',
        'a: "\\U00110000"',
        "%FOO",
        "!a!b c",
        "a: &a &b c",
    ],
)
def test_all_other_syntax_errors_have_a_place_too(each_loader: None, text: str) -> None:
    assert re.match(r"f\.yaml:\d+:\d+: \S", refusal(text).message)


@pytest.mark.parametrize("escaped", [r'"\ud800"', r'"\ud83d\ude00"'])
def test_half_characters_cannot_be_smuggled_in_by_escapes(each_loader: None, escaped: str) -> None:
    assert refusal(f"key: {escaped}").message.startswith("f.yaml:1:")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: caf\xe9\n", "2:7: byte 0xe9 is not UTF-8"),
        (b"\xef\xbb\xbf\xff", "1:1: byte 0xff is not UTF-8"),
        ("a: 1".encode("utf-16"), "1:1: the file is UTF-16, not UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "1:1: byte 0x89 is not UTF-8"),
        (b"\x7fELF\x02\x01", "1:1: the character U+007F cannot stand in YAML"),
    ],
)
def test_what_is_not_utf8_text_is_refused_at_the_first_wrong_byte(content: bytes, message: str) -> None:
    assert refusal(content).message == f"f.yaml:{message}"


def test_a_message_is_one_line_and_not_long_whatever_the_file_holds() -> None:
    key = "\\e[31m\\n" + "x" * 5000
    message = refusal(f'"{key}": 1\n"{key}": 2').message
    assert message.isprintable()
    assert len(message) < 200


# --- anchors and limits ----------------------------------------------------------------------


def test_an_alias_repeats_the_value_of_its_anchor(each_loader: None) -> None:
    document = read("a: &x {b: [1]}\nc: *x\nd: &x 2\ne: *x")
    assert document.data == {"a": {"b": [1]}, "c": {"b": [1]}, "d": 2, "e": 2}
    assert document.data["a"] is not document.data["c"]
    assert document.locate(("c",)) == (2, 4)
    assert document.locate(("c", "b", 0)) == (1, 12)


def test_aliases_that_explode_are_refused(each_loader: None) -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert refusal("\n".join(lines)).message.endswith("the file holds too much, with its aliases written out")


def test_aliases_of_one_long_text_are_refused(each_loader: None) -> None:
    text = f"a: &a {'x' * 500_000}\nb: [{', '.join(['*a'] * 1000)}]"
    assert "too much" in refusal(text).message


def test_aliases_cannot_nest_deeper_than_values(each_loader: None) -> None:
    half = yaml_composer.MAX_DEPTH // 2 + 1
    nested = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}"
    assert refusal(nested).message == "f.yaml:2:37: values are nested deeper than 64 levels"


@pytest.mark.parametrize("unit", ["[", "- ", "{a: "])
def test_nesting_has_a_limit(each_loader: None, unit: str) -> None:
    assert re.search("deep|maximum nesting depth", refusal(unit * 50_000).message)


def test_the_deepest_allowed_value_is_read(each_loader: None) -> None:
    depth = yaml_composer.MAX_DEPTH
    assert read("[" * depth + "]" * depth).data


def test_a_file_has_at_most_one_mebibyte() -> None:
    assert read("a: " + "x" * (2**20 - 3)).data
    assert refusal("a: " + "x" * (2**20 - 2)).message == "f.yaml:1:1: the file is larger than 1048576 bytes"
    assert "larger" in refusal("é" * 2**19 + "x").message


def test_a_file_has_a_limited_number_of_values() -> None:
    assert "too much" in refusal("[" + "a," * 500_000 + "]").message


# --- files -----------------------------------------------------------------------------------


def test_a_file_is_read_under_the_name_that_messages_use(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1\nb: \xff")
    with pytest.raises(DefinitionError, match=r"^mine:2:4: byte 0xff"):
        read_yaml_file(file, "mine")
    with pytest.raises(DefinitionError, match=rf"^{re.escape(str(file))}:2:4: "):
        read_yaml_file(file)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^there is no file `none.yaml`$"):
        read_yaml_file(tmp_path / "none.yaml", "none.yaml")


def test_what_is_not_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(DefinitionError, match="is not a file"):
            read_yaml_file(path)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises((DefinitionError, NotFound)):
        read_yaml_file(tmp_path / name)


def test_a_file_is_never_read_beyond_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(DefinitionError, match="larger than"):
        read_yaml_file(file)
