"""The mischievous app inside others, and by itself: for uvicorn to serve."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from tests.http.apps.mischief import app

alone = app.asgi

starlette = Starlette(
    routes=[
        Route("/", lambda _request: PlainTextResponse("outer")),
        Mount("/deep/tools", app=app.asgi),
        Mount("/tenants/{tenant}", app=app.asgi),
    ],
    middleware=[Middleware(GZipMiddleware)],
)

fastapi = FastAPI()
fastapi.mount("/tools", app.asgi)


@fastapi.get("/outer")
async def outer() -> str:
    """Answer beside the mounted app."""
    return "outer"
