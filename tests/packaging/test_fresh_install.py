"""The wheel works where there is nothing but it and its dependencies."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.distribution import CHECKOUT, Distribution, install


@pytest.fixture(scope="module")
def environment(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel and what it depends on."""
    path = tmp_path_factory.mktemp("fresh") / "environment"
    install(distribution.wheel, path)
    return path


def run(environment: Path, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{environment / 'bin'}:/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("package", ["agentctl", "agentctl_store"])
def test_both_packages_are_imported_from_the_wheel(environment: Path, package: str, tmp_path: Path) -> None:
    command = ("python", "-c", f"import {package}; print({package}.__file__)")
    where = run(environment, *command, cwd=tmp_path).stdout
    assert where.startswith(str(environment))


def test_the_demo_runs_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "sample-agents", tmp_path / "sample-agents")
    demo = run(environment, "sh", "sample-agents/demo.sh", cwd=tmp_path)
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "(nothing waits any more)" in demo.stdout
