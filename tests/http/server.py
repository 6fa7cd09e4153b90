"""Real servers for the tests: started as processes, spoken to over sockets, stopped by their pid."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).resolve().parent / "apps"
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"
WEATHER = ROOT / "examples" / "weather" / "app.py"
MISCHIEF = APPS / "mischief.py"
JSON = {"Content-Type": "application/json"}
_PATIENCE = 30.0


class Reply(msgspec.Struct, frozen=True):
    """One answer, as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as data."""
        return msgspec.json.decode(self.body)


class Server:
    """One running server. `port` is what it says it listens on."""

    def __init__(self, words: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.folder = folder
        self.notes_file = folder / "notes"
        self._errors = folder / "stderr"
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                env={**os.environ, "MISCHIEF_NOTES": str(self.notes_file), **environment},
                start_new_session=True,
            )
        self.host, self.port = "", 0

    def wait_until_ready(self, pattern: bytes, *, on_stderr: bool = False) -> None:
        """Wait for the line in which it says where it listens."""
        giving_up = threading.Timer(_PATIENCE, self.process.kill)
        giving_up.start()
        said = b""
        try:
            while not (found := re.search(pattern, said)):
                said += self._hear(on_stderr=on_stderr)
        finally:
            giving_up.cancel()
        self.host, self.port = found[1].decode().strip("[]"), int(found[2])

    def _hear(self, *, on_stderr: bool) -> bytes:
        """Wait for something new that it says."""
        assert self.process.stdout is not None
        ended = self.process.poll() is not None
        time.sleep(0.01 if on_stderr else 0)
        heard = self._errors.read_bytes() if on_stderr else self.process.stdout.readline()
        assert heard or not ended, f"the server did not start: {self.errors()}"
        return heard

    # ---- speaking to it ------------------------------------------------------------------------

    @contextmanager
    def connect(self) -> Iterator[http.client.HTTPConnection]:
        """Open a connection for many requests."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_PATIENCE)
        try:
            yield connection
        finally:
            connection.close()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request on a connection of its own."""
        with self.connect() as connection:
            return exchange(connection, method, path, body, headers)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        """GET a path."""
        return self.request("GET", path, headers=headers)

    def call(self, name: str, arguments: Any = None, headers: Mapping[str, str] = JSON) -> Reply:
        """Call a function with arguments as data, or as the very bytes to send."""
        raw = arguments if isinstance(arguments, bytes) else msgspec.json.encode(arguments or {})
        return self.request("POST", f"/functions/{name}", raw, headers)

    def open(self, data: bytes = b"") -> socket.socket:
        """Open a bare connection, and send bytes."""
        connection = socket.create_connection((self.host, self.port), timeout=_PATIENCE)
        try:
            connection.sendall(data)
        except OSError:  # a server that stops resets it
            connection.close()
            raise
        return connection

    def raw(self, data: bytes) -> list[Reply]:
        """Send bytes as they are; give all answers until the server closes."""
        with self.open(data) as connection:
            return read_replies(connection)

    # ---- looking at it -------------------------------------------------------------------------

    def errors(self) -> str:
        """Give what it wrote to stderr so far."""
        return self._errors.read_text(errors="replace")

    def notes(self) -> list[str]:
        """Give the traces functions left."""
        return self.notes_file.read_text().splitlines() if self.notes_file.exists() else []

    def workers(self) -> list[int]:
        """Give the pids of the processes that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    # ---- ending it -----------------------------------------------------------------------------

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to the process that was started."""
        self.process.send_signal(number)

    def wait(self, timeout: float = _PATIENCE) -> int:
        """Wait for its end; give its exit code."""
        return self.process.wait(timeout)

    def stop(self) -> int:
        """Stop it as an init system does, and make sure that it is gone."""
        if self.process.poll() is None:
            self.signal()
        try:
            return self.wait()
        finally:
            if self.process.poll() is None:
                for pid in self.workers():
                    os.kill(pid, signal.SIGKILL)
                self.process.kill()
                self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()


@contextmanager
def serving(app: Path, *flags: str, **environment: str) -> Iterator[Server]:
    """Serve an app with `serve` on a free port, for as long as the block lasts."""
    with serving_by(app, "serve", *flags, **environment) as server:
        yield server


@contextmanager
def serving_by(app: Path, *command: str, **environment: str) -> Iterator[Server]:
    """Serve an app by any of its commands that listen."""
    name, *flags = command
    words = [str(app), name, "--port", "0", *flags]  # flags may name another
    with _running(words, environment, rb"served at http://(\[.*\]|[^:]+):(\d+)") as server:
        yield server


@contextmanager
def serving_on_uvicorn(target: str, *flags: str) -> Iterator[Server]:
    """Serve an ASGI application on uvicorn, on a free port, for as long as the block lasts."""
    words = ["-m", "uvicorn", target, "--app-dir", str(ROOT), "--port", "0", *flags]
    pattern = rb"running on http://(\[.*\]|[^:]+):(\d+)"
    with _running(words, {}, pattern, on_stderr=True) as server:
        yield server


@contextmanager
def _running(
    words: list[str], environment: Mapping[str, str], pattern: bytes, *, on_stderr: bool = False
) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(words, environment, Path(folder))
        try:
            server.wait_until_ready(pattern, on_stderr=on_stderr)
            yield server
        finally:
            server.stop()


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request on a connection, and read its answer."""
    headers = headers or {}
    named = any(name.lower() == "host" for name in headers)
    connection.putrequest(method, path, skip_host=named, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    fields = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, fields, response.read())


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes, or resets."""
    said = b""
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            return said
        if not part:
            return said
        said += part


def read_replies(connection: socket.socket) -> list[Reply]:
    """Read until the server closes; every byte must belong to a well-formed answer."""
    said = read_all(connection)
    replies = []
    while said:
        reply, said = take_reply(said)
        replies.append(reply)
    return replies


def read_reply(connection: socket.socket) -> Reply:
    """Read one answer, whose length is told, and leave the connection open."""
    said = b""
    while b"\r\n\r\n" not in said:
        part = connection.recv(65536)
        assert part, f"closed after {said!r}"
        said += part
    head, _, body = said.partition(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
    while len(body) < length:
        part = connection.recv(65536)
        assert part, f"closed after {said!r}"
        body += part
    reply, rest = take_reply(head + b"\r\n\r\n" + body)
    assert not rest, rest
    return reply


def take_reply(said: bytes) -> tuple[Reply, bytes]:
    """Take one well-formed answer off the front of what was said."""
    head, separator, rest = said.partition(b"\r\n\r\n")
    assert separator, f"not an HTTP answer: {said!r}"
    line, *fields = head.split(b"\r\n")
    matched = re.fullmatch(rb"HTTP/1\.[01] (\d{3}) [ -~]*", line)
    assert matched, f"not a status line: {line!r}"
    headers = {}
    for field in fields:
        named = re.fullmatch(rb"([A-Za-z-]+): ([ -~]*)", field)
        assert named, f"not a header: {field!r}"
        headers[named[1].decode().lower()] = named[2].decode()
    length = int(headers.get("content-length", 0))
    assert len(rest) >= length, f"cut short: {said!r}"
    return Reply(int(matched[1]), headers, rest[:length]), rest[length:]


def said_at_the_end(log: str) -> str:
    """Give what a server wrote, but for what Granian says of a worker that ends while it looks.

    Two of its threads wait for each worker; the one that learns of its end second takes it for
    alive for a moment, and announces to kill it.
    """
    return re.sub(r"\[WARNING\] Killing worker-\d after it refused to gracefully stop\n", "", log)


def eventually(condition: Callable[[], Any], what: str = "it", seconds: float = _PATIENCE) -> Any:
    """Wait until a condition holds; give what it gave."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"{what} did not come about in {seconds:g} seconds"
        time.sleep(0.01)
    return found
