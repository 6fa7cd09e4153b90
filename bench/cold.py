"""Run programs from start to exit, in turns, and say what each cost.

In: commands with their environment and stdin. Out: CPU and wall time of every run. Knows
no contender. Compiled bytecode is warm: each program runs once before it is measured.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.report import Row
from bench.servers import BenchError

CPU, WALL = "CPU ms", "wall ms"


@dataclass(frozen=True, slots=True)
class Program:
    """One command, its environment and stdin, and what its stdout must start and end with."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    stdin: bytes = b""
    starts: tuple[bytes, ...] = (b"",)
    ends: bytes = b""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run cost, in milliseconds, and what came of it."""

    cpu: float
    wall: float
    code: int
    stdout: bytes
    stderr: bytes


def measure(programs: Sequence[Program], runs: int) -> tuple[Row, ...]:
    """Run every program `runs` times, in turns, in an order that rotates."""
    samples: dict[str, dict[str, list[float]]] = {
        each.name: {CPU: [], WALL: []} for each in programs
    }
    for each in programs:
        verify(each, run(each))
        verify(each, run(each))  # and once more from its compiled bytecode
    for turn in range(runs):
        start = turn % len(programs)
        for each in [*programs[start:], *programs[:start]]:
            cost = run(each)
            verify(each, cost)
            samples[each.name][CPU].append(cost.cpu)
            samples[each.name][WALL].append(cost.wall)
    return tuple(Row(name, found) for name, found in samples.items())


def run(program: Program) -> Run:
    """Run it once; stdin and stdout are files, so nobody waits on a pipe."""
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(program.stdin)
        stdin.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(
            program.command, env=program.environment, stdin=stdin, stdout=stdout, stderr=stderr
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)  # reaped here, so Popen need not
        stdout.seek(0)
        stderr.seek(0)
        cpu = usage.ru_utime + usage.ru_stime
        return Run(cpu * 1e3, wall * 1e3, process.returncode, stdout.read(), stderr.read())


def verify(program: Program, ended: Run) -> None:
    """Raise unless it ended well and printed what it must."""
    if (
        ended.code == 0
        and ended.stdout.startswith(program.starts)
        and ended.stdout.endswith(program.ends)
    ):
        return
    printed = f"{ended.stdout!r}\n{ended.stderr.decode(errors='replace')[-2000:]}"
    raise BenchError(f"{program.name}: exited with {ended.code}, printed {printed}")
