"""Add in FastAPI: a pydantic model in, a pydantic model out."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no FastAPI.

from fastapi import FastAPI
from pydantic import BaseModel


class Pair(BaseModel):
    """The arguments."""

    x: int
    y: int


class Sum(BaseModel):
    """The answer."""

    result: int


app = FastAPI()


@app.post("/add")
async def add(pair: Pair) -> Sum:
    """Add two integers."""
    return Sum(result=pair.x + pair.y)
