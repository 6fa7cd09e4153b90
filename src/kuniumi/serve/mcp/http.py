"""MCP over HTTP: one address, every revision, a plain answer or a stream of events.

In: a method, headers, a body, and ASGI's way back. Out: ASGI messages. Requests stand for themselves
wherever they can; only a client whose revision has a handshake, and that may be asked something or
subscribes, gets a session, which lives in the worker that opened it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.fault import Kind
from kuniumi.execute.inline import GRACE
from kuniumi.serve.mcp import changes
from kuniumi.serve.mcp.desk import Desk, Line
from kuniumi.serve.mcp.sessions import Session, Sessions
from kuniumi.serve.mcp.streams import Stream, position_of
from kuniumi.serve.mcp.terms import Terms, agreed, is_stateless, no_such_revision, stated
from kuniumi.serve.mcp.workers import NoSuchWorkerError, Relayed
from kuniumi.wire.jsonrpc import (
    INTERNAL,
    INVALID_REQUEST,
    NO_METHOD,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
    read,
    write_error,
    write_result,
)
from kuniumi.wire.mcp import headers as mirrored
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.revisions import LATEST, REVISIONS, UNSAID
from kuniumi.wire.sse import CONTENT_TYPE, KEEP_ALIVE
from kuniumi.wire.status import http_status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    from kuniumi.core.fault import Fault
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.serve.mcp.workers import Workers
    from kuniumi.wire.mcp.messages import AnyParams
    from kuniumi.wire.mcp.revisions import Revision

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    Headers = Mapping[bytes, bytes]
    Fields = list[tuple[bytes, bytes]]
    Result = bytes | RpcError

PATH = "/mcp"
SILENCE = 15.0
"""Seconds without an event after which a sign of life is sent, so that no proxy hangs up."""

KEPT = 60.0
"""Seconds for which the end of a stream waits for a client that left it."""

_JSON = b"application/json"
_STATUSES = {NO_METHOD: 404, INTERNAL: 500}


class Exchange:
    """One request over HTTP, and the way back to who sent it."""

    __slots__ = ("body", "fields", "headers", "method", "receive", "send")

    def __init__(
        self, method: str, headers: Headers, body: bytes, receive: Receive, send: Send
    ) -> None:
        self.method = method
        self.headers = headers
        self.body = body
        self.receive = receive
        self.send = send
        self.fields: Fields = []  # headers of the answer

    @property
    def takes_events(self) -> bool:
        """Whether the client can read a stream of events."""
        accept = self.headers.get(b"accept", b"")
        return CONTENT_TYPE in accept or accept == b"*/*"

    async def answer(self, status: int, body: bytes = b"") -> None:
        """Send the whole answer."""
        fields = [(b"content-length", b"%d" % len(body)), *self.fields]
        if body:
            fields.append((b"content-type", _JSON))
        await self.send({"type": "http.response.start", "status": status, "headers": fields})
        await self.send({"type": "http.response.body", "body": body})

    async def gone(self) -> None:
        """Wait until the client goes away."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class Endpoint:
    """The MCP endpoint of one app, in one worker."""

    def __init__(
        self,
        service: Service,
        secret: bytes,
        *,
        workers: Workers | None = None,
    ) -> None:
        self.desk = Desk(service, secret)
        self._workers = workers
        self.sessions = Sessions(workers.name if workers else "0")
        self._subscriptions = changes.Subscriptions(service.registry)
        self._open: set[Stream] = set()  # the streams that no request of a client will end
        self._behind: set[asyncio.Task[None]] = set()  # what goes on without a client

    def drain(self) -> None:
        """End what would go on for ever."""
        for stream in tuple(self._open):
            stream.finish()

    async def respond(self, exchange: Exchange) -> None:
        """Answer one request."""
        named = exchange.headers.get(b"mcp-session-id")
        session: Session | None = None
        if named and _version(exchange.headers) != LATEST.name:
            session_id = named.decode("latin-1")
            worker = session_id.partition(".")[0]
            if self._workers is not None and not self._workers.owns(worker):
                await self._relay(worker, exchange)
                return
            session = self.sessions.find(session_id)
            if session is None:
                await self._no_session(exchange)
                return
        if exchange.method == "POST":
            message = read(exchange.body)
            if type(message) is Request:
                await self._request(exchange, message, session)
            else:
                await self._message(exchange, message, session)
        elif session is None:
            exchange.fields.append((b"allow", b"POST, OPTIONS"))
            said = f"Method not allowed: {exchange.method} (send POST)"
            await self._refuse(exchange, 405, RpcError(INVALID_REQUEST, said))
        elif exchange.method == "GET":
            await self._get(exchange, session)
        elif exchange.method == "DELETE":
            self.sessions.close(session)
            await exchange.answer(200)
        else:
            exchange.fields.append((b"allow", b"GET, POST, DELETE, OPTIONS"))
            said = f"Method not allowed: {exchange.method} (send POST, GET or DELETE)"
            await self._refuse(exchange, 405, RpcError(INVALID_REQUEST, said))

    async def refuse(self, exchange: Exchange, status: int, message: str) -> None:
        """Refuse a request before it was read."""
        await self._refuse(exchange, status, RpcError(INVALID_REQUEST, message))

    async def refuse_body(self, exchange: Exchange, fault: Fault) -> None:
        """Refuse a body that is too large, or does not come."""
        if fault.kind is Kind.TOO_SLOW:
            exchange.fields.append((b"connection", b"close"))
        error = RpcError(INVALID_REQUEST, fault.message)
        await self._refuse(exchange, http_status(fault), error)

    @staticmethod
    async def _refuse(exchange: Exchange, status: int, error: RpcError) -> None:
        await exchange.answer(status, write_error(error.id, error))

    async def _no_session(self, exchange: Exchange) -> None:
        said = "Session not found: it is over; begin another with initialize"
        await self._refuse(exchange, 404, RpcError(INVALID_REQUEST, said))

    async def _relay(self, worker: str, exchange: Exchange) -> None:
        assert self._workers is not None  # noqa: S101 - who relays has others
        relayed = Relayed(exchange.method, list(exchange.headers.items()), exchange.body)
        try:
            await self._workers.relay(worker, relayed, exchange.receive, exchange.send)
        except NoSuchWorkerError:
            await self._no_session(exchange)

    # ---- what is posted -------------------------------------------------------------------------

    async def _message(
        self, exchange: Exchange, message: Message | RpcError, session: Session | None
    ) -> None:
        """Take what is no request."""
        if isinstance(message, RpcError):
            await self._refuse(exchange, 400, message)
        elif isinstance(message, Notification):
            self._notification(message, session)
            await exchange.answer(202)
        elif session is not None and isinstance(message, Response) and session.take(message):
            await exchange.answer(202)
        else:
            said = "Invalid request: nobody waits for this response"
            await self._refuse(exchange, 400, RpcError(INVALID_REQUEST, said))

    def _notification(self, notification: Notification, session: Session | None) -> None:
        if session is None or notification.method != "notifications/cancelled":
            return
        params = messages.read_params(notification.params, messages.Cancelled)
        if not isinstance(params, RpcError) and params.request_id in session.at_work:
            session.at_work[params.request_id].set()

    async def _request(self, exchange: Exchange, request: Request, session: Session | None) -> None:
        said = _version(exchange.headers)
        revision = REVISIONS.get(said)
        stateless = is_stateless(request) or (revision is not None and revision.stateless)
        params = messages.read_request(request, stateless=stateless)
        if isinstance(params, RpcError):
            await exchange.answer(400 if stateless else 200, write_error(request.id, params))
            return
        operation = self.desk.operation_of(params)
        terms = (
            _stated(exchange.headers, request, params, said, operation)
            if stateless
            else _unstated(said, revision, session)
        )
        # Whether the client may be told or asked something before the result.
        talks = operation is not None and operation.wants_context and exchange.takes_events
        if isinstance(terms, RpcError):
            await exchange.answer(400, write_error(request.id, terms))
        elif session is not None:
            await self._in_session(exchange, request, params, session, talks=talks)
        elif talks:
            await self._lively(exchange, request, params, terms)
        elif type(params) is messages.Listen:
            await self._listen(exchange, request, params, terms)
        elif type(params) is messages.Initialize:
            await self._shake_hands(exchange, request, params)
        else:
            result = await self.desk.answer(request, params, terms, Line(gone=exchange.gone))
            status, body = _written(request, terms, result)
            await exchange.answer(status, body)

    # ---- sessions -------------------------------------------------------------------------------

    async def _shake_hands(
        self, exchange: Exchange, request: Request, params: messages.Initialize
    ) -> None:
        terms = agreed(params, pushes=False)
        registry = self.desk.service.registry
        asks = terms.able and any(operation.wants_context for operation in registry)
        if asks or registry.resources:
            terms = msgspec.structs.replace(terms, pushes=True)
            session = self.sessions.open(terms)
            session.subscription = changes.Subscription(messages.LISTS, session.push)
            exchange.fields.append((b"mcp-session-id", session.id.encode()))
        await exchange.answer(200, write_result(request.id, self.desk.greet(terms)))

    async def _in_session(
        self,
        exchange: Exchange,
        request: Request,
        params: AnyParams,
        session: Session,
        *,
        talks: bool,
    ) -> None:
        if isinstance(params, messages.Initialize):
            await self._shake_hands(exchange, request, params)
            return
        if request.method in {"resources/subscribe", "resources/unsubscribe"}:
            if isinstance(params, messages.ReadResource) and session.subscription is not None:
                session.subscription.turn(params.uri, on=request.method == "resources/subscribe")
            await exchange.answer(200, write_result(request.id, b"{}"))
            return
        if isinstance(params, messages.SetLevel):
            level = messages.LEVELS[params.level]
            session.terms = msgspec.structs.replace(session.terms, log_level=level)
        if talks:
            await self._lively_in_session(exchange, request, params, session)
            return
        terms = session.terms
        given_up = session.at_work[request.key] = asyncio.Event()
        try:
            result = await self.desk.answer(request, params, terms, Line(gone=given_up.wait))
        finally:
            session.at_work.pop(request.key, None)
        await exchange.answer(*_written(request, terms, result))

    async def _lively_in_session(
        self, exchange: Exchange, request: Request, params: AnyParams, session: Session
    ) -> None:
        """Answer a request that may talk: it goes on when its client leaves, which may come back."""
        terms = session.terms
        stream = Stream(resumable=terms.revision.pauses)
        if stream.resumable:
            session.keep(stream)
        given_up = session.at_work[request.key] = asyncio.Event()

        async def ask(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
            return await session.ask(stream, method, params)

        line = Line(
            tell=stream.tell,
            ask=ask,
            gone=given_up.wait,
            release=stream.release if stream.resumable else None,
        )

        async def work() -> None:
            try:
                result = await self.desk.answer(request, params, terms, line)
            finally:
                session.at_work.pop(request.key, None)
            if given_up.is_set():
                stream.finish()
                return
            status, body = _written(request, terms, result)
            stream.finish(body, status)
            asyncio.get_running_loop().call_later(KEPT, session.streams.pop, stream.name, None)

        task = asyncio.create_task(work())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
        await self._pour(exchange, stream, 0)

    async def _get(self, exchange: Exchange, session: Session) -> None:
        if not exchange.takes_events:
            said = "Not acceptable: a GET here answers with text/event-stream"
            await self._refuse(exchange, 406, RpcError(INVALID_REQUEST, said))
            return
        left = position_of(exchange.headers.get(b"last-event-id", b"").decode("latin-1"))
        stream = session.streams.get(left[0]) if left else None
        if left is not None and stream is not None:
            stream.let_go = False
            await self._pour(exchange, stream, left[1], begun=True)
            return
        if session.standing is not None:
            session.standing.finish()
        standing = session.standing = Stream(resumable=False)
        if session.subscription is not None:
            self._subscriptions.add(session.subscription)
        self._open.add(standing)
        try:
            await self._pour(exchange, standing, 0, begun=True)
        finally:
            self._open.discard(standing)
            if session.standing is standing:
                session.standing = None
                if session.subscription is not None:
                    self._subscriptions.drop(session.subscription)

    # ---- streams --------------------------------------------------------------------------------

    async def _lively(
        self, exchange: Exchange, request: Request, params: AnyParams, terms: Terms
    ) -> None:
        """Answer a request that may talk; it ends when its client leaves."""
        stream = Stream(resumable=False)
        gone = asyncio.Event()

        async def work() -> None:
            line = Line(tell=stream.tell, gone=gone.wait)
            result = await self.desk.answer(request, params, terms, line)
            status, body = _written(request, terms, result)
            stream.finish(body, status)

        task = asyncio.create_task(work())
        try:
            await self._pour(exchange, stream, 0)
        finally:
            gone.set()
            if not task.done():
                await asyncio.wait({task}, timeout=2 * GRACE)
                task.cancel()

    async def _listen(
        self, exchange: Exchange, request: Request, params: messages.Listen, terms: Terms
    ) -> None:
        stream = Stream(resumable=False)
        subscription = changes.Subscription(params.notifications, stream.put, request.key)
        stream.put(changes.acknowledge(subscription))
        stamp = self.desk.stamp(terms.revision)
        stream.farewell = write_result(request.id, changes.close(subscription, stamp.end))
        self._subscriptions.add(subscription)
        self._open.add(stream)
        try:
            await self._pour(exchange, stream, 0, begun=True)
        finally:
            self._open.discard(stream)
            self._subscriptions.drop(subscription)

    async def _pour(
        self, exchange: Exchange, stream: Stream, position: int, *, begun: bool = False
    ) -> None:
        """Send a stream's messages as they come; a lone result is sent as a plain answer."""
        leaving = asyncio.create_task(exchange.gone())
        leaving.add_done_callback(lambda _done: stream.changed.set())
        begin = begun
        started = False
        try:
            while not leaving.done():
                stream.changed.clear()
                only = None if begun or started else stream.only_result()
                if only is not None:
                    await exchange.answer(stream.status, only)
                    return
                if not started and (begin or stream.end > position or stream.let_go):
                    await self._start(exchange)
                    started = True
                    if stream.resumable and not begun:
                        await self._send(exchange, stream.pause(position))
                events = stream.events_after(position)
                position = stream.end
                if events:
                    await self._send(exchange, events)
                if stream.ended or stream.let_go:
                    break
                await self._wait(exchange, stream, started=started)
            if started:
                await exchange.send({"type": "http.response.body", "body": b""})
            elif not leaving.done():
                await exchange.answer(202)  # it was given up, and there is nothing to say
        finally:
            leaving.cancel()

    async def _wait(self, exchange: Exchange, stream: Stream, *, started: bool) -> None:
        try:
            async with asyncio.timeout(SILENCE):
                await stream.changed.wait()
        except TimeoutError:
            if started:
                await self._send(exchange, KEEP_ALIVE)

    @staticmethod
    async def _start(exchange: Exchange) -> None:
        fields = [
            (b"content-type", CONTENT_TYPE),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),  # nginx would keep the events until there are many
            *exchange.fields,
        ]
        await exchange.send({"type": "http.response.start", "status": 200, "headers": fields})

    @staticmethod
    async def _send(exchange: Exchange, events: bytes) -> None:
        await exchange.send({"type": "http.response.body", "body": events, "more_body": True})


