"""The talkative app inside others, and by itself: for uvicorn to serve."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from tests.mcp.apps.chatty import app

alone = app.asgi

starlette = Starlette(
    routes=[Mount("/deep/tools", app=app.asgi)], middleware=[Middleware(GZipMiddleware)]
)

fastapi = FastAPI()
fastapi.mount("/tools", app.asgi)


class _Passing(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await call_next(request)


wrapped = Starlette(routes=[Mount("/", app=app.asgi)], middleware=[Middleware(_Passing)])
