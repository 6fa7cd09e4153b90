"""A FastAPI application, which knows nothing of tools; its document is there in YAML, too."""

from typing import Annotated, Any

import yaml
from fastapi import Cookie, FastAPI, Header, HTTPException, Query, Request, Response
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


@app.get("/seen/{header}", operation_id="seen")
def seen(header: str, request: Request) -> str:
    """Gives a header of the request itself."""
    return request.headers.get(header, "")


def in_yaml(media_type: str) -> Response:
    """Gives the document as its author would have written it, with keys that are numbers to YAML."""
    document = app.openapi()
    document["info"]["x-released"] = "2024-01-01"
    written = yaml.safe_dump(document, sort_keys=False).replace("'200':", "200:")
    return Response(written.replace("'2024-01-01'", "2024-01-01"), media_type=media_type)


@app.get("/openapi.yaml", include_in_schema=False)
def as_bytes() -> Response:
    return in_yaml("application/octet-stream")


@app.get("/described", include_in_schema=False)
def as_yaml() -> Response:
    return in_yaml("application/yaml; charset=utf-8")


@app.get("/raw", include_in_schema=False)
def as_text() -> Response:
    return in_yaml("text/plain")


@app.get("/bomb.yaml", include_in_schema=False)
def bomb() -> Response:
    lines = ["openapi: 3.1.0", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return Response("\n".join(lines), media_type="application/yaml")
