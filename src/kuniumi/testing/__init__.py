"""The testing door: call an app's functions on any surface, in process, and compare the answers.

    from kuniumi.testing import SURFACES, connect

    with connect(app, "http") as door:
        reply = door.call("Add", {"x": 7, "y": 3})
        assert reply.envelope == {"result": 10}

Every surface takes its real way, from bytes to bytes; only the sockets and the processes are left
out. A new surface is one more entry in `SURFACES`.
"""

from __future__ import annotations

import asyncio
import io
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

import msgspec

from kuniumi.core.codec import dumps
from kuniumi.errors import UsageError
from kuniumi.execute.alone import answer_named
from kuniumi.execute.life import close_alone
from kuniumi.testing.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from types import TracebackType

    from kuniumi.app import App
    from kuniumi.core.provide import Instead
    from kuniumi.core.service import Service
    from kuniumi.env.mounts import Mount
    from kuniumi.serve.asgi import AsgiApp
    from kuniumi.testing.mcp import Client

    Way = Callable[["Door", str, bytes, Mapping[str, str]], Reply]

T = TypeVar("T")

__all__ = ["SURFACES", "Door", "Reply", "connect"]


class Door:
    """A way into one app by one surface."""

    def __init__(
        self,
        app: App,
        surface: str,
        provide: Instead | None = None,
        *,
        env: Mapping[str, str] | None = None,
        mounts: Sequence[str | Mount] = (),
    ) -> None:
        if surface not in SURFACES:
            msg = f"no surface is called {surface!r}: there are {', '.join(SURFACES)}"
            raise UsageError(msg)
        self.app = app
        self.service = _own_service(app, provide or {}, env, mounts)
        self.surface = surface
        self._asgi: AsgiApp | None = None
        self._client: asyncio.Task[Client] | None = None  # of a surface that has connections
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.current_thread()
        self._starting = threading.Lock()

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | bytes = b"",
        /,
        *,
        headers: Mapping[str, str] | None = None,
        **named: Any,
    ) -> Reply:
        """Call a function with arguments as Python data, or as the very bytes to send."""
        if isinstance(arguments, bytes) and not named:
            raw = arguments
        elif isinstance(arguments, bytes):
            raw = dumps(named)
        else:
            raw = dumps({**arguments, **named})
        return SURFACES[self.surface](self, name, raw, headers or {})

    def __enter__(self) -> Self:
        """Open the door, and what the app opens before its first call."""
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def _open(self) -> None:
        weave = self.service.weave
        if weave is not None and weave.life is not None:
            if self.surface == "http":
                from kuniumi.execute.woven import open_service  # noqa: PLC0415 - few apps open anything

                self.wait(open_service(self.service))
            else:
                from kuniumi.execute.life import open_alone  # noqa: PLC0415 - few apps open anything

                open_alone(weave.life, self.service.environment)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Close it, and what is behind it."""
        self.close()

    def close(self) -> None:
        """Close what the app has opened, and stop the event loop, if this surface needed one."""
        if self._loop is not None:
            self.wait(self._leave())
        if self._asgi is not None or self._loop is not None:
            self.wait(self.asgi.close())
        close_alone(self.service)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None

    @property
    def asgi(self) -> AsgiApp:
        """The app behind ASGI, for this door alone."""
        if self._asgi is None:
            from kuniumi.serve.asgi import AsgiApp  # noqa: PLC0415 - not every surface needs it

            self._asgi = AsgiApp(self.service)
        return self._asgi

    async def client(self, make: Callable[[], Client]) -> Client:
        """Give the client behind this door, which stays connected; the first to ask has it made."""

        async def opened() -> Client:
            client = make()
            await client.open()
            return client

        if self._client is None:
            self._client = asyncio.create_task(opened())
        return await self._client

    async def _leave(self) -> None:
        if self._client is not None:
            await (await self._client).close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on a loop of the door's own, so that a test may have one too."""
        with self._starting:  # many threads may come at once
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), daemon=True)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, whatever the tasks end with that functions leave behind."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
        return


def connect(
    app: App,
    surface: str,
    *,
    provide: Instead | None = None,
    env: Mapping[str, str] | None = None,
    mounts: Sequence[str | Mount] = (),
) -> Door:
    """Open a door to an app by one of `SURFACES`.

    What the app opens, it opens for this door alone, and closes with it. `provide` has other
    providers take the places of some: `{get_pool: get_fake_pool}`. `env` and `mounts` are given to
    the functions over what the app itself gives them.
    """
    return Door(app, surface, provide, env=env, mounts=mounts)


