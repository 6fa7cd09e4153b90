"""Stands between clients and a server over HTTP, and writes down what each says.

It passes bytes on as they come, in both directions, and an end as an end: neither side notices.
What was said is read out of the bytes afterwards.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Connection:
    """What went over one connection, in both directions."""

    def __init__(self) -> None:
        self.asked = bytearray()
        self.answered = bytearray()


class Proxy:
    """Listens on a port of its own, for a server on another."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._connections: list[Connection] = []
        self.port = 0

    @property
    def url(self) -> str:
        """Where clients find the server's endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def take_record(self) -> list[Connection]:
        """Give what was said since this was last asked."""
        said, self._connections = self._connections, []
        return said

    async def listen(self) -> asyncio.Server:
        """Begin to listen."""
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection()
        self._connections.append(connection)
        there, thither = await asyncio.open_connection("127.0.0.1", self._server_port)
        ways = [
            asyncio.create_task(_pass_on(reader, thither, connection.asked)),
            asyncio.create_task(_pass_on(there, writer, connection.answered)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:  # one side has hung up: so does this
            way.cancel()
        for end in (writer, thither):
            end.close()


async def _pass_on(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, record: bytearray
) -> None:
    with suppress(OSError):
        while data := await source.read(65_536):
            record += data
            sink.write(data)
            await sink.drain()


@contextmanager
def recording(port: int) -> Iterator[Proxy]:
    """Record what is said to the server on a port of this machine, for as long as the block lasts."""
    loop = asyncio.new_event_loop()
    proxy = Proxy(port)
    server = loop.run_until_complete(proxy.listen())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def end() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        loop.stop()

    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop)
        thread.join()
        loop.close()
