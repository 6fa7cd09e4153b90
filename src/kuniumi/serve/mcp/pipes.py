"""Two pipes on an event loop: lines come in by one, and go out by the other.

In: file descriptors, of a pipe, a socket, a terminal or a file. Out: whole lines. A pipe shared with
others is never made non-blocking, for it would be so for them as well.
"""

from __future__ import annotations

import asyncio
import os
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 65_536
_NEVER_BLOCKS = select.PIPE_BUF  # as much as a pipe takes that says it takes something
_BACKLOG = 8 * 1024 * 1024


class Inlet:
    """Reads lines, none longer than the limit, and can be made to wait."""

    def __init__(self, descriptor: int, limit: int, take: Callable[[bytes | None], None]) -> None:
        self._descriptor = descriptor
        self._limit = limit
        self._take = take  # gets each line, and `None` for one that is too long
        self._parts: list[bytes] = []
        self._size = 0
        self._loop = asyncio.get_running_loop()
        self._paused = True
        self._is_file = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self.ended = asyncio.Event()

    def resume(self) -> None:
        """Go on reading."""
        if self._paused and not self.ended.is_set():
            self._paused = False
            try:
                self._loop.add_reader(self._descriptor, self._read)
            except PermissionError:  # a file: there is always something to read
                self._is_file = True
                self._loop.call_soon(self._read)

    def pause(self) -> None:
        """Read no further until told to."""
        if not self._paused:
            self._paused = True
            if not self._is_file:
                self._loop.remove_reader(self._descriptor)

    def _read(self) -> None:
        # A loop that a function broke off tells of the same bytes twice: a second read would block.
        if self._paused or not self._poll.poll(0):
            return
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError:  # the other side is gone
            data = b""
        if not data:
            self._end()
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._finish(line)
        self._keep(rest)
        if self._is_file:
            self._loop.call_soon(self._read)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()  # it is too long, and told so at its end
        elif part:
            self._parts.append(part)

    def _finish(self, part: bytes) -> None:
        self._keep(part)
        line = None if self._size > self._limit else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if line is None or line.strip():
            self._take(line)

    def _end(self) -> None:
        if self._size:
            self._finish(b"")  # the last line may lack its end
        self.pause()
        self.ended.set()


class Outlet:
    """Writes lines, as fast as the other side reads them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._scheduled = False
        self._watched = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self.broken = False
        self.eased: Callable[[], None] | None = None  # called when it is full no longer

    @property
    def is_full(self) -> bool:
        """Whether so much waits to be read that nothing more should be made."""
        return len(self._waiting) > _BACKLOG

    def write(self, line: bytes) -> None:
        """Write a line soon, together with others that come in this turn of the loop."""
        self._waiting += line
        self._waiting += b"\n"
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    async def drain(self) -> None:
        """Wait until all is written, or nobody reads any more."""
        while self._waiting and not self.broken:
            self._flush()
            if self._waiting:
                await asyncio.sleep(0.005)  # the reader is slow, and the process about to end

    def _flush(self) -> None:
        self._scheduled = False
        was_full = self.is_full
        self._write_out()
        if was_full and not self.is_full and self.eased is not None:
            self.eased()

    def _write_out(self) -> None:
        try:
            while self._waiting and not self.broken:
                if not self._poll.poll(0):
                    self._watch()
                    return
                written = os.write(self._descriptor, self._waiting[:_NEVER_BLOCKS])
                del self._waiting[:written]
        except BlockingIOError:
            self._watch()
            return
        except OSError:
            self.broken = True
            self._waiting.clear()
        self._unwatch()

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            self._loop.add_writer(self._descriptor, self._flush)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_writer(self._descriptor)
