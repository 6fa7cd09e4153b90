"""The story, through FastMCP's client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcp_types as types  # type: ignore[import-not-found]
from fastmcp import Client  # type: ignore[import-not-found]
from fastmcp.client.elicitation import ElicitResult  # type: ignore[import-not-found]
from fastmcp.client.messages import MessageHandler  # type: ignore[import-not-found]
from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from mcp import MCPError  # type: ignore[import-not-found]
from telling import (  # type: ignore[import-not-found]
    LEGACY,
    ROOT,
    TARGET,
    answer,
    dumped,
    giving_up,
    heard,
    logged,
    model_says,
    play,
    result_of,
    tell,
)

Data = dict[str, Any]


class FastClient:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def connect(self) -> Data:
        session = self._client.session
        return {
            "revision": self._client.protocol_version,
            "server": dumped(session.server_info),
            "capabilities": sorted(dumped(session.server_capabilities)),
            "instructions": session.instructions,
        }

    async def tools(self) -> dict[str, Data]:
        return {tool.name: dumped(tool) for tool in await self._client.list_tools()}

    async def call(
        self, name: str, arguments: Data, *, meta: Data | None = None, progress: Any = None
    ) -> Data:
        ended = await self._client.call_tool_mcp(
            name, arguments, meta=meta, progress_handler=progress
        )
        result: Data = result_of(ended)
        return result

    def begin(self, name: str, arguments: Data) -> Callable[[], Awaitable[None]]:
        return partial(giving_up, asyncio.ensure_future(self._client.call_tool(name, arguments)))

    async def want_log(self) -> Data | None:
        if not LEGACY:
            return {"io.modelcontextprotocol/logLevel": "info"}
        await self._client.set_logging_level("info")
        return None

    async def resources(self) -> list[Data]:
        page = await self._client.list_resources_mcp()
        listed = page.resources
        while page.next_cursor is not None:
            page = await self._client.list_resources_mcp(cursor=page.next_cursor)
            listed = [*listed, *page.resources]
        return [dumped(resource) for resource in listed]

    async def templates(self) -> list[Data]:
        return [dumped(template) for template in await self._client.list_resource_templates()]

    async def read(self, uri: str) -> list[Data]:
        return [dumped(part) for part in await self._client.read_resource(uri)]

    async def prompts(self) -> list[Data]:
        return [dumped(prompt) for prompt in await self._client.list_prompts()]

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[Data]:
        found = await self._client.get_prompt(name, arguments)
        return [dumped(message) for message in found.messages]

    async def complete(self, kind: str, of: str, argument: str, typed: str) -> list[str]:
        ref = (
            types.PromptReference(type="ref/prompt", name=of)
            if kind == "prompt"
            else types.ResourceTemplateReference(type="ref/resource", uri=of)
        )
        found = await self._client.complete(ref, {"name": argument, "value": typed})
        values: list[str] = found.values
        return values

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        await self._client.session.subscribe_resource(uri)
        yield
        await self._client.session.unsubscribe_resource(uri)

    def code_of(self, error: Exception) -> int | None:
        return error.error.code if isinstance(error, MCPError) else None

    async def typed(self) -> Any:
        """Call, and get objects that this client makes of the output schemas."""
        added = await self._client.call_tool("functions.Add", {"x": 7, "y": 3})
        place = await self._client.call_tool("functions.Locate", {"name": "Hill"})
        return {"sum": added.data.result, "near": place.data.result.near[1]}


class Hearing(MessageHandler):  # type: ignore[misc] # its types are in its own environment
    async def on_resource_updated(self, message: Any) -> None:
        heard.append(f"updated {message.params.uri}")

    async def on_tool_list_changed(self, _message: Any) -> None:
        heard.append("tools")


async def elicit(message: str, _kind: Any, params: Any, _context: Any) -> ElicitResult:
    action, content = answer(message, params.requested_schema)
    return ElicitResult(action=action, content=content)


async def sample(messages: Any, params: Any, _context: Any) -> types.CreateMessageResult:
    words = model_says(params.system_prompt, messages[0].content.text)
    content = types.TextContent(type="text", text=words)
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


async def log(params: Any) -> None:
    logged.append([params.level, params.data])


async def main() -> None:
    where: Any = TARGET.get("url")
    if where is None:
        program, *arguments = TARGET["command"]
        where = StdioTransport(program, arguments, TARGET["env"], keep_alive=False)
    async with Client(
        where,
        mode="legacy" if LEGACY else "auto",
        elicitation_handler=elicit,
        sampling_handler=sample,
        roots=[ROOT],
        log_handler=log,
        message_handler=Hearing(),
    ) as client:
        fast = FastClient(client)
        await play(fast)
        await tell("objects", fast.typed())


asyncio.run(main())
