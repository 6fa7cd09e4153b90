"""The toolbox as a client under test: calls what a scenario of the official suite wants called."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec

from kuniumi.agent import Question, Toolbox

EXAMPLES: dict[str, Any] = {"string": "x", "integer": 2, "number": 1.5, "boolean": True}


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {
        name: EXAMPLES.get(properties.get(name, {}).get("type"), "x")
        for name in schema.get("required", properties)
    }


def _accept(question: Question) -> dict[str, Any]:
    properties = question.schema.get("properties", {})
    return {
        name: EXAMPLES.get(part.get("type"), "x")
        for name, part in properties.items()
        if "default" not in part
    }


async def main(url: str) -> None:
    context = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    async with Toolbox(url, on_question=_accept, timeout=20) as tools:
        wanted = context.get("toolCalls") or [
            {"name": tool.name, "arguments": _arguments(tool.input_schema)} for tool in tools
        ]
        if "json_schema_echo" in tools:
            focal = tools.tools.find("json_schema_2020_12_tool")
            assert focal is not None
            wanted = [{"name": "json_schema_echo", "arguments": {"schema": focal.input_schema}}]
        for call in wanted:
            answer = await tools.call(call["name"], call["arguments"])
            print(call["name"], answer.kind, answer.text[:200])  # noqa: T201 - for the report


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
