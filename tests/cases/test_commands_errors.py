"""How commands are called, and how a wrong call is answered: one clear line and what to type instead."""

from __future__ import annotations

import re

import pytest

from support.project import Project
from support.script import call, say, turn
from support.tools import DELETE

VERBS = {
    "run": [
        "--model",
        "--require-approval",
        "--context",
        "--workspace",
        "--max-steps",
        "--run-id",
        "--suspended-ok",
    ],
    "pending": ["--exit-status"],
    "show": [],
    "approve": [
        "--args",
        "--always",
        "--accept-changes",
        "--reason",
        "--by",
        "--no-drive",
        "--last",
        "--all",
        "--agent",
        "--suspended-ok",
    ],
    "decline": ["--reason", "--by", "--no-drive", "--last", "--all"],
    "resume": ["--data", "--max-steps", "--model", "--accept-changes", "--by", "--no-drive", "--agent"],
    "resolve": ["--retry", "--result", "--failed", "--by", "--reason"],
    "cancel": ["--by", "--reason"],
    "runs": [],
    "log": ["--follow"],
    "verify": [],
    "check": [],
}
EVERYWHERE = [
    "--store",
    "--json",
    "--quiet",
    "--no-color",
    "--no-input",
    "--debug",
    "--lock-timeout",
    "--timeout",
]
ONE = [turn(call("delete_record", "c1", id="a")), say("Done")]


def test_the_help_names_every_verb(project: Project) -> None:
    shown = project.cli("--help", status=0)
    for verb in VERBS:
        assert re.search(rf"^\s+{verb}\b", shown.stdout, re.MULTILINE), verb
    assert shown.stderr == "" and "\x1b" not in shown.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_names_its_options(project: Project, verb: str) -> None:
    shown = project.cli(verb, "--help", status=0)
    for option in [*VERBS[verb], *EVERYWHERE]:
        assert re.search(rf"{option}\b", shown.stdout), option
    assert shown.stderr == "" and "\x1b" not in shown.stdout
    assert not project.store.exists()


def test_the_version_is_told(project: Project) -> None:
    shown = project.cli("--version", status=0)
    assert re.fullmatch(r"agentctl \d+\.\d+\.\d+\S*\n", shown.stdout)


def test_no_command_shows_what_there_is(project: Project) -> None:
    shown = project.cli(status=(0, 2))
    assert "approve" in shown.stdout + shown.stderr


WRONG = [
    ("frobnicate",),
    ("aprove", "x"),
    ("pending", "--nope"),
    ("pending", "extra"),
    ("run", "records", "Go", "--run-idd", "x"),
    ("run", "records", "Go", "--max-steps", "ten"),
    ("run",),
    ("show",),
    ("approve", "x", "--data", "1"),
    ("decline", "x", "--args", "{}"),
    ("cancel", "x", "--no-drive"),
    ("resume", "x", "--data"),
    ("pending", "--json=maybe"),
]


@pytest.mark.parametrize("args", WRONG, ids=" ".join)
def test_a_wrong_call_is_one_clear_line_and_a_hint(project: Project, args: tuple[str, ...]) -> None:
    project.agent(script=[say("Hello")])
    wrong = project.cli(*args, status=2)
    first, *rest = wrong.stderr.splitlines()
    assert first.startswith("agentctl: ") and len(first) > 20
    assert rest and all(line.startswith("hint: ") for line in rest), wrong.story()
    assert wrong.stdout == ""
    assert not project.store.exists()


