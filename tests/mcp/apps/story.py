"""The app whose story every client plays through: a bit of everything, with answers known beforehand.

What its functions notice, such as that nobody waits for them any more, they write to the file that
`STORY_NOTES` names: another worker than theirs may be asked for it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kuniumi import (
    Annotations,
    App,
    Audio,
    CannotAskError,
    Contents,
    Context,
    DeclinedError,
    EmbeddedResource,
    FunctionError,
    Image,
    Message,
    ResourceLink,
    Text,
    ToolResult,
)

app = App(
    name="Story",
    version="1.2.3",
    title="A story",
    description="Told to every client",
    instructions="Listen well.",
)

NOTES = Path(os.environ.get("STORY_NOTES", os.devnull))
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
PAUSE = 0.05
"""Seconds before the next step: the clients for TypeScript drop progress that comes with the result."""
SOUND = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")


def _note(mark: str, event: str) -> None:
    with NOTES.open("a") as notes:
        notes.write(f"{mark} {event}\n")


# ---- plain calls -------------------------------------------------------------------------------------


@app.function(title="Addition", read_only=True, idempotent=True, open_world=False, tags=["sums"])
async def Add(x: int, y: int) -> int:
    """Adds two integers.

    Args:
        x: First integer to add
        y: Second integer to add

    Returns:
        Sum of x and y
    """
    return x + y


@app.function
def Divide(x: float, y: float) -> float:
    """Divides, where that can be done."""
    if y == 0:
        raise FunctionError("Division by zero", status=422)
    return x / y


@app.function
async def Burst() -> str:
    """Fails as nobody expected."""
    msg = "the pipe burst"
    raise ValueError(msg)


@app.function
def Vanish() -> str:
    """Tries to take the server along."""
    raise SystemExit(3)


@dataclass
class Place:
    """Somewhere on the map."""

    name: str
    height: float
    near: list[str]


@app.function
async def Locate(name: str) -> Place:
    """Finds a place."""
    return Place(name, 12.5, ["Here", "There"])


@app.function
async def Split(text: str) -> tuple[str, int]:
    """Gives the first letter, and how many follow."""
    return text[0], len(text) - 1


@app.function
async def Gallery() -> list[Text | Image | Audio | ResourceLink | EmbeddedResource]:
    """Gives a block of each kind."""
    return [
        Text("Five kinds", annotations=Annotations(audience=("user",), priority=0.5)),
        Image(PICTURE),
        Audio(SOUND),
        ResourceLink("story://title", "title", description="What it is called"),
        EmbeddedResource(Contents("story://inside", "Inside", mime_type="text/plain")),
    ]


@app.function
async def Weigh(thing: str) -> ToolResult[float]:
    """Weighs a thing: a number for programs, words for people."""
    return ToolResult(2.5, content=[Text(f"The {thing} weighs two and a half.")])


@app.function
def Chatter() -> str:
    """Prints where it should not, and has others print."""
    print('{"jsonrpc":"2.0","id":1,"result":{}}')  # noqa: T201 - that is what it is for
    os.write(1, b"straight to the descriptor\n")
    subprocess.run([sys.executable, "-Sc", "print('from a child')"], check=True)
    return "quiet"


@app.function(headers={"region": "Region"})
async def Route(region: str) -> str:
    """Takes an argument that is repeated in a header."""
    return f"via {region}"


@app.function
async def Meta(ctx: Context) -> dict[str, Any]:
    """Gives what the caller sent beside the arguments."""
    return {"traceparent": ctx.traceparent, "note": ctx.meta.get("example.org/note")}


# ---- while they run ----------------------------------------------------------------------------------


@app.function
async def Climb(steps: int, ctx: Context) -> str:
    """Tells how far it has come."""
    for step in range(1, steps + 1):
        ctx.progress(step, steps, f"Step {step}")
        await asyncio.sleep(PAUSE)
    return "up"


@app.function
async def Diary(ctx: Context) -> str:
    """Logs what it does."""
    ctx.log.debug("too small to matter")
    ctx.log.info("woke up")
    ctx.log.warning("it %s", "rains")
    return "written"


@app.function
async def Wait(mark: str, ctx: Context) -> str:
    """Waits until nobody waits for it, and looks at its context for that."""
    _note(mark, "began")
    try:
        ctx.progress(0, 1)
        await asyncio.sleep(60)
    finally:
        _note(mark, "cancelled" if ctx.cancelled else "ended")
    return "nobody came"


@app.function
async def Doze(mark: str) -> str:
    """Waits until nobody waits for it, and is told of nothing else."""
    _note(mark, "began")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        _note(mark, "cancelled")
        raise
    return "nobody came"


@app.function
def Grind(mark: str, ctx: Context) -> str:
    """Works in a thread until nobody waits for it."""
    _note(mark, "began")
    until = time.monotonic() + 60
    while not ctx.cancelled and time.monotonic() < until:
        time.sleep(0.005)
    _note(mark, "cancelled" if ctx.cancelled else "ended")
    return "nobody came"


@app.function
def Noted(mark: str) -> list[str]:
    """Gives what has been noted under a mark."""
    lines = NOTES.read_text().splitlines() if NOTES.exists() else []
    return [line.removeprefix(f"{mark} ") for line in lines if line.startswith(f"{mark} ")]


# ---- questions ---------------------------------------------------------------------------------------


@dataclass
class Person:
    """Somebody to be introduced."""

    name: str
    age: int


@app.function
async def Introduce(ctx: Context) -> str:
    """Asks who is there."""
    try:
        person = await ctx.ask("Who is there?", Person)
    except DeclinedError as declined:
        return f"nobody: {declined.action}"
    return f"{person.name} is {person.age}"


@app.function
async def Quiz(ctx: Context) -> str:
    """Asks one thing after another."""
    color = await ctx.ask("Which color?", Literal["red", "blue"])
    sure = await ctx.ask(f"Is {color} final?", bool)
    return f"{color}, {'surely' if sure else 'perhaps'}"


@app.function
async def Muse(topic: str, ctx: Context) -> str:
    """Has the caller's model say something."""
    reply = await ctx.sample(f"A word on {topic}", max_tokens=50, system="Be brief")
    return f"{reply.model}: {reply.text}"


