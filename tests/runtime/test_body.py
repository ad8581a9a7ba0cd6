"""The body of a snapshot: what is written is read, and what was tampered with is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.models.protocol import Usage
from agentctl.runtime import body, state
from agentctl.runtime.call import Contradiction
from support.auditor import text_of
from support.story import Story

Json = dict[str, Any]


def waiting() -> Story:
    return Story().proposes(("c1", "delete", {"id": "a", "force": False})).judged("ask").asked()


STORIES: dict[str, Callable[[], Story]] = {
    "begun": Story,
    "waiting": waiting,
    "edited": lambda: waiting().decided("approve", args={"id": "b"}),
    "granted": lambda: waiting().decided("approve", always=True).started(),
    "declined": lambda: waiting().decided("decline", reason="Keep it"),
    "asking": lambda: (
        Story().proposes().judged("run").started().asks({"q": "\ud800"}, schema={"type": "string"})
    ),
    "answered": lambda: (
        Story().proposes().judged("run").started().asks(None).decided("data", data=False).started()
    ),
    "in doubt": lambda: (
        Story().proposes().judged("run").started().in_doubt().interrupted().cancelled("Enough")
    ),
    "named": lambda: Story(max_steps=1, thread="t", resource="r", model="openai/x").asks_model(),
    "spent": lambda: Story().asks_model().answers(text="Done", usage=Usage(total_tokens=2**40, requests=1)),
    "ended": lambda: Story().asks_model().answers(text="é\x00\u202e").step_ends().finished(),
}


@pytest.mark.parametrize("story", STORIES)
def test_what_is_written_is_read(story: str) -> None:
    told = STORIES[story]()
    assert body.decode(json.loads(json.dumps(body.encode(told.run)))) == told.run


@pytest.mark.parametrize("story", STORIES)
def test_a_run_goes_on_from_every_snapshot_of_it(story: str) -> None:
    told = STORIES[story]()
    for cut in range(1, len(told.records) + 1):
        saved = body.encode(state.fold(state.begin(told.run.id, told.records[0]), told.records[1:cut]))
        assert state.fold(body.decode(json.loads(json.dumps(saved))), told.records[cut:]) == told.run


def test_a_snapshot_is_little_more_than_its_messages() -> None:
    story = Story(input="Delete " + "x" * 10_000, max_steps=99)
    for number in range(50):
        name = f"c{number}"
        story.proposes((name, "read", {"n": "y" * 1000})).judged("run", name).started(name)
        story.result("z" * 1000, name).step_ends()
    held = len(json.dumps(body.encode(story.run)["root"]["messages"]))
    assert len(json.dumps(body.encode(story.run))) < 1.05 * held


# Tampering


def tampered(change: Callable[[Json], None]) -> Json:
    data: Json = json.loads(json.dumps(body.encode(waiting().run)))
    before = text_of(data)
    change(data)
    assert text_of(data) != before
    return data


def call_of(data: Json) -> Json:
    call: Json = data["root"]["calls"][0]
    return call


TAMPERING: list[tuple[str, Callable[[Json], Any]]] = [
    ("arguments", lambda data: call_of(data)["args"].update(id="everything")),
    ("a number for a bool", lambda data: call_of(data)["args"].update(force=0)),
    ("the tool", lambda data: call_of(data).update(tool="delete_all")),
    ("the call", lambda data: call_of(data).update(id="c2")),
    ("the definition", lambda data: call_of(data)["definition"].update(digest="d2")),
    ("the kind", lambda data: call_of(data)["suspension"].update(kind="in_doubt")),
    ("the ordinal", lambda data: call_of(data)["suspension"].update(ordinal=2)),
    ("the question's id", lambda data: call_of(data)["suspension"].update(id="0" * 64)),
    ("the run", lambda data: data.update(id="run-2")),
    ("who asked", lambda data: data["root"].update(call_path=["c0"])),
    ("a question that vanished", lambda data: call_of(data).pop("suspension")),
    ("a gate that opened", lambda data: call_of(data).update(phase="ready")),
    ("a phase that is none", lambda data: call_of(data).update(phase="allowed")),
    ("an unknown field", lambda data: call_of(data).update(approved=True)),
    ("a missing field", lambda data: data.pop("max_steps")),
    ("a role that is none", lambda data: data["root"]["messages"][0].update(role="system")),
    ("no conversation", lambda data: data.update(root=None)),
    ("no messages", lambda data: data["root"].update(messages=[])),
]


@pytest.mark.parametrize("change", [each[1] for each in TAMPERING], ids=[each[0] for each in TAMPERING])
def test_a_snapshot_that_does_not_fit_together_is_refused(change: Callable[[Json], None]) -> None:
    with pytest.raises(Contradiction):
        body.decode(tampered(change))


@pytest.mark.parametrize("data", [{}, [], None, "run", 1, {"root": {}}, {"root": {"agent_path": 1}}])
def test_what_is_no_run_is_refused(data: Any) -> None:
    with pytest.raises(Contradiction):
        body.decode(data)


def test_class_markers_are_data() -> None:
    story = Story().proposes(("c1", "delete", {"__class__": "os.system", "!!python/object": "x"}))
    assert body.decode(body.encode(story.run)).root.calls[0].args == {
        "__class__": "os.system",
        "!!python/object": "x",
    }
