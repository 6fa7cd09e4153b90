"""MCP over HTTP: CPU time of one `tools/call`, beside the bare server, the SDK and FastMCP."""

from __future__ import annotations

import json
from collections.abc import Callable

from bench import contenders
from bench.contenders import ALIKE, APPS, CONSTANT, READING, Contender, crowd, floor, peers_python
from bench.http_calls import CPU, FLOORS, P50, P99, RATE, Effort, measure
from bench.report import Budget, Section
from bench.servers import Server

NEW, OLD = "2026-07-28", "2025-11-25"
KUNIUMI, SDK, FASTMCP = "kuniumi", "official SDK", "FastMCP"
FEW, MANY = "kuniumi 10 tools", "kuniumi 10,000 tools"

BUDGETS = tuple(
    Budget(f"{KUNIUMI}, {era}", floor, times=1.7) for floor in FLOORS for era in (NEW, OLD)
)
CROWD_BUDGETS = (Budget(MANY, FEW, times=1.1),)

_META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ACCEPT = "Accept: application/json, text/event-stream"


def calls(effort: Effort, wanted: Callable[[str], bool]) -> Section:
    """Add as a tool, in both ways of speaking."""
    kuniumi = Server("kuniumi over MCP", contenders.serving("kuniumi_app.py"), APPS)
    field = [each for each in floor() if each.name in {CONSTANT, READING, ALIKE}]
    field += [call(f"{KUNIUMI}, {era}", kuniumi, "functions.AddAsync", era) for era in (NEW, OLD)]
    notes = [effort.told]
    if python := peers_python():
        for name, script in ((SDK, "sdk_app.py"), (FASTMCP, "fastmcp_app.py")):
            server = Server(name, (python, script, "{port}"), APPS)
            field += [call(f"{name}, {era}", server, "add", era) for era in (NEW, OLD)]
    else:
        notes.append("note: KUNIUMI_PEERS is not set, so no peers.")
    rows = measure([each for each in field if wanted(each.name)], effort)
    title = "tools/call over HTTP"
    return Section(title, (CPU, RATE, P50, P99), CONSTANT, rows, BUDGETS, tuple(notes))


def crowded_calls(effort: Effort) -> Section:
    """One call in an app of 10 tools and in one of 10,000."""
    field = []
    for name, tools in ((FEW, 10), (MANY, 10_000)):
        server = crowd(name, tools).server
        field.append(call(name, server, f"functions.Op{tools - 1}", NEW))
    rows = measure(field, effort)
    return Section("10 and 10,000 tools", (CPU, RATE, P50, P99), FEW, rows, CROWD_BUDGETS)


def call(name: str, server: Server, tool: str, era: str) -> Contender:
    """One call of a tool, in one way of speaking."""
    params: dict[str, object] = {"name": tool, "arguments": {"x": 5, "y": 5}}
    headers = [_ACCEPT, f"MCP-Protocol-Version: {era}"]
    if era == NEW:
        params["_meta"] = _META
        headers += ["Mcp-Method: tools/call", f"Mcp-Name: {tool}"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Contender(
        name,
        server,
        "/mcp",
        json.dumps(message, separators=(",", ":")),
        tuple(headers),
        ("result", "structuredContent"),
    )
