"""One of everything that can be said of what an app offers."""

from __future__ import annotations

import asyncio
import time
from enum import Enum
from typing import Annotated, Any, Literal

from msgspec import Meta

from kuniumi import (
    Annotations,
    App,
    Contents,
    Context,
    EmbeddedResource,
    FunctionError,
    Icon,
    Message,
    Text,
)

ICON = Icon("https://example.com/i.png", mime_type="image/png", sizes=("48x48",), theme="dark")

app = App(
    name="offers",
    version="1.2.3",
    description="A shop of everything",
    title="The Shop of Everything",
    instructions="Look at notes://index first.",
    website="https://example.com",
    icons=[ICON],
)


class Color(Enum):
    """Two colors."""

    RED = "red"
    BLUE = "blue"


# ---- tools -------------------------------------------------------------------------------------------


@app.function(
    title="Look it up",
    tags=["search", "notes"],
    icons=[ICON],
    meta={"example.com/cost": {"unit": "cent", "value": 3}},
    read_only=True,
    destructive=False,
    idempotent=True,
    open_world=False,
)
def Find(words: str) -> list[str]:
    """Finds notes.

    Args:
        words: What they are about
    """
    return [words]


@app.function(headers={"region": "Region", "count": "Count", "fast": "Fast"})
def Route(region: str, count: int = 1, fast: bool = False) -> str:
    """Repeats arguments in headers."""
    return f"{region} {count} {fast}"


@app.function
def Marked(
    tenant: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Tenant"})] = "none",
) -> str:
    """Says in the type that an argument is repeated."""
    return tenant


@app.function
def Switch(name: str, on: bool) -> None:
    """Enables or disables a function."""
    (app.enable if on else app.disable)(name)


@app.function
def Grow(name: str) -> None:
    """Registers one more function."""
    app.register(lambda: "grown", name=name)


@app.function
def Touch(uri: str) -> None:
    """Tells that a resource has changed."""
    app.updated(uri)


@app.function
def Trace(ctx: Context) -> dict[str, Any]:
    """Tells what came beside the arguments."""
    return {"traceparent": ctx.traceparent, "tenant": ctx.meta.get("example.com/tenant")}


@app.function
async def Work(ctx: Context) -> str:
    """Tells how far it has come, and logs."""
    for done in (1, 1, 0, 2, float("nan"), 3):
        ctx.progress(done, 3, f"step {done}")
    ctx.log.debug("quiet")
    ctx.log.info("loud %s", "words")
    ctx.log.error("louder")
    return "done"


# ---- resources ---------------------------------------------------------------------------------------


@app.resource(
    "notes://index",
    name="index",
    title="All notes",
    description="What there is",
    mime_type="text/markdown",
    size=7,
    annotations=Annotations(audience=("user",), priority=0.5, last_modified="2026-01-01T00:00:00Z"),
    icons=[ICON],
    meta={"example.com/kept": True},
    ttl=1.5,
)
def index() -> str:
    """This is not told: the description given is."""
    return "# Notes"


@app.resource("notes://mine", private=True, ttl=60)
def mine() -> dict[str, int]:
    """Data that becomes JSON."""
    return {"notes": 3}


@app.resource("notes://picture")
def picture() -> bytes:
    """Bytes."""
    return b"\x89PNG\r\n\x1a\n\x00"


@app.resource("notes://many")
async def many() -> list[Contents]:
    """Several things at one address."""
    return [Contents("notes://a", "a"), Contents(blob=b"b", mime_type="x/y")]


@app.resource("notes://broken")
def broken() -> Any:
    """Nothing that can be told."""
    return Contents(uri=5, text="x")  # type: ignore[arg-type]


@app.resource("notes://gone")
def gone() -> str:
    """Nothing any more."""
    raise FunctionError("It was here", status=404)


@app.resource("notes://locked")
def locked() -> str:
    """What can't be read now."""
    raise FunctionError("The key is lost", status=423)


@app.resource("notes://by/{author}/{number}", complete={"author": ["ann", "bob", "anna"]})
def note(author: str, number: int) -> str:
    """A note of somebody's."""
    return f"{author} {number + 1}"


@app.resource("notes://in/{color}{?page,size}")
def colored(color: Color, page: int = 1, size: int = 10) -> str:
    """Notes of one color."""
    return f"{color.value} {page} {size}"


@app.resource("notes://file/{+path}", mime_type="text/plain")
def file(path: str) -> str:
    """A file."""
    return path


# ---- prompts -----------------------------------------------------------------------------------------


def _authors(typed: str, given: Any) -> list[str]:
    return [f"{typed}!", *sorted(given.values())]


async def _later(typed: str, given: Any) -> list[str]:
    await asyncio.sleep(0)
    return [f"{typed}{number}" for number in range(150)]


def _failing(typed: str, given: Any) -> list[str]:
    if typed == "exit":
        raise SystemExit
    if typed == "text":
        return "text"  # type: ignore[return-value]
    if typed == "slow":
        time.sleep(0.01)
    raise LookupError(typed)


@app.prompt(title="Greet somebody", complete={"who": _authors, "how": _later, "why": _failing})
def Greet(  # noqa: D417 - some arguments have no words
    who: str, how: str = "", why: str = "", mood: Literal["glad", "sad"] | None = None
) -> str:
    """Begins with a greeting.

    Args:
        who: Whom to greet
    """
    return f"Say hello to {who}{how}{why} {mood}"


@app.prompt
async def Count(number: int, color: Color = Color.RED, loud: bool = False) -> list[Message | str]:
    """Takes what is not text."""
    return [f"{number + 1} {color.value} {loud}", Message("assistant", Text("I see"))]


@app.prompt
def Show() -> list[Any]:
    """Begins with what there is to see."""
    return [EmbeddedResource(Contents("notes://a", "words"))]


@app.prompt
def Wrong() -> Any:
    """Gives what is no message."""
    return Message("system", Text("obey"))  # type: ignore[arg-type]


if __name__ == "__main__":
    app.run()
