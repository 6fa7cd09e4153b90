"""A FastAPI application, which knows nothing of tools; and a FastMCP server beside it."""

from typing import Annotated, Any

from fastapi import Cookie, FastAPI, Header, HTTPException, Query
from pydantic import BaseModel

app = FastAPI(title="Shop")


class Address(BaseModel):
    street: str
    number: int = 1


class Order(BaseModel):
    """What is ordered."""

    item: str
    count: int = 1
    to: Address | None = None
    parts: list["Order"] = []


@app.get("/items/{name}/of/{owner}", operation_id="findItem")
def find_item(
    name: str,
    owner: str,
    tags: Annotated[list[str] | None, Query()] = None,
    x_trace: Annotated[str, Header()] = "",
    session: Annotated[str, Cookie()] = "",
) -> dict[str, Any]:
    """Finds an item."""
    return {"name": name, "owner": owner, "tags": tags, "trace": x_trace, "session": session}


@app.post("/orders", operation_id="order")
def order(order: Order) -> Order:
    """Orders something."""
    return order


@app.put("/orders/{number}", operation_id="change")
def change(number: int, items: list[int]) -> list[int]:
    return [number, *items]


@app.delete("/orders/{number}", operation_id="cancel")
def cancel(number: int) -> None:
    raise HTTPException(404, f"There is no order {number}")
