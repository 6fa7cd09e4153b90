"""The pool, mounted in apps that do not pass the server's life on."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Mount

from tests.weave.apps.pool import app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def _life(_outer: Starlette) -> AsyncIterator[None]:
    yield
    await app.asgi.close()


outer = Starlette(routes=[Mount("/tools", app.asgi)])
closing = Starlette(routes=[Mount("/tools", app.asgi)], lifespan=_life)