def _version(headers: Headers) -> str:
    return headers.get(b"mcp-protocol-version", b"").decode("latin-1").strip()


def _stated(
    headers: Headers, request: Request, params: AnyParams, said: str, operation: Operation | None
) -> Terms | RpcError:
    """Give the terms a request states, if its headers say what its body says."""
    version = params.meta.version
    if version is not None and version != said:
        return mirrored.mismatch(
            f"the header MCP-Protocol-Version is {said!r}, but the body says {version!r}"
        )
    terms = stated(params.meta)
    if isinstance(terms, RpcError):
        return terms
    error = mirrored.check(headers, mirrored.METHOD, request.method)
    if error is not None:
        return error
    if isinstance(params, messages.ReadResource):
        return mirrored.check(headers, mirrored.NAME, params.uri) or terms
    if isinstance(params, (messages.CallTool, messages.GetPrompt)):
        error = mirrored.check(headers, mirrored.NAME, params.name)
        if error is None and operation is not None and type(params) is messages.CallTool:
            error = mirrored.check_mirrors(headers, operation, params.arguments)
    return error or terms


def _unstated(said: str, revision: Revision | None, session: Session | None) -> Terms | RpcError:
    """Give the terms of a request that does not state its own."""
    if revision is None and said:
        return no_such_revision(said)
    return session.terms if session else Terms(revision or UNSAID)


def _written(request: Request, terms: Terms, result: Result) -> tuple[int, bytes]:
    """Write an answer; revisions with a handshake tell errors with status 200."""
    if isinstance(result, bytes):
        return 200, write_result(request.id, result)
    status = _STATUSES.get(result.code, 400) if terms.revision.stateless else 200
    return status, write_error(request.id, result)