def _own_service(
    app: App, provide: Instead, env: Mapping[str, str] | None, mounts: Sequence[str | Mount]
) -> Service:
    service = app.service
    environment = service.environment
    return msgspec.structs.replace(
        service,
        registry=service.registry.with_providers(provide) if provide else service.registry,
        environment=environment.extended(env, mounts) if env or mounts else environment,
        weave=service.weave.afresh() if service.weave is not None else None,
    )


def _in_process(door: Door, name: str, raw: bytes, _headers: Mapping[str, str]) -> Reply:
    from kuniumi.wire.status import http_status  # noqa: PLC0415 - each surface brings its own rooms

    envelope = answer_named(door.service, name, raw)
    return Reply(http_status(envelope.fault), envelope.body)


def _http(door: Door, name: str, raw: bytes, headers: Mapping[str, str]) -> Reply:
    return door.wait(_http_call(door.asgi, f"/functions/{name}", raw, headers))


async def _http_call(app: AsgiApp, path: str, raw: bytes, headers: Mapping[str, str]) -> Reply:
    fields = {"content-type": "application/json", "content-length": str(len(raw)), **headers}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": b"",
        "headers": [(key.lower().encode(), value.encode()) for key, value in fields.items()],
    }
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": raw, "more_body": False}]

    async def receive() -> Any:
        if waiting:
            return waiting.pop()
        return await asyncio.Future()  # the client stays until it has its answer

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *parts = sent
    return Reply(
        start["status"],
        b"".join(part.get("body", b"") for part in parts),
        {key.decode(): value.decode() for key, value in start["headers"]},
    )


def _cgi(door: Door, name: str, raw: bytes, headers: Mapping[str, str]) -> Reply:
    from kuniumi.serve.cgi import handle  # noqa: PLC0415

    variables = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "POST",
        "PATH_INFO": f"/{name}",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(raw)),
        **{_variable(key): value for key, value in headers.items()},
    }
    head, _, body = handle(door.service, variables, io.BytesIO(raw)).partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    fields = {key.lower(): value for key, value in fields.items()}
    return Reply(int(fields["status"].split()[0]), body, fields)


def _variable(header: str) -> str:
    name = header.upper().replace("-", "_")
    return name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"


def _shell(door: Door, name: str, raw: bytes, _headers: Mapping[str, str]) -> Reply:
    from kuniumi.serve.cli import run  # noqa: PLC0415

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(raw), "utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run(door.service, ["call", name, "-"])
    finally:
        sys.stdin = before
    stream = err if code else out
    stream.flush()
    # What the function printed comes before.
    last_line = stream.buffer.getvalue().removesuffix(b"\n").rpartition(b"\n")[2]
    return Reply(code, last_line)


def _mcp(revision: str, *, over_http: bool) -> Way:
    """Give the way of a client of MCP, in one revision."""

    def call(door: Door, name: str, raw: bytes, headers: Mapping[str, str]) -> Reply:
        from kuniumi.testing.mcp import OverHttp, OverPipes  # noqa: PLC0415
        from kuniumi.wire.mcp.revisions import REVISIONS  # noqa: PLC0415

        async def post(message: bytes, fields: Mapping[str, str]) -> Reply:
            return await _http_call(door.asgi, "/mcp", message, fields)

        def make() -> Client:
            if over_http:
                return OverHttp(door.service, REVISIONS[revision], post)
            return OverPipes(door.service, REVISIONS[revision])

        async def answer() -> Reply:
            client = await door.client(make)
            return await client.call(name, raw, headers)

        return door.wait(answer())

    return call


SURFACES: dict[str, Way] = {
    "in-process": _in_process,
    "http": _http,
    "cgi": _cgi,
    "shell": _shell,
    "mcp-http": _mcp("2026-07-28", over_http=True),
    "mcp-stdio": _mcp("2026-07-28", over_http=False),
    "mcp-http-handshake": _mcp("2025-11-25", over_http=True),
    "mcp-stdio-handshake": _mcp("2025-11-25", over_http=False),
}
"""The surfaces a call can be made on, by name."""
