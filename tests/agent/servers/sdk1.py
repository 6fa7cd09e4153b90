"""A server written with the official Python SDK, first edition: on stdio, or over HTTP."""

import sys
from typing import Any

from mcp.server.fastmcp import Context, FastMCP  # type: ignore[import-not-found]
from pydantic import BaseModel

server: Any = FastMCP("sdk1", port=int(sys.argv[1]) if sys.argv[1:] else 8000)


class City(BaseModel):
    """Where to look."""

    city: str = "Oslo"


def add(x: int, y: int) -> int:
    """Adds two integers."""
    return x + y


def fail() -> str:
    """Fails."""
    raise ValueError("no such luck")


async def count(ctx: Context) -> str:
    """Counts, and tells how far it is."""
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "counted"


async def ask(ctx: Context) -> str:
    """Asks for a city."""
    said = await ctx.elicit("Which city?", City)
    return f"{said.action} {said.data.city if said.action == 'accept' else ''}"


for tool in (add, fail, count, ask):
    server.tool()(tool)

if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http")
    else:
        server.run("stdio")
