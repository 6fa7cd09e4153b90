"""What went over HTTP between a client and a server, read out of the bytes that `proxy.py` recorded.

In: connections. Out: the head of each request on them, and of its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h11
import msgspec

from tests.mcp.proxy import Connection


class Exchange(msgspec.Struct, frozen=True):
    """The heads of a request over HTTP and of what came back, if anything did."""

    method: str
    headers: dict[str, str]
    status: int = 0
    answer_headers: dict[str, str] = {}

    @property
    def session(self) -> str:
        """The session it is part of, if there is one."""
        return self.headers.get("mcp-session-id", "")


# ---- bytes on a connection -------------------------------------------------------------------------


def exchanges_of(connection: Connection) -> Iterator[Exchange]:
    """Read the requests and their answers out of what went over a connection."""
    if not connection.answered:
        return  # it hung up first
    server, client = h11.Connection(h11.SERVER), h11.Connection(h11.CLIENT)
    server.receive_data(bytes(connection.asked))
    client.receive_data(bytes(connection.answered))
    while True:
        asked, body, _ = _next(server, h11.Request)
        if asked is None:
            return
        client.send(asked)
        client.send(h11.Data(body))
        client.send(h11.EndOfMessage())
        answered, _, is_whole = _next(client, h11.Response)
        headers = _fields(asked)
        method = asked.method.decode()
        if answered is None:  # it hung up first
            yield Exchange(method, headers)
            return
        yield Exchange(method, headers, answered.status_code, _fields(answered))
        if not is_whole or server.our_state is h11.MUST_CLOSE:
            return
        server.send(h11.Response(status_code=204, headers=[]))
        server.send(h11.EndOfMessage())
        if client.our_state is not h11.DONE or server.our_state is not h11.DONE:
            return
        client.start_next_cycle()
        server.start_next_cycle()


def _next(side: h11.Connection, kind: type[Any]) -> tuple[Any, bytes, bool]:
    """Read one message: its head, its body, and whether that is all of it."""
    head, body = None, b""
    while True:
        event = side.next_event()
        if isinstance(event, kind):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return head, body, True
        elif not isinstance(event, h11.InformationalResponse):
            return head, body, False


def _fields(head: h11.Request | h11.Response) -> dict[str, str]:
    return {name.decode().lower(): value.decode("latin-1") for name, value in head.headers}
