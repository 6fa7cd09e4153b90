"""The story, through the client of the official SDK for Python, 1.x."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import (  # type: ignore[import-not-found]
    ClientSession,
    McpError,
    StdioServerParameters,
    stdio_client,
    types,
)
from mcp.client.streamable_http import (  # type: ignore[import-not-found]
    streamable_http_client,
)
from pydantic import AnyUrl
from telling import (  # type: ignore[import-not-found]
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


class OldClient:
    def __init__(self, session: ClientSession, greeting: types.InitializeResult) -> None:
        self._session = session
        self._greeting = greeting

    async def connect(self) -> Data:
        greeting = self._greeting
        return {
            "revision": greeting.protocolVersion,
            "server": dumped(greeting.serverInfo),
            "capabilities": sorted(dumped(greeting.capabilities)),
            "instructions": greeting.instructions,
        }

    async def tools(self) -> dict[str, Data]:
        return {tool.name: dumped(tool) for tool in (await self._session.list_tools()).tools}

    async def call(
        self, name: str, arguments: Data, *, meta: Data | None = None, progress: Any = None
    ) -> Data:
        ended = await self._session.call_tool(
            name, arguments, meta=meta, progress_callback=progress
        )
        result: Data = result_of(ended)
        return result

    def begin(self, name: str, arguments: Data) -> Callable[[], Awaitable[None]]:
        numbers: list[int] = []

        async def call() -> None:
            numbers.append(self._session._request_id)
            await self._session.call_tool(name, arguments)

        task = asyncio.ensure_future(call())

        async def give_up() -> None:
            # It does not tell the server by itself when a call is cancelled.
            params = types.CancelledNotificationParams(requestId=numbers[0])
            notification = types.CancelledNotification(params=params)
            await self._session.send_notification(types.ClientNotification(notification))
            await giving_up(task)

        return give_up

    async def want_log(self) -> None:
        await self._session.set_logging_level("info")

    async def resources(self) -> list[Data]:
        page = await self._session.list_resources()
        listed = page.resources
        while page.nextCursor is not None:
            params = types.PaginatedRequestParams(cursor=page.nextCursor)
            page = await self._session.list_resources(params=params)
            listed = [*listed, *page.resources]
        return [dumped(resource) for resource in listed]

    async def templates(self) -> list[Data]:
        listed = await self._session.list_resource_templates()
        return [dumped(template) for template in listed.resourceTemplates]

    async def read(self, uri: str) -> list[Data]:
        return [dumped(part) for part in (await self._session.read_resource(AnyUrl(uri))).contents]

    async def prompts(self) -> list[Data]:
        return [dumped(prompt) for prompt in (await self._session.list_prompts()).prompts]

    async def prompt(self, name: str, arguments: dict[str, str]) -> list[Data]:
        found = await self._session.get_prompt(name, arguments)
        return [dumped(message) for message in found.messages]

    async def complete(self, kind: str, of: str, argument: str, typed: str) -> list[str]:
        ref = (
            types.PromptReference(type="ref/prompt", name=of)
            if kind == "prompt"
            else types.ResourceTemplateReference(type="ref/resource", uri=of)
        )
        found = await self._session.complete(ref, {"name": argument, "value": typed})
        values: list[str] = found.completion.values
        return values

    @asynccontextmanager
    async def watching(self, uri: str) -> AsyncIterator[None]:
        await self._session.subscribe_resource(AnyUrl(uri))
        yield
        await self._session.unsubscribe_resource(AnyUrl(uri))

    def code_of(self, error: Exception) -> int | None:
        return error.error.code if isinstance(error, McpError) else None


async def elicit(_context: Any, params: Any) -> types.ElicitResult:
    action, content = answer(params.message, params.requestedSchema)
    return types.ElicitResult(action=action, content=content)


async def sample(_context: Any, params: Any) -> types.CreateMessageResult:
    words = model_says(params.systemPrompt, params.messages[0].content.text)
    content = types.TextContent(type="text", text=words)
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


async def list_roots(_context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=ROOT)])


async def log(params: Any) -> None:
    logged.append([params.level, params.data])


async def hear(message: Any) -> None:
    said = message.root if isinstance(message, types.ServerNotification) else None
    if isinstance(said, types.ResourceUpdatedNotification):
        heard.append(f"updated {said.params.uri}")
    elif isinstance(said, types.ToolListChangedNotification):
        heard.append("tools")


def transport() -> Any:
    if "url" in TARGET:
        return streamable_http_client(TARGET["url"])
    program, *arguments = TARGET["command"]
    return stdio_client(StdioServerParameters(command=program, args=arguments, env=TARGET["env"]))


async def main() -> None:
    async with (
        transport() as (incoming, outgoing, *_),
        ClientSession(
            incoming,
            outgoing,
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=list_roots,
            logging_callback=log,
            message_handler=hear,
        ) as session,
    ):
        await play(OldClient(session, await session.initialize()))


asyncio.run(main())