def test_an_error_quotes_what_was_given_and_hints_can_be_typed(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    waits = project.run("Go", "--run-id", "first-run", status=8).result["suspensions"][0]
    wrong = project.approve("deadbeef00", json=False, status=3)
    assert "`deadbeef00`" in wrong.stderr and wrong.stdout == ""
    wrong = project.resume(waits["id"], "--data", "1", json=False, status=5)
    (typed,) = re.findall(r"hint: (agentctl approve \S+)", wrong.stderr)
    project.bash(typed, status=0)
    assert project.fx_calls() == ["c1"]


def test_what_waits_is_told_with_commands_that_can_be_typed(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    project.store = project.root / "my store"
    waits = project.cli("run", "records", "Go", "--store", "my store", status=8)
    assert "delete_record" in waits.stderr and '"a"' in waits.stderr
    (typed,) = re.findall(r"(agentctl approve .*)", waits.stderr)
    project.bash(typed, env={"AGENTCTL_STORE": None}, status=0)
    assert project.fx_calls() == ["c1"]


def test_errors_in_words_of_the_user_are_shown_escaped(project: Project) -> None:
    wrong = project.cli("show", "evil\x1b[2J\u202e\nname", status=3)
    assert "\x1b" not in wrong.stderr and "\u202e" not in wrong.stderr
    assert len([line for line in wrong.stderr.splitlines() if line.startswith("agentctl:")]) == 1


def test_an_error_shows_no_secret_of_the_environment(project: Project) -> None:
    secret = "sk-secret-123"
    tools = "\nkey = os.environ['OPENAI_API_KEY']\nraise RuntimeError('no good')\n"
    project.agent(tools=tools, script=[say("Hello")])
    for options in ((), ("--debug",)):
        broken = project.cli("run", "records", "Go", *options, env={"OPENAI_API_KEY": secret}, status=2)
        assert "no good" in broken.stderr and secret not in broken.stderr + broken.stdout


# The store


def test_the_store_is_the_flag_else_the_environment_else_dot_runs(project: Project) -> None:
    project.agent(script=[say("Hello")])
    for name, options, env in (
        (".runs", (), {}),
        ("env", (), {"AGENTCTL_STORE": "env"}),
        ("flag", ("--store", "flag"), {"AGENTCTL_STORE": "env"}),
        ("deep/er", ("--store", "deep/er"), {}),
    ):
        project.run("Go", *options, env=env, status=0)
        assert len(list((project.root / name / "finished").iterdir())) == 1, name
    assert len(project.runs("--store", "flag")) == 1


def test_the_folders_above_are_not_searched_for_a_store(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    project.run("Go", status=8)
    below = project.root / "below"
    below.mkdir()
    assert project.cli("pending", "--json", cwd=below, status=0).json == []
    assert list(below.iterdir()) == []


def test_a_store_that_cannot_be_one_is_an_error_and_nothing_starts(project: Project) -> None:
    project.agent(script=[say("Hello")])
    (project.root / "file").touch()
    for store in ("file", "file/below"):
        for args in (("pending",), ("run", "records", "Go")):
            wrong = project.cli(*args, "--store", store, status=(1, 2))
            assert wrong.stderr.startswith("agentctl: ") and store in wrong.stderr, wrong.story()


def test_an_empty_store_name_is_not_the_current_folder(project: Project) -> None:
    project.agent(script=[say("Hello")])
    before = sorted(project.root.iterdir())
    project.cli("run", "records", "Go", "--store", "", status=2)
    assert sorted(project.root.iterdir()) == before


def test_common_options_may_stand_before_or_after_the_verb(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    project.run("Go", "--store", "other", status=8)
    assert len(project.cli("--store", "other", "--json", "pending", status=0).json) == 1
    assert len(project.cli("pending", "--store", "other", "--json", status=0).json) == 1
    assert project.cli("--store", "nothing", "pending", "--store", "other", status=0).rows


def test_colour_is_for_terminals_only(project: Project) -> None:
    project.agent(tools=DELETE, script=ONE)
    env = {"TERM": "xterm-256color"}
    for args in (("run", "records", "Go"), ("pending",), ("runs",), ("show", "nothing-there")):
        shown = project.cli(*args, env=env)
        assert "\x1b" not in shown.stdout + shown.stderr, shown.story()
