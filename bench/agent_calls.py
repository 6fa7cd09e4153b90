"""The agent's side over HTTP: what a call and a discovery cost the client, beside other clients.

All clients speak with the same server, Kuniumi's, on a core of its own; only their own CPU counts.
Every round starts every client anew, one after another.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import APPS, serving
from bench.http_calls import Effort
from bench.report import Budget, Row, Section
from bench.servers import BenchError, Server, child_environment, pinned, running

KUNIUMI, KUNIUMI_BEFORE = "Toolbox, 2026-07-28", "Toolbox, 2025-11-25"
SDK, SDK_BEFORE = "official client 2, 2026-07-28", "official client 2, 2025-11-25"
CALL, WALL = "client CPU µs a call", "µs a call"
DISCOVERY, DISCOVERY_WALL = "client CPU ms", "ms"

_NOTE = "note: the best of a few hundred calls in each round; only the client's own CPU counts."

# A call costs a third of what it costs the official client, in the same revision.
BUDGETS = (
    Budget(KUNIUMI, SDK, times=0.33),
    Budget(KUNIUMI_BEFORE, SDK_BEFORE, times=0.33),
)
DISCOVERY_BUDGETS = (Budget(KUNIUMI, SDK), Budget(KUNIUMI_BEFORE, SDK_BEFORE))


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its row, its name in `agent_client.py`, and the environment it lives in."""

    name: str
    function: str
    environment: str = ""

    def python(self) -> str | None:
        """Its interpreter; none if there is no such environment here."""
        if not self.environment:
            return sys.executable
        folder = os.environ.get(self.environment)
        return str(Path(folder) / "python") if folder else None


CLIENTS = (
    Client(KUNIUMI, "kuniumi"),
    Client(KUNIUMI_BEFORE, "kuniumi_before"),
    Client(SDK, "official", "KUNIUMI_PEERS"),
    Client(SDK_BEFORE, "official_before", "KUNIUMI_PEERS"),
    Client("official client 1, 2025-11-25", "official_first", "KUNIUMI_PEERS_AGENT"),
    Client("FastMCP", "fastmcp", "KUNIUMI_PEERS"),
    Client("langchain-mcp-adapters", "langchain", "KUNIUMI_PEERS_AGENT"),
)


def calls(effort: Effort, wanted: Callable[[str], bool]) -> Section:
    """One call of Add after another."""
    server = Server("kuniumi over MCP", serving("kuniumi_app.py"), APPS)
    rows = _measured(server, "call", 5, effort, wanted, (CALL, WALL), 1)
    title = "A call over HTTP, one after another"
    return Section(title, (CALL, WALL), KUNIUMI, rows, BUDGETS, (_NOTE,))


def discoveries(effort: Effort, wanted: Callable[[str], bool]) -> Section:
    """Connecting, and the list of a thousand tools."""
    environment = (("BENCH_OPERATIONS", "1000"),)
    server = Server("1,000 tools", serving("kuniumi_many.py"), APPS, environment)
    measures = (DISCOVERY, DISCOVERY_WALL)
    rows = _measured(server, "discover", 5, effort, wanted, measures, 1000)
    title = "1,000 tools discovered over HTTP"
    return Section(title, measures, KUNIUMI, rows, DISCOVERY_BUDGETS)


def _measured(
    server: Server,
    what: str,
    times: int,
    effort: Effort,
    wanted: Callable[[str], bool],
    measures: tuple[str, str],
    unit: float,
) -> tuple[Row, ...]:
    field = [client for client in CLIENTS if wanted(client.name) and client.python()]
    samples: dict[str, dict[str, list[float]]] = {
        client.name: {measure: [] for measure in measures} for client in field
    }
    with running(server, effort.server_core) as started:
        url = f"http://127.0.0.1:{started.port}/mcp"
        for _ in range(effort.rounds):
            for client in field:
                found = _run(client, [url, what, str(times)], effort.load_core)
                # The best of a round: what else the machine does can only add to it.
                for measure, values in zip(measures, zip(*found, strict=True), strict=True):
                    samples[client.name][measure].append(min(values) / unit)
    return tuple(Row(name, found) for name, found in samples.items())


def _run(client: Client, arguments: list[str], core: int | None) -> list[list[float]]:
    source = str(Path(__file__).parents[1] / "src")
    command = [str(client.python()), str(APPS / "agent_client.py"), client.function, *arguments]
    ended = subprocess.run(
        pinned(command, core),
        # Only our own client is to find our source.
        env=child_environment(**({} if client.environment else {"PYTHONPATH": source})),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ended.returncode:
        raise BenchError(f"{client.name}: {ended.stderr[-800:]}")
    found: list[list[float]] = json.loads(ended.stdout)
    return found
