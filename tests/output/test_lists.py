"""Lists: rows of tab-separated fields for scripts, tables for terminals, one array with `--json`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len

from agentctl.output.lists import show_pending, show_runs

AT = "2026-12-01T14:29:27.123Z"
RUN = "20261201-abc123"
Make = Callable[..., dict[str, Any]]
Terminal = Callable[[], io.StringIO]


def pending(
    *suspensions: dict[str, Any], stdout: io.StringIO | None = None, **options: Any
) -> tuple[str, str]:
    """What `pending` writes to standard output and standard error."""
    out, err = stdout or io.StringIO(), io.StringIO()
    show_pending(iter(suspensions), **{"json": False, **options}, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def runs(*known: dict[str, Any], stdout: io.StringIO | None = None, **options: Any) -> tuple[str, str]:
    """What `runs` writes to standard output and standard error."""
    out, err = stdout or io.StringIO(), io.StringIO()
    show_runs(iter(known), **{"json": False, **options}, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


# Piped


def test_a_piped_suspension_is_a_row_of_seven_fields(suspension: Make) -> None:
    assert pending(suspension()) == (
        f'3f2a9c81d0\t{RUN}\tapproval\trecords\tdelete_record\t{AT}\t{{"id": "abc-123"}}\n',
        "",
    )


def test_a_piped_run_is_a_row_of_five_fields(run: Make) -> None:
    assert runs(run()) == (f"{RUN}\tsuspended\trecords\t{AT}\tDelete record abc-123\n", "")


def test_rows_come_in_the_order_given(suspension: Make) -> None:
    written, _ = pending(*(suspension(id=char * 64) for char in "cab"))
    assert [row[0] for row in written.splitlines()] == ["c", "a", "b"]


def test_an_empty_list_is_silent_in_a_pipe() -> None:
    assert pending() == runs() == ("", "")


def test_arguments_in_a_row_are_json_that_a_script_can_read_and_are_never_cut(suspension: Make) -> None:
    args = {"a\tb": "c\nd\u202e\x7f漢\\n\ud800\u2028", "long": "x" * 100_000}
    written, _ = pending(suspension(args=args))
    (row,) = written.splitlines()
    *_, field = row.split("\t")
    assert json.loads(field) == args
    assert r'"c\nd\u202e\u007f漢\\n\ud800\u2028"' in field


def test_a_prompt_in_a_row_stays_in_its_field_and_is_never_cut(run: Make) -> None:
    written, _ = runs(run(prompt="a\tb\r\nc\x1b[2J" + "x" * 100_000))
    (row,) = written.splitlines()
    assert row.split("\t")[4] == r"a\tb\r\nc\x1b[2J" + "x" * 100_000


def test_what_is_unknown_of_a_damaged_run_is_an_empty_field(run: Make) -> None:
    written, _ = runs(run(status="damaged", agent=None, updated_at=None, prompt=None))
    assert written == f"{RUN}\tdamaged\t\t\t\n"


# JSON


def test_json_is_one_array_of_everything(suspension: Make, run: Make) -> None:
    ones = [suspension(args={"a": "\u2028\ud800é"}), suspension(id="a" * 64)]
    assert json.loads(pending(*ones, json=True)[0].encode()) == ones
    assert json.loads(runs(run(), run(prompt=None), json=True)[0]) == [run(), run(prompt=None)]


def test_json_of_nothing_is_an_empty_array() -> None:
    assert pending(json=True) == runs(json=True) == ("[]\n", "")


def test_nothing_is_hidden_in_json_on_a_terminal(suspension: Make, terminal: Terminal) -> None:
    args = {"id": "a\u202e\x9b\u200b"}
    written, _ = pending(suspension(args=args), json=True, stdout=terminal())
    assert r"a\u202e\u009b\u200b" in written
    assert json.loads(written)[0]["args"] == args


# Terminals


def test_a_terminal_shows_a_table_with_heads(suspension: Make, terminal: Terminal) -> None:
    second = suspension(id="e" * 64, kind="data", tool="get_weather", args={"city": "漢字"})
    written, told = pending(suspension(), second, stdout=terminal(), color=False)
    assert written == (
        "ID          RUN              KIND      AGENT    TOOL           ARGUMENTS\n"
        '3f2a9c81d0  20261201-abc123  approval  records  delete_record  {"id": "abc-123"}\n'
        'eeeeeeeeee  20261201-abc123  data      records  get_weather    {"city": "漢字"}\n'
    )
    assert told == ""


def test_a_wide_terminal_has_room_for_the_time(
    suspension: Make, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    written, _ = pending(suspension(), stdout=terminal(), color=False)
    assert written.splitlines()[1].split("  ")[5] == "2026-12-01 14:29Z"


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 100, 200, 1000])
def test_a_table_fits_the_terminal(
    suspension: Make, run: Make, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for prompt in ("漢字" * 5000, "漢字" * columns, "漢" * columns):
        written = pending(suspension(args={"id": prompt}), stdout=terminal(), color=False)[0]
        written += runs(run(prompt=prompt), stdout=terminal(), color=False)[0]
        rows = [line for line in written.splitlines() if "…" not in line or not line.startswith("… is cut")]
        assert max(map(cell_len, rows)) <= columns
        assert sum(line.endswith("…") for line in rows) == 2


def test_columns_are_left_out_before_the_last_one_becomes_too_narrow(
    suspension: Make, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = []
    for columns in (99, 97, 78, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        written, _ = pending(suspension(), stdout=terminal(), color=False)
        heads.append(written.splitlines()[0].split())
    assert heads == [
        ["ID", "RUN", "KIND", "AGENT", "TOOL", "SINCE", "ARGUMENTS"],
        ["ID", "RUN", "KIND", "AGENT", "TOOL", "ARGUMENTS"],
        ["ID", "KIND", "AGENT", "TOOL", "ARGUMENTS"],
        ["3f2a9c81d0"],
    ]


def test_a_narrow_terminal_shows_one_thing_below_the_other_and_ids_whole(
    suspension: Make, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    written, _ = pending(suspension(), stdout=terminal(), color=False)
    assert written == (
        "3f2a9c81d0\n"
        "  20261201-abc123\n"
        "  approval\n"
        "  records\n"
        "  delete_record\n"
        "  2026-12-01 14:29Z\n"
        '  {"id": "abc-123"}\n'
    )


def test_a_table_says_when_something_is_cut_and_where_all_of_it_is(
    suspension: Make, terminal: Terminal
) -> None:
    written, _ = pending(suspension(args={"id": "x" * 100}), stdout=terminal(), color=False, store="/my runs")
    assert written.endswith(
        '{"id": "xxxxxxxx…\n… is cut for display; agentctl show ID --store \'/my runs\' has all\n'
    )
    assert "is cut" not in pending(suspension(), stdout=terminal())[0]


def test_nothing_of_the_model_controls_the_terminal(suspension: Make, run: Make, terminal: Terminal) -> None:
    evil = "\x1b]0;t\x07\u202e\u200b\x9b2J[red]"
    shown = [
        pending(suspension(args={evil: evil}, tool=evil), stdout=terminal(), color=False)[0],
        runs(run(prompt=evil, agent=evil), stdout=terminal(), color=False)[0],
    ]
    for written in shown:
        assert "".join(written.split("\n")).isprintable()
        assert r"\x1b]0;t\x07\u202e\u200b\x9b2J[red]" in written


def test_colour_only_frames_the_words(suspension: Make, terminal: Terminal) -> None:
    written, _ = pending(suspension(), stdout=terminal())
    assert "\x1b[1m3f2a9c81d0\x1b[0m  " in written
    plain, _ = pending(suspension(), stdout=terminal(), color=False)
    assert written.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "") == plain


def test_an_empty_list_is_said_to_be_empty_on_a_terminal(terminal: Terminal) -> None:
    assert pending(stdout=terminal()) == ("", "nothing is waiting\n")
    assert runs(stdout=terminal()) == ("", "there are no runs\n")


# Cost


def test_a_piped_list_loads_nothing_heavy() -> None:
    code = (
        "import sys; from agentctl.output.lists import show_pending, show_runs\n"
        "show_pending([], json=False, stdout=sys.stdout, stderr=sys.stderr)\n"
        "heavy = {'rich', 'pydantic', 'asyncio', 'yaml', 'openai', 'jsonschema', 'filelock', 'typer'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
