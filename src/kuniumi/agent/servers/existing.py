"""Another library's client, connected or not: an `mcp` session or client, a FastMCP client.

In: an object that can list tools and call them; it is known by its methods, so no SDK is imported.
Out: a `Source`. One that was open already stays open.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kuniumi.agent.servers.source import MAX_TOOLS, Found
from kuniumi.agent.tools import Tool, read_tool
from kuniumi.errors import ServerError

if TYPE_CHECKING:
    from kuniumi.agent.servers.source import OnProgress, Trace

_MOST_PAGES = 10_000


def is_client(found: Any) -> bool:
    """Whether this is an object that lists tools and calls them."""
    return callable(getattr(found, "list_tools", None)) and callable(
        getattr(found, "call_tool", None)
    )


class ExistingSource:
    """One client of another library's."""

    def __init__(self, client: Any, name: str = "") -> None:
        self._client = client
        self._name = name
        self._keeper: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    @property
    def name(self) -> str:
        """What the server calls itself, if the client knows."""
        return self._name

    async def open(self) -> None:
        """Open the client, if it has a way to be opened and was not."""
        if self._must_enter():
            entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._over.clear()
            self._keeper = asyncio.create_task(self._keep(entered))
            try:
                await entered
            except Exception as error:
                raise ServerError(f"the client cannot connect: {error}") from error
        info = getattr(self._client, "server_info", None) or getattr(
            getattr(self._client, "initialize_result", None), "serverInfo", None
        )
        name = getattr(info, "name", None)
        self._name = self._name or (name if isinstance(name, str) else "")

    async def list_tools(self) -> Found:
        """Give all tools, page by page where the client gives pages."""
        client = self._client
        tools: list[Tool] = []
        cursor, seen = None, set()
        for _ in range(_MOST_PAGES):
            given = await (client.list_tools(cursor=cursor) if cursor else client.list_tools())
            listed = given if isinstance(given, (list, tuple)) else getattr(given, "tools", ())
            tools.extend(tool for sent in listed if (tool := read_tool(sent)) is not None)
            cursor = getattr(given, "next_cursor", None) or getattr(given, "nextCursor", None)
            if not isinstance(cursor, str) or cursor in seen or len(tools) > MAX_TOOLS:
                break
            seen.add(cursor)
        return Found(tools)

    async def call(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        trace: Trace | None = None,
    ) -> Any:
        """Call a tool through the client; its error results come back, too, and are not raised."""
        del trace  # such a client has its own way to tell
        client = self._client
        call = getattr(client, "call_tool_mcp", None) or client.call_tool
        if on_progress is None:
            return await call(tool.name, arguments)

        async def hear(done: float, total: float | None, message: str | None) -> None:
            on_progress(done, total, message or "")

        name = "progress_handler" if hasattr(client, "call_tool_mcp") else "progress_callback"
        return await call(tool.name, arguments, **{name: hear})

    async def close(self) -> None:
        """Close what was opened here."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            self._over.set()
            await asyncio.gather(keeper, return_exceptions=True)

    async def _keep(self, entered: asyncio.Future[None]) -> None:
        """Hold the client open, in one task: some can only be closed by the task that opened them."""
        try:
            async with self._client:
                entered.set_result(None)
                await self._over.wait()
        except BaseException as error:
            if entered.done():
                raise
            with suppress(asyncio.InvalidStateError):
                entered.set_exception(error)

    def _must_enter(self) -> bool:
        client = self._client
        if not hasattr(client, "__aenter__"):
            return False
        connected = getattr(client, "is_connected", None)
        if callable(connected):
            return not connected()
        try:
            return hasattr(client, "session") and client.session is None
        except Exception:  # noqa: BLE001 - how some clients say that they are not connected
            return True
