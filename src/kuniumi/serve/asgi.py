"""The HTTP surface, as a plain ASGI application: any ASGI server runs it, any app mounts it.

In: ASGI's scope, receive and send. Out: the messages of one response. It bounds what it reads
(size and time) and how many calls run at once; all else is decided by `wire.http`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuniumi.core.fault import INVALID_JSON, Fault, Kind
from kuniumi.core.invoke import refuse
from kuniumi.execute.loop import answer
from kuniumi.wire import http
from kuniumi.wire.http import Site, Target

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Headers = Mapping[bytes, bytes]

MAX_BODY = 4 * 1024 * 1024
BODY_TIMEOUT = 30.0
_LONGEST_NUMBER = 18
_MOST_DISCARDED = 64 * 1024 * 1024
_LONGEST_DISCARDING = 5.0


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
        started: Callable[[], None] | None = None,
    ) -> None:
        self.service = service
        self.max_body = max_body
        self._patience = _Patience(body_timeout)
        self.site = Site(service, root_path=root_path, cors=cors)
        self._running = 0
        self._root = root_path.rstrip("/")
        self._started = started  # called once the server has begun
        self._draining = False
        self._adds_headers = bool(cors)

    def drain(self) -> None:
        """Ask every client from now on to open no further request on its connection."""
        self._draining = self._adds_headers = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await _answer_other(scope, receive, send, self._started)
            return
        method: str = scope["method"]
        headers: Headers = dict(scope["headers"])
        path: str = scope["path"]
        root: str = scope.get("root_path") or self._root
        if root and path.startswith(root) and path[len(root) : len(root) + 1] in _ENDS:
            path = path[len(root) :] or "/"  # mounted: the outer app's part comes first
        if "/" in path[1:] and b"%" in scope.get("raw_path", b""):
            path = _without_hidden_slashes(path, scope["raw_path"])
        found = self.site.resolve(method, path, headers, root)
        if type(found) is Target:
            refused = await self._call(found, headers, receive, send)
        else:
            await self._send(found, headers, send, head=method == "HEAD")  # type: ignore[arg-type]
            refused = True
        if refused:
            await _discard(headers, receive)

    async def _call(self, target: Target, headers: Headers, receive: Receive, send: Send) -> bool:
        """Make a call, and answer it. Tells whether the body was left where it was."""
        service, operation = self.service, target.operation
        if service.limit_concurrency and self._running >= service.limit_concurrency:
            await self._refuse(http.overloaded(), target, headers, send)
            return True
        self._running += 1
        try:
            body = await self._read(headers, receive)
            if type(body) is bytes:
                if target.form == "events":
                    await self._stream(operation, body, headers, receive, send)
                    return False
                call, limit = service.call(operation, body), service.limit(operation)
                envelope = await answer(operation, call, limit, _departure(receive))
                await self._send(http.respond(envelope, target.form), headers, send)
                return False
        finally:
            self._running -= 1
        await self._refuse(body, target, headers, send)  # type: ignore[arg-type]
        return body.kind is Kind.TOO_LARGE  # type: ignore[union-attr]

    async def _stream(
        self, operation: Operation, body: bytes, headers: Headers, receive: Receive, send: Send
    ) -> None:
        from kuniumi.serve.events import stream  # noqa: PLC0415 - few ask for a stream

        extra = self.site.cors_headers(headers)
        refused = await stream(self.service, operation, body, extra, _departure(receive), send)
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

    # ---- reading the body ----------------------------------------------------------------------

    async def _read(self, headers: Headers, receive: Receive) -> bytes | Fault:
        """Read the body, never past the limit, and not for ever."""
        announced = headers.get(b"content-length")
        length = -1
        if announced is not None and announced.isdigit():
            if len(announced) > _LONGEST_NUMBER or (length := int(announced)) > self.max_body:
                return http.too_large(self.max_body)
            if b"transfer-encoding" in headers:
                length = -1  # that one rules; a server that lets both through means no harm
        return await self._patience.read(self._receive(length, receive))

    async def _receive(self, length: int, receive: Receive) -> bytes | Fault:
        message = await receive()
        body: bytes = message.get("body", b"")
        if len(body) == length or not message.get("more_body"):
            return body if message["type"] == "http.request" else _incomplete()
        parts = [body]
        size = len(body)
        while size <= self.max_body:
            message = await receive()
            if message["type"] != "http.request":
                return _incomplete()
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size == length or not message.get("more_body"):
                return b"".join(parts)
        return http.too_large(self.max_body)


class _Patience:
    """Bounds how long bodies may take, with one timer for all that are being read.

    A timer for each request would cost more than reading it does.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds  # 0 for no bound
        self._deadlines: dict[asyncio.Task[Any], float] = {}  # the oldest first
        self._expired: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, reading: Awaitable[bytes | Fault]) -> bytes | Fault:
        """Wait for a body, and give up on it when its time is over."""
        task = asyncio.current_task()
        if task is None or not self.seconds:
            return await reading
        loop = asyncio.get_running_loop()
        self._deadlines[task] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._look, loop)
        try:
            return await reading
        except asyncio.CancelledError:
            if task not in self._expired:
                raise
            task.uncancel()
            return http.too_slow(self.seconds)
        finally:
            del self._deadlines[task]
            self._expired.discard(task)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        next_deadline = None
        for task, deadline in self._deadlines.items():
            if deadline > now:
                next_deadline = deadline
                break
            if task not in self._expired:
                self._expired.add(task)
                task.cancel()
        self._timer = loop.call_at(next_deadline, self._look, loop) if next_deadline else None


_ENDS = {"", "/"}


async def _discard(headers: Headers, receive: Receive) -> None:
    """Take what still comes of a body nobody reads, so that its sender gets to read the answer.

    A connection closed upon a client that is still sending is reset, and the answer with it.
    """
    if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
        return
    if b"expect" in headers:  # it waits to be told to go on: now it will not send anything
        return
    left = _MOST_DISCARDED
    try:
        async with asyncio.timeout(_LONGEST_DISCARDING):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except TimeoutError:
        return


def _incomplete() -> Fault:
    return Fault(Kind.MALFORMED, INVALID_JSON)


def _departure(receive: Receive) -> Callable[[], Awaitable[None]]:
    """Give what waits until the client goes away."""

    async def departure() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return departure


def _without_hidden_slashes(path: str, raw_path: bytes) -> str:
    """Give the path, or the raw one where an encoded slash would be taken for a separator."""
    return raw_path.decode("latin-1") if b"%2f" in raw_path.lower() else path


async def _answer_other(
    scope: Scope, receive: Receive, send: Send, started: Callable[[], None] | None
) -> None:
    """Take part in the server's life; refuse what is neither that nor HTTP."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup" and started is not None:
                started()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "No WebSocket here"})
