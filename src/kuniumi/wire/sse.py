"""Server-sent events: what is told, as the bytes of a stream, and back.

In: an event's name, data and id, or the bytes of a stream in pieces of any size. Out: the bytes, or
the events. It must not know what the data say.
"""

from __future__ import annotations

from msgspec import Struct

CONTENT_TYPE = b"text/event-stream"

KEEP_ALIVE = b": still here\n\n"
"""A comment, which readers skip."""


def encode_event(name: str, data: bytes) -> bytes:
    """Write one event. The data is one line of JSON, so nothing in it can end the event early."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def encode_message(data: bytes, number: bytes = b"") -> bytes:
    """Write one event without a name, and with an id to resume after it where it has one."""
    if number:
        return b"id: %b\ndata: %b\n\n" % (number, data)
    return b"data: %b\n\n" % data


def encode_pause(number: bytes, milliseconds: int) -> bytes:
    """Write an event that says nothing but where to resume, and how long to wait before."""
    return b"id: %b\nretry: %d\ndata: \n\n" % (number, milliseconds)


# ---- reading ---------------------------------------------------------------------------------------

LONGEST = 64 * 1024 * 1024


class Event(Struct, frozen=True):
    """One event. One without data says only where to resume, or how long to wait before."""

    data: bytes
    name: bytes = b"message"
    id: bytes = b""  # of this event, or of the last one that had any
    retry: int | None = None


class EventReader:
    """Reads a stream (WHATWG HTML §9.2.6): feed it what comes in, and take the events."""

    def __init__(self, limit: int = LONGEST) -> None:
        self._limit = limit
        self._parts: list[bytes] = []  # of a line whose end has not come
        self._size = 0  # of the event that is being read
        self._begun = False
        self._data: list[bytes] = []
        self._name = b""
        self._id = b""
        self._retry: int | None = None
        self._says_something = False

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; give the events that they complete."""
        self._size += len(data)
        self._parts.append(data)
        found = []
        held = self._parts[0].endswith(b"\r")
        if held or not self._begun or b"\n" in data or b"\r" in data:
            *lines, rest = self._lines(b"".join(self._parts))
            self._parts = [rest]
            found = [event for line in lines if (event := self._take(line)) is not None]
            if b"" in lines:
                self._size = len(rest)
        if self._size > self._limit:
            msg = f"an event has more than {self._limit} bytes"
            raise ValueError(msg)
        return found

    def _lines(self, data: bytes) -> list[bytes]:
        """Split at the ends of lines; a CR at the end of the data may be half of one."""
        if not self._begun:
            if len(data) < len(_BOM) and _BOM.startswith(data):
                return [data]
            self._begun = True
            data = data.removeprefix(_BOM)
        held = b""
        if data.endswith(b"\r"):
            data, held = data[:-1], b"\r"
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        lines[-1] += held
        return lines

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._finish()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field == b"id" and b"\0" not in value:
            self._id = value
        elif field == b"retry" and value.isdigit() and len(value) < _MOST_DIGITS:
            self._retry = int(value)
        else:  # a comment, or a field that nobody knows
            return None
        self._says_something = True
        return None

    def _finish(self) -> Event | None:
        event = Event(b"\n".join(self._data), self._name or b"message", self._id, self._retry)
        says_something = self._says_something
        self._data, self._name, self._retry = [], b"", None
        self._says_something = False
        return event if says_something else None


_BOM = b"\xef\xbb\xbf"
_MOST_DIGITS = 10
