"""What kind of server somebody means, found out by looking at the name, and then by asking.

In: an app, an address, a command, another library's client. Out: an open `Source`. An address is
taken for what its path says, else for a server of MCP, else for whatever describes itself there.
"""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kuniumi import __version__
from kuniumi.agent.servers.existing import ExistingSource, is_client
from kuniumi.agent.servers.mcp import McpSource
from kuniumi.agent.servers.source import Server
from kuniumi.errors import ServerError, UsageError
from kuniumi.wire.mcp.revisions import LATEST_WITH_HANDSHAKE, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from kuniumi.agent.servers.source import Hearer, Source
    from kuniumi.agent.servers.web import Carrier
    from kuniumi.wire.mcp.revisions import Revision

_USUAL_PLACES = (
    ("mcp", "/mcp"),
    ("openapi", "/openapi.json"),
    ("openapi", "/openapi.yaml"),
    ("rest", "/functions"),
)


class Visitor:
    """Opens servers, and keeps what several of them share: one HTTP client."""

    def __init__(self) -> None:
        self._http: Carrier | None = None
        self._own: list[Carrier] = []

    async def open(self, server: Server, hearer: Hearer) -> Source:
        """Give an open source, or raise `ServerError`."""
        tried: list[str] = []
        for source in self._candidates(server, hearer):
            try:
                async with asyncio.timeout(server.start_timeout):
                    await source.open()
            except TimeoutError:
                tried.append(f"no answer within {server.start_timeout:g} s")
            except ServerError as error:
                tried.append(str(error))
            except BaseException:
                await _let_go(source)  # whoever stopped waiting leaves no process behind
                raise
            else:
                return source
            await _let_go(source)
        said = "; ".join(dict.fromkeys(tried))
        raise ServerError(f"{name_of(server)!r} gives no tools: {said}")

    async def close(self) -> None:
        """Close the connections."""
        for carrier in self._own:
            await carrier.client.aclose()
        self._own.clear()
        self._http = None

    # ---- what it may be ----------------------------------------------------------------------------

    def _candidates(self, server: Server, hearer: Hearer) -> Iterator[Source]:
        where = server.where
        if callable(getattr(where, "asgi", None)):
            yield self._in_process(server, hearer)
        elif is_client(where):
            yield ExistingSource(where, server.name)
        elif isinstance(where, str) and where.lower().startswith(("http://", "https://")):
            yield from self._at_address(server, hearer)
        else:
            yield _process(server, hearer)

    def _in_process(self, server: Server, hearer: Hearer) -> Source:
        from httpx import URL  # noqa: PLC0415 - only who needs it pays

        from kuniumi.agent.servers.http import HttpLink  # noqa: PLC0415
        from kuniumi.agent.servers.in_process import AsgiTransport  # noqa: PLC0415
        from kuniumi.agent.servers.web import Web, open_carrier  # noqa: PLC0415

        carrier = open_carrier(AsgiTransport(server.where.asgi))
        self._own.append(carrier)
        web = Web(carrier, server.headers, server.auth, server.max_bytes, in_process=True)
        return McpSource(
            HttpLink(web, URL("http://localhost/mcp")),
            hearer,
            __version__,
            server.name,
            revision=_revision_of(server),
        )

    def _at_address(self, server: Server, hearer: Hearer) -> Iterator[Source]:
        from httpx import URL, InvalidURL  # noqa: PLC0415

        from kuniumi.agent.servers.http import HttpLink  # noqa: PLC0415
        from kuniumi.agent.servers.sse import SseLink  # noqa: PLC0415
        from kuniumi.agent.servers.web import Carrier, Web  # noqa: PLC0415
        from kuniumi.agent.servers.web_api import OpenApiSource, RestSource  # noqa: PLC0415

        try:
            url = URL(server.where)
        except InvalidURL as error:
            raise UsageError(f"{server.where!r} is no address: {error}") from error
        revision = _revision_of(server)
        carrier = Carrier(server.http) if server.http is not None else self._carrier()
        web = Web(carrier, server.headers, server.auth, server.max_bytes)
        for kind, place in _places(server.kind, url):
            if kind == "openapi":
                yield OpenApiSource(web, place, server.base_url, server.name)
            elif kind == "rest":
                yield RestSource(web, place, server.name)
            elif kind == "sse":
                # Who speaks that way knows nothing of what came after shaking hands.
                early = revision or LATEST_WITH_HANDSHAKE
                yield McpSource(
                    SseLink(web, place), hearer, __version__, server.name, revision=early
                )
            else:
                yield McpSource(
                    HttpLink(web, place), hearer, __version__, server.name, revision=revision
                )

    def _carrier(self) -> Carrier:
        if self._http is None:
            from kuniumi.agent.servers.web import open_carrier  # noqa: PLC0415

            self._http = open_carrier()
            self._own.append(self._http)
        return self._http


