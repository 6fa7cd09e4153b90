"""A stream of messages to one client, which it may leave and take up again.

In: messages, from any thread. Out: server-sent events, from any position. It must not know who
reads it, nor whether anybody does.
"""

from __future__ import annotations

import asyncio
import secrets
import threading

from kuniumi.wire.sse import encode_message, encode_pause

_MOST = 1024
RETRY = 100
"""Milliseconds after which a client may come back for more."""


class Stream:
    """Messages about one request, or about none, in their order."""

    def __init__(self, *, resumable: bool) -> None:
        self.name = secrets.token_urlsafe(9)
        self.resumable = resumable
        self.changed = asyncio.Event()
        self.let_go = False  # whether the client is to leave, and to come back
        self.ended = False
        self.status = 200
        self.farewell = b""  # the last message, where it is the server that ends it
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._start = 0  # the position of the first message that is still here
        self._messages: list[bytes] = []

    @property
    def end(self) -> int:
        """The position after the last message."""
        return self._start + len(self._messages)

    def tell(self, message: bytes) -> None:
        """Take a message from any thread."""
        if threading.get_ident() == self._thread:
            self.put(message)
        else:
            try:
                self._loop.call_soon_threadsafe(self.put, message)
            except RuntimeError:  # the loop has ended: nobody reads any more
                return

    def put(self, message: bytes, *, urgent: bool = False) -> None:
        """Take a message; where too many wait, those that nothing depends on are dropped."""
        if self.ended or (len(self._messages) >= _MOST and not urgent):
            return
        self._messages.append(message)
        self.changed.set()

    def finish(self, message: bytes = b"", status: int = 200) -> None:
        """Take the last message, if there is one."""
        message = message or self.farewell
        if message:
            self.put(message, urgent=True)
        self.ended = True
        self.status = status
        self.changed.set()

    def release(self) -> None:
        """Have the client leave, and come back for the rest."""

        def leave() -> None:
            self.let_go = True
            self.changed.set()

        self._loop.call_soon_threadsafe(leave)

    def only_result(self) -> bytes | None:
        """Give the last message if it is the only one, and no other can come."""
        return self._messages[0] if self.ended and self.end == len(self._messages) == 1 else None

    def events_after(self, position: int) -> bytes:
        """Give all messages from a position on, as events."""
        messages = self._messages[max(0, position - self._start) :]
        if not self.resumable:
            self._start += len(self._messages)
            self._messages.clear()
            return b"".join(map(encode_message, messages))
        first = self.end - len(messages)
        return b"".join(
            encode_message(message, self._number(first + index + 1))
            for index, message in enumerate(messages)
        )

    def pause(self, position: int) -> bytes:
        """Give the event that says where to resume."""
        return encode_pause(self._number(position), RETRY)

    def _number(self, position: int) -> bytes:
        return f"{self.name}-{position}".encode()


def position_of(number: str) -> tuple[str, int] | None:
    """Read the name of a stream and a position off the id of an event."""
    name, _, position = number.rpartition("-")
    return (name, int(position)) if name and position.isascii() and position.isdigit() else None
