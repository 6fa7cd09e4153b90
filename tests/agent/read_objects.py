"""Run where an MCP SDK is: makes its objects of tool results, and reads them.

In: lines of JSON, each a tool result. Out: a line each, with what was read of every object.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

warnings.simplefilter("error")
sys.path.append(os.environ["MSGSPEC_FOLDER"])

from mcp import types  # type: ignore[import-not-found]  # noqa: E402 - msgspec has to be found first

from kuniumi import agent  # noqa: E402


def objects(sent: Any) -> Iterator[tuple[str, Any]]:
    """Give what the SDK, and FastMCP on top of it, hand to those who call a tool."""
    result = types.CallToolResult.model_validate(sent)
    yield "result", result
    yield "dumped", result.model_dump(mode="json", by_alias=True, exclude_none=True)
    yield "message", types.JSONRPCResponse(jsonrpc="2.0", id=1, result=sent)
    if find_spec("fastmcp"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of their own
            from fastmcp.client.client import CallToolResult  # type: ignore[import-not-found]

        yield (
            "fastmcp",
            CallToolResult(
                content=list(result.content),
                structured_content=sent.get("structuredContent"),
                meta=None,
                is_error=bool(sent.get("isError")),
            ),
        )


def read(sent: Any) -> dict[str, Any]:
    found = {}
    for name, each in objects(sent):
        answer = agent.read(each)
        answer.for_openai("c")
        found[name] = {
            "kind": answer.kind,
            "declared": answer.declared_error,
            "value": answer.value,
            "has_value": answer.has_value,
            "text": answer.text,
            "blocks": len(answer.blocks),
            "warnings": list(answer.warnings),
        }
    return found


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(read(json.loads(line)))}\n")
