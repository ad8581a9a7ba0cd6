"""How a run looks from outside: its status, its open questions, and the JSON that scripts read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.models.protocol import Usage
from agentctl.runtime import views
from agentctl.runtime.events import Record
from support.story import AT, PATH, RUN, Story

TWO = (("c1", "delete", {"id": "a"}), ("c2", "read", {"id": "b"}))


def waiting() -> Story:
    return Story().proposes().judged("ask").asked()


def lost() -> Story:
    return Story().proposes().judged("run").started()


def waiting_beside_lost() -> Story:
    return Story().proposes(*TWO).judged("ask", "c1").judged("run", "c2").asked("c1").started("c2")


STATUSES: list[tuple[str, Callable[[], Story], str]] = [
    ("nobody drives it", Story, "interrupted"),
    ("an approval waits", waiting, "suspended"),
    ("a data question waits", lambda: lost().asks("Which?"), "suspended"),
    ("in doubt", lambda: lost().in_doubt(), "in_doubt"),
    ("lost, and not yet recorded so", lost, "in_doubt"),
    (
        "lost, but may be repeated",
        lambda: Story().proposes().judged("run", idempotent=True).started(),
        "interrupted",
    ),
    ("doubt weighs more than waiting", waiting_beside_lost, "in_doubt"),
    ("an error", lambda: Story().interrupted(), "interrupted"),
    ("waiting weighs more than an error", lambda: waiting().interrupted(), "suspended"),
    ("completed", lambda: Story().asks_model().answers().step_ends().finished(), "completed"),
    ("cancelled", lambda: Story().cancelled().finished("cancelled", "cancelled"), "cancelled"),
    ("failed", lambda: Story().asks_model().finished("failed", "error"), "failed"),
    ("cancelled, and not closed", lambda: Story().cancelled(), "interrupted"),
]


@pytest.mark.parametrize(
    ("story", "status"), [each[1:] for each in STATUSES], ids=[each[0] for each in STATUSES]
)
def test_the_status_of_a_run_that_nobody_drives(story: Callable[[], Story], status: str) -> None:
    assert views.status_of(story().run, driven=False) == status


@pytest.mark.parametrize(
    ("story", "status"), [each[1:] for each in STATUSES], ids=[each[0] for each in STATUSES]
)
def test_a_run_that_is_driven_is_running_unless_it_ended(story: Callable[[], Story], status: str) -> None:
    ended = status in ("completed", "cancelled", "failed")
    assert views.status_of(story().run, driven=True) == (status if ended else "running")


def test_a_decided_question_no_longer_suspends() -> None:
    story = waiting()
    assert views.status_of(story.run, driven=False, decided={story.question()}) == "interrupted"
    assert views.status_of(story.run, driven=False, decided={"another"}) == "suspended"


# Open questions


def test_questions_are_listed_in_call_order() -> None:
    story = Story().proposes(*TWO).judged("ask", "c1").judged("ask", "c2").asked("c2").asked("c1")
    assert [call.id for call, _ in views.open_questions(story.run, driven=True)] == ["c1", "c2"]


def test_a_running_call_is_no_question_while_its_run_is_driven() -> None:
    assert views.open_questions(lost().run, driven=True) == ()


def test_a_lost_call_is_the_same_question_before_and_after_it_is_recorded() -> None:
    story = lost()
    [(_, seen)] = views.open_questions(story.run, driven=False)
    [(_, recorded)] = views.open_questions(story.in_doubt().run, driven=False)
    assert seen == recorded


def test_a_lost_call_is_in_doubt_since_it_was_started() -> None:
    story = lost()
    later = Record("error", "2026-12-02T00:00:00.000Z", story.interrupted().records[-1].payload, PATH)
    [(_, question)] = views.open_questions(story.record(later).run, driven=False)
    assert question.suspended_at == AT


def test_a_call_that_is_lost_again_is_another_question() -> None:
    story = lost().in_doubt()
    first = story.question()
    assert story.decided("retry").started().in_doubt().question() != first


def test_a_decided_question_is_not_shown() -> None:
    story = waiting_beside_lost()
    shown = views.suspension_views(story.run, driven=False, decided={story.question("c1")})
    assert [each["tool_call_id"] for each in shown] == ["c2"]


# JSON

SUSPENSION_KEYS = [
    *("id", "run_id", "agent", "agent_path", "call_path", "kind", "tool", "tool_call_id", "args"),
    *(
        "requires_approval",
        "reason",
        "suspend_payload",
        "resume_schema",
        "thread",
        "resource",
        "suspended_at",
    ),
]
RUN_KEYS = [
    *("run_id", "status", "agent", "prompt", "thread", "resource", "started_at", "updated_at", "finished_at"),
    *("finish_reason", "suspensions", "usage", "error"),
]


def only(story: Story) -> dict[str, Any]:
    [shown] = views.suspension_views(story.run, driven=False)
    assert list(shown) == SUSPENSION_KEYS
    assert json.loads(json.dumps(shown)) == shown
    return shown


def test_an_approval_shows_what_would_run() -> None:
    story = waiting()
    shown = only(story)
    assert shown["id"] == story.question()
    assert (shown["kind"], shown["requires_approval"]) == ("approval", True)
    assert (shown["run_id"], shown["agent"], shown["agent_path"]) == (RUN, PATH[-1], list(PATH))
    assert (shown["tool"], shown["tool_call_id"], shown["args"]) == ("delete", "c1", {"id": "a"})
    assert shown["suspended_at"] == AT


def test_a_data_question_shows_payload_and_schema() -> None:
    schema = {"type": "object"}
    shown = only(lost().asks({"question": "Which?"}, schema=schema))
    assert (shown["kind"], shown["requires_approval"]) == ("data", False)
    assert (shown["suspend_payload"], shown["resume_schema"]) == ({"question": "Which?"}, schema)


def test_a_call_in_doubt_says_why() -> None:
    shown = only(lost())
    assert (shown["kind"], shown["requires_approval"], shown["reason"]) == ("in_doubt", False, views.LOST)


def view(story: Story) -> dict[str, Any]:
    status = views.status_of(story.run, driven=False)
    shown = views.run_view(story.run, status, len(views.suspension_views(story.run, driven=False)))
    assert list(shown) == RUN_KEYS
    assert json.loads(json.dumps(shown)) == shown
    return shown


def test_a_waiting_run_shows_what_it_waits_for() -> None:
    shown = view(waiting())
    assert (shown["status"], shown["finish_reason"], shown["suspensions"]) == ("suspended", "suspended", 1)
    assert (shown["error"], shown["finished_at"]) == (None, None)


def test_an_interrupted_run_shows_its_error() -> None:
    shown = view(Story().interrupted("auth", "error"))
    assert (shown["status"], shown["finish_reason"]) == ("interrupted", "error")
    assert shown["error"] == {"code": "auth", "message": "It stopped", "hint": "agentctl resume"}


def test_an_error_is_not_shown_once_the_run_goes_on() -> None:
    assert view(Story().interrupted("auth").resumed())["error"] is None


def test_a_failed_run_shows_its_error() -> None:
    error = {"code": "failed", "message": "no turn is left", "hint": None}
    shown = view(Story().asks_model().finished("failed", "error", error))
    assert (shown["status"], shown["finish_reason"], shown["error"]) == ("failed", "error", error)
    assert shown["finished_at"] == AT


def test_usage_is_that_of_the_whole_run() -> None:
    cut = {"total_tokens": 7, "requests": 1}
    story = Story().asks_model().interrupted(answered=True, usage=cut).resumed()
    story.asks_model().answers(text="Done", usage=Usage(total_tokens=5, requests=1)).step_ends().finished()
    assert (view(story)["usage"]["total_tokens"], view(story)["usage"]["requests"]) == (12, 2)