async def _let_go(source: Source) -> None:
    with suppress(ServerError):
        await source.close()


def describe(given: Any) -> Server:
    """Give a server as data, whichever way it was named."""
    if isinstance(given, Server):
        return given
    plain = isinstance(given, (str, list, tuple, PurePath))
    if plain and not given:
        raise UsageError("a server is named by nothing: give an address, a command or an app")
    if not plain and not callable(getattr(given, "asgi", None)) and not is_client(given):
        raise UsageError(
            f"an object of type {type(given).__name__} is no server: "
            "give an app, an address, a command, or a client that lists and calls tools"
        )
    return Server(where=str(given) if isinstance(given, PurePath) else given)


def name_of(server: Server) -> str:
    """Give what to call a server that has not said its own name."""
    where = server.where
    if server.name:
        return server.name
    if isinstance(where, str):
        if where.lower().startswith(("http://", "https://")):
            return where.partition("://")[2].partition("/")[0].rpartition("@")[2]
        where = _words(where)
    if isinstance(where, (list, tuple)):
        files = [
            str(word) for word in where[1:] if PurePath(str(word)).suffix and " " not in str(word)
        ]
        return PurePath(files[0] if files else str(where[0])).stem
    name = getattr(where, "name", None)
    return name if isinstance(name, str) else type(where).__name__


def _places(kind: str, url: httpx.URL) -> list[tuple[str, httpx.URL]]:
    """Give what an address may be, and where else to look."""
    path = url.path.rstrip("/").lower()
    if kind != "auto":
        return [(kind, url)]
    if path.endswith((".json", ".yaml", ".yml")):
        return [("openapi", url)]
    if path.endswith("/functions"):
        return [("rest", url), ("mcp", url)]
    if path.endswith("/sse"):
        return [("sse", url), ("mcp", url)]
    if not path:
        return [(other, url.copy_with(path=place)) for other, place in _USUAL_PLACES] + [
            ("mcp", url),
            ("sse", url.copy_with(path="/sse")),
        ]
    return [("mcp", url), ("sse", url), ("openapi", url), ("rest", url)]


def _process(server: Server, hearer: Hearer) -> Source:
    from kuniumi.agent.servers.stdio import Command, StdioLink  # noqa: PLC0415

    where = server.where
    words = _words(where) if isinstance(where, str) else [str(word) for word in where]
    link = StdioLink(Command(tuple(words), server.env, server.cwd, server.max_bytes))
    return McpSource(
        link, hearer, __version__, server.name, restarts=True, revision=_revision_of(server)
    )


def _revision_of(server: Server) -> Revision | None:
    if not server.revision:
        return None
    if server.revision not in REVISIONS:
        raise UsageError(
            f"revision={server.revision!r} is none of MCP: there are {', '.join(REVISIONS)}"
        )
    return REVISIONS[server.revision]


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command!r} is no command: {error}") from error
    if not words:
        raise UsageError("a server is named by nothing: give an address, a command or an app")
    return words
