"""Clients that send whatever they are told to, right or wrong.

In: bytes, or data. Out: what came back.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kuniumi.wire.sse import EventReader
from tests.http.server import Reply, Server, exchange
from tests.mcp.official import STATELESS

Message = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
MISCHIEF = Path(__file__).resolve().parent / "apps" / "hostile.py"
EVERYTHING = ROOT / "examples" / "everything" / "app.py"
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"

HANDSHAKE = "2025-11-25"
BOTH = (HANDSHAKE, STATELESS)
PATIENCE = 20.0

_PREFIX = "io.modelcontextprotocol/"


def request(method: str, key: Any = 1, *, revision: str = STATELESS, **params: Any) -> Message:
    """Make a request as a client of the revision would."""
    if revision == STATELESS:
        params["_meta"] = {**meta(), **params.get("_meta", {})}
    return {"jsonrpc": "2.0", "id": key, "method": method, "params": params}


def call(name: str, key: Any = 1, *, revision: str = STATELESS, **arguments: Any) -> Message:
    """Make a call of a function of the app."""
    tool = name if "_" in name else f"functions.{name}"
    return request("tools/call", key, revision=revision, name=tool, arguments=arguments)


def meta(**said: Any) -> Message:
    """Make what a request of the latest revision says of itself."""
    return {f"{_PREFIX}protocolVersion": STATELESS, f"{_PREFIX}clientCapabilities": {}, **said}


def encoded(message: bytes | Any) -> bytes:
    """Give the bytes of a message; bytes are sent as they are."""
    return message if isinstance(message, bytes) else json.dumps(message).encode()


# ---- on stdio --------------------------------------------------------------------------------------


class Pipe:
    """A server on stdio, and the client at the other end."""

    def __init__(self, process: subprocess.Popen[bytes], revision: str) -> None:
        self.process = process
        self.revision = revision
        self.told: list[Message] = []  # what came while an answer was awaited
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.listening = threading.Event()  # cleared by a client that reads no more
        self.listening.set()
        threading.Thread(target=self._listen, daemon=True).start()
        if revision != STATELESS:
            self.shake_hands()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
            self.listening.wait()
        self.lines.put(b"")

    def shake_hands(self, **capabilities: Any) -> Message:
        """Agree on the revision."""
        info = {"name": "sender", "version": "1"}
        said = {
            "protocolVersion": self.revision,
            "capabilities": capabilities,
            "clientInfo": info,
        }
        greeted = self.ask(request("initialize", "hello", revision=self.revision, **said))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return greeted

    def call_of(self, name: str, key: Any = 1, **arguments: Any) -> Message:
        """Make a call in this connection's revision."""
        return call(name, key, revision=self.revision, **arguments)

    def send(self, *messages: bytes | Any, end: bytes = b"\n") -> None:
        """Send messages, or anything else, a line each."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(encoded(message) + end for message in messages))
        self.process.stdin.flush()

    def hear(self, seconds: float = PATIENCE) -> Message:
        """Give the next message of the server."""
        line = self.lines.get(timeout=seconds)
        assert line, f"it ended: {self.process.wait(PATIENCE)}"
        assert line.endswith(b"\n"), line
        message: Message = json.loads(line)
        return message

    def ask(self, message: Message) -> Message:
        """Send a request, and wait for its answer; what comes before goes to `told`."""
        self.send(message)
        return self.answer_to(message["id"])

    def answer_to(self, key: Any) -> Message:
        """Wait for the answer to a request."""
        while True:
            found = self.hear()
            if found.get("id") == key and "method" not in found:
                return found
            self.told.append(found)

    def is_well(self) -> bool:
        """Whether it answers a plain call, and has said nothing else meanwhile."""
        before = len(self.told)
        answer = self.ask(self.call_of("Add", "are you well?", x=7, y=3))
        return _adds(answer) and len(self.told) == before

    def end(self) -> list[Message]:
        """End the input; give all that is still said until the process has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.rest()

    def rest(self) -> list[Message]:
        """Give all that is still said until the process has ended."""
        said = []
        while line := self.lines.get(timeout=PATIENCE):
            said.append(json.loads(line))
        assert self.process.wait(PATIENCE) == 0
        return said

    def stop(self) -> None:
        """Make sure that it is gone."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                assert stream is not None
                with suppress(BrokenPipeError):
                    stream.close()


@contextmanager
def piped(
    app: Path = MISCHIEF, *flags: str, revision: str = STATELESS, notes: Path | None = None
) -> Iterator[Pipe]:
    """Start a server on stdio."""
    process = subprocess.Popen(
        [sys.executable, str(app), "mcp", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MISCHIEF_NOTES": str(notes or os.devnull)},
    )
    pipe = None
    try:
        pipe = Pipe(process, revision)
        yield pipe
    finally:
        if pipe is None:
            process.kill()
            process.wait()
        else:
            pipe.stop()


def _adds(answer: Message) -> bool:
    result = answer.get("result", {})
    return result.get("structuredContent") == {"result": 10} and result.get("isError") is False


# ---- over HTTP -------------------------------------------------------------------------------------


class Poster:
    """A client that posts to the endpoint of a server."""

    def __init__(self, server: Server, revision: str = STATELESS) -> None:
        self.server = server
        self.revision = revision
        self.session: dict[str, str] = {}

    def headers_of(self, message: bytes | Any) -> dict[str, str]:
        """Give the headers that a message goes with."""
        found = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.revision,
            **self.session,
        }
        if self.revision == STATELESS and isinstance(message, dict):
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            found["mcp-method"] = str(message.get("method"))
            name = params.get("uri") or params.get("name")
            if isinstance(name, str) and name.isascii():
                found["mcp-name"] = name
        return found

    def post(self, message: bytes | Any, headers: Mapping[str, str | None] | None = None) -> Reply:
        """Post a message, or anything else, with some headers changed or left out."""
        with self.server.connect() as connection:
            fields = {**self.headers_of(message), **(headers or {})}
            sent = {name: value for name, value in fields.items() if value is not None}
            return exchange(connection, "POST", "/mcp", encoded(message), sent)

    def shake_hands(self, **capabilities: Any) -> Message:
        """Agree on the revision, and keep the session if there is one."""
        info = {"name": "sender", "version": "1"}
        said = {"protocolVersion": self.revision, "capabilities": capabilities, "clientInfo": info}
        reply = self.post(request("initialize", revision=self.revision, **said))
        if "mcp-session-id" in reply.headers:
            self.session = {"mcp-session-id": reply.headers["mcp-session-id"]}
        (greeted,) = messages_of(reply)
        return greeted

    def ask(self, message: Message) -> Message:
        """Post a request; give its answer."""
        return messages_of(self.post(message))[-1]

    def call_of(self, name: str, key: Any = 1, **arguments: Any) -> Message:
        """Make a call in this client's revision."""
        return call(name, key, revision=self.revision, **arguments)

    def is_well(self) -> bool:
        """Whether the server answers a plain call."""
        return _adds(self.ask(self.call_of("Add", x=7, y=3)))


def messages_of(reply: Reply) -> list[Message]:
    """Give the messages in an answer: one, or those of a stream."""
    if not reply.body:
        return []
    if reply.headers.get("content-type") == "text/event-stream":
        events = EventReader().feed(reply.body)
        return [json.loads(event.data) for event in events if event.data]
    return [json.loads(reply.body)]


def lines_in(file: Path) -> list[str]:
    """Give the lines that functions noted in a file."""
    return file.read_text().splitlines() if file.exists() else []


def elapsed(since: float) -> float:
    """Give the seconds since a moment."""
    return time.monotonic() - since
