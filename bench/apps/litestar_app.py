"""Add in Litestar: a msgspec Struct in, a msgspec Struct out."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no Litestar.

from litestar import Litestar, post
from msgspec import Struct


class Pair(Struct):
    """The arguments."""

    x: int
    y: int


class Sum(Struct):
    """The answer."""

    result: int


@post("/add", status_code=200)
async def add(data: Pair) -> Sum:
    """Add two integers."""
    return Sum(data.x + data.y)


app = Litestar([add])
