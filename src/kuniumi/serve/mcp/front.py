"""In front of the MCP endpoint: who may come in, how much they may bring, and what browsers ask first.

In: an ASGI request for the endpoint. Out: ASGI messages. What a message says is the endpoint's
affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.serve.body import discard
from kuniumi.serve.mcp.guard import Guard
from kuniumi.serve.mcp.http import Endpoint, Exchange
from kuniumi.serve.mcp.workers import Workers
from kuniumi.wire.http import JSON, overloaded
from kuniumi.wire.status import http_status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from kuniumi.core.service import Service
    from kuniumi.serve.body import BodyReader

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Headers = Mapping[bytes, bytes]

_METHODS = b"GET, POST, DELETE, OPTIONS"
_EXPOSED = b"mcp-session-id, mcp-protocol-version"
_MOST_ASKED = 1000


class Front:
    """The way into the MCP endpoint of one app, in one worker."""

    def __init__(
        self,
        service: Service,
        secret: bytes,
        body: BodyReader,
        *,
        hosts: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        meeting: str = "",
    ) -> None:
        self.service = service
        self._workers = Workers(meeting, service.registry, self._relayed) if meeting else None
        self.endpoint = Endpoint(service, secret, workers=self._workers)
        self._guard = Guard(hosts, origins)
        self._body = body
        self._running = 0

    async def open(self) -> None:
        """Let other workers reach this one."""
        if self._workers is not None:
            await self._workers.open()

    def close(self) -> None:
        """End every session, and leave the other workers."""
        self.endpoint.sessions.close_all()
        if self._workers is not None:
            self._workers.close()

    async def _relayed(
        self,
        method: str,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer a request that came to another worker, which has looked at it already."""
        await self.endpoint.respond(Exchange(method, dict(headers), body, receive, send))

    async def answer(
        self,
        method: str,
        headers: Headers,
        server: tuple[str, int | None] | None,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer one request."""
        exchange = Exchange(method, headers, b"", receive, send)
        refusal = self._guard.check(headers, server)
        if refusal is None and b"origin" in headers:
            exchange.fields += _readable_by(headers[b"origin"])
        if refusal is not None:
            await self.endpoint.refuse(exchange, *refusal)
        elif method == "OPTIONS":
            await self._options(exchange)
        elif method == "POST":
            await self._post(exchange)
            return
        else:
            await self.endpoint.respond(exchange)
        await discard(headers, receive)

    async def _post(self, exchange: Exchange) -> None:
        most = self.service.limit_concurrency
        content_type = exchange.headers.get(b"content-type", b"")
        if content_type.partition(b";")[0].strip().lower() != JSON:
            shown = content_type.decode("latin-1")[:100] or "nothing"
            said = f"Content-Type is {shown}: send application/json"
            await self.endpoint.refuse(exchange, 415, said)
        elif most and self._running >= most:
            exchange.fields.append((b"retry-after", b"1"))
            await self.endpoint.refuse_body(exchange, 503, overloaded())
        else:
            body = await self._body.read(exchange.headers, exchange.receive)
            if isinstance(body, bytes):
                exchange.body = body
                self._running += 1
                try:
                    await self.endpoint.respond(exchange)
                finally:
                    self._running -= 1
                return
            await self.endpoint.refuse_body(exchange, http_status(body), body)
        await discard(exchange.headers, exchange.receive)

    @staticmethod
    async def _options(exchange: Exchange) -> None:
        fields = exchange.fields
        fields.append((b"allow", _METHODS))
        asked = exchange.headers.get(b"access-control-request-headers", b"")
        if b"origin" in exchange.headers and len(asked) <= _MOST_ASKED:
            fields += [
                (b"access-control-allow-methods", _METHODS),
                (b"access-control-allow-headers", asked or b"content-type"),
                (b"access-control-max-age", b"600"),
            ]
        await exchange.answer(204)


def _readable_by(origin: bytes) -> list[tuple[bytes, bytes]]:
    """Let the page of a trusted origin read the answer."""
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"origin"),
    ]
