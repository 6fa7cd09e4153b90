"""Functions that ask their caller."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from kuniumi import App, CannotAskError, Context, DeclinedError, Message, Text

app = App(name="Questions", version="1.0.0")
began = 0


@dataclass
class Address:
    """Where somebody lives."""

    street: str
    number: Annotated[int, Meta(ge=1)]
    kind: Literal["home", "work"] = "home"
    stars: float | None = None
    mail: bool = True
    tags: list[Literal["a", "b"]] = field(default_factory=list)


@dataclass
class Deep:
    """More than a form can ask for."""

    address: Address


@dataclass
class Exact:
    """Fields with more rules than a form has words for."""

    code: Annotated[str, Meta(pattern="^[A-Z]+$", max_length=5)]
    share: Annotated[float, Meta(gt=0, le=1)]
    count: Annotated[int, Meta(gt=0)]


KINDS: dict[str, Any] = {
    "str": str,
    "int": int,
    "bool": bool,
    "choice": Literal["red", "blue"],
    "address": Address,
    "deep": Deep,
    "exact": Exact,
    "choices": list[Literal["a", "b"]],
    "list": list[str],
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
}


@app.function
async def Ask(kind: str, ctx: Context) -> str:
    """Asks for a value of a kind."""
    return repr(await ctx.ask("Please?", KINDS[kind]))


@app.function
async def Twice(ctx: Context) -> dict[str, Any]:
    """Asks one thing after another."""
    global began  # noqa: PLW0603 - it counts how often it was begun
    began += 1
    name = await ctx.ask("Name?")
    age = await ctx.ask(f"Age of {name}?", int)
    return {"name": name, "age": age}


@app.function
async def Both(ctx: Context) -> list[str]:
    """Asks two things side by side."""
    return list(await asyncio.gather(ctx.ask("One?", key="one"), ctx.ask("Two?", key="two")))


@app.function
async def Declined(ctx: Context) -> str:
    """Does without an answer."""
    try:
        return str(await ctx.ask("May I?", bool))
    except DeclinedError as declined:
        return f"{declined.action}: {declined}"


@app.function
async def Optional(ctx: Context) -> str:
    """Does without anybody to ask."""
    try:
        return str(await ctx.ask("Who is there?"))
    except CannotAskError:
        return "nobody"


@app.function
async def Visit(ctx: Context) -> str:
    """Has a page opened."""
    await ctx.visit("Please sign in", "https://example.com/in")
    return "signed in"


@app.function
async def Lost(ctx: Context) -> None:
    """Has something opened that is no page."""
    await ctx.visit("Please sign in", "javascript:alert(1)")


@app.function
async def Impatient(ctx: Context) -> str:
    """Waits for an answer, but not for long."""
    try:
        return await asyncio.wait_for(ctx.ask("Are you quick?"), 0.2)
    except TimeoutError:
        return "too late"


@app.function
async def Sample(ctx: Context) -> str:
    """Has the caller's model go on."""
    reply = await ctx.sample(
        ["Hello", Message("assistant", Text("Hello!")), "How are you?"],
        max_tokens=50,
        system="Be brief",
        temperature=0.0,
        stop=["\n"],
        models=["small"],
    )
    return f"{reply.text} ({reply.model}, {reply.stop_reason})"


@app.function
async def Roots(ctx: Context) -> list[str]:
    """Lists the caller's folders."""
    return [f"{root.name}={root.uri}" for root in await ctx.roots()]


if __name__ == "__main__":
    app.run()
