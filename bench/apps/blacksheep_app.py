"""Add in BlackSheep: a pydantic model bound from the JSON body."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no BlackSheep.

from blacksheep import Application, FromJSON, json, post
from pydantic import BaseModel


class Pair(BaseModel):
    """The arguments."""

    x: int
    y: int


app = Application()


@post("/add")
async def add(pair: FromJSON[Pair]):
    """Add two integers."""
    return json({"result": pair.value.x + pair.value.y})
