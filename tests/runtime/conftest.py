"""The loop looks for decisions often, so that no test waits for it."""

from __future__ import annotations

import pytest

from agentctl.runtime import loop


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "POLL_SECONDS", 0.001)
