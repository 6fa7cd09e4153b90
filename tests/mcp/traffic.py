"""What a server said to a client, read out of a recording: each message with what it answers.

In: the folder that `tee.py` wrote to, or the connections that `proxy.py` recorded. Out: messages of
the server, the revision each belongs to, and the request it answers, as `official.problems` wants
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import h11
import msgspec

from tests.mcp.official import STATELESS
from tests.mcp.proxy import Connection

Message = dict[str, Any]


class Said(msgspec.Struct, frozen=True):
    """A message of the server."""

    message: Message
    revision: str
    answers: Message | None = None


class Exchange(msgspec.Struct, frozen=True):
    """A request over HTTP, and what came back, whole or as far as it came."""

    method: str
    headers: dict[str, str]
    body: bytes
    status: int = 0
    answer_headers: dict[str, str] = {}
    answer: bytes = b""

    @property
    def session(self) -> str:
        """The session it is part of, if there is one."""
        return self.headers.get("mcp-session-id", "")

    @property
    def request(self) -> Message | None:
        """The message it brings, if that is to be answered."""
        message: Message = json.loads(self.body) if self.body else {}
        return message if "method" in message and "id" in message else None


def said_on_stdio(folder: Path) -> Iterator[Said]:
    """Read what the servers said whose conversations are in a folder."""
    for log in sorted(folder.iterdir()):
        asked: dict[Any, Message] = {}
        revision = STATELESS  # until a handshake settles on another
        for line in log.read_text().splitlines():
            spoken = json.loads(line)
            message: Message = json.loads(spoken["line"])
            if spoken["from"] == "client":
                if "method" in message and "id" in message:
                    asked[message["id"]] = message
                continue
            answers = None if "method" in message else asked.get(message.get("id"))
            revision = _settled(message, answers) or revision
            yield Said(message, revision, answers)


def said_over_http(connections: Iterable[Connection]) -> Iterator[Said]:
    """Read what a server said over the connections of one client."""
    exchanges = [exchange for each in connections for exchange in exchanges_of(each)]
    asked: dict[Any, Message] = {}  # in sessions, where an answer may come by another stream
    for exchange in exchanges:
        request = exchange.request
        if request is not None and exchange.session:
            asked[exchange.session, request["id"]] = request
    for exchange in exchanges:
        for message in messages_of(exchange):
            answers = None
            if "method" not in message:
                answers = exchange.request or asked.get((exchange.session, message.get("id")))
            settled = exchange.headers.get("mcp-protocol-version") or _settled(message, answers)
            yield Said(message, settled or STATELESS, answers)


def _settled(message: Message, answers: Message | None) -> str | None:
    """Give the revision that a handshake settles on, if this is its end."""
    if answers is None or answers["method"] != "initialize" or "result" not in message:
        return None
    return str(message["result"]["protocolVersion"])


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
        answered, answer, is_whole = _next(client, h11.Response)
        headers = _fields(asked)
        method = asked.method.decode()
        if answered is None:  # it hung up first
            yield Exchange(method, headers, body)
            return
        yield Exchange(method, headers, body, answered.status_code, _fields(answered), answer)
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


def messages_of(exchange: Exchange) -> Iterator[Message]:
    """Read the messages out of an answer: one, or one an event."""
    kind = exchange.answer_headers.get("content-type", "")
    if kind == "application/json":
        yield json.loads(exchange.answer)
    elif kind == "text/event-stream":
        *events, _unfinished = exchange.answer.decode().replace("\r\n", "\n").split("\n\n")
        for event in events:
            data = [line[5:].strip() for line in event.split("\n") if line.startswith("data:")]
            if any(data):
                yield json.loads("\n".join(data))
