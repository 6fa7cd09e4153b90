"""The way to a server of MCP, whatever carries it: bytes of messages go out, messages come in.

In: requests with their ids. Out: the responses to them; everything else that comes is handed on.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kuniumi.agent.json_text import ABSENT, parse
from kuniumi.errors import ServerError
from kuniumi.wire import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from kuniumi.wire.jsonrpc import Notification, Request, Response, RpcError

    Hear = Callable[[Request | Notification], None]


class LinkLostError(ServerError):
    """The server does not know this client any more, or is gone: a new beginning may help."""


class RefusedError(ServerError):
    """The server answered with a status that is no success."""

    def __init__(self, message: str, status: int, *, retry_after: float | None = None) -> None:
        super().__init__(message, may_have_run=status in {500, 502, 504}, retry_after=retry_after)
        self.status = status


class Pending:
    """Requests that wait for their answers, where those come on one stream in any order."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, asyncio.Future[Response | RpcError]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def place(self, key: bytes) -> Iterator[asyncio.Future[Response | RpcError]]:
        """Wait, for as long as the block lasts, for the answer to one request."""
        future: asyncio.Future[Response | RpcError] = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        try:
            yield future
        finally:
            self._waiting.pop(key, None)
            if not future.cancel() and not future.cancelled():
                future.exception()  # what nobody waits for is no news

    def resolve(self, key: bytes, response: Response | RpcError) -> None:
        """Give an answer to whoever waits for it; one that is late, or came twice, is nobody's."""
        future = self._waiting.get(key.strip(b'"'))  # some servers make text of every id
        if future is not None and not future.done():
            future.set_result(response)

    def lose(self, error: LinkLostError) -> None:
        """Tell all who wait that there will be no answer."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(LinkLostError(str(error), may_have_run=True))

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what nobody waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Leave what goes on in the background."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Link(Protocol):
    """One connection, or what counts as one."""

    hear: Hear
    """Called for all that is no response; set by who owns the link."""

    @property
    def is_open(self) -> bool:
        """Whether it is of any use to ask."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """What is told of the way to the server."""
        ...

    async def open(self) -> None:
        """Make the connection."""
        ...

    async def ask(
        self, number: int, body: bytes, headers: Mapping[str, str], *, cancels: bool = True
    ) -> Response | RpcError:
        """Send a request and wait for its response; a wait that is cancelled is told the server."""
        ...

    async def tell(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send what wants no response."""
        ...

    async def watch(self, headers: Mapping[str, str], begun: Callable[[], None]) -> bool:
        """Listen to what the server says unasked, until it ends; False if it never will."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


def read_message(raw: bytes) -> jsonrpc.Message | RpcError:
    """Read one message; bytes that are no UTF-8 are replaced, so that the rest is not lost."""
    message = jsonrpc.read(raw)
    if isinstance(message, jsonrpc.RpcError) and message.code == jsonrpc.MALFORMED:
        mended = raw.decode("utf-8", "replace").encode()
        return message if mended == raw else jsonrpc.read(mended)
    return message


def plain(raw: msgspec.Raw | bytes) -> Any:
    """Read what a message carries; None for what cannot be read."""
    body = bytes(raw)
    if not body:
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = parse(body.decode("utf-8", "replace"))
        return None if found is ABSENT else found


def error_of(raw: msgspec.Raw | bytes) -> RpcError:
    """Read the error of a response."""
    found = plain(raw)
    said = found if isinstance(found, dict) else {"message": str(found)}
    code, message = said.get("code"), said.get("message")
    return jsonrpc.RpcError(
        code if isinstance(code, int) else jsonrpc.INTERNAL,
        message if isinstance(message, str) else "",
        said.get("data"),
    )
