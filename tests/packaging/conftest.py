"""The distribution, built once for the tests that look at it."""

from __future__ import annotations

import pytest

from support.distribution import Distribution, build


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """Wheel and sdist of this checkout."""
    return build(tmp_path_factory.mktemp("dist"))
