"""Start a server process, wait until it listens, read its CPU clock, stop it.

In: how to start it. Out: a `Running` with a port and a CPU clock. Knows nothing of
what the server does or who loads it; any process tree can be metered with `cpu_seconds`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class BenchError(Exception):
    """A contender could not be measured: it did not start, or answered wrongly."""


@dataclass(frozen=True, slots=True)
class Server:
    """How to start one server; `{port}` in the command becomes its port."""

    name: str
    command: tuple[str, ...]
    directory: Path
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """A started server."""

    server: Server
    process: subprocess.Popen[bytes]
    port: int
    log: IO[bytes]

    def cpu_seconds(self) -> float:
        """CPU time its whole process tree has used so far."""
        return cpu_seconds(self.process.pid)

    def log_tail(self, characters: int = 2000) -> str:
        """What it printed last, for error messages."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-characters:]


def child_environment(**extra: str) -> dict[str, str]:
    """This environment without what would slow or confuse a measured Python."""
    unwanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "GATEWAY_INTERFACE"}
    return {k: v for k, v in os.environ.items() if k not in unwanted} | extra


def process_tree(pid: int) -> list[int]:
    """`pid` and its living descendants."""
    found = [pid]
    for parent in found:  # grows while it is walked
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of `pid` and its descendants, all threads, in nanosecond steps.

    The same sum as utime + stime in /proc/<pid>/stat, which counts in 10 ms steps: too
    coarse for a round of a second. Linux derives a process's CPU clock id from its pid.
    """
    total = 0.0
    for each in process_tree(pid):
        with suppress(OSError):
            total += time.clock_gettime((~each << 3) | 2)
    return total


def pinned(command: Sequence[str], core: int | None) -> list[str]:
    """`command`, kept on one core: half the noise, since threads then always wake alike."""
    return list(command) if core is None else ["taskset", "-c", str(core), *command]


def free_port() -> int:
    """A loopback port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(server: Server, core: int | None = None) -> Iterator[Running]:
    """`server`, started and listening; stopped again on leaving, whatever happens."""
    port = free_port()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            pinned([part.replace("{port}", str(port)) for part in server.command], core),
            cwd=server.directory,
            env=child_environment(**dict(server.environment)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        started = Running(server, process, port, log)
        try:
            _wait_until_listening(started)
            yield started
        finally:
            _stop(process)


def _wait_until_listening(started: Running) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if started.process.poll() is not None:
            code = started.process.returncode
            raise BenchError(f"{started.server.name}: exited with {code}\n{started.log_tail()}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", started.port), 1):
            return
        time.sleep(0.02)
    raise BenchError(
        f"{started.server.name}: not listening after {START_SECONDS:.0f} s\n{started.log_tail()}"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # Not yet reaped, so the group id (its pid: it leads a session of its own) is still ours.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
