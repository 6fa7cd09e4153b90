"""HTTP as this room speaks it: bounded answers, redirections within an origin, errors in words.

In: a request. Out: a response whose body is read piece by piece, up to a limit. Whatever fails is a
`ServerError` that tells whether the request may have been carried out.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

import httpx
from msgspec import Struct

from kuniumi.agent.servers.direct import DirectTransport
from kuniumi.agent.servers.link import RefusedError
from kuniumi.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

CONNECT_TIMEOUT = 10.0
_REDIRECTED = frozenset({307, 308})
_READ_ELSEWHERE = frozenset({301, 302, 303})  # only what was asked for by GET is asked for again
_NEVER_RAN = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_PORTS = {"http": 80, "https": 443}


class Body(Struct, frozen=True):
    """A whole response, in the shape that `read` reads."""

    status_code: int
    content: bytes
    media_type: str
    retry_after: float | None = None


class Carrier(Struct, frozen=True):
    """A client of httpx; and its transport, if nothing that anybody put there lies between."""

    client: httpx.AsyncClient
    transport: httpx.AsyncBaseTransport | None = None


def open_carrier(transport: httpx.AsyncBaseTransport | None = None) -> Carrier:
    """Make a client; how long a call may take is decided by who waits for it.

    Where the environment names a proxy, httpx's own way to the network is taken, which knows them.
    """
    if transport is None and not getproxies().keys() & {"http", "https", "all"}:
        transport = DirectTransport()
    client = httpx.AsyncClient(
        transport=transport,
        timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=50),
        headers={"User-Agent": "kuniumi", "Accept-Encoding": "identity"},
    )
    return Carrier(client, transport)


class Web:
    """One server's address, with what identifies us to it."""

    def __init__(
        self,
        carrier: Carrier,
        headers: Mapping[str, str],
        auth: Any,
        max_bytes: int,
        *,
        in_process: bool = False,
    ) -> None:
        self.max_bytes = max_bytes
        self._in_process = in_process
        self._client = carrier.client
        self._transport = carrier.transport if auth is None else None
        self._timeout = carrier.client.timeout.as_dict()
        own = httpx.Headers(carrier.client.headers)
        own["Accept-Encoding"] = "identity"  # a client of the user's would ask for anything
        own.update(headers)
        self.settled = frozenset(name.lower() for name in headers)
        self._headers = {name.lower(): (name, value) for name, value in own.raw}
        self._auth = httpx.USE_CLIENT_DEFAULT if auth is None else auth

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, and give the response while its body is still coming."""
        for _ in range(3):
            response = await self._send(method, url, headers, body)
            try:
                status = response.status_code
                elsewhere = method == "GET" and status in _READ_ELSEWHERE
                if status not in _REDIRECTED and not elsewhere:
                    yield response
                    return
                url = _follow(url, response)
            finally:
                await response.aclose()
        raise ServerError(f"{url} sends in circles")

    async def fetch(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], body: bytes | None = None
    ) -> Body:
        """Send a request, and give the whole response, whatever its status."""
        async with self.send(method, url, headers, body) as response:
            content = await read_all(response, self.max_bytes)
            waits = retry_after(response)
            return Body(response.status_code, content, media_type_of(response), waits)

    def facts_of(self, url: httpx.URL) -> dict[str, Any]:
        """Give what is told of the way to an address."""
        if self._in_process:
            return {}
        return {
            "network.protocol.name": "http",
            "network.transport": "tcp",
            "server.address": url.host,
            "server.port": url.port or _PORTS.get(url.scheme, 0),
        }

    async def _send(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], body: bytes | None
    ) -> httpx.Response:
        """Send a request; by itself httpx's client would double what that costs."""
        client = self._client
        fields = {**self._headers, **_encoded(headers)}
        timeout = {"timeout": self._timeout}
        request = httpx.Request(
            method, url, headers=[*fields.values()], content=body, extensions=timeout
        )
        if client.cookies.jar:
            client.cookies.set_cookie_header(request)
        try:
            if self._transport is None or url.userinfo:
                return await client.send(request, stream=True, auth=self._auth)
            response = await self._transport.handle_async_request(request)
        except httpx.HTTPError as error:
            raise told(error, url) from error
        response.request = request
        if "set-cookie" in response.headers:
            client.cookies.extract_cookies(response)
        return response


def _encoded(headers: Mapping[str, str]) -> dict[bytes, tuple[bytes, bytes]]:
    """Give headers as they are sent, by names that count as the same."""
    return {
        name.lower().encode("latin-1"): (name.encode("latin-1"), value.encode("utf-8"))
        for name, value in headers.items()
    }


async def read_all(response: httpx.Response, limit: int) -> bytes:
    """Read a body up to a limit."""
    parts = []
    size = 0
    async for piece in pieces_of(response):
        size += len(piece)
        if size > limit:
            raise ServerError(f"the answer is longer than {limit:,} bytes", may_have_run=True)
        parts.append(piece)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def pieces_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """Read a body piece by piece, as it was sent: a small one could unpack to any size."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ServerError("the answer is compressed, though nobody asked for that")
    try:
        async for piece in response.aiter_raw():
            yield piece
    except httpx.HTTPError as error:
        raise told(error, response.url) from error


async def refusal(response: httpx.Response, body: bytes | None = None) -> RefusedError:
    """Tell what a status that is no success means."""
    status = response.status_code
    if body is None:
        body = await read_all(response, 1 << 16)
    said = body[:500].decode("utf-8", "replace").strip()
    hint = ": give it headers= or auth=" if status in {401, 403} else ""
    quoted = f": {said}" if said and media_type_of(response) != "text/html" else ""
    return RefusedError(
        f"{response.url} answered HTTP {status}{hint}{quoted}",
        status,
        retry_after=retry_after(response),
    )


def retry_after(response: httpx.Response) -> float | None:
    """Give the seconds that a server wants to be left alone."""
    said = response.headers.get("retry-after", "")
    return float(said) if said.isdigit() and len(said) < 6 else None


def media_type_of(response: httpx.Response) -> str:
    """Give the type of a response's body, without parameters."""
    said: str = response.headers.get("content-type", "")
    return said.partition(";")[0].strip().lower()


def told(error: httpx.HTTPError, url: httpx.URL) -> ServerError:
    """Tell a failure of the network in words."""
    origin = f"{url.scheme}://{url.netloc.decode()}"
    said = str(error) or type(error).__name__
    if isinstance(error, _NEVER_RAN):
        return ServerError(f"{origin} cannot be reached: {said}")
    return ServerError(f"{origin} broke off: {said}", may_have_run=True)


def same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    """Whether two addresses are of one server, which may see the same credentials."""
    return (one.scheme, one.host, one.port or _PORTS.get(one.scheme)) == (
        other.scheme,
        other.host,
        other.port or _PORTS.get(other.scheme),
    )


def _follow(url: httpx.URL, response: httpx.Response) -> httpx.URL:
    """Give the address to go to; never another origin, which must not see our credentials."""
    place = url.join(response.headers.get("location", ""))
    if not same_origin(url, place):
        raise ServerError(f"{url} sends us on to {place}: if that is right, give that address")
    return place
