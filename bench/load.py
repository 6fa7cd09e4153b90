"""Drive an HTTP server with `wrk`, and ask it one question by hand.

In: a port, a path, a body. Out: totals of the load, or one answer. Knows no contender.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.servers import BenchError, pinned

SCRIPT = Path(__file__).with_name("post.lua")
CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of `wrk` saw."""

    requests: int
    microseconds: int
    bad_statuses: int
    socket_errors: int
    p50: int
    p99: int

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return self.requests / (self.microseconds / 1e6)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response."""

    status: int
    body: bytes


def drive(
    port: int,
    path: str,
    body: str,
    seconds: int,
    core: int | None = None,
    headers: Sequence[str] = (),
) -> Load:
    """Load `path` for `seconds` over 16 connections; anything but 2xx is a `BenchError`."""
    if shutil.which("wrk") is None:
        raise BenchError("wrk is missing: apt-get install wrk")
    url = f"http://127.0.0.1:{port}{path}"
    command = [
        "wrk",
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{seconds}s",
        "-s",
        str(SCRIPT),
        url,
        "--",
        body,
        *headers,
    ]
    ended = subprocess.run(
        pinned(command, core), capture_output=True, text=True, timeout=seconds + 30, check=False
    )
    if ended.returncode:
        raise BenchError(f"wrk {url}: {ended.stdout}{ended.stderr}")
    load = Load(**json.loads(ended.stdout.rsplit("\n", 2)[-2]))
    if load.bad_statuses or load.socket_errors or not load.requests:
        raise BenchError(f"wrk {url}: {load}")
    return load


def ask(
    port: int, method: str, path: str, body: str | None = None, headers: Sequence[str] = ()
) -> Answer:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        sent = dict(header.split(": ", 1) for header in headers)
        if body:
            sent["Content-Type"] = "application/json"
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Answer(response.status, response.read())
    finally:
        connection.close()
