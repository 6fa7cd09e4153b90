"""A stream of messages to one client, which it may leave and take up again.

In: messages, from any thread. Out: server-sent events, from any position. It must not know who
reads it, nor whether anybody does; but of two who do, only the later one gets anything.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from kuniumi.wire.sse import encode_message, encode_pause

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 1024
"""Messages that wait to be read, or are kept to be read again."""

MOST_BYTES = 8 * 1024 * 1024
"""… and the bytes of them, from which on no other is added."""

RETRY = 100
"""Milliseconds after which a client may come back for more."""

_LONGEST_NUMBER = 18


class Stream:
    """Messages about one request, or about none, in their order."""

    def __init__(self, *, resumable: bool = False, pauses: bool = False) -> None:
        self.name = secrets.token_urlsafe(9)
        self.resumable = resumable
        self.pauses = pauses  # whether its reader is told beforehand how to come back
        self.changed = asyncio.Event()
        self.reader = 0  # the number of who reads it, or was the last to
        self.let_go = False  # whether the client is to leave, and to come back
        self.ended = False
        self.status = 200
        self.farewell = b""  # the last message, where it is the server that ends it
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._start = 0  # the position of the first message that is still here
        self._given = 0  # the position after the last message that somebody has read
        self._messages: list[bytes] = []
        self._size = 0
        self._last_is_urgent = False

    @property
    def end(self) -> int:
        """The position after the last message."""
        return self._start + len(self._messages)

    # ---- who writes -----------------------------------------------------------------------------

    def tell(self, message: bytes) -> None:
        """Take a message from any thread."""
        if threading.get_ident() == self._thread:
            self.put(message)
        else:
            self._on_the_loop(self.put, message)

    def put(self, message: bytes, *, urgent: bool = False) -> None:
        """Take a message; where too many wait, the latest one takes the place of the one before.

        Only urgent ones are never dropped: something depends on them.
        """
        if self.ended:
            return
        while self._is_full and self._given > self._start:
            self._forget_read()
        if not self._is_full or urgent:
            self._messages.append(message)
            self._size += len(message)
            self._last_is_urgent = urgent
        elif not self._last_is_urgent:  # nobody has read that yet, or it would be forgotten
            self._size += len(message) - len(self._messages[-1])
            self._messages[-1] = message
        self.changed.set()

    @property
    def _is_full(self) -> bool:
        return len(self._messages) >= MOST or self._size >= MOST_BYTES

    def _forget_read(self) -> None:
        """Let go of the oldest of what was read already: it could be read again no more."""
        count = min(self._given - self._start, MOST // 4)
        self._size -= sum(map(len, self._messages[:count]))
        del self._messages[:count]
        self._start += count

    def finish(self, message: bytes = b"", status: int = 200) -> None:
        """Take the last message, if there is one."""
        if self.ended:
            return
        message = message or self.farewell
        if message:
            self.put(message, urgent=True)
        self.ended = True
        self.status = status
        self.changed.set()

    def release(self) -> None:
        """Have the client leave, and come back for the rest; from any thread."""

        def leave() -> None:
            self.let_go = True
            self.changed.set()

        self._on_the_loop(leave)

    def _on_the_loop(self, act: Callable[..., None], *words: bytes) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody reads any more
            self._loop.call_soon_threadsafe(act, *words)

    # ---- who reads ------------------------------------------------------------------------------

    def take_over(self) -> int:
        """Begin to read; whoever did so before has to stop. Gives the reader's number."""
        self.reader += 1
        self.let_go = False
        self.changed.set()
        return self.reader

    def only_result(self) -> bytes | None:
        """Give the last message if it is the only one, and no other can come."""
        return self._messages[0] if self.ended and self.end == len(self._messages) == 1 else None

    def events_after(self, position: int) -> bytes:
        """Give all messages from a position on, as events."""
        self._given = self.end
        if not self.resumable:
            messages, self._messages = self._messages, []
            self._start, self._size = self._given, 0
            return b"".join(map(encode_message, messages))
        messages = self._messages[max(0, position - self._start) :]
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
    is_number = position.isascii() and position.isdigit() and len(position) <= _LONGEST_NUMBER
    return (name, int(position)) if name and is_number else None
