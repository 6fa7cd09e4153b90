"""Add in Starlette: the body as a dict, checked by hand."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no Starlette.

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def add(request):
    """Add two integers."""
    body = await request.json()
    x, y = body.get("x"), body.get("y")
    if type(x) is not int or type(y) is not int:
        return JSONResponse({"error": "x and y must be integers"}, status_code=400)
    return JSONResponse({"result": x + y})


app = Starlette(routes=[Route("/add", add, methods=["POST"])])
