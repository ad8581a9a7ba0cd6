"""What a test needs from the machine; where it is missing the test is skipped and says so."""

from __future__ import annotations

import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where `program` is not on PATH."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program} on PATH")


needs_jq = needs("jq")
needs_strace = needs("strace")
