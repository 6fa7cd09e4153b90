"""A call answered as a stream of server-sent events: progress and items as they come, then the end.

In: an operation and its arguments. Out: ASGI messages. The last event, `result` or `error`, carries
the envelope that everyone else gets as the whole answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps
from kuniumi.execute.parts import answer_in_parts
from kuniumi.wire.sse import CONTENT_TYPE, encode_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MOST_WAITING = 64


class _Outbox:
    """Events on their way to one client; whoever produces faster than it reads has to wait."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.events: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self.closed = False

    async def offer(self, item: bytes) -> None:
        await self.events.put(encode_event("item", item))
        if self.closed:
            raise asyncio.CancelledError

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Take a progress report from any thread; where too many wait, it is dropped."""
        said = {"progress": done, "total": total, "message": message}
        event = encode_event(
            "progress", dumps({key: value for key, value in said.items() if value is not None})
        )
        self.loop.call_soon_threadsafe(self._add, event)

    def _add(self, event: bytes) -> None:
        if not self.events.full():
            self.events.put_nowait(event)

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
) -> None:
    """Call the operation, and send what it gives as it gives it."""
    outbox = _Outbox()

    async def produce() -> None:
        call = service.call(operation, body, outbox.report)
        limit = service.limit(operation)
        envelope = await answer_in_parts(operation, call, limit, gone, outbox.offer)
        await outbox.events.put(
            encode_event("error" if envelope.fault else "result", envelope.body)
        )

    producing = asyncio.create_task(produce())
    fields = [(b"content-type", CONTENT_TYPE), (b"cache-control", b"no-store"), *headers]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    try:
        async for event in _events(outbox, producing):
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        producing.cancel()
        outbox.close()


async def _events(outbox: _Outbox, producing: asyncio.Task[None]) -> Any:
    """Give the events until the producer is done and nothing is left."""
    while not (producing.done() and outbox.events.empty()):
        getting = asyncio.ensure_future(outbox.events.get())
        await asyncio.wait({getting, producing}, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            yield getting.result()
        else:
            getting.cancel()
