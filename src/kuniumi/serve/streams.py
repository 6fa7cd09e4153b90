"""The process's own streams: stdout is kept for the answer, whatever a function prints.

In: file descriptors 1 and 2. Out: a stream that nobody else can write to. A `print`, an
`os.write(1, …)`, the echo of a child process: all of it goes to stderr.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator


def take_stdout() -> BinaryIO:
    """Keep stdout for the answer alone, from here to the end of the process."""
    try:
        ours: BinaryIO = os.fdopen(os.dup(1), "wb")
    except OSError:  # this process was started without a stdout
        ours = io.BytesIO()
    _lead_stdout_to_stderr()
    if sys.stdout is not None:
        sys.stdout.flush()  # what the app's file printed before this point goes to stderr, too
    _print_line_by_line()
    return ours


def take_stdin() -> int:
    """Keep stdin for the protocol alone: whoever else reads gets nothing. Give its descriptor."""
    try:
        ours = os.dup(0)
    except OSError:  # this process was started without a stdin
        return os.open(os.devnull, os.O_RDONLY)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return ours


@contextmanager
def spared_stdout() -> Iterator[None]:
    """Keep stdout free while a function runs, and give it back afterwards."""
    if not _is_descriptor_1(sys.stdout):  # somebody put another stream in its place
        before, sys.stdout = sys.stdout, sys.stderr
        try:
            yield
        finally:
            sys.stdout = before
        return
    sys.stdout.flush()
    _print_line_by_line()
    kept = os.dup(1)
    _lead_stdout_to_stderr()
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def end_process(code: int) -> NoReturn:
    """End the process at once, in the midst of whatever it does; what was printed is kept."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it is closed, or was being written to at this very moment
            stream.flush()
    os._exit(code)


def _print_line_by_line() -> None:
    """Keep the order of what is printed and what child processes write."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def _is_descriptor_1(stream: object) -> bool:
    try:
        return stream.fileno() == 1  # type: ignore[attr-defined, no-any-return]
    except (AttributeError, OSError, ValueError):
        return False


def _lead_stdout_to_stderr() -> None:
    try:
        os.dup2(2, 1)
    except OSError:  # no stderr either
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        if nowhere != 1:
            os.close(nowhere)
