"""A server of MCP that runs as a process of ours, and speaks on its stdin and stdout.

In: a command. Out: a `Link`. What it prints that is no message is skipped; what it says on stderr is
kept for the message in which its end is told; a line that is too long costs that one answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.agent.servers.link import LinkLostError, Pending, read_message
from kuniumi.core.codec import dumps
from kuniumi.errors import ServerError
from kuniumi.wire import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kuniumi.agent.servers.link import Hear
    from kuniumi.wire.jsonrpc import Response, RpcError

_log = logging.getLogger("kuniumi.agent")

_PIECE = 1 << 16
_KEPT = 4096
_MOST_UNSENT = 1 << 23
_GRACE = 2.0  # seconds to end in by itself, and again when told to
_HARMLESS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')


class Command(Struct, frozen=True):
    """How a server is started."""

    words: tuple[str, ...]
    env: dict[str, str] = {}
    cwd: str | None = None
    max_bytes: int = 1 << 24


class StdioLink:
    """One process, for as long as it lives; opened again, it is another."""

    def __init__(self, command: Command) -> None:
        self.hear: Hear = lambda _message: None
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pending = Pending()
        self._stderr: deque[bytes] = deque(maxlen=20)
        self._lost: LinkLostError | None = None

    @property
    def is_open(self) -> bool:
        """Whether the process runs and speaks."""
        return self._process is not None and self._lost is None

    @property
    def facts(self) -> dict[str, Any]:
        """What is told of the way to the server."""
        return {"network.transport": "pipe"}

    async def open(self) -> None:
        """Start the process."""
        await self.close()
        self._lost = None
        self._stderr.clear()
        words = self._command.words
        given = {name: value for name in _HARMLESS if (value := os.getenv(name)) is not None}
        try:
            self._process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**given, **self._command.env},
                cwd=self._command.cwd,
                start_new_session=True,
                limit=_PIECE,
            )
        except (OSError, ValueError) as error:
            raise ServerError(f"{words[0]!r} cannot be started: {error}") from error
        self._tasks = [
            asyncio.create_task(self._read(self._process)),
            asyncio.create_task(self._keep_stderr(self._process)),
        ]

    async def ask(
        self, number: int, body: bytes, headers: Mapping[str, str], *, cancels: bool = True
    ) -> Response | RpcError:
        """Write a request, and wait for the line that answers it."""
        del headers  # this carries none
        with self._pending.place(b"%d" % number) as answer:
            try:
                self._write(body)
                return await answer
            except asyncio.CancelledError:
                if cancels:
                    self._cancel(number)
                raise

    async def tell(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Write what wants no answer."""
        del headers
        self._write(body)

    async def watch(self, headers: Mapping[str, str], begun: Callable[[], None]) -> bool:
        """Say that there is nothing else to listen to: all comes on the one stream."""
        del headers, begun
        return False

    async def close(self) -> None:
        """End the process: by the end of its stdin, else by signals."""
        process, self._process = self._process, None
        if process is None:
            return
        self._lose("was closed")
        try:
            await _end(process)
        finally:
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # ---- what is written and read ------------------------------------------------------------------

    def _write(self, body: bytes) -> None:
        process = self._process
        if self._lost is not None:
            raise self._lost
        if process is None or process.stdin is None or process.stdin.is_closing():
            raise LinkLostError("the server is gone")
        transport = process.stdin.transport
        if transport.get_write_buffer_size() + len(body) > max(_MOST_UNSENT, 2 * len(body)):
            raise ServerError("the server does not read what it is sent")
        process.stdin.write(body + b"\n")

    def _cancel(self, number: int) -> None:
        with suppress(ServerError):
            said = dumps({"requestId": number, "reason": "nobody waits for it any more"})
            self._write(jsonrpc.write_notification("notifications/cancelled", said))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        stdout = process.stdout
        assert stdout is not None  # noqa: S101 - it was asked for
        line = _Line(self._command.max_bytes)
        while piece := await stdout.read(_PIECE):
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line.add(end)
                self._take(line)
                line = _Line(self._command.max_bytes)
            line.add(rest)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
        said = b"".join(self._stderr).decode("utf-8", "replace").strip()
        code = process.returncode
        ended = "closed its stdout" if code is None else f"ended with exit code {code}"
        self._lose(f"{ended}: {said[-500:]}" if said else ended)

    def _take(self, line: _Line) -> None:
        if line.is_too_long:
            found = _ID.search(line.head) or _ID.search(line.tail)
            said = f"the answer is longer than {self._command.max_bytes:,} bytes"
            if found is None:
                _log.debug("a server wrote a line that is too long, and of nothing known")
                return
            self._pending.resolve(found[1], jsonrpc.RpcError(jsonrpc.INTERNAL, said))
            return
        raw = line.whole
        if not raw.lstrip().startswith(b"{"):
            return  # some servers print here what belongs on stderr
        message = read_message(raw)
        if isinstance(message, (jsonrpc.Response, jsonrpc.RpcError)):
            self._pending.resolve(message.id, message)
        else:
            self.hear(message)

    def _lose(self, said: str) -> None:
        if self._lost is not None:
            return
        self._lost = LinkLostError(f"the server {said}")
        self._pending.lose(self._lost)

    async def _keep_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101 - it was asked for
        while piece := await process.stderr.read(_PIECE):
            self._stderr.append(piece[-_KEPT:])


class _Line:
    """A line as it comes; of one that is too long, its head and its tail are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.head = self.tail = b""

    @property
    def is_too_long(self) -> bool:
        return self._size > self._limit

    @property
    def whole(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
            return
        if self._parts:
            kept = self.whole
            self.head, self.tail = kept[:_KEPT], kept[-_KEPT:]
            self._parts.clear()
        self.head = self.head or piece[:_KEPT]
        self.tail = (self.tail + piece)[-_KEPT:]


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and those it started: first kindly, at once if nobody waits for that."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        for sign in (None, signal.SIGTERM, signal.SIGKILL):
            if sign is not None:
                _signal(process, sign)
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await process.wait()
                    break
    finally:
        _signal(process, signal.SIGKILL)  # it, or what it started and left behind
        transport: Any = getattr(process, "_transport", None)
        if transport is not None:
            transport.close()


def _signal(process: asyncio.subprocess.Process, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)
