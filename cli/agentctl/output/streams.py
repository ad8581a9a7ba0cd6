"""Standard input and outputs: always there, always UTF-8, and their failures told once.

Answers and lists go through `put`, whose errors reach the caller; messages go through `tell`, which
never stops a run because nobody can read them.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from typing import Literal, TextIO


@dataclass(frozen=True, slots=True)
class Streams:
    """The three standard streams of the process, ready for use."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO


def prepare_streams() -> Streams:
    """Make `sys.stdin`, `sys.stdout` and `sys.stderr` usable, whatever the caller left open.

    Called once, before any file is opened. Whatever the locale says, the encoding is UTF-8. What
    has no UTF-8 form is written as an escape; bytes that are none are read as lone surrogates.
    """
    _fill_closed_descriptors()
    _keep_stdout_to_ourselves()
    sys.stdin = _ready(sys.stdin, 0, "r", "surrogateescape")
    sys.stdout = _ready(sys.stdout, 1, "w", "backslashreplace")
    sys.stderr = _ready(sys.stderr, 2, "w", "backslashreplace")
    return Streams(sys.stdin, sys.stdout, sys.stderr)


def _keep_stdout_to_ourselves() -> None:
    """Let descriptor 1 be standard error, and write our own output through a copy of what it was.

    Tools may start programs, or write to descriptor 1 themselves: standard output carries what was
    asked for and nothing else.
    """
    if not isinstance(sys.stdout, io.TextIOWrapper) or sys.stdout.fileno() != 1:
        return
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(own, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - a descriptor, open to the end


def _fill_closed_descriptors() -> None:
    # With `>&-` the next file opened, a journal perhaps, would become standard output.
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            os.set_inheritable(descriptor, True)


def _ready(stream: TextIO | None, descriptor: int, mode: Literal["r", "w"], errors: str) -> TextIO:
    if stream is None:
        return open(descriptor, mode, encoding="utf-8", errors=errors, closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors=errors)
    return stream


def put(stdout: TextIO, text: str) -> None:
    """Write and flush what was asked for.

    Raises `BrokenPipeError` where the reader left, and any other `OSError` (a full disk) with
    `standard output` as its file name.
    """
    try:
        stdout.write(text)
        stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def tell(stderr: TextIO, text: str) -> None:
    """Write and flush a message; where it cannot be written it is dropped."""
    with contextlib.suppress(OSError, ValueError):
        stderr.write(text)
        stderr.flush()


def same_place(one: TextIO, other: TextIO) -> bool:
    """Whether both streams end in the same terminal, pipe or file."""
    try:
        return os.path.sameopenfile(one.fileno(), other.fileno())
    except (OSError, ValueError):
        return False


def close_outputs() -> OSError | None:
    """Flush both outputs at the end of the process; the error of standard output, if there is one.

    Afterwards the interpreter has nothing left to complain about when it exits.
    """
    failure: OSError | None = None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            _silence(stream)
            if stream is sys.stdout and isinstance(error, OSError):
                failure = error
    return failure


def _silence(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()
