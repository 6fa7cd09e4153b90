"""MCP over HTTP: one address, every revision.

In: exchanges. Out: their answers. Requests stand for themselves wherever they can: then the worker
that is asked answers, and a client that leaves ends its call. Only a client whose revision has a
handshake, and that may be asked something or subscribes, gets a session (`attendant`), which lives
in the worker that opened it; requests in it are passed on to that one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kuniumi.core.fault import Kind
from kuniumi.execute.inline import GRACE
from kuniumi.serve.mcp import changes
from kuniumi.serve.mcp.attendant import Attendant
from kuniumi.serve.mcp.desk import Desk, Line
from kuniumi.serve.mcp.streams import Stream
from kuniumi.serve.mcp.terms import Terms, is_stateless, no_such_revision, stated
from kuniumi.serve.mcp.workers import NoSuchWorkerError, Relayed
from kuniumi.wire.http import overloaded
from kuniumi.wire.jsonrpc import (
    INTERNAL,
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
from kuniumi.wire.status import http_status

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kuniumi.core.fault import Fault
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.serve.gate import Gate
    from kuniumi.serve.mcp.exchange import Exchange, Headers
    from kuniumi.serve.mcp.sessions import Session
    from kuniumi.serve.mcp.workers import Workers
    from kuniumi.wire.mcp.messages import AnyParams
    from kuniumi.wire.mcp.revisions import Revision

    Running = Coroutine[None, None, tuple[int, bytes]]

MOST_LISTENING = 10_000
"""Clients without a session that one worker tells of changes."""

_STATUSES = {NO_METHOD: 404, INTERNAL: 500}


class Endpoint:
    """The MCP endpoint of one app, in one worker."""

    def __init__(
        self, service: Service, secret: bytes, gate: Gate, *, workers: Workers | None = None
    ) -> None:
        self.desk = Desk(service, secret)
        self._gate = gate
        self._workers = workers
        self._subscriptions = changes.Subscriptions(service.registry)
        self._attendant = Attendant(
            self.desk, self._run, self._subscriptions, workers.name if workers else "0"
        )
        self._listening: set[Stream] = set()
        self._draining = False

    def drain(self) -> None:
        """End what would go on for ever."""
        self._draining = True
        self._attendant.drain()
        for stream in tuple(self._listening):
            stream.finish()

    async def close(self) -> None:
        """End every session."""
        await self._attendant.close()

    async def respond(self, exchange: Exchange) -> None:
        """Answer one request."""
        if self._draining:
            exchange.fields.append((b"connection", b"close"))
        message = read(exchange.body) if exchange.method == "POST" else None
        if type(message) is Request or type(message) is RpcError:
            exchange.about = message.id
        named = exchange.headers.get(b"mcp-session-id")
        session: Session | None = None
        if named and _version(exchange.headers) != LATEST.name:
            session_id = named.decode("latin-1")
            worker = session_id.partition(".")[0]
            if self._workers is not None and not self._workers.owns(worker):
                await self._relay(worker, exchange)
                return
            session = self._attendant.sessions.find(session_id)
            if session is None:
                await _refuse_session(exchange)
                return
        if type(message) is Request:
            await self._request(exchange, message, session)
        elif (error := _misfit(exchange.headers, message)) is not None:
            await exchange.refuse(400, error)
        elif message is not None:
            await self._message(exchange, message, session)
        else:
            await self._without_message(exchange, session)

    async def _without_message(self, exchange: Exchange, session: Session | None) -> None:
        if session is None:
            exchange.fields.append((b"allow", b"POST, OPTIONS"))
            await exchange.refuse(405, f"Method not allowed: {exchange.method} (send POST)")
        elif exchange.method == "GET":
            await self._attendant.listen(exchange, session)
        elif exchange.method == "DELETE":
            self._attendant.sessions.close(session)
            await exchange.answer(200)
        else:
            exchange.fields.append((b"allow", b"GET, POST, DELETE, OPTIONS"))
            said = f"Method not allowed: {exchange.method} (send POST, GET or DELETE)"
            await exchange.refuse(405, said)

    async def _relay(self, worker: str, exchange: Exchange) -> None:
        assert self._workers is not None  # noqa: S101 - who relays has others
        relayed = Relayed(
            exchange.method, list(exchange.headers.items()), exchange.body, exchange.fields
        )
        try:
            await self._workers.relay(worker, relayed, exchange.receive, exchange.send)
        except NoSuchWorkerError:
            await _refuse_session(exchange)

    # ---- what is no request ---------------------------------------------------------------------

    async def _message(
        self, exchange: Exchange, message: Message | RpcError, session: Session | None
    ) -> None:
        if isinstance(message, RpcError):
            await exchange.refuse(400, message)
        elif isinstance(message, Notification):
            self._notification(message, session)
            await exchange.answer(202)
        elif session and isinstance(message, Response) and session.questions.take(message):
            await exchange.answer(202)
        else:
            await exchange.refuse(400, "Invalid request: nobody waits for this response")

    def _notification(self, notification: Notification, session: Session | None) -> None:
        if session is None or notification.method != "notifications/cancelled":
            return
        params = messages.read_params(notification.params, messages.Cancelled)
        if not isinstance(params, RpcError):
            session.give_up(params.request_id)

    # ---- requests -------------------------------------------------------------------------------

    async def _request(self, exchange: Exchange, request: Request, session: Session | None) -> None:
        said = _version(exchange.headers)
        revision = REVISIONS.get(said)
        stateless = (revision is not None and revision.stateless) or is_stateless(request)
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
        elif type(params) is messages.Listen:  # it is no call, and takes nobody's place
            await self._listen(exchange, request, params, terms)
        elif operation is not None and self._gate.is_full:
            await exchange.refuse_for_now(overloaded().message)
        elif session is not None:
            await self._attendant.answer(exchange, request, params, session, talks=talks)
        elif talks:
            await self._converse(exchange, request, params, terms)
        elif type(params) is messages.Initialize:
            await self._attendant.greet(exchange, request, params)
        else:
            status, body = await self._run(request, params, terms, Line(gone=exchange.gone))
            await exchange.answer(status, body)

    def _run(self, request: Request, params: AnyParams, terms: Terms, line: Line) -> Running:
        """Take a place at once, and have a request answered in it."""
        self._gate.running += 1
        return self._answer(request, params, terms, line)

    async def _answer(
        self, request: Request, params: AnyParams, terms: Terms, line: Line
    ) -> tuple[int, bytes]:
        try:
            result = await self.desk.answer(request, params, terms, line)
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not leave a client waiting
            result = _mistake(error)
        finally:
            self._gate.running -= 1
        if type(result) is bytes:
            return 200, write_result(request.id, result)
        return _failed(request, terms, result)  # type: ignore[arg-type]

    async def _converse(
        self, exchange: Exchange, request: Request, params: AnyParams, terms: Terms
    ) -> None:
        """Answer a request that may talk; it ends when its client leaves."""
        stream = Stream()
        gone = asyncio.Event()
        running = self._run(request, params, terms, Line(tell=stream.tell, gone=gone.wait))

        async def work() -> None:
            status, body = await running
            stream.finish(body, status)

        task = asyncio.create_task(work())
        try:
            await exchange.pour(stream)
        finally:
            gone.set()
            if not task.done():
                await asyncio.wait({task}, timeout=2 * GRACE)
                task.cancel()

    async def _listen(
        self, exchange: Exchange, request: Request, params: messages.Listen, terms: Terms
    ) -> None:
        if len(self._listening) >= MOST_LISTENING:
            await exchange.refuse_for_now("Too many listen already")
            return
        if len(params.notifications.resource_subscriptions) > changes.MOST:
            await exchange.answer(400, write_error(request.id, changes.too_many()))
            return
        stream = Stream()
        subscription = changes.Subscription(params.notifications, stream.put, request.key)
        stream.put(changes.acknowledge(subscription))
        stamp = self.desk.stamp(terms.revision)
        stream.farewell = write_result(request.id, changes.close(subscription, stamp.end))
        if self._draining:
            stream.finish()
        self._subscriptions.add(subscription)
        self._listening.add(stream)
        try:
            await exchange.pour(stream, begun=True)
        finally:
            self._listening.discard(stream)
            self._subscriptions.drop(subscription)


async def refuse_body(exchange: Exchange, fault: Fault) -> None:
    """Refuse a body that is too large, or does not come."""
    if fault.kind is Kind.TOO_SLOW:
        exchange.fields.append((b"connection", b"close"))
    await exchange.refuse(http_status(fault), fault.message)


async def _refuse_session(exchange: Exchange) -> None:
    await exchange.refuse(404, "Session not found: it is over; begin another with initialize")


def _version(headers: Headers) -> str:
    return headers.get(b"mcp-protocol-version", b"").decode("latin-1").strip()


def _misfit(headers: Headers, message: Message | RpcError | None) -> RpcError | None:
    """Tell what is wrong with the headers of what is no request."""
    said = _version(headers)
    if said and said not in REVISIONS and not isinstance(message, RpcError):
        return no_such_revision(said)
    if isinstance(message, Notification) and b"mcp-method" in headers:
        return mirrored.check_method(headers, message.method)
    return None


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
    error = mirrored.check_method(headers, request.method)
    if error is not None:
        return error
    if isinstance(params, messages.ReadResource):
        return mirrored.check_name(headers, params.uri) or terms
    if isinstance(params, (messages.CallTool, messages.GetPrompt)):
        error = mirrored.check_name(headers, params.name)
        if error is None and operation is not None and type(params) is messages.CallTool:
            error = mirrored.check_mirrors(headers, operation, params.arguments)
    return error or terms


def _unstated(said: str, revision: Revision | None, session: Session | None) -> Terms | RpcError:
    """Give the terms of a request that does not state its own."""
    if revision is None and said:
        return no_such_revision(said)
    return session.terms if session else Terms(revision or UNSAID)


def _failed(request: Request, terms: Terms, error: RpcError) -> tuple[int, bytes]:
    """Write why there is no result; revisions with a handshake tell it with status 200."""
    status = _STATUSES.get(error.code, 400) if terms.revision.stateless else 200
    return status, write_error(request.id, error)


def _mistake(error: Exception) -> RpcError:
    import logging  # noqa: PLC0415 - it is rare

    logging.getLogger("kuniumi.mcp").error("a request could not be answered", exc_info=error)
    return RpcError(INTERNAL, f"Internal error: {type(error).__name__}")
