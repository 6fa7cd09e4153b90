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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from kuniumi.core.service import Service
    from kuniumi.serve.body import BodyReader
    from kuniumi.serve.gate import Gate

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
        gate: Gate,
        *,
        hosts: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        meeting: str = "",
    ) -> None:
        self.service = service
        self._workers = Workers(meeting, service.registry, self._relayed) if meeting else None
        self.endpoint = Endpoint(service, secret, workers=self._workers)
        self._guard = Guard((*service.allow_hosts, *hosts), (*service.allow_origins, *origins))
        self._body = body
        self._gate = gate

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
        if refusal is None:
            if b"origin" in headers:
                exchange.fields += _readable_by(headers[b"origin"])
            if method == "POST":
                refusal = self._check_post(exchange)
        if refusal is not None:
            await self.endpoint.refuse(exchange, *refusal)
        elif method == "OPTIONS":
            await self._options(exchange)
        elif method != "POST":
            await self.endpoint.respond(exchange)
        elif await self._post(exchange):
            return
        await discard(headers, receive)

    def _check_post(self, exchange: Exchange) -> tuple[int, str] | None:
        """Give the status and the reason of a refusal, if its body need not be read for one."""
        content_type = exchange.headers.get(b"content-type", b"")
        if content_type != JSON and content_type.partition(b";")[0].strip().lower() != JSON:
            shown = content_type.decode("latin-1")[:100] or "nothing"
            return 415, f"Content-Type is {shown}: send application/json"
        return self._overload(exchange) if self._gate.is_full else None

    @staticmethod
    def _overload(exchange: Exchange) -> tuple[int, str]:
        exchange.fields.append((b"retry-after", b"1"))
        return 503, overloaded().message

    async def _post(self, exchange: Exchange) -> bool:
        """Read a body, and answer it. Tells whether all of it was read."""
        body = await self._body.read(exchange.headers, exchange.receive)
        if type(body) is not bytes:
            await self.endpoint.refuse_body(exchange, body)  # type: ignore[arg-type]
            return False
        exchange.body = body
        gate = self._gate
        if gate.is_full:  # others may have begun meanwhile
            await self.endpoint.refuse(exchange, *self._overload(exchange))
            return True
        gate.running += 1
        try:
            await self.endpoint.respond(exchange)
        finally:
            gate.running -= 1
        return True

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
