"""MCP on stdin and stdout: time to a first answer, calls a second, memory; beside SDK and FastMCP.

In: commands that speak MCP on their own streams. Out: samples of whole runs: each starts a server,
shakes hands, waits for a first answer, then keeps a number of calls in flight.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import APPS, peers_python
from bench.report import Budget, Row, Section
from bench.servers import BenchError, child_environment, cpu_seconds

KUNIUMI, SDK, FASTMCP = "kuniumi", "official SDK", "FastMCP"
CPU, RATE = "CPU µs/call", "calls/s"
FIRST, FIRST_CPU, MEMORY = "first answer ms", "CPU ms until then", "MB"

CALL_BUDGETS = (Budget(KUNIUMI, SDK, times=0.1),)
START_BUDGETS = (Budget(KUNIUMI, SDK, times=0.2),)
MEMORY_BUDGETS = (Budget(KUNIUMI, SDK, times=0.5),)

IN_FLIGHT = 32


@dataclass(frozen=True, slots=True)
class Speaker:
    """A server to start, and the name of its tool that adds."""

    name: str
    command: tuple[str, ...]
    tool: str


def runs(count: int, wanted: Callable[[str], bool]) -> list[Section]:
    """Start every server a number of times, in turns, and make calls."""
    speakers = [each for each in _speakers() if wanted(each.name)]
    samples: dict[str, dict[str, list[float]]] = {
        each.name: {name: [] for name in (CPU, RATE, FIRST, FIRST_CPU, MEMORY)} for each in speakers
    }
    for each in speakers:
        _run(each, 10)  # compile its bytecode
    for _ in range(count):
        for each in speakers:
            calls = 20_000 if each.name == KUNIUMI else 1_000
            for measure, value in _run(each, calls).items():
                samples[each.name][measure].append(value)
    rows = tuple(Row(name, found) for name, found in samples.items())
    return [
        Section("tools/call on stdio", (CPU, RATE), SDK, rows, CALL_BUDGETS),
        Section("start on stdio", (FIRST, FIRST_CPU), SDK, rows, START_BUDGETS),
        Section("memory on stdio", (MEMORY,), SDK, rows, MEMORY_BUDGETS),
    ]


def _speakers() -> list[Speaker]:
    kuniumi = (_plain_python(), str(APPS / "kuniumi_app.py"), "mcp")
    found = [Speaker(KUNIUMI, kuniumi, "functions.AddAsync")]
    if python := peers_python():
        found += [
            Speaker(SDK, (python, str(APPS / "sdk_app.py"), "stdio"), "add"),
            Speaker(FASTMCP, (python, str(APPS / "fastmcp_app.py"), "stdio"), "add"),
        ]
    return found


def _plain_python() -> str:
    folder = os.environ.get("KUNIUMI_PLAIN")
    return str(Path(folder) / "python") if folder else sys.executable


def _run(speaker: Speaker, calls: int) -> dict[str, float]:
    source = str(Path(__file__).parents[1] / "src")
    began = time.perf_counter()
    with subprocess.Popen(
        speaker.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(PYTHONPATH=source if speaker.name == KUNIUMI else ""),
    ) as process:
        try:
            line = _Line(process)
            line.say(_request(0, "initialize", _HELLO))
            line.hear(0)
            line.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
            line.say(_call(1, speaker.tool))
            line.hear(1)
            first = time.perf_counter() - began
            cpu_first = cpu_seconds(process.pid)
            after = time.perf_counter()
            _make_calls(line, speaker.tool, calls)
            took = time.perf_counter() - after
            used = cpu_seconds(process.pid) - cpu_first
            memory = _resident(process.pid)
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
    return {
        CPU: used / calls * 1e6,
        RATE: calls / took,
        FIRST: first * 1e3,
        FIRST_CPU: cpu_first * 1e3,
        MEMORY: memory,
    }


def _make_calls(line: _Line, tool: str, calls: int) -> None:
    waiting: set[int] = set()
    following = 2
    while following < calls + 2 or waiting:
        while len(waiting) < IN_FLIGHT and following < calls + 2:
            line.say(_call(following, tool))
            waiting.add(following)
            following += 1
        line.flush()
        waiting.discard(line.hear_any())


class _Line:
    """The way to one server and back."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._to, self._from = process.stdin, process.stdout

    def say(self, message: object) -> None:
        self._to.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def flush(self) -> None:
        self._to.flush()

    def hear_any(self) -> int:
        self._to.flush()
        line = self._from.readline()
        if not line:
            raise BenchError("the server ended before it had answered")
        answer = json.loads(line)
        if "id" not in answer:
            return self.hear_any()
        if "error" in answer or answer["result"].get("isError"):
            raise BenchError(f"the server answered {line[:300]!r}")
        return int(answer["id"])

    def hear(self, number: int) -> None:
        while self.hear_any() != number:
            pass


_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1.0.0"},
}


def _request(number: int, method: str, params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _call(number: int, tool: str) -> dict[str, object]:
    return _request(number, "tools/call", {"name": tool, "arguments": {"x": 5, "y": 5}})


def _resident(pid: int) -> float:
    """Memory of its own that a process holds, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
