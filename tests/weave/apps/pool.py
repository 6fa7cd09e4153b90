"""An app that opens a pool before its first call; it notes in a file what it does, and when.

POOL_KIND says whether that is plain or async; POOL_FAILS says what goes wrong.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any

from kuniumi import App, Around, AsyncAround, Calling, Context, FunctionError, Provide

KIND = os.environ.get("POOL_KIND", "plain")
FAILS = os.environ.get("POOL_FAILS", "")
NOTES = os.environ.get("POOL_NOTES", os.devnull)

app = App(name="Pool", version="1.0.0")


def note(what: str) -> None:
    """Note something, with the process it happened in."""
    with Path(NOTES).open("a") as notes:
        notes.write(f"{os.getpid()} {what}\n")


class Pool:
    """What has to be open while it is used."""

    def __init__(self) -> None:
        self.is_open = True

    def take(self) -> str:
        """Use it."""
        return "open" if self.is_open else "closed"


def _opened() -> Pool:
    if FAILS == "start":
        msg = "nobody listens there"
        raise ConnectionError(msg)
    if FAILS == "exit":
        sys.exit("no database")
    note("opened")
    return Pool()


def _closed(pool: Pool) -> None:
    pool.is_open = False
    note("closed")
    if FAILS == "close":
        msg = "the pool had a leak"
        raise OSError(msg)


def open_pool() -> Iterator[Pool]:
    """Open the pool, and close it."""
    pool = _opened()
    if FAILS == "slow":
        time.sleep(60)
    yield pool
    _closed(pool)


async def open_pool_async() -> AsyncIterator[dict[str, Any]]:
    """Open the same on an event loop; what it holds belongs to one task."""
    async with asyncio.timeout(None):
        pool = _opened()
        if FAILS == "slow":
            await asyncio.sleep(60)
        yield {"pool": pool, "loop": asyncio.get_running_loop()}
        await asyncio.sleep(0)
        _closed(pool)


app.lifespan(open_pool_async if KIND == "async" else open_pool)


def _pool(ctx: Context) -> Pool:
    pool: Pool = ctx.state["pool"] if KIND == "async" else ctx.state
    return pool


@app.function
def Take(ctx: Context) -> str:
    """Uses the pool from a thread."""
    return _pool(ctx).take()


@app.function
async def TakeAsync(ctx: Context) -> str:
    """Uses the pool on the event loop, the one that it was opened on."""
    await asyncio.sleep(0)
    if KIND == "async":
        assert ctx.state["loop"] is asyncio.get_running_loop()
    return _pool(ctx).take()


@app.function(timeout=1)
def TakeInTime(ctx: Context) -> str:
    """Uses the pool, and has no patience."""
    return _pool(ctx).take()


@app.function
def Linger(ctx: Context, seconds: float) -> str:
    """Uses the pool at the end of a long call."""
    note("lingering")
    time.sleep(seconds)
    return _pool(ctx).take()


def connection(ctx: Context) -> Iterator[str]:
    """Give a connection of the pool."""
    note("connected")
    yield _pool(ctx).take()
    note("released")


@app.function
def Query(connected: Annotated[str, Provide(connection)]) -> str:
    """Uses one connection."""
    return connected


def noted(call: Calling) -> Around:
    """Note every call and its answer; refuse one whose pool is not there."""
    if not _pool(call.context).is_open:
        raise FunctionError("The pool is closed", status=503)
    note(f"before {call.name}")
    answer = yield None
    note(f"after {call.name} {answer.body.decode()}")


async def noted_async(call: Calling) -> AsyncAround:
    """Do the same, and wait a little."""
    await asyncio.sleep(0)
    note(f"before {call.name}")
    answer = yield None
    await asyncio.sleep(0)
    note(f"after {call.name} {answer.body.decode()}")


if os.environ.get("POOL_HOOK") == "plain":
    app.around(noted)
if os.environ.get("POOL_HOOK") == "async":
    app.around(noted_async)

if __name__ == "__main__":
    app.run()
