"""Server-sent events: an event's name and data as the bytes of the stream."""

from __future__ import annotations

CONTENT_TYPE = b"text/event-stream"

KEEP_ALIVE = b": still here\n\n"
"""A comment, which readers skip."""


def encode_event(name: str, data: bytes) -> bytes:
    """Write one event. The data is one line of JSON, so nothing in it can end the event early."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)
