"""HTTP/1.1 straight over asyncio's streams, as a transport of httpx: a third of the cost per request.

In: httpx's requests. Out: httpx's responses, as streams. It knows no proxies and no HTTP/2: who needs
those gives a client of their own. Connections are kept and used again.
"""

from __future__ import annotations

import asyncio
import re
import select
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import httpx
from msgspec import Struct

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    Origin = tuple[str, str, int]

_PIECE = 1 << 16
_MOST_KEPT = 20
_KEPT_FOR = 30.0
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_WITHOUT_BODY = frozenset({204, 304})


class Connection(Struct, eq=False):
    """One connection to a server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    origin: Origin
    since: float = 0.0  # when it was last put back

    @property
    def is_usable(self) -> bool:
        """Whether the server has neither closed it nor said anything unasked."""
        reader = self.reader
        if self.writer.is_closing() or reader.at_eof() or reader.exception() is not None:
            return False
        if monotonic() - self.since >= _KEPT_FOR:
            return False
        # What came while nobody let the loop run, it has not read yet: look at the socket itself.
        looking = select.poll()
        looking.register(self.writer.get_extra_info("socket").fileno(), select.POLLIN)
        return not looking.poll(0)

    def close(self) -> None:
        """Close it at once."""
        self.writer.transport.abort()


class DirectTransport(httpx.AsyncBaseTransport):
    """Carries requests over connections that it keeps."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._kept: dict[Origin, list[Connection]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request, until the head of its response is there."""
        head = _write_head(request)
        body = await request.aread()
        connection = await self._connect(request)
        try:
            connection.writer.write(head + body)
            if len(body) > _PIECE:
                with suppress(ConnectionError):  # it may have answered before it read all
                    await connection.writer.drain()
            status, headers = await _read_head(connection.reader)
            return httpx.Response(
                status, headers=headers, stream=_body(self, connection, request, status, headers)
            )
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            connection.close()
            said = str(error) if isinstance(error, OSError) else "the server closed the connection"
            raise httpx.ReadError(said, request=request) from error
        except BaseException:
            connection.close()
            raise

    async def aclose(self) -> None:
        """Close what was kept."""
        for connections in self._kept.values():
            for connection in connections:
                connection.close()
        self._kept.clear()

    def keep(self, connection: Connection) -> None:
        """Keep a connection for the next request."""
        kept = self._kept.setdefault(connection.origin, [])
        if len(kept) >= _MOST_KEPT:
            kept.pop(0).close()
        connection.since = monotonic()
        kept.append(connection)

    async def _connect(self, request: httpx.Request) -> Connection:
        url = request.url
        secure = url.scheme == "https"
        origin = (url.scheme, url.host, url.port or (443 if secure else 80))
        kept = self._kept.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.is_usable:
                return connection
            connection.close()
        limit = request.extensions.get("timeout", {}).get("connect")
        try:
            async with asyncio.timeout(limit):
                reader, writer = await asyncio.open_connection(
                    *origin[1:],
                    limit=_PIECE,
                    ssl=self._secured() if secure else None,
                    server_hostname=url.host if secure else None,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout("it took too long", request=request) from error
        except (OSError, ValueError) as error:
            raise httpx.ConnectError(str(error), request=request) from error
        return Connection(reader, writer, origin)

    def _secured(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = httpx.create_ssl_context()
        return self._context


class _Body(httpx.AsyncByteStream):
    """The body of a response; a connection whose body was read to its end is kept."""

    def __init__(
        self,
        transport: DirectTransport,
        connection: Connection,
        request: httpx.Request,
        *,
        length: int | None,
        chunked: bool,
        keeps: bool,
    ) -> None:
        self._transport = transport
        self._connection = connection
        self._request = request
        self._length = length
        self._chunked = chunked
        self._keeps = keeps
        self._at_end = self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reader = self._connection.reader
        try:
            if self._chunked:
                while size := await _chunk_size(reader):
                    async for piece in _exactly(reader, size):
                        yield piece
                    await _expect_line_end(reader)
                while (await reader.readuntil(b"\n")).strip():
                    pass  # what comes after the last chunk says nothing to us
            elif self._length is not None:
                async for piece in _exactly(reader, self._length):
                    yield piece
            else:
                while piece := await reader.read(_PIECE):
                    yield piece
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise httpx.ReadError("the answer broke off", request=self._request) from error
        self._at_end = True

    async def aclose(self) -> None:
        if self._length == 0 and not self._chunked:
            self._at_end = True
        if self._is_closed:
            return
        self._is_closed = True
        if self._at_end and self._keeps:
            self._transport.keep(self._connection)
        else:
            self._connection.close()


def _body(
    transport: DirectTransport,
    connection: Connection,
    request: httpx.Request,
    status: int,
    headers: list[tuple[bytes, bytes]],
) -> _Body:
    """Find out how the end of a body is told."""
    named = {name.lower(): value.strip().lower() for name, value in headers}
    chunked = named.get(b"transfer-encoding", b"").endswith(b"chunked")
    said = named.get(b"content-length")
    lengths = {value for name, value in headers if name.lower() == b"content-length"}
    if not chunked and said is not None and (not said.isdigit() or len(lengths) > 1):
        raise httpx.RemoteProtocolError("the length of the answer is not clear", request=request)
    length = int(said) if said is not None and not chunked else None
    if request.method == "HEAD" or status in _WITHOUT_BODY:
        length, chunked = 0, False
    keeps = (chunked or length is not None) and b"close" not in named.get(b"connection", b"")
    return _Body(transport, connection, request, length=length, chunked=chunked, keeps=keeps)


def _write_head(request: httpx.Request) -> bytes:
    fields = request.headers.raw
    lines = [b"%b: %b\r\n" % field for field in fields]
    target = request.url.raw_path
    head = b"%b %b HTTP/1.1\r\n%b\r\n" % (request.method.encode(), target, b"".join(lines))
    ends = len(fields) + 2
    if head.count(b"\n") != ends or head.count(b"\r") != ends or b"\0" in head:
        raise httpx.LocalProtocolError("a header holds what no header can hold", request=request)
    return head


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, list[tuple[bytes, bytes]]]:
    while True:
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        version, _, rest = lines[0].partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise httpx.RemoteProtocolError("the answer is not HTTP/1.1")
        status = int(rest[:3])
        if status >= 200:
            break
    headers = []
    for line in lines[1:-2]:
        name, separator, value = line.partition(b":")
        if not separator or not name or name[-1:].isspace() or name[:1].isspace():
            raise httpx.RemoteProtocolError("a header of the answer cannot be read")
        headers.append((name, value.strip()))
    if version == b"HTTP/1.0":
        headers.append((b"connection", b"close"))
    return status, headers


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    line = await reader.readuntil(b"\n")
    said = line.partition(b";")[0].strip()
    if not _SIZE.fullmatch(said):
        raise ValueError("a chunk has no size")
    return int(said, 16)


async def _expect_line_end(reader: asyncio.StreamReader) -> None:
    if await reader.readexactly(2) != b"\r\n":
        raise ValueError("a chunk is longer than it said")


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncIterator[bytes]:
    while size:
        piece = await reader.read(min(size, _PIECE))
        if not piece:
            raise EOFError
        size -= len(piece)
        yield piece
