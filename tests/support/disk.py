"""A small disk of its own, to be filled up or made read-only under a running program."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest


class Disk:
    """A tmpfs mounted on `path`."""

    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        path.mkdir()
        mounted = _mount("-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", str(path))
        if mounted is not None:
            pytest.skip(f"needs the right to mount a disk: {mounted}")

    @property
    def _ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self) -> None:
        """Leave no free byte."""
        file = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            with contextlib.suppress(OSError):
                while True:
                    os.write(file, bytes(4096))
        finally:
            os.close(file)

    def free(self) -> None:
        """Give back what `fill` took."""
        self._ballast.unlink()

    def read_only(self) -> None:
        """Refuse every write from now on."""
        self._remount("ro")

    def writable(self) -> None:
        """Take writes again."""
        self._remount("rw")

    def unmount(self) -> None:
        """Let go of the disk, also while a process that was left behind looks at it."""
        subprocess.run(["umount", "-l", str(self.path)], check=True, capture_output=True)

    def _remount(self, option: str) -> None:
        failed = _mount("-o", f"remount,{option}", str(self.path))
        assert failed is None, failed


def _mount(*args: str) -> str | None:
    """Why `mount` failed, or None."""
    if os.geteuid() != 0:
        return "not root"
    done = subprocess.run(["mount", *args], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()
