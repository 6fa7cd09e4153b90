"""A server of MCP as it was over HTTP in 2024: one stream tells all, and requests are posted beside it.

In: the address of the stream. Out: a `Link`. The stream's first event says where to post; the answers
to what is posted come on the stream. When that ends, so do all calls that wait for one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kuniumi.agent.servers.link import LinkLostError, Pending, read_message
from kuniumi.agent.servers.web import media_type_of, pieces_of, refusal, same_origin
from kuniumi.core.codec import dumps
from kuniumi.errors import ServerError
from kuniumi.wire import jsonrpc
from kuniumi.wire.sse import EventReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from kuniumi.agent.servers.link import Hear
    from kuniumi.agent.servers.web import Web
    from kuniumi.wire.jsonrpc import Response, RpcError
    from kuniumi.wire.sse import Event

_EVENTS = "text/event-stream"
_JSON = {"Content-Type": "application/json"}


class SseLink:
    """One stream, for as long as it lasts; opened again, it is another."""

    def __init__(self, web: Web, url: httpx.URL) -> None:
        self.hear: Hear = lambda _message: None
        self._web = web
        self._url = url
        self._target: httpx.URL | None = None
        self._pending = Pending()
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the stream goes on."""
        return self._target is not None

    @property
    def facts(self) -> dict[str, Any]:
        """What is told of the way to the server."""
        return self._web.facts_of(self._url)

    async def open(self) -> None:
        """Open the stream, and wait until it says where to post."""
        await self.close()
        told: asyncio.Future[httpx.URL] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(told))
        try:
            self._target = await told
        except asyncio.CancelledError:
            await self.close()
            raise

    async def ask(
        self, number: int, body: bytes, headers: Mapping[str, str], *, cancels: bool = True
    ) -> Response | RpcError:
        """Post a request, and wait for the event that answers it."""
        with self._pending.place(b"%d" % number) as answer:
            try:
                await self.tell(body, headers)
                return await answer
            except asyncio.CancelledError:
                if cancels:
                    self._pending.in_background(self._cancel(number, headers))
                raise

    async def tell(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Post what wants no answer."""
        if self._target is None:
            raise LinkLostError("the server has ended its stream")
        fields = {**_JSON, **headers}
        async with self._web.send("POST", self._target, fields, body) as response:
            if response.status_code == 404:
                self._lose(LinkLostError("the server has forgotten the session"))
                raise LinkLostError("the server has forgotten the session")
            if response.status_code >= 300:
                raise await refusal(response)

    async def watch(self, headers: Mapping[str, str], begun: Callable[[], None]) -> bool:
        """Say that there is nothing else to listen to: all comes on the one stream."""
        del headers, begun
        return False

    async def close(self) -> None:
        """Leave the stream."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        await self._pending.close()

    async def _read(self, told: asyncio.Future[httpx.URL]) -> None:
        lost = ServerError("the server has ended its stream")
        try:
            async with self._web.send("GET", self._url, {"Accept": _EVENTS}) as response:
                await _see_that_it_streams(response)
                events = EventReader(self._web.max_bytes)
                async for piece in pieces_of(response):
                    for event in events.feed(piece):
                        self._take(event, told)
        except ServerError as error:
            lost = error
        except ValueError:
            lost = ServerError(f"the answer is longer than {self._web.max_bytes:,} bytes")
        finally:
            if not told.done():
                told.set_exception(lost)
                told.exception()  # whoever opened it may have left
            self._lose(LinkLostError(str(lost), may_have_run=True))

    def _take(self, event: Event, told: asyncio.Future[httpx.URL]) -> None:
        if event.name == b"endpoint":
            if not told.done():
                target = self._url.join(event.data.decode("utf-8", "replace").strip())
                if not same_origin(target, self._url):
                    raise ServerError(f"{self._url} wants requests posted to {target}: it may not")
                told.set_result(target)
            return
        message = read_message(event.data) if event.data else None
        if isinstance(message, (jsonrpc.Response, jsonrpc.RpcError)):
            self._pending.resolve(message.id, message)
        elif message is not None:
            self.hear(message)

    def _lose(self, error: LinkLostError) -> None:
        self._target = None
        self._pending.lose(error)

    async def _cancel(self, number: int, headers: Mapping[str, str]) -> None:
        said = dumps({"requestId": number, "reason": "nobody waits for it any more"})
        with suppress(ServerError, TimeoutError):
            async with asyncio.timeout(5.0):
                await self.tell(
                    jsonrpc.write_notification("notifications/cancelled", said), headers
                )


async def _see_that_it_streams(response: httpx.Response) -> None:
    if response.status_code >= 300:
        raise await refusal(response)
    if media_type_of(response) != _EVENTS:
        raise ServerError(f"{response.url} gives no stream of events")
