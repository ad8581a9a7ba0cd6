"""The wheel and the sdist of this checkout, and fresh environments to install them into."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent.parent

# What pip says when the package index cannot be reached; any other failure is one of ours.
_OFFLINE = ("connection broken by", "NewConnectionError", "NameResolutionError", "ConnectTimeoutError")


@dataclass(frozen=True, slots=True)
class Distribution:
    """The sdist, and the wheel that was made from that sdist."""

    sdist: Path
    wheel: Path

    def files_of_sdist(self) -> set[str]:
        """Paths of all files, below the one folder that an sdist has."""
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}

    def files_of_wheel(self) -> set[str]:
        """Paths of all files."""
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def metadata(self) -> str:
        """What the wheel says about itself."""
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
            return archive.read(name).decode()


def build(out: Path) -> Distribution:
    """Build both with the build backend that is installed, so that nothing is fetched."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(CHECKOUT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return Distribution(sdist, wheel)


def install(wheel: Path, environment: Path) -> None:
    """Make an environment with the wheel and what it depends on; skip the test where there is no index."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    command = [*pip, "install", "--quiet", "--retries", "1", "--disable-pip-version-check", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0 and any(words in said for words in _OFFLINE):
        pytest.skip("needs a package index that can be reached")
    assert done.returncode == 0, said
