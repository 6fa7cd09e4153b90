"""Attending to clients that have a session: the handshake, what they ask, what they are asked.

In: exchanges of the revisions with a handshake, and the session each belongs to. Out: answers, and
streams that a client may leave and come back to. A call goes on when its client leaves: in a session
there is a message that gives it up, and nothing else does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.execute.inline import GRACE
from kuniumi.serve.mcp import changes
from kuniumi.serve.mcp.desk import Line
from kuniumi.serve.mcp.sessions import Sessions
from kuniumi.serve.mcp.streams import Stream, position_of
from kuniumi.serve.mcp.terms import agreed
from kuniumi.wire.jsonrpc import write_error, write_result
from kuniumi.wire.mcp import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from kuniumi.serve.mcp.desk import Desk
    from kuniumi.serve.mcp.exchange import Exchange
    from kuniumi.serve.mcp.sessions import Session
    from kuniumi.serve.mcp.terms import Terms
    from kuniumi.wire.jsonrpc import Request
    from kuniumi.wire.mcp.messages import AnyParams

    Running = Coroutine[None, None, tuple[int, bytes]]
    Run = Callable[[Request, AnyParams, Terms, Line], Running]

KEPT = 60.0
"""Seconds for which the end of a stream waits for a client that left it."""

_SUBSCRIBING = {"resources/subscribe": True, "resources/unsubscribe": False}
_STOPPING = "The server is stopping"


class Attendant:
    """Attends to the clients of one worker that have a session."""

    def __init__(
        self, desk: Desk, run: Run, subscriptions: changes.Subscriptions, worker: str
    ) -> None:
        self.sessions = Sessions(worker)
        self._desk = desk
        self._run = run  # has a request answered, and writes the answer
        self._subscriptions = subscriptions
        self._behind: set[asyncio.Task[None]] = set()  # what goes on whether or not a client waits
        self._draining = False

    # ---- the beginning and the end --------------------------------------------------------------

    async def greet(
        self, exchange: Exchange, request: Request, params: messages.Initialize
    ) -> None:
        """Shake hands; open a session if this client may need one."""
        terms = agreed(params, pushes=False)
        subscribes = bool(self._desk.service.registry.resources)
        if subscribes or (terms.able and self._desk.converses):
            terms = msgspec.structs.replace(terms, pushes=True)
            session = self.sessions.open(terms)
            if session is None:
                await exchange.refuse_for_now("There are too many sessions")
                return
            session.subscription = changes.Subscription(messages.LISTS, session.push)
            exchange.fields.append((b"mcp-session-id", session.id.encode()))
        await exchange.answer(200, write_result(request.id, self._desk.greet(terms)))

    def drain(self) -> None:
        """End what would go on for ever: what listens, and what waits for a person."""
        self._draining = True
        for session in self.sessions:
            session.questions.give_up(_STOPPING)
            if session.standing is not None:
                session.standing.finish()

    async def close(self) -> None:
        """End every session; let the functions at work in them clean up."""
        self.sessions.close_all()
        if self._behind:
            await asyncio.wait(self._behind, timeout=2 * GRACE)

    # ---- what is posted -------------------------------------------------------------------------

    async def answer(
        self,
        exchange: Exchange,
        request: Request,
        params: AnyParams,
        session: Session,
        *,
        talks: bool,
    ) -> None:
        """Answer a request in a session; one that `talks` may tell or ask something before."""
        if isinstance(params, messages.Initialize):
            await self.greet(exchange, request, params)
        elif request.method in _SUBSCRIBING:
            error = None
            if isinstance(params, messages.ReadResource) and session.subscription is not None:
                error = session.subscription.turn(params.uri, on=_SUBSCRIBING[request.method])
            body = write_error(request.id, error) if error else write_result(request.id, b"{}")
            await exchange.answer(200, body)
        elif session.is_full:
            await exchange.refuse_for_now("Too many requests of this session are at work")
        elif talks:
            with self.sessions.attending(session):
                await self._converse(exchange, request, params, session)
        else:
            if isinstance(params, messages.SetLevel):
                level = messages.LEVELS[params.level]
                session.terms = msgspec.structs.replace(session.terms, log_level=level)
            with self.sessions.attending(session):
                given_up = session.begin(request.key)
                try:
                    line = Line(gone=given_up.wait)
                    status, body = await self._run(request, params, session.terms, line)
                finally:
                    session.end(request.key, given_up)
            if given_up.is_set():
                status, body = 202, b""  # nothing is said any more of what was given up
            await exchange.answer(status, body)

    async def _converse(
        self, exchange: Exchange, request: Request, params: AnyParams, session: Session
    ) -> None:
        stream = Stream(resumable=True, pauses=session.terms.revision.pauses)
        session.keep(stream)
        given_up = session.begin(request.key)

        def put(question: bytes) -> None:
            if not given_up.is_set():
                stream.put(question, urgent=True)

        async def ask(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
            return await session.questions.ask(put, method, params)

        line = Line(
            tell=stream.tell,
            ask=ask,
            gone=given_up.wait,
            release=stream.release if stream.pauses else None,
        )
        running = self._run(request, params, session.terms, line)

        async def work() -> None:
            try:
                status, body = await running
            finally:
                session.end(request.key, given_up)
            if given_up.is_set():
                session.forget(stream)
                stream.finish()
            else:
                stream.finish(body, status)
                asyncio.get_running_loop().call_later(KEPT, session.forget, stream)

        task = asyncio.create_task(work())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)
        if not await exchange.pour(stream):
            session.forget(stream)  # its client can't know what to come back to

    # ---- what is listened to --------------------------------------------------------------------

    async def listen(self, exchange: Exchange, session: Session) -> None:
        """Answer a GET: with the rest of a stream that was left, or with what no request asked for."""
        if not exchange.takes_events:
            await exchange.refuse(406, "Not acceptable: a GET here answers with text/event-stream")
            return
        with self.sessions.attending(session):
            last = exchange.headers.get(b"last-event-id", b"").decode("latin-1")
            if last:
                await self._resume(exchange, session, last)
            elif self._draining:
                await exchange.refuse_for_now(_STOPPING)
            else:
                await self._stand(exchange, session)

    async def _resume(self, exchange: Exchange, session: Session, last: str) -> None:
        left = position_of(last)
        stream = session.streams.get(left[0]) if left else None
        if left is None or stream is None:
            said = f"Nothing is kept that follows the event {last[:100]!r}"
            await exchange.refuse(400, said)
            return
        await exchange.pour(stream, left[1], begun=True)

    async def _stand(self, exchange: Exchange, session: Session) -> None:
        if session.standing is not None:
            session.standing.finish()
        standing = session.standing = Stream()
        if session.subscription is not None:
            self._subscriptions.add(session.subscription)
        try:
            await exchange.pour(standing, begun=True)
        finally:
            if session.standing is standing:
                session.standing = None
                if session.subscription is not None:
                    self._subscriptions.drop(session.subscription)