@app.function
async def Folders(ctx: Context) -> list[str]:
    """Asks which folders the caller works in."""
    return [root.uri for root in await ctx.roots()]


@app.function
async def Dare(ctx: Context) -> str:
    """Asks, and does without an answer where nobody can be asked."""
    try:
        return str(await ctx.ask("Go on?", str))
    except CannotAskError:
        return "nobody to ask"


# ---- changes -----------------------------------------------------------------------------------------


@app.function
async def Secret() -> str:
    """Comes and goes."""
    return "shh"


@app.function
async def Hide() -> None:
    """Takes a tool off the list."""
    app.disable("Secret")


@app.function
async def Show() -> None:
    """Puts it back."""
    app.enable("Secret")


@app.function
async def TurnPage() -> None:
    """Tells that the page has changed."""
    app.updated("story://page")


# ---- resources ---------------------------------------------------------------------------------------


@app.resource("story://title", mime_type="text/plain", title="The title")
def title() -> str:
    """What the story is called."""
    return "The Clients"


@app.resource("story://cover", mime_type="image/png")
def cover() -> bytes:
    """What the story looks like."""
    return PICTURE


@app.resource("story://page", mime_type="text/plain")
def page() -> str:
    """The page that is open."""
    return "Once upon a time"


@app.resource(
    "story://chapter/{number}", mime_type="application/json", complete={"number": ["1", "12", "2"]}
)
def chapter(number: int) -> dict[str, Any]:
    """One of the chapters."""
    if number > 20:
        raise FunctionError("There is no such chapter", status=404)
    return {"number": number, "text": "And then"}


def _footnote(number: int) -> None:
    """Adds one of many, so that the list has more than a page."""

    def footnote() -> str:
        return f"Footnote {number}"

    footnote.__name__ = f"footnote_{number}"
    app.resource(f"story://footnote/{number}", mime_type="text/plain")(footnote)


FOOTNOTES = 1_100
for _number in range(FOOTNOTES):
    _footnote(_number)


# ---- prompts -----------------------------------------------------------------------------------------


@app.prompt(title="A greeting", complete={"name": ["Ada", "Adam", "Bea"]})
def greeting(name: str, tone: Literal["warm", "cool"] = "warm") -> str:
    """Greets somebody.

    Args:
        name: Whom to greet
        tone: How
    """
    return f"Write a {tone} greeting to {name}."


@app.prompt
def critique() -> list[Message]:
    """Begins with something to look at."""
    return [Message("user", Image(PICTURE)), Message("assistant", Text("What a red dot."))]


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        app.run()
