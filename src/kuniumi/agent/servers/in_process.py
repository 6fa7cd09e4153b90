"""An app in this process, spoken to as over HTTP: its ASGI application, without a socket.

In: httpx's requests. Out: httpx's responses, as streams. Leaving a stream is a disconnection, as it
is over a socket.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]
    Asgi = Callable[..., Awaitable[None]]

_AHEAD = 16  # messages an app may be ahead of its reader


class AsgiTransport(httpx.AsyncBaseTransport):
    """Carries requests to an ASGI application."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request, until its response has begun."""
        exchange = _Exchange(self._app, await request.aread())
        status, headers = await exchange.begin(_scope_of(request))
        return httpx.Response(status, headers=headers, stream=exchange)


class _Exchange(httpx.AsyncByteStream):
    """One request and its response."""

    def __init__(self, app: Asgi, body: bytes) -> None:
        self._app = app
        self._body: bytes | None = body
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue(_AHEAD)
        self._left = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self, scope: dict[str, Any]) -> tuple[int, list[tuple[bytes, bytes]]]:
        self._task = asyncio.create_task(self._run(scope))
        try:
            start = await self._sent.get()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if start is None:
            await self._task  # raises what the app raised
            raise httpx.RemoteProtocolError("the app gave no response")
        return start["status"], list(start.get("headers", ()))

    async def _run(self, scope: dict[str, Any]) -> None:
        try:
            await self._app(scope, self._receive, self._sent.put)
        finally:
            await self._sent.put(None)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get()) is not None:
            if message["type"] == "http.response.body":
                yield message.get("body", b"")
                if not message.get("more_body"):
                    return

    async def aclose(self) -> None:
        self._left.set()
        task = self._task
        if task is None or task.done():
            return
        while not self._sent.empty():
            self._sent.get_nowait()
        done, _ = await asyncio.wait([task], timeout=1.0)
        if not done:
            task.cancel()
            await asyncio.wait([task], timeout=1.0)


def _scope_of(request: httpx.Request) -> dict[str, Any]:
    url = request.url
    raw_path = url.raw_path.partition(b"?")[0]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": raw_path,
        "query_string": url.query,
        "root_path": "",
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
    }
