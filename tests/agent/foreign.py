"""Servers that others wrote, or that are written with others' libraries, run as real processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.http.server import eventually

SERVERS = Path(__file__).parent / "servers"
PYTHON_SDKS = [("KUNIUMI_CLIENTS", "sdk2.py"), ("KUNIUMI_OLD_CLIENTS", "sdk1.py")]


def variable(name: str) -> str:
    """Give a variable that `./dev test` sets; without it there is nothing to test with."""
    folder = os.environ.get(name)
    if not folder:
        pytest.skip(f"{name} is not set: ./dev test sets it")
    return folder


def python(name: str) -> str:
    """Give the Python of an environment of others."""
    return f"{variable(name)}/python"


def node(*words: str) -> list[str]:
    """Give the command for a program in JavaScript."""
    return [f"{variable('KUNIUMI_FOREIGN')}/node", *words]


def npm(name: str) -> Path:
    """Give the folder of a package of the official organisation."""
    return Path(variable("KUNIUMI_NPM")) / "@modelcontextprotocol" / name


def program_of(name: str) -> list[str]:
    """Give the command of a package that is a program."""
    described = msgspec.json.decode((npm(name) / "package.json").read_bytes())
    (entry,) = described["bin"].values()
    return node(str(npm(name) / entry))


def example(name: str) -> str:
    """Give the file of an example server that the official TypeScript SDK brings."""
    return str(npm("sdk") / "dist" / "esm" / "examples" / "server" / name)


@contextmanager
def listening(
    words: list[str], port: int, variables: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run a server until it listens at its port; give its origin, and end it with all it started."""
    process = subprocess.Popen(
        words,
        env={**os.environ, **(variables or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    origin = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: process.poll() is not None or _listens(origin), f"{words} at {port}")
        yield origin
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def python_server(program: str, script: str, port: int | None = None) -> Iterator[str]:
    """Run one of our scripts with another Python; give the address of its MCP."""
    port = port or free_port()
    with listening([program, str(SERVERS / script), str(port)], port) as origin:
        yield f"{origin}/mcp"


@contextmanager
def node_server(*words: str) -> Iterator[str]:
    """Run a server in JavaScript, at a free port whichever it has in mind; give its origin."""
    port = free_port()
    preload = str(SERVERS / "at_port.mjs")
    with listening(node("--import", preload, *words), port, {"AT_PORT": str(port)}) as origin:
        yield origin


def free_port() -> int:
    """Give a port that nobody listens at."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def _listens(origin: str) -> bool:
    try:
        httpx.get(f"{origin}/nothing-here", timeout=5)
    except httpx.TransportError:
        return False
    return True
