"""Where things lie in the store's folder, and whether that folder may be trusted.

The folder is created by the first command that writes; it must be its user's alone and hold no symlinks.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from agentctl_store import atomic
from agentctl_store.canonical import canonical, parse
from agentctl_store.errors import Damaged, Refused, RunExists, StoreError, as_damage, check_format
from agentctl_store.ids import is_id

FORMAT = 1
STORE_FILE = "store.json"
IGNORE_FILE = ".gitignore"
ACTIVE, FINISHED, THREADS, LOCKS, TMP = FOLDERS = ("active", "finished", "threads", "locks", "tmp")

# A temporary that is older than this, by the file system's own clock, was left by a crash.
_STALE_S = 24 * 3600


class Layout:
    """The paths of one store, and its identity once it is known to exist."""

    def __init__(self, path: Path) -> None:
        self.root = os.path.abspath(path)
        self.active, self.finished, self.threads, self.locks, self.tmp = (
            os.path.join(self.root, name) for name in FOLDERS
        )
        self._id: str | None = None

    def lock_path(self, run_id: str) -> str:
        return os.path.join(self.locks, run_id + ".lock")

    def store_id(self) -> str | None:
        """The store's id, or None if there is no store yet. Raises `Refused` or `Damaged`."""
        if self._id is None:
            with reading():
                self._id = self._read_id() if check_root(self.root) else None
        return self._id

    def ensure(self) -> str:
        """The store's id, after creating whatever is missing of the store. Raises `NotSaved` too."""
        with atomic.saving(f"the store `{self.root}`"):
            if self.store_id() is None:
                self._create()
            folders = (self.active, self.finished, self.threads, self.locks, self.tmp)
            made = [atomic.make_folder(folder) for folder in folders]
            if any(made):
                atomic.sync_folder(self.root)
        return self._id or ""

    def _create(self) -> None:
        _make_parents(os.path.dirname(self.root))
        if atomic.make_folder(self.root):
            atomic.sync_folder(os.path.dirname(self.root))
        check_root(self.root)
        atomic.make_folder(self.tmp)
        document = canonical({"format": FORMAT, "id": os.urandom(16).hex()}) + b"\n"
        # Two processes may get here at once: the first file stands, both read it.
        atomic.publish(os.path.join(self.root, IGNORE_FILE), b"*\n", self.tmp, "ignore")
        atomic.publish(os.path.join(self.root, STORE_FILE), document, self.tmp, "store")
        self._id = self._read_id()

    def _read_id(self) -> str | None:
        try:
            data = atomic.read_file(os.path.join(self.root, STORE_FILE))
        except FileNotFoundError:
            self._check_unborn()
            return None
        try:
            document = parse(data)
            version, store_id = document["format"], document["id"]
        except (ValueError, KeyError, TypeError):
            raise Damaged(None, f"`{STORE_FILE}` cannot be read") from None
        check_format(version, f"the store `{self.root}`", FORMAT)
        if not isinstance(store_id, str) or len(store_id) != 32:
            raise Damaged(None, f"`{STORE_FILE}` has no id")
        return store_id

    def _check_unborn(self) -> None:
        """A folder without `store.json` may become a store only if nothing else is in it."""
        foreign = set(os.listdir(self.root)) - {*FOLDERS, IGNORE_FILE}
        if foreign:
            raise Refused(
                f"`{self.root}` is not a store, and not empty: it holds `{min(foreign)}`",
                hint="--store names a folder of its own",
            )
        for folder in (self.active, self.finished):
            if atomic.is_folder(folder) and os.listdir(folder):
                raise Damaged(None, f"`{STORE_FILE}` is missing")

    def create_run(self, run_id: str, files: Mapping[str, bytes], subfolder: str) -> None:
        """Make a run's folder in `tmp/` and give it its name, so that it is there whole or not at all."""
        building = os.path.join(self.tmp, atomic.random_name())
        folder = os.path.join(self.active, run_id)
        try:
            atomic.make_folder(building)
            atomic.make_folder(os.path.join(building, subfolder))
            for name, data in files.items():
                atomic.write_new(os.path.join(building, name), data, f"create-{name.partition('.')[0]}")
            atomic.sync_folder(os.path.join(building, subfolder))
            atomic.sync_folder(building)
            _rename_new(building, folder, run_id)
            try:
                atomic.sync_folder(self.active)
            except OSError:
                os.rename(folder, building)
                raise
        except BaseException:
            discard_tree(building)
            raise

    def run_names(self, folder: str) -> Iterator[tuple[str, Damaged | None]]:
        """The entries of `active/` or `finished/` in order; with an error for what cannot be a run."""
        if self.store_id() is None or not atomic.is_folder(folder):
            return
        with reading(), os.scandir(folder) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        for name, is_folder in found:
            problem: Damaged | None = None
            if not is_id(name):
                problem = Damaged(name, f"`{os.path.join(folder, name)}` is no run's folder")
            elif not is_folder:
                problem = Damaged(
                    name, f"`{os.path.join(folder, name)}` is a symlink or a file, not a folder"
                )
            yield name, problem

    def remove_stale(self) -> None:
        """Remove what crashed processes left in `tmp/`, a day ago or more."""
        probe = os.path.join(self.tmp, atomic.random_name())
        os.mkdir(probe, atomic.FOLDER_MODE)
        now = os.lstat(probe).st_mtime
        os.rmdir(probe)
        for name in os.listdir(self.tmp):
            path = os.path.join(self.tmp, name)
            try:
                if now - os.lstat(path).st_mtime > _STALE_S:
                    discard_tree(path)
            except FileNotFoundError:
                continue


@contextmanager
def reading() -> Iterator[None]:
    """Turn a failed system call into `Damaged`: a store that cannot be read is not an empty one."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise as_damage(None, error) from error


def check_root(root: str) -> bool:
    """Whether the store's folder exists. Raises `Refused` unless it is its user's alone."""
    try:
        status = os.lstat(root)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise Refused(
            f"`{root}` cannot be a folder: part of its path is a file", hint="--store DIR"
        ) from None
    if stat.S_ISLNK(status.st_mode):
        raise atomic.refused_symlink(root)
    if not stat.S_ISDIR(status.st_mode):
        raise Refused(f"`{root}` is not a folder")
    if status.st_uid != os.geteuid():
        raise Refused(f"`{root}` belongs to user {status.st_uid}, not to you", hint="--store DIR")
    if status.st_mode & 0o077:
        raise Refused(f"`{root}` is open to others", hint=f"chmod 700 {root}")
    return True


def _rename_new(source: str, target: str, run_id: str) -> None:
    try:
        atomic.rename(source, target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise RunExists(run_id) from None
        raise


def _make_parents(path: str) -> None:
    """Folders above the store are not its own: they get the modes that the user's umask says."""
    if not os.path.isdir(path):
        _make_parents(os.path.dirname(path))
        with suppress(FileExistsError):
            os.mkdir(path)
        atomic.sync_folder(os.path.dirname(path))


def discard_tree(path: str) -> None:
    """Remove a file or a folder as well as possible; symlinks are removed, not followed."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            for name in os.listdir(path):
                discard_tree(os.path.join(path, name))
            os.rmdir(path)
        else:
            os.unlink(path)
    except OSError:
        # What remains is in tmp/, harms nothing, and is tried again another day.
        return
