"""Messages of MCP over HTTP, written by hand: nothing between a test and the wire but `http.client`."""

from __future__ import annotations

import http.client
import itertools
from typing import TYPE_CHECKING, Any, Self

import msgspec

from tests.http.server import ROOT, Reply, Server, serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

CHATTY = ROOT / "tests" / "mcp" / "apps" / "chatty.py"
NEW, OLD = "2026-07-28", "2025-11-25"
BOTH = "application/json, text/event-stream"
ASKABLE: dict[str, Any] = {"elicitation": {}}
_META = "io.modelcontextprotocol/"
_numbers = itertools.count(1)


def new_mark() -> str:
    """Give a word that no other call has noted."""
    return f"mark{next(_numbers)}"


class Event(msgspec.Struct, frozen=True):
    """One event of a stream."""

    id: str
    message: Any  # nothing, where it only says where to resume


class Events:
    """An answer that is a stream of events, read as it comes."""

    def __init__(self, connection: http.client.HTTPConnection, revision: str = OLD) -> None:
        self.connection = connection
        self.revision = revision
        self._response = connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}
        self.signs_of_life = 0

    @property
    def is_stream(self) -> bool:
        """Whether it is one: it may be a plain answer."""
        return self.headers.get("content-type") == "text/event-stream"

    def next(self) -> Event | None:
        """Wait for the next event; nothing if that was the end."""
        number, data = "", b""
        while line := self._response.readline():
            name, _, value = line.rstrip(b"\n").partition(b": ")
            if name == b"id":
                number = value.decode()
            elif name == b"data":
                data = value
            elif line.startswith(b":"):
                self.signs_of_life += 1
            elif line == b"\n" and (number or data):
                return Event(number, msgspec.json.decode(data) if data else None)
        return None

    def next_message(self) -> Any:
        """Wait for the next message; there has to be one."""
        while event := self.next():
            if event.message is not None:
                return event.message
        msg = "the stream has ended"
        raise AssertionError(msg)

    def rest(self) -> list[Event]:
        """Wait for all that is to come."""
        return list(iter(self.next, None))

    def messages(self) -> list[Any]:
        """Wait for all messages that are to come."""
        return [event.message for event in self.rest() if event.message is not None]

    def reply(self) -> Reply:
        """Give the plain answer, which ends the exchange."""
        reply = Reply(self.status, self.headers, self._response.read())
        self.leave()
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Go away, whatever is still to come."""
        self._response.close()
        self.connection.close()


class Client:
    """One client: how it speaks, and its session if it has one."""

    def __init__(
        self, server: Server, revision: str = NEW, able: Any = None, path: str = "/mcp"
    ) -> None:
        self.server = server
        self.revision = revision
        self.able = ASKABLE if able is None else able
        self.path = path
        self.session = ""

    def shake_hands(self) -> Reply:
        """Begin, as the older revisions do."""
        reply = self.request(
            "initialize",
            protocolVersion=self.revision,
            capabilities=self.able,
            clientInfo={"name": "test", "version": "1"},
        )
        self.session = reply.headers.get("mcp-session-id", "")
        return reply

    # ---- messages -------------------------------------------------------------------------------

    def headers(self, method: str = "", name: str = "", **more: str) -> dict[str, str]:
        """Give the headers of a message."""
        headers = {"Content-Type": "application/json", "Accept": BOTH, **more}
        if method != "initialize":
            headers["MCP-Protocol-Version"] = self.revision
        if self.revision == NEW:
            headers |= {"Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        return headers

    def message(self, method: str, **params: Any) -> dict[str, Any]:
        """Write a request."""
        if self.revision == NEW:
            params["_meta"] = {
                _META + "protocolVersion": NEW,
                _META + "clientCapabilities": self.able,
                **params.get("_meta", {}),
            }
        return {"jsonrpc": "2.0", "id": next(_numbers), "method": method, "params": params}

    # ---- exchanges ------------------------------------------------------------------------------

    def open(self, method: str, message: Any, headers: Mapping[str, str]) -> Events:
        """Send something on a connection of its own, and read no more than the head of the answer."""
        connection = self.connect()
        body = None if message is None else msgspec.json.encode(message)
        connection.request(method, self.path, body, dict(headers))
        return Events(connection, self.revision)

    def send(self, message: Any, **headers: str) -> Reply:
        """Post a message, and read the plain answer."""
        name = message.get("params", {}).get("name") or message.get("params", {}).get("uri", "")
        headers = self.headers(message.get("method", ""), name, **headers)
        return self.open("POST", message, headers).reply()

    def request(self, method: str, **params: Any) -> Reply:
        """Post a request, and read the plain answer."""
        return self.send(self.message(method, **params))

    def notify(self, method: str, **params: Any) -> Reply:
        """Post a notification."""
        return self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def call_message(self, name: str, arguments: Any) -> dict[str, Any]:
        """Write a call that wants to hear of progress."""
        token = {"_meta": {"progressToken": "t"}}
        return self.message("tools/call", name=f"functions.{name}", arguments=arguments, **token)

    def call(self, name: str, **arguments: Any) -> Reply:
        """Call a function, and read the plain answer."""
        return self.send(self.call_message(name, arguments), Accept="application/json")

    def result(self, name: str, **arguments: Any) -> Any:
        """Call a function; give its value."""
        return self.call(name, **arguments).json["result"]["structuredContent"].get("result")

    def begin(self, name: str, **arguments: Any) -> Events:
        """Call a function, and wait for the head of the answer."""
        return self.begin_with(self.call_message(name, arguments))

    def begin_with(self, message: Any) -> Events:
        """Post a request, and wait for the head of the answer."""
        name = message["params"].get("name", "")
        return self.open("POST", message, self.headers(message["method"], name))

    def connect(self) -> http.client.HTTPConnection:
        """Open a connection."""
        return http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)

    def connect_elsewhere(self) -> http.client.HTTPConnection:
        """Open a connection to a worker that does not have this client's session."""
        home = self.result("Pid")
        anybody = Client(self.server, OLD)
        message = msgspec.json.encode(anybody.call_message("Pid", {}))
        while True:
            connection = self.connect()
            connection.request("POST", self.path, message, anybody.headers())
            answer = msgspec.json.decode(connection.getresponse().read())
            if answer["result"]["structuredContent"]["result"] != home:
                return connection
            connection.close()

    def post_and_hold(
        self,
        message: Any,
        accept: str = BOTH,
        connection: http.client.HTTPConnection | None = None,
    ) -> http.client.HTTPConnection:
        """Post a request, and wait for nothing."""
        connection = connection or self.connect()
        name = message["params"].get("name", "")
        headers = self.headers(message["method"], name, Accept=accept)
        connection.request("POST", self.path, msgspec.json.encode(message), headers)
        return connection

    def listening(self, last: str = "") -> Events:
        """Listen to the session, or to what follows an event."""
        more = {"Last-Event-ID": last} if last else {}
        return self.open("GET", None, self.headers(**more))

    def answer(self, question: Any, **result: Any) -> Reply:
        """Answer a question of the server."""
        return self.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def listen(self, **wanted: Any) -> Events:
        """Subscribe, as the latest revision does."""
        return self.begin_with(self.message("subscriptions/listen", notifications=wanted))

    def end(self) -> Reply:
        """End the session."""
        return self.open("DELETE", None, self.headers()).reply()


def serving_chatty(*flags: str, **bounds: str) -> AbstractContextManager[Server]:
    """Serve the app whose functions talk."""
    # What a client that leaves breaks off, Granian warns of.
    words = ("--log-level", "error", *flags)
    return serving(CHATTY, *words, PYTHONPATH=str(ROOT), **bounds)


def in_session(server: Server, revision: str = OLD, path: str = "/mcp") -> Client:
    """Give a client that has a session."""
    client = Client(server, revision, path=path)
    client.shake_hands()
    assert client.session
    return client
