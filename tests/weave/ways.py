"""Every way into an app, in process: the surfaces of `kuniumi.testing`, and MCP and events over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec

from kuniumi.testing import SURFACES, Door, _http_call, connect
from tests.mcp.official import problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kuniumi import App

WAYS = [*SURFACES, "events", "mcp", "mcp-2025"]
"""By every one of these, a call gets the same answer."""

_REVISIONS = {"mcp": "2026-07-28", "mcp-2025": "2025-06-18"}


class Way:
    """One way into one app."""

    def __init__(self, app: App, name: str, **options: Any) -> None:
        self.name = name
        self.door: Door = connect(app, name if name in SURFACES else "http", **options)

    def __enter__(self) -> Self:
        """Open it."""
        self.door.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        """Close it."""
        self.door.close()

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a function; give its envelope as data."""
        if self.name == "events":
            return self._events(name, arguments or {})
        if self.name in _REVISIONS:
            return self._mcp(name, arguments or {})
        return self.door.call(name, arguments or {}).envelope

    def _events(self, name: str, arguments: Mapping[str, Any]) -> Any:
        reply = self.door.call(name, arguments, headers={"accept": "text/event-stream"})
        if reply.headers["content-type"] != "text/event-stream":
            return reply.envelope
        return list(_data(reply.body))[-1]

    def _mcp(self, name: str, arguments: Mapping[str, Any]) -> Any:
        result = self.ask_tool(name, arguments)
        return msgspec.json.decode(result["content"][0]["text"])

    def ask_tool(self, name: str, arguments: Mapping[str, Any], **more: Any) -> Any:
        """Send a request for a tool by MCP, with more parameters; give its result."""
        revision = _REVISIONS[self.name]
        meta = {
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }
        params: dict[str, Any] = {"name": f"functions.{name}", "arguments": dict(arguments)}
        headers = {
            "accept": "application/json, text/event-stream",
            "host": "127.0.0.1",
            "mcp-protocol-version": revision,
        }
        if self.name == "mcp":
            params["_meta"] = meta
            headers["mcp-method"] = "tools/call"
            headers["mcp-name"] = f"functions.{name}"
        params.update(more)
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        raw = msgspec.json.encode(request)
        reply = self.door.wait(_http_call(self.door.asgi, "/mcp", raw, headers))
        events = reply.headers["content-type"] == "text/event-stream"
        said = list(_data(reply.body)) if events else [reply.envelope]
        for message in said:
            answers = None if "method" in message else request
            assert problems(message, revision, answers=answers) == []
        return said[-1]["result"]


def _data(body: bytes) -> Iterator[Any]:
    for line in body.splitlines():
        if line.startswith(b"data: "):
            yield msgspec.json.decode(line.removeprefix(b"data: "))
