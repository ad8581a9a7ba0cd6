"""Durations: `300ms 2s 30m 1h 7d`; a bare number is seconds."""

from __future__ import annotations

import pytest

from agentctl.tools.duration import readable, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("300ms", 0.3),
        ("2s", 2.0),
        ("30m", 1800.0),
        ("1h", 3600.0),
        ("7d", 604800.0),
        ("5", 5.0),
        ("1.5h", 5400.0),
        (" 2s ", 2.0),
        (3, 3.0),
        (0.25, 0.25),
    ],
)
def test_durations(text: object, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    ["", "s", "2 s", "2S", "-1s", "0s", "0", "1e3", "inf", "nan", "٣s", "9" * 400, 10**400, True, None, [2]],
)
def test_everything_else_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is no duration such as"):
        seconds(text)


def test_durations_are_told_in_seconds() -> None:
    assert [readable(n) for n in (60.0, 0.3, 1.5)] == ["60s", "0.3s", "1.5s"]
