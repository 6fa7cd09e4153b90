"""The peers: the function each uses to convert an MCP result, or the smallest way around it."""

# mypy: ignore-errors
# Runs by its path, in the environment of those it measures.

import asyncio
import types

from agent_work import RESULTS, measure
from agents import RunContextWrapper
from agents.mcp import MCPUtil
from langchain_mcp_adapters.tools import _convert_call_tool_result
from mcp.types import CallToolResult, Tool
from pydantic_ai.mcp import _map_mcp_call_tool_result
from pydantic_ai.messages import ToolReturnPart

LOOP = asyncio.new_event_loop()
parsed = {kind: CallToolResult.model_validate(sent) for kind, sent in RESULTS.items()}


def langchain(result):
    """Convert as its tools do."""
    return lambda: _convert_call_tool_result(result)


def pydantic_ai(result):
    """Convert as its toolset does, and write it as a model is sent it."""
    given = types.SimpleNamespace(
        content=result.content, structured_content=result.structuredContent, is_error=False
    )

    def act():
        mapped = _map_mcp_call_tool_result(given)
        return ToolReturnPart("Add", mapped, "call_1").model_response_str()

    return act


class Server:
    """A server that has answered already, for a library that converts within its call."""

    name = "s"
    use_structured_content = True
    tool_meta_resolver = None
    custom_data_extractor = None

    def __init__(self, result):
        self.result = result

    async def call_tool(self, *_args, **_more):
        """Answer at once."""
        return self.result

    def __getattr__(self, name):
        return None


def openai_agents(result):
    """Call the server, and convert what it answers."""
    server, tool = Server(result), Tool(name="Add", inputSchema={"type": "object"})
    context = RunContextWrapper(None)

    def act():
        return LOOP.run_until_complete(MCPUtil.invoke_mcp_tool(server, tool, context, "{}"))

    return act


measure(
    {
        "langchain-mcp-adapters": {kind: langchain(result) for kind, result in parsed.items()},
        "openai-agents, with its call": {
            kind: openai_agents(result) for kind, result in parsed.items()
        },
        "pydantic-ai": {kind: pydantic_ai(result) for kind, result in parsed.items()},
    }
)
