"""Add in Robyn, on its own server: `robyn_app.py PORT`."""

# mypy: ignore-errors
# Runs in the peers' environment; the project's type checker has no Robyn.

import sys

from robyn import Robyn

app = Robyn(__file__)


@app.post("/add")
async def add(request):
    """Add two integers."""
    body = request.json()
    x, y = body.get("x"), body.get("y")
    if type(x) is not int or type(y) is not int:
        return {"error": "x and y must be integers"}, {}, 400
    return {"result": x + y}


if __name__ == "__main__":
    app.start(host="127.0.0.1", port=int(sys.argv[1]))
