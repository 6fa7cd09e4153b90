"""Add as a tool of the official SDK's server: `sdk_app.py PORT`, or `sdk_app.py stdio`."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no SDK.

import logging
import sys

from mcp.server.mcpserver import MCPServer

mcp = MCPServer("Bench", log_level="WARNING")


@mcp.tool()
async def add(x: int, y: int) -> int:
    """Adds two integers together."""
    return x + y


if __name__ == "__main__":
    logging.disable(logging.INFO)
    if sys.argv[1] == "stdio":
        mcp.run("stdio")
    else:
        mcp.run("streamable-http", port=int(sys.argv[1]), json_response=True, stateless_http=True)
