"""Pools of processes: one small call, validated and encoded by Kuniumi, run as it is by the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

from bench.contenders import APPS, peers_python
from bench.report import Row, Section
from bench.servers import BenchError

P50, P99, RATE = "p50 µs", "p99 µs", "16 at once, calls/s"
KUNIUMI, STANDARD = "kuniumi processes", "ProcessPoolExecutor"


def calls(rounds: int, seconds: int, wanted: Callable[[str], bool]) -> Section:
    """One call after another, and sixteen at once, in four processes."""
    field = [(KUNIUMI, sys.executable, "kuniumi"), (STANDARD, sys.executable, "standard")]
    if python := peers_python():
        field += [("loky", python, "loky"), ("pebble", python, "pebble")]
    field = [each for each in field if wanted(each[0])]
    samples: dict[str, dict[str, list[float]]] = {
        name: {P50: [], P99: [], RATE: []} for name, _, _ in field
    }
    for _ in range(rounds):
        for name, python, pool in field:
            found = _run(python, pool, seconds)
            for measure, value in zip((P50, P99, RATE), found, strict=True):
                samples[name][measure].append(value)
    rows = tuple(Row(name, found) for name, found in samples.items())
    return Section("Add in a process", (P50, P99, RATE), STANDARD, rows)


def _run(python: str, pool: str, seconds: int) -> tuple[float, float, float]:
    done = subprocess.run(
        [python, str(APPS / "pool_calls.py"), pool, str(seconds)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60 + 10 * seconds,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    if done.returncode:
        raise BenchError(f"{pool}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return found["p50"], found["p99"], found["rate"]
