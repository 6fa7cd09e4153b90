"""Sessions, for what the revisions with a handshake can't do without: questions, subscriptions.

In: the terms of a handshake. Out: a session, until it is closed, idle for too long, or one of too
many. A client that needs none of this gets none, so that any worker may answer it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from kuniumi.serve.mcp.asked import Questions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kuniumi.serve.mcp.changes import Subscription
    from kuniumi.serve.mcp.streams import Stream
    from kuniumi.serve.mcp.terms import Terms

MOST = 10_000
"""Sessions that one worker keeps."""

IDLE = 1800.0
"""Seconds after which a session that nobody used is closed."""

MOST_AT_WORK = 1000
"""Requests of one session that are answered at once, those included that their client left."""

_MOST_STREAMS = 100


class Session:
    """What one client and this worker know of each other."""

    def __init__(self, session_id: str, terms: Terms) -> None:
        self.id = session_id
        self.terms = terms
        self.used = monotonic()
        self.attended = 0  # how many answers the client waits for, or reads, just now
        self.streams: dict[str, Stream] = {}  # those that can be taken up again
        self.standing: Stream | None = None  # the one for what no request asked for
        self.at_work: dict[int | str, asyncio.Event] = {}
        self.subscription: Subscription | None = None
        self.questions = Questions()

    @property
    def is_full(self) -> bool:
        """Whether one more request at work would be one too many."""
        return len(self.at_work) >= MOST_AT_WORK

    def begin(self, key: int | str) -> asyncio.Event:
        """Note that a request is at work; give what is set when its client gives it up."""
        given_up = self.at_work[key] = asyncio.Event()
        return given_up

    def end(self, key: int | str, given_up: asyncio.Event) -> None:
        """Note that a request is at work no longer."""
        if self.at_work.get(key) is given_up:  # and not that of another of the same id
            del self.at_work[key]

    def give_up(self, key: int | str) -> None:
        """End a request that its client no longer wants answered."""
        if key in self.at_work:
            self.at_work[key].set()

    def keep(self, stream: Stream) -> None:
        """Keep a stream, so that the client can take it up again."""
        if len(self.streams) >= _MOST_STREAMS:
            over = next((each for each in self.streams.values() if each.ended), None)
            del self.streams[over.name if over else next(iter(self.streams))]
        self.streams[stream.name] = stream

    def forget(self, stream: Stream) -> None:
        """Keep a stream no longer."""
        self.streams.pop(stream.name, None)

    def push(self, message: bytes) -> None:
        """Send what no request asked for, if the client listens."""
        if self.standing is not None:
            self.standing.put(message)

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
        self._all: OrderedDict[str, Session] = OrderedDict()  # the longest unused first
        self._timer: asyncio.TimerHandle | None = None

    def open(self, terms: Terms) -> Session | None:
        """Begin a session, or none if there are too many, all of them in use."""
        while len(self._all) >= MOST:
            if not self._close_oldest(monotonic()):
                return None
        session = Session(f"{self.worker}.{secrets.token_urlsafe(24)}", terms)
        self._all[session.id] = session
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(IDLE, self._sweep)
        return session

    def find(self, session_id: str) -> Session | None:
        """Give the session of this id, which is in use again."""
        session = self._all.get(session_id)
        if session is not None:
            self._touch(session)
        return session

    @contextmanager
    def attending(self, session: Session) -> Iterator[None]:
        """Keep a session in use while its client waits for something."""
        session.attended += 1
        try:
            yield
        finally:
            session.attended -= 1
            self._touch(session)

    def close(self, session: Session) -> None:
        """End a session."""
        if self._all.pop(session.id, None) is not None:
            session.close()

    def close_all(self) -> None:
        """End all of them."""
        for session in tuple(self):
            self.close(session)
        if self._timer is not None:
            self._timer.cancel()

    def __iter__(self) -> Iterator[Session]:
        """Give them all, the longest unused first."""
        return iter(self._all.values())

    def __len__(self) -> int:
        """Count them."""
        return len(self._all)

    def _touch(self, session: Session) -> None:
        session.used = monotonic()
        if session.id in self._all:
            self._all.move_to_end(session.id)

    def _close_oldest(self, before: float) -> bool:
        """Close the session that was used least lately, if that was before a moment."""
        for _ in range(len(self._all)):
            oldest = next(iter(self._all.values()))
            if oldest.used > before:
                return False
            if not oldest.attended:
                self.close(oldest)
                return True
            self._touch(oldest)
        return False

    def _sweep(self) -> None:
        """Close those that nobody used for too long, and come back when the next would be."""
        self._timer = None
        while self._close_oldest(monotonic() - IDLE):
            pass
        if self._all:
            wait = next(iter(self._all.values())).used + IDLE - monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(wait, 0.1), self._sweep)
