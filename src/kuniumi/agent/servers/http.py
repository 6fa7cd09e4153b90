"""A server of MCP over HTTP: every message is a request, and its answer a response or a stream.

In: an address. Out: a `Link`. A stream that breaks off is taken up again where the server said how;
a session that the server has forgotten is a `LinkLostError`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kuniumi.agent.servers.link import LinkLostError, error_of, read_message
from kuniumi.agent.servers.web import media_type_of, pieces_of, read_all, refusal
from kuniumi.core.codec import dumps
from kuniumi.errors import ServerError
from kuniumi.wire import jsonrpc
from kuniumi.wire.jsonrpc import Response, RpcError
from kuniumi.wire.sse import EventReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import httpx

    from kuniumi.agent.servers.link import Hear
    from kuniumi.agent.servers.web import Web
    from kuniumi.wire.sse import Event

_SESSION = "Mcp-Session-Id"
_POST = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}
_EVENTS = "text/event-stream"
_MOST_RESUMED = 100
_USUAL_PAUSE = 1.0
_AT_THE_END = 0.05
_BUSY = frozenset({429, 503})


class HttpLink:
    """One endpoint."""

    def __init__(self, web: Web, url: httpx.URL) -> None:
        self.hear: Hear = lambda _message: None
        self._web = web
        self._url = url
        self._session: dict[str, str] = {}
        self._lost = False
        self._farewells: set[asyncio.Task[None]] = set()

    @property
    def is_open(self) -> bool:
        """Whether the server still knows us."""
        return not self._lost

    @property
    def facts(self) -> dict[str, Any]:
        """What is told of the way to the server."""
        session = self._session.get(_SESSION)
        return self._web.facts_of(self._url) | ({"mcp.session.id": session} if session else {})

    async def open(self) -> None:
        """Begin anew: without a session."""
        self._session = {}
        self._lost = False

    async def ask(
        self, number: int, body: bytes, headers: Mapping[str, str], *, cancels: bool = True
    ) -> Response | RpcError:
        """Send a request, and read its answer in whichever form it comes."""
        key = b"%d" % number
        session = self._session
        try:
            async with self._web.send(
                "POST", self._url, {**_POST, **session, **headers}, body
            ) as response:
                if response.status_code < 300 and _SESSION in response.headers:
                    self._session = {_SESSION: response.headers[_SESSION]}
                if response.status_code < 300 and media_type_of(response) == _EVENTS:
                    return await self._follow(key, response, headers)
                return await self._read_whole(key, response, session)
        except asyncio.CancelledError:
            if session and cancels:  # without one, leaving the stream says it
                self._say_farewell(number, headers)
            raise

    async def tell(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send what wants no answer."""
        fields = {**_POST, **self._session, **headers}
        async with self._web.send("POST", self._url, fields, body) as response:
            if response.status_code >= 400:
                raise await refusal(response)

    async def watch(self, headers: Mapping[str, str], begun: Callable[[], None]) -> bool:
        """Listen on the stream that servers with a session offer, until it ends."""
        fields = {"Accept": _EVENTS, **self._session, **headers}
        async with self._web.send("GET", self._url, fields) as response:
            if response.status_code >= 300 or media_type_of(response) != _EVENTS:
                return False
            begun()
            await self._hear_all(b"", response, _Place())
        return True

    async def close(self) -> None:
        """Tell the server that the session is over."""
        for farewell in self._farewells:
            farewell.cancel()
        await asyncio.gather(*self._farewells, return_exceptions=True)
        session, self._session = self._session, {}
        if session and not self._lost:
            with suppress(ServerError, TimeoutError):
                async with asyncio.timeout(2.0), self._web.send("DELETE", self._url, session):
                    pass

    # ---- answers -----------------------------------------------------------------------------------

    async def _read_whole(
        self, key: bytes, response: httpx.Response, session: Mapping[str, str]
    ) -> Response | RpcError:
        status = response.status_code
        if status == 404 and session:
            self._lost = True
            raise LinkLostError("the server has forgotten the session")
        raw = await read_all(response, self._web.max_bytes)
        message = read_message(raw) if raw.lstrip()[:1] == b"{" else None
        answers = isinstance(message, Response) and message.id.strip(b'"') in {key, b""}
        if isinstance(message, Response) and answers and status < 300:
            return message
        if status in _BUSY:
            raise await refusal(response, raw)
        if isinstance(message, Response) and bytes(message.error):
            return error_of(message.error)
        if (said := _error_in(raw)) is not None:
            return said
        if status >= 300:
            raise await refusal(response, raw)
        raise ServerError(f"{self._url} answered with no message of MCP", may_have_run=True)

    async def _follow(
        self, key: bytes, response: httpx.Response, headers: Mapping[str, str]
    ) -> Response | RpcError:
        """Read a stream until the answer is in it; one that breaks off is taken up again."""
        place = _Place()
        found = await self._hear_all(key, response, place)
        await response.aclose()
        for _ in range(_MOST_RESUMED):
            if found is not None:
                return found
            if not place.id:
                break
            await asyncio.sleep(place.pause)
            found = await self._resume(key, headers, place)
        raise ServerError("the server ended its answer halfway", may_have_run=True)

    async def _resume(
        self, key: bytes, headers: Mapping[str, str], place: _Place
    ) -> Response | RpcError | None:
        last = place.id.decode("latin-1")
        fields = {"Accept": _EVENTS, "Last-Event-ID": last, **self._session, **headers}
        async with self._web.send("GET", self._url, fields) as response:
            if response.status_code >= 300:
                raise await refusal(response)
            return await self._hear_all(key, response, place)

    async def _hear_all(
        self, key: bytes, response: httpx.Response, place: _Place
    ) -> Response | RpcError | None:
        """Hand on what a stream carries, until it carries the answer."""
        pieces = pieces_of(response)
        events = EventReader(self._web.max_bytes)
        try:
            async for piece in pieces:
                for event in events.feed(piece):
                    place.note(event)
                    found = self._take(key, event.data)
                    if found is not None:
                        await _read_to_end(pieces)
                        return found
        except ValueError:
            said = f"the answer is longer than {self._web.max_bytes:,} bytes"
            raise ServerError(said, may_have_run=True) from None
        except ServerError:
            if not place.id:
                raise
        return None

    def _take(self, key: bytes, data: bytes) -> Response | RpcError | None:
        """Take one message of a stream: the answer that is waited for, or what is handed on."""
        message = read_message(data) if data else None
        if isinstance(message, Response):
            return message if key and message.id.strip(b'"') == key else None
        if isinstance(message, RpcError):
            return _error_in(data) if key else None
        if message is not None:
            self.hear(message)
        return None

    def _say_farewell(self, number: int, headers: Mapping[str, str]) -> None:
        """Tell the server, beside everything else, that nobody waits for an answer any more."""
        said = dumps({"requestId": number, "reason": "nobody waits for it any more"})
        body = jsonrpc.write_notification("notifications/cancelled", said)

        async def tell() -> None:
            with suppress(ServerError, TimeoutError):
                async with asyncio.timeout(5.0):
                    await self.tell(body, headers)

        task = asyncio.create_task(tell())
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)


class _Place:
    """Where a stream that breaks off can be taken up again, and after how many seconds."""

    def __init__(self) -> None:
        self.id = b""
        self.pause = _USUAL_PAUSE

    def note(self, event: Event) -> None:
        self.id = event.id or self.id
        if event.retry is not None:
            self.pause = event.retry / 1000


async def _read_to_end(pieces: AsyncIterator[bytes]) -> None:
    """Read the end of a stream that has given its answer, so that its connection can be used again.

    A server that goes on all the same is left.
    """
    with suppress(ServerError, TimeoutError):
        async with asyncio.timeout(_AT_THE_END):
            async for _ in pieces:
                pass


def _error_in(raw: bytes) -> RpcError | None:
    """Read an error that has no id, or a null: the server could not tell whose it is."""
    import msgspec  # noqa: PLC0415 - rarely needed

    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("error"), dict):
        return None
    return error_of(dumps(found["error"])) if "jsonrpc" in found else None
