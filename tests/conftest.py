"""The fixtures every test may use; how they are used stands in `support/project.py`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

pytest.register_assert_rewrite("support")

from support.disk import Disk  # noqa: E402 - asserts in it are rewritten only if it is imported after that
from support.project import Project  # noqa: E402

# A shared machine stalls at times, which says nothing about the code: no example has a deadline.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

# A shell that starts the tests in the background lets them ignore Ctrl-C, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Likewise for `nohup make test`.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A fresh folder in which the installed `agentctl` runs."""
    made = Project(tmp_path / "project")
    yield made
    made.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Disk]]:
    """Makes disks of a given size: `small_disk("64k")`. Skips where no disk can be mounted."""
    made: list[Disk] = []

    def mount(size: str = "64k") -> Disk:
        disk = Disk(tmp_path / f"disk{len(made)}", size)
        made.append(disk)
        return disk

    yield mount
    for disk in made:
        disk.unmount()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings that may lie beside the checkout; skips where there is none."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared"
    folder = Path(os.environ.get("AGENTCTL_SHARED") or beside)
    if not folder.is_dir():
        pytest.skip("needs the shared recordings; AGENTCTL_SHARED names their folder")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A real model is only ever asked when its address is given."""
    if os.environ.get("AGENTCTL_REAL_BASE_URL"):
        return
    for item in items:
        if item.get_closest_marker("real_model"):
            item.add_marker(pytest.mark.skip(reason="needs AGENTCTL_REAL_BASE_URL, a server with a model"))
