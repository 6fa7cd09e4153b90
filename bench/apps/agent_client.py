"""One client of MCP: `agent_client.py CLIENT URL call TIMES` or `… discover TIMES`; prints samples.

Each sample is the client's own CPU time, in microseconds, and the time that went by.
"""

# mypy: ignore-errors
# ruff: noqa: PLC0415, S101 - only one of the clients is where it runs; a wrong answer ends the run
# Runs by its path, in the environment of the client that it measures.

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager

TOOL = "functions.AddAsync"
ARGUMENTS = {"x": 5, "y": 5}
_BATCH = 100
_WARM = 50


@asynccontextmanager
async def kuniumi(url, revision=""):
    """The toolbox; its answers are read, too."""
    from kuniumi.agent import Server, Toolbox

    async with Toolbox(Server(where=url, kind="mcp", revision=revision)) as tools:

        async def call():
            return (await tools.call(TOOL, ARGUMENTS)).value

        yield call, lambda: list(tools)


@asynccontextmanager
async def kuniumi_before(url):
    """The same in the revision before."""
    async with kuniumi(url, "2025-11-25") as client:
        yield client


@asynccontextmanager
async def official(url, mode="auto"):
    """The official SDK's client, second edition."""
    from mcp import Client

    async with Client(url, mode=mode) as client:
        tools = await _all_pages(client.list_tools, "next_cursor", "cursor")

        async def call():
            return (await client.call_tool(TOOL, ARGUMENTS)).structured_content

        yield call, lambda: tools


@asynccontextmanager
async def official_before(url):
    """The same in the revision before."""
    async with official(url, "legacy") as client:
        yield client


@asynccontextmanager
async def official_first(url):
    """The official SDK's session, first edition."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with (
        streamable_http_client(url) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = await _all_pages(session.list_tools, "nextCursor", "cursor")

        async def call():
            return (await session.call_tool(TOOL, ARGUMENTS)).structuredContent

        yield call, lambda: tools


@asynccontextmanager
async def fastmcp(url):
    """FastMCP's client."""
    from fastmcp import Client

    async with Client(url) as client:
        tools = await client.list_tools()

        async def call():
            return (await client.call_tool(TOOL, ARGUMENTS)).structured_content

        yield call, lambda: tools


@asynccontextmanager
async def langchain(url):
    """The adapters of LangChain, on the session that they open."""
    from langchain_mcp_adapters.sessions import create_session
    from langchain_mcp_adapters.tools import load_mcp_tools

    async with create_session({"transport": "streamable_http", "url": url}) as session:
        await session.initialize()
        tools = await load_mcp_tools(session)
        tool = next((tool for tool in tools if tool.name == TOOL), None)

        async def call():
            message = await tool.ainvoke(
                {"name": TOOL, "args": ARGUMENTS, "id": "call_1", "type": "tool_call"}
            )
            return message.artifact["structured_content"]

        yield call, lambda: tools


async def _all_pages(listed, named, asked):
    page = await listed()
    tools = list(page.tools)
    while cursor := getattr(page, named):
        page = await listed(**{asked: cursor})
        tools += page.tools
    return tools


async def calls(client, url, times):
    """Call, one after another; a sample is the mean of a hundred calls."""
    async with client(url) as (call, _):
        assert await call() == {"result": 10}
        for _turn in range(_WARM):
            await call()
        return [await _cost(_batch(call), _BATCH) for _turn in range(times)]


async def _batch(call):
    for _turn in range(_BATCH):
        await call()


async def discoveries(client, url, times):
    """Connect, and list all tools; the first time, which loads what it needs, does not count."""

    async def discover():
        async with client(url) as (_, tools):
            assert len(tools()) == 1000

    await discover()
    return [await _cost(discover(), 1) for _ in range(times)]


async def _cost(work, times):
    cpu, clock = time.process_time(), time.perf_counter()
    await work
    spent = time.process_time() - cpu, time.perf_counter() - clock
    return [each / times * 1e6 for each in spent]


if __name__ == "__main__":
    name, url, what, times = sys.argv[1:]
    measured = {"call": calls, "discover": discoveries}[what]
    print(json.dumps(asyncio.run(measured(globals()[name], url, int(times)))))
