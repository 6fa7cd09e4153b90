"""The story, through the client of the official SDK for Python, 2.x."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcp_types as types  # type: ignore[import-not-found]
from mcp import Client, MCPError  # type: ignore[import-not-found]
from mcp.client.stdio import StdioServerParameters  # type: ignore[import-not-found]
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
)

Data = dict[str, Any]


class OfficialClient:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def connect(self) -> Data:
        client = self._client
        return {
            "revision": client.protocol_version,
            "server": dumped(client.server_info),
            "capabilities": sorted(dumped(client.server_capabilities)),
            "instructions": client.instructions,
        }

    async def tools(self) -> dict[str, Data]:
        listed = await self._client.list_tools(cache_mode="refresh")
        return {tool.name: dumped(tool) for tool in listed.tools}

    async def call(
        self, name: str, arguments: Data, *, meta: Data | None = None, progress: Any = None
    ) -> Data:
        ended = await self._client.call_tool(name, arguments, meta=meta, progress_callback=progress)
        result: Data = result_of(ended)
        return result

    def begin(self, name: str, arguments: Data) -> Callable[[], Awaitable[None]]:
        return partial(giving_up, asyncio.ensure_future(self._client.call_tool(name, arguments)))

    async def want_log(self) -> None:
        if LEGACY:  # otherwise every request says so, as the client was told when it was made
            await self._client.set_logging_level("info")

    async def resources(self) -> list[Data]:
        page = await self._client.list_resources()
        listed = page.resources
        while page.next_cursor is not None:
            page = await self._client.list_resources(cursor=page.next_cursor)
            listed = [*listed, *page.resources]
        return [dumped(resource) for resource in listed]

    async def templates(self) -> list[Data]:
        listed = await self._client.list_resource_templates()
        return [dumped(template) for template in listed.resource_templates]

    async def read(self, uri: str) -> list[Data]:
        return [dumped(part) for part in (await self._client.read_resource(uri)).contents]

    async def prompts(self) -> list[Data]:
        return [dumped(prompt) for prompt in (await self._client.list_prompts()).prompts]

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
        values: list[str] = found.completion.values
        return values

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        if LEGACY:
            await self._client.subscribe_resource(uri)
            yield
            await self._client.unsubscribe_resource(uri)
            return
        async with self._client.listen(
            tools_list_changed=True, resource_subscriptions=[uri]
        ) as subscription:

            async def follow() -> None:
                async for event in subscription:
                    heard.append(f"updated {event.uri}" if hasattr(event, "uri") else "tools")

            following = asyncio.ensure_future(follow())
            yield
            await giving_up(following)

    def code_of(self, error: Exception) -> int | None:
        return error.error.code if isinstance(error, MCPError) else None


async def elicit(_context: Any, params: Any) -> types.ElicitResult:
    action, content = answer(params.message, params.requested_schema)
    return types.ElicitResult(action=action, content=content)


async def sample(_context: Any, params: Any) -> types.CreateMessageResult:
    words = model_says(params.system_prompt, params.messages[0].content.text)
    content = types.TextContent(type="text", text=words)
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


async def list_roots(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=ROOT)])


async def log(params: Any) -> None:
    logged.append([params.level, params.data])


async def hear(message: Any) -> None:
    if LEGACY and isinstance(message, types.ResourceUpdatedNotification):
        heard.append(f"updated {message.params.uri}")
    elif LEGACY and isinstance(message, types.ToolListChangedNotification):
        heard.append("tools")


async def main() -> None:
    where: Any = TARGET.get("url")
    if where is None:
        program, *arguments = TARGET["command"]
        where = StdioServerParameters(command=program, args=arguments, env=TARGET["env"])
    async with Client(
        where,
        mode="legacy" if LEGACY else "auto",
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=list_roots,
        logging_callback=log,
        log_level="info",
        message_handler=hear,
    ) as client:
        await play(OfficialClient(client))


asyncio.run(main())
