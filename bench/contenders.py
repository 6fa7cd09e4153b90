"""Who takes part over HTTP: each is a server, a path to POST to, and nothing else.

Everything that speaks ASGI runs on Granian with the settings of `kuniumi serve`, so the
server below is the same for all; Robyn brings its own. One worker each. Peers live in an
environment of their own, named by KUNIUMI_PEERS (its `bin` folder).
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from bench.servers import Server

APPS = Path(__file__).with_name("apps")
BODY = '{"x":5,"y":5}'
ANSWER = {"result": 10}

# What Granian picks for Kuniumi in this environment, so that the others get it as well.
LOOP = "uvloop" if util.find_spec("uvloop") else "asyncio"

CONSTANT = "constant"
READING, EXHAUSTING = "constant, one receive", "constant, body to its end"
ALIKE = "constant, scheduled alike"
ASYNC, INLINE, THREAD = "kuniumi async", "kuniumi inline", "kuniumi thread"
PROCESS = "kuniumi process"
TEN, MANY = "kuniumi 10 operations", "kuniumi 10,000 operations"


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of the benchmark: POST `body` to `path` on `server`, and find the answer at `where`."""

    name: str
    server: Server
    path: str = "/add"
    body: str = BODY
    headers: tuple[str, ...] = ()
    where: tuple[str, ...] = ()


def peers_python() -> str | None:
    """The interpreter of the environment with the peers, if there is one."""
    folder = os.environ.get("KUNIUMI_PEERS")
    return str(Path(folder) / "python") if folder else None


def floor() -> list[Contender]:
    """The bare server, with and without reading the request's body, and scheduled as ours is."""
    alike = (("BENCH_SCHEDULING", "batch"),)
    return [
        Contender(CONSTANT, on_granian(sys.executable, "constant:app")),
        Contender(READING, on_granian(sys.executable, "constant:reading")),
        Contender(EXHAUSTING, on_granian(sys.executable, "constant:exhausting")),
        Contender(ALIKE, on_granian(sys.executable, "constant:app", alike)),
    ]


def kuniumi() -> list[Contender]:
    """Add in its four ways to run a function, on one server."""
    server = Server("kuniumi", serving("kuniumi_app.py"), APPS)
    return [
        Contender(ASYNC, server, "/functions/AddAsync"),
        Contender(INLINE, server, "/functions/AddInline"),
        Contender(THREAD, server, "/functions/AddThread"),
        Contender(PROCESS, server, "/functions/AddProcess"),
    ]


def crowds() -> list[Contender]:
    """The same function in a small app and, as the last of many, in a crowded one."""
    return [crowd(TEN, 10), crowd(MANY, 10_000)]


def peers(python: str) -> list[Contender]:
    """The same work in each peer's own idiom."""
    asgi = ("Starlette", "FastAPI", "Litestar", "BlackSheep")
    robyn = (
        python,
        "robyn_app.py",
        "{port}",
        "--processes",
        "1",
        "--workers",
        "1",
        "--log-level",
        "WARNING",
    )
    return [
        *(Contender(name, on_granian(python, f"{name.lower()}_app:app")) for name in asgi),
        Contender("Robyn (own server)", Server("Robyn", robyn, APPS)),
    ]


def crowd(name: str, operations: int) -> Contender:
    """The last of many operations, on a server of its own."""
    environment = (("BENCH_OPERATIONS", str(operations)),)
    return Contender(
        name,
        Server(name, serving("kuniumi_many.py"), APPS, environment),
        f"/functions/Op{operations - 1}",
    )


def on_granian(python: str, target: str, environment: tuple[tuple[str, str], ...] = ()) -> Server:
    """An ASGI application on the bare server."""
    where = ("--host", "127.0.0.1", "--port", "{port}")
    how = ("--interface", "asgi", "--workers", "1", "--no-ws", "--loop", LOOP, "--no-access-log")
    command = (python, "-m", "granian", *where, *how, target)
    return Server(
        " ".join([target, *(value for _, value in environment)]), command, APPS, environment
    )


def serving(script: str) -> tuple[str, ...]:
    """The command that serves one of our own applications."""
    return (sys.executable, str(APPS / script), "serve", "--port", "{port}")
