"""Reading a request's body from ASGI: never past the limit, and not for ever.

In: headers and `receive`. Out: the bytes, or the fault that says why there are none. One timer
watches all bodies that are being read: a timer for each would cost more than reading them does.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

from kuniumi.core.fault import INVALID_JSON, Fault, Kind
from kuniumi.wire import http

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Headers = Mapping[bytes, bytes]

_LONGEST_NUMBER = 18
_MOST_DISCARDED = 64 * 1024 * 1024
_LONGEST_DISCARDING = 5.0


class BodyReader:
    """Reads the bodies of one app's requests, within its bounds."""

    def __init__(self, limit: int, seconds: float) -> None:
        self.limit = limit
        self.seconds = seconds  # 0 for no bound
        self._deadlines: dict[asyncio.Task[Any], float] = {}  # the oldest first
        self._expired: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, headers: Headers, receive: Receive) -> bytes | Fault:
        """Read one body."""
        announced = headers.get(b"content-length")
        length = -1
        if announced is not None and announced.isdigit():
            if len(announced) > _LONGEST_NUMBER or (length := int(announced)) > self.limit:
                return http.too_large(self.limit)
            if b"transfer-encoding" in headers:
                length = -1  # that one rules; a server that lets both through means no harm
        task = self._begin() if self.seconds else None
        try:
            message = await receive()
            body: bytes = message.get("body", b"")
            if len(body) != length and message.get("more_body"):
                return await self._read_on(body, length, receive)
            # What comes after the announced length is an empty message: not worth waiting for.
            return body if message["type"] == "http.request" else _incomplete()
        except asyncio.CancelledError:
            if task is None or task not in self._expired:
                raise
            task.uncancel()
            return http.too_slow(self.seconds)
        finally:
            if task is not None:
                del self._deadlines[task]
                if self._expired:
                    self._expired.discard(task)

    async def _read_on(self, body: bytes, length: int, receive: Receive) -> bytes | Fault:
        parts = [body]
        size = len(body)
        while size <= self.limit:
            message = await receive()
            if message["type"] != "http.request":
                return _incomplete()
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size == length or not message.get("more_body"):
                return b"".join(parts) if size <= self.limit else http.too_large(self.limit)
        return http.too_large(self.limit)

    def _begin(self) -> asyncio.Task[Any] | None:
        task = asyncio.current_task()
        if task is not None:
            self._deadlines[task] = monotonic() + self.seconds
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(self.seconds, self._look, loop)
        return task

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel whoever waits too long, and come back when the next one would."""
        self._timer = None
        now = monotonic()
        for task, deadline in self._deadlines.items():
            if deadline > now:
                self._timer = loop.call_later(deadline - now, self._look, loop)
                return
            if task not in self._expired:
                self._expired.add(task)
                task.cancel()


async def discard(headers: Headers, receive: Receive) -> None:
    """Take what still comes of a body nobody reads, so that its sender gets to read the answer.

    A connection closed upon a client that is still sending is reset, and the answer with it.
    """
    if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
        return
    if b"expect" in headers:  # it waits to be told to go on: now it will not send anything
        return
    left = _MOST_DISCARDED
    try:
        async with asyncio.timeout(_LONGEST_DISCARDING):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except TimeoutError:
        return


def _incomplete() -> Fault:
    return Fault(Kind.MALFORMED, INVALID_JSON)
