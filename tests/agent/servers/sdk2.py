"""A server written with the official Python SDK, second edition: on stdio, or over HTTP."""

import sys
from typing import Annotated, Any

from mcp.server import MCPServer  # type: ignore[import-not-found]
from mcp.server.mcpserver import Context, Elicit, Resolve  # type: ignore[import-not-found]
from opentelemetry.trace import get_current_span
from pydantic import BaseModel

server: Any = MCPServer("sdk2")


class City(BaseModel):
    """Where to look."""

    city: str = "Oslo"


def add(x: int, y: int) -> int:
    """Adds two integers."""
    return x + y


def fail() -> str:
    """Fails."""
    raise ValueError("no such luck")


async def count(ctx: Context[Any, Any]) -> str:
    """Counts, and tells how far it is."""
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "counted"


async def ask(ctx: Context[Any, Any]) -> str:
    """Asks for a city."""
    said = await ctx.elicit("Which city?", City)
    return f"{said.action} {said.data.city if said.action == 'accept' else ''}"


async def where() -> Elicit[City]:
    """What is asked before a city is chosen, in the way of the revision that is spoken."""
    return Elicit("Which city?", City)


def choose(where: Annotated[City, Resolve(where)]) -> str:
    """Chooses a city."""
    return f"to {where.city}"


def trace() -> str:
    """Gives the trace that the call is part of, as this SDK understood it."""
    return format(get_current_span().get_span_context().trace_id, "032x")


for tool in (add, fail, count, ask, choose, trace):
    server.tool()(tool)

if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
