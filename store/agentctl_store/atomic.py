"""Every system call that changes the store: files appear whole and fsynced, or not at all.

Each call passes a named failpoint first, so that tests can kill the process at every instruction.
Knows paths and bytes, not their meaning. Symlinks and special files are refused; modes ignore the umask.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from agentctl_store.errors import NotSaved, Refused, StoreError

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_CHUNK = 1 << 20
_TMP_SUFFIX = ".tmp"

# For tests, read once at import: AGENTCTL_FAILPOINT="name:n" kills the process at the n-th hit of that
# failpoint; AGENTCTL_FAILPOINT_LOG=FILE appends the name of each one that is passed.
_KILL_AT = os.environ.get("AGENTCTL_FAILPOINT", "")
_LOG = os.environ.get("AGENTCTL_FAILPOINT_LOG", "")
_hits: dict[str, int] = {}

if _KILL_AT or _LOG:

    def failpoint(name: str) -> None:
        """Log the name, and die here by SIGKILL if the environment asks for it."""
        _hits[name] = _hits.get(name, 0) + 1
        if _LOG:
            fd = os.open(_LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
            os.write(fd, f"{name}:{_hits[name]}\n".encode())
            os.close(fd)
        if f"{name}:{_hits[name]}" == _KILL_AT:
            os.kill(os.getpid(), 9)

else:

    def failpoint(name: str) -> None:
        """Nothing: no failpoints were asked for."""


@contextmanager
def saving(what: str) -> Iterator[None]:
    """Turn a failed system call into `NotSaved(what)`, a symlink in the way into `Refused`."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise refused_symlink(str(error.filename)) from error
        raise NotSaved(what, error) from error


def refused_symlink(path: str) -> Refused:
    """The error for a symlink where the store keeps its own files and folders."""
    return Refused(f"`{path}` is a symlink", hint=f"ls -l {path}")


# Reading


def open_read(path: str) -> int:
    """A descriptor of the regular file `path`. Raises `FileNotFoundError`, or `Refused` for anything else."""
    try:
        # O_NONBLOCK: a pipe put in the place of a file must not make the reader wait for ever.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise refused_symlink(path) from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Refused(f"`{path}` is not a regular file")
    return fd


def read_file(path: str) -> bytes:
    """The whole file. Raises `FileNotFoundError`, or `Refused` for a symlink or special file."""
    fd = open_read(path)
    try:
        chunks = []
        while chunk := os.read(fd, _CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def is_folder(path: str) -> bool:
    """Whether `path` is a folder; False if there is nothing. Raises `Refused` for a symlink or a file."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISLNK(mode):
        raise refused_symlink(path)
    if not stat.S_ISDIR(mode):
        raise Refused(f"`{path}` is not a folder")
    return True


# Writing


def make_folder(path: str) -> bool:
    """Create the folder for its owner only; False if it is there already."""
    failpoint("mkdir")
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        is_folder(path)
        return False
    os.chmod(path, FOLDER_MODE)
    return True


def write_all(fd: int, data: bytes, name: str) -> None:
    """Write every byte; a short write is continued, so that a full disk shows as its error."""
    view = memoryview(data)
    if _KILL_AT or _LOG:
        failpoint(f"{name}.write")
        half = len(view) // 2
        os.write(fd, view[:half])
        failpoint(f"{name}.write-half")
        view = view[half:]
    while view:
        view = view[os.write(fd, view) :]


def sync_file(fd: int, name: str) -> None:
    """Have the file on the disk itself. If it fails, the descriptor must not be synced again."""
    failpoint(f"{name}.fsync")
    if sys.platform == "darwin":
        import fcntl

        # On macOS fsync leaves the data in the drive's cache.
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
    os.fsync(fd)


def sync_folder(path: str) -> None:
    """Have the names in a folder on the disk itself."""
    failpoint("folder.fsync")
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:
        # Some network and FUSE file systems have no fsync for folders; their renames are durable or never.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def rename(source: str, target: str) -> None:
    """Give a file or folder its name."""
    failpoint("rename")
    os.rename(source, target)


def unlink(path: str) -> None:
    """Remove a file; it is fine if it is gone."""
    failpoint("unlink")
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def write_new(path: str, data: bytes, name: str) -> None:
    """Create a file that nobody has, whole and fsynced; nothing remains if that fails."""
    failpoint(f"{name}.create")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    try:
        try:
            os.fchmod(fd, FILE_MODE)
            write_all(fd, data, name)
            sync_file(fd, name)
        finally:
            os.close(fd)
    except BaseException:
        discard(path)
        raise


def replace_file(path: str, data: bytes, name: str) -> None:
    """Give `path` new content in one instant: readers see the old or the new, whole."""
    temporary = f"{path}.{random_name()}{_TMP_SUFFIX}"
    write_new(temporary, data, name)
    try:
        rename(temporary, path)
    except BaseException:
        discard(temporary)
        raise
    sync_folder(os.path.dirname(path))


def publish(path: str, data: bytes, tmp: str, name: str) -> bool:
    """Create `path` whole, unless somebody has: True if this call did. `tmp` is a folder of the same disk."""
    temporary = os.path.join(tmp, random_name() + _TMP_SUFFIX)
    write_new(temporary, data, name)
    try:
        failpoint(f"{name}.link")
        os.link(temporary, path)
        created = True
    except FileExistsError:
        created = False
    finally:
        failpoint(f"{name}.unlink")
        discard(temporary)
    # Also the loser syncs: what it reports as decided must be on the disk, whoever wrote it.
    sync_folder(os.path.dirname(path))
    return created


def discard(path: str) -> None:
    """Remove a temporary file as well as possible: the error that led here is the one to report."""
    try:
        os.unlink(path)
    except OSError:
        return


def is_temporary(name: str) -> bool:
    """Whether a file name is one of those that `replace_file` and `publish` use on the way."""
    return name.endswith(_TMP_SUFFIX)


def random_name() -> str:
    """A name that no other process has."""
    return os.urandom(8).hex()
