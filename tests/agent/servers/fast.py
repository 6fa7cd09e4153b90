"""A server written with FastMCP: on stdio, or over HTTP."""

import base64
import sys
from dataclasses import dataclass
from typing import Any

from fastmcp import Context, FastMCP  # type: ignore[import-not-found]
from fastmcp.exceptions import ToolError  # type: ignore[import-not-found]
from fastmcp.utilities.types import Image  # type: ignore[import-not-found]
from mcp.types import ResourceLink  # type: ignore[import-not-found]

server: Any = FastMCP("fast")
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Place:
    """Where something is."""

    city: str
    height: float


def add(x: int, y: int) -> int:
    """Adds two integers."""
    return x + y


def fail() -> str:
    """Fails."""
    raise ToolError("no such luck")


def locate(city: str) -> Place:
    """Locates a city."""
    return Place(city, 23.5)


def draw() -> list[Any]:
    """Draws a dot."""
    return ["a dot", Image(data=DOT, format="png")]


def link() -> ResourceLink:
    """Links to a page."""
    return ResourceLink(type="resource_link", name="page", uri="https://example.com/page")


def nothing() -> None:
    """Gives nothing."""


async def count(ctx: Context) -> str:
    """Counts, and tells how far it is."""
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "counted"


async def ask(ctx: Context) -> str:
    """Asks for a city."""
    said = await ctx.elicit("Which city?", Place)
    return f"{said.action} {said.data.city if said.action == 'accept' else ''}"


for tool in (add, fail, locate, draw, link, nothing, count, ask):
    server.tool(tool)

if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("http", port=int(sys.argv[1]), show_banner=False)
    else:
        server.run("stdio", show_banner=False)
