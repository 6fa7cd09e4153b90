"""One request over HTTP, and the way back to who sent it: a plain answer, or a stream of events.

In: a method, headers, a body, ASGI's two ways, and what to send. Out: ASGI messages. It must not
know what the messages say.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuniumi.wire.jsonrpc import INVALID_REQUEST, RpcError, write_error
from kuniumi.wire.sse import CONTENT_TYPE, KEEP_ALIVE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from kuniumi.serve.mcp.streams import Stream

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    Headers = Mapping[bytes, bytes]
    Fields = list[tuple[bytes, bytes]]

SILENCE = 15.0
"""Seconds without an event after which a sign of life is sent, so that no proxy hangs up."""

_JSON = b"application/json"


class Exchange:
    """One request over HTTP, and the way back to who sent it."""

    __slots__ = ("about", "body", "fields", "headers", "method", "receive", "send")

    def __init__(
        self, method: str, headers: Headers, body: bytes, receive: Receive, send: Send
    ) -> None:
        self.method = method
        self.headers = headers
        self.body = body
        self.receive = receive
        self.send = send
        self.fields: Fields = []  # headers of the answer
        self.about = b""  # the id of the request it brings, once that is read

    @property
    def takes_events(self) -> bool:
        """Whether the client can read a stream of events."""
        accept = self.headers.get(b"accept", b"")
        return CONTENT_TYPE in accept or accept == b"*/*"

    async def gone(self) -> None:
        """Wait until the client goes away."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def answer(self, status: int, body: bytes = b"") -> None:
        """Send the whole answer."""
        fields = [(b"content-length", b"%d" % len(body)), *self.fields]
        if body:
            fields.append((b"content-type", _JSON))
        await self.send({"type": "http.response.start", "status": status, "headers": fields})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, status: int, error: RpcError | str) -> None:
        """Send why there is no answer."""
        if isinstance(error, str):
            error = RpcError(INVALID_REQUEST, error)
        await self.answer(status, write_error(error.id or self.about, error))

    async def refuse_for_now(self, said: str) -> None:
        """Send that there is no answer yet, and that it is worth coming back."""
        self.fields.append((b"retry-after", b"1"))
        await self.refuse(503, said)

    async def pour(self, stream: Stream, position: int = 0, *, begun: bool = False) -> bool:
        """Send a stream's messages as they come, until it ends or the client leaves.

        A lone result goes out as a plain answer, unless the stream has `begun` before. Tells whether
        the client has got events, so that it may come back for more.
        """
        leaving = asyncio.create_task(self.gone())
        leaving.add_done_callback(lambda _done: stream.changed.set())
        mine = stream.take_over()
        position = min(position, stream.end)
        started = False
        try:
            while not leaving.done() and stream.reader == mine:
                stream.changed.clear()
                if not begun and not started and (only := stream.only_result()) is not None:
                    await self.answer(stream.status, only)
                    return False
                if not started and (begun or stream.end > position or stream.let_go):
                    await self._begin()
                    started = True
                    if stream.pauses and not begun:
                        await self._send(stream.pause(position))
                if events := stream.events_after(position):
                    position = stream.end
                    await self._send(events)  # meanwhile there may be more, or an end to it
                elif stream.ended or stream.let_go:
                    break
                elif not stream.changed.is_set() and await _is_silent(stream):
                    started = started or await self._begin()
                    await self._send(KEEP_ALIVE)
            if leaving.done():
                return started
            if started:
                await self.send({"type": "http.response.body", "body": b""})
            else:
                await self.answer(202)  # it was given up, and there is nothing to say
        finally:
            leaving.cancel()
        return started

    async def _begin(self) -> bool:
        fields = [
            (b"content-type", CONTENT_TYPE),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),  # nginx would keep the events until there are many
            *self.fields,
        ]
        await self.send({"type": "http.response.start", "status": 200, "headers": fields})
        return True

    async def _send(self, events: bytes) -> None:
        await self.send({"type": "http.response.body", "body": events, "more_body": True})


async def _is_silent(stream: Stream) -> bool:
    """Wait for something new, and tell if there was nothing for too long."""
    try:
        async with asyncio.timeout(SILENCE):
            await stream.changed.wait()
    except TimeoutError:
        return True
    return False
