"""The HTTP surface, as a plain ASGI application: any ASGI server runs it, any app mounts it.

In: ASGI's scope, receive and send. Out: the messages of one response. It bounds how many calls run
at once; `serve.body` bounds what is read, and all else is decided by `wire.http`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.core.caller import NOBODY, Caller
from kuniumi.core.fault import Fault, Kind
from kuniumi.core.invoke import refuse
from kuniumi.errors import StartError
from kuniumi.execute.loop import answer, part
from kuniumi.serve.body import BodyReader, discard
from kuniumi.serve.gate import Gate
from kuniumi.wire import http
from kuniumi.wire.http import Site, Target

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.serve.mcp.front import Front

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Headers = Mapping[bytes, bytes]

MAX_BODY = 4 * 1024 * 1024
BODY_TIMEOUT = 30.0


class AsgiApp:
    """One app behind ASGI."""

    def __init__(
        self,
        service: Service,
        *,
        max_body: int = MAX_BODY,
        body_timeout: float = BODY_TIMEOUT,
        root_path: str = "",
        cors: tuple[str, ...] = (),
        hosts: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        secret: bytes = b"",
        meeting: str = "",
        opening: Callable[[], None] | None = None,
        started: Callable[[], None] | None = None,
        failed: Callable[[StartError], str] = str,
    ) -> None:
        self.service = service
        self._body = BodyReader(max_body, body_timeout)
        self.site = Site(service, root_path=root_path, cors=cors)
        self._gate = Gate(service)
        self._root = root_path.rstrip("/")
        self._opening = opening  # called before the app opens what it needs
        self._started = started  # called once the server has begun
        self._failed = failed  # called if it can't begin; gives what the server shall say
        self._draining = False
        self._adds_headers = bool(cors)
        self._hosts = hosts
        self._origins = (*cors, *origins)
        self._secret = secret
        self._meeting = meeting  # the folder where this worker finds the others, if there are any
        self._mcp: Front | None = None

    def drain(self) -> None:
        """Ask every client from now on to open no further request on its connection."""
        self._draining = self._adds_headers = True
        if self._mcp is not None:
            self._mcp.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._answer_other(scope, receive, send)
            return
        method: str = scope["method"]
        fields = scope["headers"]
        headers: Headers = dict(fields)
        if len(headers) != len(fields):
            headers = _joined(fields)
        path: str = scope["path"]
        root: str = scope.get("root_path") or self._root
        if root and path.startswith(root) and path[len(root) : len(root) + 1] in _ENDS:
            path = path[len(root) :] or "/"  # mounted: the outer app's part comes first
        raw_path = scope.get("raw_path")
        if raw_path and b"%" in raw_path and b"%2f" in raw_path.lower():
            path = raw_path.decode("latin-1")  # an encoded slash is no separator
        if path in _MCP:
            await self.mcp.answer(method, headers, scope.get("server"), receive, send)
            return
        found = self.site.resolve(method, path, headers, root)
        if type(found) is Target:
            refused = await self._call(found, headers, receive, send)
        else:
            await self._send(found, headers, send, head=method == "HEAD")  # type: ignore[arg-type]
            refused = True
        if refused:
            await discard(headers, receive)

    @property
    def mcp(self) -> Front:
        """The way into the MCP endpoint, made when somebody comes by it."""
        if self._mcp is None:
            self._mcp = self._open_mcp()
        return self._mcp

    def _open_mcp(self) -> Front:
        import os  # noqa: PLC0415 - only here
        import secrets  # noqa: PLC0415

        from kuniumi.serve.mcp.front import Front  # noqa: PLC0415 - not every app has such clients

        shared = os.environ.get("KUNIUMI_SECRET", "").encode()
        return Front(
            self.service,
            self._secret or shared or secrets.token_bytes(32),
            self._body,
            self._gate,
            hosts=self._hosts,
            origins=self._origins,
            meeting=self._meeting,
        )

    async def _answer_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take part in the server's life; refuse what is neither that nor HTTP."""
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                if message["type"] == "lifespan.startup":
                    try:
                        await self._start()
                    except StartError as error:
                        said = self._failed(error)
                        await send({"type": "lifespan.startup.failed", "message": said})
                        return
                if message["type"] == "lifespan.shutdown":
                    await part()
                    await self.close()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "No WebSocket here"})

    async def close(self) -> None:
        """End every session, and close what the app has opened."""
        if self._mcp is not None:
            await self._mcp.close()
        if self.service.weave is not None:
            from kuniumi.execute.woven import close_service  # noqa: PLC0415 - few apps open anything

            await close_service(self.service)

    async def _start(self) -> None:
        self.service.open()
        if self.service.weave is not None:
            if self._opening is not None:
                self._opening()
            from kuniumi.execute.woven import open_service  # noqa: PLC0415 - few apps open anything

            await open_service(self.service)
        if self._meeting:  # others may ask for this worker by its name
            await self.mcp.open()
        if self._started is not None:
            self._started()

    async def _call(self, target: Target, headers: Headers, receive: Receive, send: Send) -> bool:
        """Make a call, and answer it. Tells whether the body was left where it was."""
        service, operation, gate = self.service, target.operation, self._gate
        if gate.is_full:
            await self._refuse(http.overloaded(), target, headers, send)
            return True
        body = await self._body.read(headers, receive)
        if type(body) is not bytes:
            await self._refuse(body, target, headers, send)  # type: ignore[arg-type]
            return body.kind is Kind.TOO_LARGE  # type: ignore[union-attr]
        # Only now it is a call: who sends slowly takes nobody's place. Others may have begun.
        if gate.is_full:
            await self._refuse(http.overloaded(), target, headers, send)
            return False
        gate.running += 1
        try:
            if target.form == "events":
                await self._stream(operation, body, headers, receive, send)
                return False
            wanted = operation.wants_context or service.weave is not None
            caller = Caller(meta=http.trace_of(headers)) if wanted else NOBODY
            call, limit = service.call(operation, body, caller), service.limit(operation)
            envelope = await answer(operation, call, limit, _departure(receive))
            await self._send(http.respond(envelope, target.form), headers, send)
            return False
        finally:
            gate.running -= 1

    async def _stream(
        self, operation: Operation, body: bytes, headers: Headers, receive: Receive, send: Send
    ) -> None:
        from kuniumi.serve.events import stream  # noqa: PLC0415 - few ask for a stream

        extra = self.site.cors_headers(headers)
        meta = http.trace_of(headers)
        gone = _departure(receive)
        refused = await stream(self.service, operation, body, extra, gone, send, meta)
        if refused is not None:
            await self._send(http.respond(refused, "json"), headers, send)

    async def _refuse(self, fault: Fault, target: Target, headers: Headers, send: Send) -> None:
        await self._send(http.respond(refuse(fault), target.form), headers, send)

    async def _send(
        self, response: http.Response, headers: Headers, send: Send, *, head: bool = False
    ) -> None:
        body = response.body
        fields = [
            (b"content-type", response.content_type),
            (b"content-length", b"%d" % len(body)),
            *response.headers,
        ]
        if not response.content_type:
            del fields[:2]
        if self._adds_headers:
            fields += self.site.cors_headers(headers)
            if self._draining:
                fields.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": response.status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if head else body})


_ENDS = {"", "/"}
_MCP = ("/mcp", "/mcp/")


def _joined(fields: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Read fields of which some came several times: each is one list (RFC 9110 §5.3).

    Whoever looked at the first of two before us, and we at the last, would have seen two requests.
    """
    joined: dict[bytes, bytes] = {}
    for name, value in fields:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def _departure(receive: Receive) -> Callable[[], Awaitable[None]]:
    """Give what waits until the client goes away."""

    async def departure() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return departure
