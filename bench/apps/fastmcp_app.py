"""Add as a tool of FastMCP: `fastmcp_app.py PORT`, or `fastmcp_app.py stdio`."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no FastMCP.

import logging
import sys

from fastmcp import FastMCP

mcp = FastMCP("Bench")


@mcp.tool
async def add(x: int, y: int) -> int:
    """Adds two integers together."""
    return x + y


if __name__ == "__main__":
    logging.disable(logging.INFO)
    if sys.argv[1] == "stdio":
        mcp.run("stdio", show_banner=False)
    else:
        mcp.run(
            "http",
            port=int(sys.argv[1]),
            json_response=True,
            stateless_http=True,
            show_banner=False,
            uvicorn_config={"access_log": False, "log_level": "warning"},
        )
