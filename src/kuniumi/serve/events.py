"""A call answered as a stream of server-sent events: progress and items as they come, then the end.

In: an operation and its arguments. Out: ASGI messages. The last event, `result` or `error`, carries
the envelope that everyone else gets as the whole answer. Arguments that are refused are refused as
everywhere else: before there is a stream.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Ready
from kuniumi.core.caller import Caller
from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault
from kuniumi.core.invoke import prepare, refuse
from kuniumi.execute.inline import GRACE
from kuniumi.execute.parts import answer_in_parts
from kuniumi.execute.woven import Way
from kuniumi.wire.sse import CONTENT_TYPE, KEEP_ALIVE, encode_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping

    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SILENCE = 15.0
"""Seconds without an event after which a sign of life is sent, so that no proxy hangs up."""

_MOST_WAITING = 64


class _Outbox:
    """Events on their way to one client; whoever produces faster than it reads has to wait."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        self.events: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self.closed = False

    async def offer(self, item: bytes) -> None:
        """Put an item in, once there is room."""
        await self.events.put(encode_event("item", item))
        if self.closed:
            raise asyncio.CancelledError

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Take a progress report from any thread; where too many wait, it is dropped."""
        said = {"progress": done, "total": total, "message": message}
        event = encode_event(
            "progress", dumps({key: value for key, value in said.items() if value is not None})
        )
        if threading.get_ident() == self.thread:
            self._add(event)  # at once: what the function does next must come after it
        else:
            self.loop.call_soon_threadsafe(self._add, event)

    def _add(self, event: bytes) -> None:
        if not self.closed and not self.events.full():
            self.events.put_nowait(event)

    async def finish(self, envelope: Envelope) -> None:
        """Put the last event in; what comes after it is dropped."""
        event = encode_event("error" if envelope.fault else "result", envelope.body)
        self.closed = True
        await self.events.put(event)

    async def take(self) -> bytes:
        """Give all events that wait, or a sign of life if none comes for a while."""
        try:
            async with asyncio.timeout(SILENCE):
                events = [await self.events.get()]
        except TimeoutError:
            return KEEP_ALIVE
        while not self.events.empty():
            events.append(self.events.get_nowait())
        return b"".join(events)

    def wake(self, _done: object) -> None:
        """Let `take` return: nobody puts anything in any more."""
        if self.events.empty():
            self.events.put_nowait(b"")

    def close(self) -> None:
        """Let go of all who still wait to put something in."""
        self.closed = True
        while not self.events.empty():
            self.events.get_nowait()


async def stream(
    service: Service,
    operation: Operation,
    body: bytes,
    headers: tuple[tuple[bytes, bytes], ...],
    gone: Callable[[], Awaitable[object]],
    send: Send,
    meta: Mapping[str, Any],
) -> Envelope | None:
    """Call the operation, and send what it gives as it gives it; or give back why not."""
    outbox = _Outbox()
    call = service.call(operation, body, Caller(report=outbox.report, meta=meta))
    limit = service.limit(operation)
    way = Way(operation, call, limit, gone)
    try:
        early = await way.begin()
        ready = prepare(operation, call) if early is None else None
        if isinstance(ready, Fault):
            early = refuse(ready)
        if early is not None:
            early = await way.end(early)
            if early.fault is not None:
                return early

        async def produce() -> None:
            if isinstance(ready, Ready):
                envelope = await answer_in_parts(ready, call, limit, gone, outbox.offer)
                await outbox.finish(await way.end(envelope))
            elif early is not None:
                await outbox.finish(early)

        await _send(outbox, produce(), headers, send)
    finally:
        await way.leave()
    return None


async def _send(
    outbox: _Outbox,
    produce: Coroutine[Any, Any, None],
    headers: tuple[tuple[bytes, bytes], ...],
    send: Send,
) -> None:
    producing = asyncio.create_task(produce)
    producing.add_done_callback(outbox.wake)
    fields = [
        (b"content-type", CONTENT_TYPE),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),  # nginx would keep the events until there are many
        *headers,
    ]
    try:
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        while not (producing.done() and outbox.events.empty()):
            events = await outbox.take()
            await send({"type": "http.response.body", "body": events, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        outbox.close()
        producing.cancel()
        await asyncio.wait({producing}, timeout=2 * GRACE)
