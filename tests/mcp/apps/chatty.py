"""An app whose functions talk, ask and take their time: the tests start it as a real server.

What it notes outlives its calls, in a file named by the environment. So are the bounds that are too
large to be reached in a test.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from kuniumi import App, Context, DeclinedError, FunctionError
from kuniumi.serve.mcp import attendant, exchange, http, sessions
from tests.http.apps.mischief import note

app = App(name="Chatty", version="1.0.0")

for room, name in (
    (sessions, "IDLE"),
    (sessions, "MOST"),
    (sessions, "MOST_AT_WORK"),
    (attendant, "KEPT"),
    (exchange, "SILENCE"),
    (http, "MOST_LISTENING"),
):
    if name in os.environ:
        setattr(room, name, float(os.environ[name]))


@app.function
async def Wait(mark: str, seconds: float) -> str:
    """Waits, without a word."""
    return await _wait(mark, seconds)


@app.function
async def Talk(mark: str, steps: int, pause: float, ctx: Context) -> str:
    """Says how far it has come, step by step."""
    note(f"{mark} began")
    try:
        for step in range(steps):
            ctx.progress(step + 1, steps)
            await asyncio.sleep(pause)
    except asyncio.CancelledError:
        note(f"{mark} was cancelled")
        raise
    note(f"{mark} ended")
    return mark


@app.function
async def Muse(mark: str, seconds: float, ctx: Context) -> str:
    """Waits without a word, though it could say something."""
    return await _wait(mark, seconds)


async def _wait(mark: str, seconds: float) -> str:
    note(f"{mark} began")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note(f"{mark} was cancelled")
        raise
    note(f"{mark} ended")
    return mark


@app.function
def Look(mark: str, ctx: Context) -> str:
    """Waits in a thread, and looks whether anybody else still does."""
    note(f"{mark} began")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if ctx.cancelled:
            note(f"{mark} was cancelled")
            break
        time.sleep(0.01)
    return mark


@app.function
async def Ask(mark: str, ctx: Context) -> str:
    """Asks for a name."""
    note(f"{mark} began")
    try:
        name: Any = await ctx.ask(f"{mark}: who is there?", {"type": "object", "properties": {}})
    except DeclinedError as declined:
        return f"{mark}: {declined.action}"
    except FunctionError as error:
        note(f"{mark} failed: {error}")
        raise
    except asyncio.CancelledError:
        note(f"{mark} was cancelled")
        raise
    return f"{mark}: {name['name']}"


@app.function
async def Rest(mark: str, ctx: Context) -> str:
    """Lets its caller hang up, and come back."""
    ctx.release()
    return await _wait(mark, 0.2)


@app.function
async def Break(ctx: Context) -> str:
    """Asks what can't be asked: its form is no JSON."""
    await ctx.ask("What?", {"type": "object", "properties": {}, "default": object()})
    return "never"


@app.function(inline=True)
def Pid() -> int:
    """Tells which worker answers."""
    return os.getpid()


@app.function
async def Tasks() -> int:
    """Counts the tasks on the event loop, this one included."""
    return len(asyncio.all_tasks())


@app.function(inline=True)
def Echo(text: str) -> str:
    """Gives back what it is given."""
    return text


@app.function(inline=True)
def Report(uri: str) -> None:
    """Tells that something has changed."""
    app.updated(uri)


@app.function(inline=True)
def Toggle() -> None:
    """Changes the list of tools, twice."""
    app.disable("Echo")
    app.enable("Echo")


@app.resource("news://today", mime_type="text/plain")
def news() -> str:
    """Something to subscribe to."""
    return "nothing new"


if __name__ == "__main__":
    app.run()
