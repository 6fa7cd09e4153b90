"""In front of the MCP endpoint: who may come in, how much they may bring, and what browsers ask first.

In: an ASGI request for the endpoint. Out: ASGI messages. What a message says is the endpoint's
affair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.serve.body import discard
from kuniumi.serve.mcp.exchange import Exchange
from kuniumi.serve.mcp.guard import Guard
from kuniumi.serve.mcp.http import Endpoint, refuse_body
from kuniumi.serve.mcp.workers import Workers
from kuniumi.wire.http import JSON, overloaded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from kuniumi.core.service import Service
    from kuniumi.serve.body import BodyReader
    from kuniumi.serve.gate import Gate
    from kuniumi.serve.mcp.workers import Relayed

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
        self.endpoint = Endpoint(service, secret, gate, workers=self._workers)
        self._guard = Guard((*service.allow_hosts, *hosts), (*service.allow_origins, *origins))
        self._body = body
        self._gate = gate

    async def open(self) -> None:
        """Let other workers reach this one."""
        if self._workers is not None:
            await self._workers.open()

    def drain(self) -> None:
        """End what would go on for ever."""
        self.endpoint.drain()
        if self._workers is not None:
            self._workers.drain()

    async def close(self) -> None:
        """Leave the other workers, and end every session."""
        self.drain()
        if self._workers is not None:
            await self._workers.close()
        await self.endpoint.close()

    async def _relayed(self, relayed: Relayed, receive: Receive, send: Send) -> None:
        """Answer a request that came to another worker, which has looked at it already."""
        exchange = Exchange(relayed.method, dict(relayed.headers), relayed.body, receive, send)
        exchange.fields += relayed.fields
        await self.endpoint.respond(exchange)

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
            await exchange.refuse(*refusal)
        elif method == "OPTIONS":
            await self._options(exchange)
        elif method != "POST":
            await self.endpoint.respond(exchange)
        else:
            body = await self._body.read(headers, receive)
            if type(body) is bytes:
                exchange.body = body
                await self.endpoint.respond(exchange)
                return
            await refuse_body(exchange, body)  # type: ignore[arg-type]
        await discard(headers, receive)

    def _check_post(self, exchange: Exchange) -> tuple[int, str] | None:
        """Give the status and the reason of a refusal, if its body need not be read for one."""
        headers = exchange.headers
        content_type = headers.get(b"content-type", b"")
        if content_type != JSON and content_type.partition(b";")[0].strip().lower() != JSON:
            shown = content_type.decode("latin-1")[:100] or "nothing"
            return 415, f"Content-Type is {shown}: send application/json"
        if self._gate.is_full and b"mcp-session-id" not in headers:
            exchange.fields.append((b"retry-after", b"1"))
            return 503, overloaded().message
        return None  # in a session it may be what a call waits for: an answer, or its end

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
