"""What surrounds a call, where the function runs in a process: state, providers, hooks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

import pytest

from kuniumi import App, Context, Provide
from kuniumi.testing import SURFACES, connect


async def get_later() -> str:
    await asyncio.sleep(0)
    return "later"


def get_pid() -> Iterator[int]:
    yield os.getpid()


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_worker_opens_what_the_app_opens_for_itself(surface: str, kind: str) -> None:
    app = App(executor="processes", processes=1)

    if kind == "plain":

        @app.lifespan
        @contextmanager
        def opened() -> Iterator[list[int]]:
            yield [os.getpid()]

    else:

        @app.lifespan
        @asynccontextmanager
        async def opened_later() -> AsyncIterator[list[int]]:
            await asyncio.sleep(0)
            yield [os.getpid()]

    @app.function
    def Count(ctx: Context) -> list[bool | int]:
        ctx.state.append(1)
        return [ctx.state[0] == os.getpid(), len(ctx.state)]

    @app.function
    async def CountLater(ctx: Context) -> list[bool | int]:
        await asyncio.sleep(0)
        return [ctx.state[0] == os.getpid(), len(ctx.state)]

    with connect(app, surface) as door:
        assert door.call("Count").envelope == {"result": [True, 2]}
        assert door.call("Count").envelope == {"result": [True, 3]}
        assert door.call("CountLater").envelope == {"result": [True, 3]}


@pytest.mark.parametrize("surface", SURFACES)
def test_providers_run_where_the_function_runs(surface: str) -> None:
    app = App(executor="processes")

    @app.function
    def Look(
        pid: Annotated[int, Provide(get_pid)], word: Annotated[str, Provide(get_later)]
    ) -> Any:
        return [pid == os.getpid(), word]

    with connect(app, surface) as door:
        assert door.call("Look").envelope == {"result": [True, "later"]}
    with connect(app, surface, provide={get_later: lambda: "instead"}) as door:
        assert door.call("Look").envelope == {"result": [True, "instead"]}


@pytest.mark.parametrize("surface", SURFACES)
def test_hooks_run_once_around_the_call_and_see_its_arguments(surface: str) -> None:
    app = App(executor="processes")
    seen: list[Any] = []

    @app.around
    def note(call: Any) -> Any:
        answer = yield
        seen.append((call.arguments, os.getpid()))
        return answer

    @app.function
    def Double(x: int) -> int:
        return 2 * x

    with connect(app, surface) as door:
        assert door.call("Double", x="4").envelope == {"result": 8}
    assert seen == [({"x": 4}, os.getpid())]
