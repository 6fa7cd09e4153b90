"""A package's client, used from a loop: whether it awaits or not, and let go of in any case.

In: a method of a client, bound to what it is asked. Out: what it gives, or the chunks of its stream
as they come. A client that does not await works in a thread of its own, a daemon: nobody has to wait
for it who has stopped listening, not even the end of the process.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import suppress
from functools import partial
from inspect import isawaitable, iscoroutinefunction, unwrap
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

_AHEAD = 64  # chunks that a thread may read before anybody took them
_LONGEST_CLOSING = 5.0  # seconds
_BOTH_WAYS = 2  # socket.SHUT_RDWR
_END = object()


class Asked(NamedTuple):
    """What a client's method gave, and whether it had to be awaited."""

    found: Any
    awaits: bool


async def ask(method: Callable[..., Any], request: dict[str, Any]) -> Asked:
    """Call a client's method; what comes after nobody waits for it any more is closed."""
    if iscoroutinefunction(unwrap(method)):
        return Asked(await method(**request), awaits=True)
    found = await aside(partial(method, **request), _close_now)
    return Asked(await found, awaits=True) if isawaitable(found) else Asked(found, awaits=False)


async def follow(chunks: Any, *, awaits: bool = True) -> AsyncGenerator[Any]:
    """Go through an SDK's stream, and close it in the end.

    What watches a client's calls may give streams that can be gone through either way, and fail at
    one: `awaits` is the way of the client.
    """
    if hasattr(chunks, "__aiter__") and (awaits or not hasattr(chunks, "__iter__")):
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await _close(chunks)
        return
    reader = _Reader(chunks)
    threading.Thread(
        target=contextvars.copy_context().run, args=(reader.work,), daemon=True
    ).start()
    try:
        while (found := await reader.queue.get())[0] is not _END:
            reader.room.release()
            yield found[0]
        if found[1] is not None:
            raise found[1]
    finally:
        reader.leave()


async def aside(work: Callable[[], Any], discard: Callable[[Any], None]) -> Any:
    """Do in a thread what would hold up the loop; a result that comes too late is discarded."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(found: Any, error: BaseException | None) -> None:
        if future.cancelled():
            discard(found)
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(found)

    def go() -> None:
        found: Any = None
        failed: BaseException | None = None
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            failed = error
        try:
            loop.call_soon_threadsafe(settle, found, failed)
        except RuntimeError:  # the loop is closed
            discard(found)

    threading.Thread(target=contextvars.copy_context().run, args=(go,), daemon=True).start()
    return await future


class _Reader:
    """Reads a stream in a thread, never far ahead of who listens."""

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.queue: asyncio.Queue[tuple[Any, Exception | None]] = asyncio.Queue()
        self.room = threading.Semaphore(_AHEAD)
        self._chunks = chunks
        self._loop = asyncio.get_running_loop()
        self._has_left = threading.Event()
        self._is_over = False

    def work(self) -> None:
        failed: Exception | None = None
        try:
            for chunk in self._chunks:
                self.room.acquire()
                if self._has_left.is_set():
                    break
                self.tell(chunk, None)
        except Exception as error:  # noqa: BLE001 - whoever listens is told
            failed = error
        finally:
            self._is_over = True
            _close_now(self._chunks)
            self.tell(_END, failed)

    def tell(self, chunk: Any, error: Exception | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens
            self._loop.call_soon_threadsafe(self.queue.put_nowait, (chunk, error))

    def leave(self) -> None:
        """Stop listening: the thread closes the stream, and ends."""
        self._has_left.set()
        self.room.release()
        if not self._is_over:  # else its connection may serve somebody else by now
            _wake(self._chunks)


def _wake(chunks: Any) -> None:
    """End the wait for a server that says nothing: closing does not, shutting its socket does.

    google-genai keeps its socket to itself: there, the thread waits until the server says something
    or the client's own timeout is over.
    """
    with suppress(Exception):
        response = chunks.response
        if response.http_version == "HTTP/1.1":  # nobody else's requests are on this connection
            stream = response.extensions["network_stream"]
            stream.get_extra_info("socket").shutdown(_BOTH_WAYS)


def _close_now(found: Any) -> None:
    close = getattr(found, "close", None)
    if close is not None and not iscoroutinefunction(close):
        with suppress(Exception):
            close()


async def _close(chunks: Any) -> None:
    close = getattr(chunks, "aclose", None) or getattr(chunks, "close", None)
    if close is not None:
        with suppress(Exception):
            async with asyncio.timeout(_LONGEST_CLOSING):
                closed = close()
                if isawaitable(closed):
                    await closed
