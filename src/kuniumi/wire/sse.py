"""Server-sent events: an event's name and data as the bytes of the stream."""

from __future__ import annotations

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
