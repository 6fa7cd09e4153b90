"""The way to a server of MCP, whatever carries it: bytes of messages go out, messages come in.

In: requests with their ids. Out: the responses to them; everything else that comes is handed on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kuniumi.agent.json_text import ABSENT, parse
from kuniumi.errors import ServerError
from kuniumi.wire import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kuniumi.wire.jsonrpc import Notification, Request, Response, RpcError

    Hear = Callable[[Request | Notification], None]


class LinkLostError(ServerError):
    """The server does not know this client any more, or is gone: a new beginning may help."""


class RefusedError(ServerError):
    """The server answered with a status that is no success."""

    def __init__(self, message: str, status: int, *, retry_after: float | None = None) -> None:
        super().__init__(message, may_have_run=status in {500, 502, 504}, retry_after=retry_after)
        self.status = status


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
