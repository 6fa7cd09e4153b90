"""Sessions, for what the revisions with a handshake can't do without: questions, subscriptions.

In: the terms of a handshake. Out: a session, until it is closed, idle for too long, or one of too
many. A client that needs none of this gets none, so that any worker may answer it.
"""

from __future__ import annotations

import asyncio
import secrets
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.codec import dumps
from kuniumi.serve.mcp.stdio import settle_question
from kuniumi.wire.jsonrpc import write_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.serve.mcp.changes import Subscription
    from kuniumi.serve.mcp.streams import Stream
    from kuniumi.serve.mcp.terms import Terms
    from kuniumi.wire.jsonrpc import Response

MOST = 10_000
IDLE = 1800.0
"""Seconds after which a session nobody used is closed."""

_MOST_STREAMS = 100


class Session:
    """What one client and this worker know of each other."""

    def __init__(self, session_id: str, terms: Terms) -> None:
        self.id = session_id
        self.terms = terms
        self.used = monotonic()
        self.streams: dict[str, Stream] = {}  # those that can be taken up again
        self.standing: Stream | None = None  # the one for what no request asked for
        self.at_work: dict[int | str, asyncio.Event] = {}
        self.subscription: Subscription | None = None
        self._questions: dict[int | str, asyncio.Future[Mapping[str, Any]]] = {}
        self._asked = 0

    def keep(self, stream: Stream) -> None:
        """Keep a stream, so that the client can take it up again."""
        if len(self.streams) >= _MOST_STREAMS:
            del self.streams[next(iter(self.streams))]
        self.streams[stream.name] = stream

    def push(self, message: bytes) -> None:
        """Send what no request asked for, if the client listens."""
        if self.standing is not None:
            self.standing.put(message)

    async def ask(self, stream: Stream, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """Put a question on the stream of the request that raised it, and wait for the answer."""
        self._asked += 1
        key = f"ask-{self._asked}-{secrets.token_hex(4)}"
        answered = self._questions[key] = asyncio.get_running_loop().create_future()
        try:
            stream.put(write_request(dumps(key), method, dumps(params)), urgent=True)
            answer: Mapping[str, Any] = await answered
            return answer
        finally:
            del self._questions[key]

    def take(self, response: Response) -> bool:
        """Take the answer to a question; tell whether anybody waited for it."""
        waiting = self._questions.get(msgspec.json.decode(response.id))
        if waiting is None or waiting.done():
            return False
        settle_question(waiting, response)
        return True

    def close(self) -> None:
        """End all that is going on in it."""
        for given_up in self.at_work.values():
            given_up.set()
        if self.standing is not None:
            self.standing.finish()


class Sessions:
    """The sessions of one worker. Their ids begin with its name, so that others can find it."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self._all: dict[str, Session] = {}  # the longest unused first

    def open(self, terms: Terms) -> Session:
        """Begin a session."""
        self._sweep()
        session = Session(f"{self.worker}.{secrets.token_urlsafe(24)}", terms)
        self._all[session.id] = session
        return session

    def find(self, session_id: str) -> Session | None:
        """Give the session of this id, which is in use again."""
        session = self._all.pop(session_id, None)
        if session is not None:
            session.used = monotonic()
            self._all[session_id] = session
        return session

    def close(self, session: Session) -> None:
        """End a session."""
        if self._all.pop(session.id, None) is not None:
            session.close()

    def close_all(self) -> None:
        """End all of them."""
        for session in tuple(self._all.values()):
            self.close(session)

    def __len__(self) -> int:
        """Count them."""
        return len(self._all)

    def _sweep(self) -> None:
        now = monotonic()
        while self._all:
            oldest = next(iter(self._all.values()))
            if len(self._all) < MOST and (now - oldest.used < IDLE or oldest.standing is not None):
                return
            self.close(oldest)
