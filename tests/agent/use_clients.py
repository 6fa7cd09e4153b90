"""Run where an MCP SDK and FastMCP are: hands their clients to a toolbox."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

sys.path.append(os.environ["MSGSPEC_FOLDER"])

from fastmcp import Client as FastClient  # type: ignore[import-not-found]
from mcp import (  # type: ignore[import-not-found]
    Client,
    ClientSession,
    StdioServerParameters,
)
from mcp.client.stdio import stdio_client  # type: ignore[import-not-found]

from kuniumi.agent import Toolbox


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")


async def use(client: Any) -> None:
    """Call two tools through it."""
    heard = []
    async with Toolbox(client) as tools:
        say((await tools.call("add", {"x": 1, "y": 2})).text)
        counted = await tools.call("count", on_progress=lambda *said: heard.append(said))
        say(counted.text)
        assert len(heard) == 3, heard
        assert (await tools.call("fail")).declared_error


async def main(script: str) -> None:
    """Use a session that is open, a client that is not, and FastMCP's."""
    parameters = StdioServerParameters(command=sys.executable, args=[script])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await use(session)
    await use(Client(stdio_client(parameters)))
    await use(FastClient({"mcpServers": {"s": {"command": sys.executable, "args": [script]}}}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
