"""What an app opens once: on every surface, when, for how long, and what happens when it can't."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kuniumi import App, Context, DefinitionError, StartError
from kuniumi.execute.woven import open_service
from kuniumi.testing import SURFACES, _http_call, connect
from tests.weave.ways import WAYS, Way

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


class _Book:
    """What happened, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def plain(self) -> Iterator[str]:
        self.lines.append("opened")
        yield "the state"
        self.lines.append("closed")

    async def awaiting(self) -> AsyncIterator[str]:
        async with asyncio.timeout(None):  # it belongs to the task that entered it
            self.lines.append("opened")
            yield "the state"
            await asyncio.sleep(0)
            self.lines.append("closed")

    def lifespan(self, kind: str) -> Callable[..., Any]:
        made: dict[str, Callable[..., Any]] = {
            "plain": self.plain,
            "async": self.awaiting,
            "manager": contextmanager(self.plain),
            "async manager": asynccontextmanager(self.awaiting),
        }
        return made[kind]


KINDS = ["plain", "async", "manager", "async manager"]


def _app(lifespan: Callable[..., Any]) -> App:
    app = App()
    app.lifespan(lifespan)

    @app.function
    def State(ctx: Context) -> str:
        return str(ctx.state)

    @app.function
    async def StateAsync(ctx: Context) -> str:
        await asyncio.sleep(0)
        return str(ctx.state)

    @app.function
    def Add(x: int, y: int) -> int:
        return x + y

    return app


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_functions_find_it_open_by_every_way(way: str, kind: str) -> None:
    book = _Book()
    with Way(_app(book.lifespan(kind)), way) as open_way:
        assert book.lines == ["opened"]
        for name in ("State", "StateAsync", "State"):
            assert open_way.call(name) == {"result": "the state"}
        assert book.lines == ["opened"]
    assert book.lines == ["opened", "closed"]


@pytest.mark.parametrize("surface", SURFACES)
def test_each_door_opens_its_own(surface: str) -> None:
    book = _Book()
    app = _app(book.lifespan("plain"))
    for _ in range(2):
        with connect(app, surface) as door:
            assert door.call("State").envelope == {"result": "the state"}
    assert book.lines == ["opened", "closed"] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_in_process_it_is_opened_by_the_first_call_and_closed_by_the_app(kind: str) -> None:
    book = _Book()
    app = _app(book.lifespan(kind))
    assert book.lines == []
    assert app.call("Add", {"x": 1, "y": 2}).body == b'{"result":3}'
    assert book.lines == ["opened"]
    assert app.call("State").body == b'{"result":"the state"}'
    assert app.call("StateAsync").body == b'{"result":"the state"}'
    app.close()
    assert book.lines == ["opened", "closed"]
    app.close()
    assert app.call("StateAsync").body == b'{"result":"the state"}'
    app.close()
    assert book.lines == ["opened", "closed"] * 2


def test_async_calls_are_made_on_the_loop_that_it_was_opened_on() -> None:
    app = App()

    @app.lifespan
    async def loop() -> AsyncIterator[asyncio.AbstractEventLoop]:
        yield asyncio.get_running_loop()

    @app.function
    async def Same(ctx: Context) -> bool:
        return ctx.state is asyncio.get_running_loop()

    for _ in range(2):
        assert app.call("Same").body == b'{"result":true}'
    app.close()


@pytest.mark.parametrize("kind", KINDS)
def test_mounted_where_nobody_passes_the_server_s_life_on_it_is_opened_by_the_first_call(
    kind: str,
) -> None:
    book = _Book()
    app = _app(book.lifespan(kind))

    async def call_many() -> None:
        assert book.lines == []
        replies = await asyncio.gather(
            *(
                _http_call(app.asgi, f"/functions/State{kind_of}", b"", {})
                for kind_of in ("", "Async") * 20
            )
        )
        assert {reply.body for reply in replies} == {b'{"result":"the state"}'}
        assert book.lines == ["opened"]  # once, for all that came at the same time

    for _ in range(2):  # and again, when there is another loop
        book.lines.clear()
        asyncio.run(call_many())
        assert book.lines == ["opened", "closed"]  # it ends with the loop


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_call_from_within_a_call_finds_what_the_server_has_opened(kind: str) -> None:
    book = _Book()
    app = _app(book.lifespan(kind))

    @app.function
    def Outer() -> str:
        return app.call("StateAsync").body.decode()

    reply = asyncio.run(_http_call(app.asgi, "/functions/Outer", b"", {}))
    assert reply.envelope == {"result": '{"result":"the state"}'}
    assert book.lines == ["opened", "closed"]


def test_a_server_opens_it_before_it_begins_and_closes_it_at_its_end() -> None:
    book = _Book()
    app = _app(book.lifespan("async"))
    said: list[Any] = []

    async def live() -> None:
        inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        outbox: asyncio.Queue[Any] = asyncio.Queue()
        living = asyncio.create_task(app.asgi({"type": "lifespan"}, inbox.get, outbox.put))
        await inbox.put({"type": "lifespan.startup"})
        said.append(await outbox.get())
        assert book.lines == ["opened"]
        reply = await _http_call(app.asgi, "/functions/StateAsync", b"", {})
        assert reply.body == b'{"result":"the state"}'
        await inbox.put({"type": "lifespan.shutdown"})
        said.append(await outbox.get())
        assert book.lines == ["opened", "closed"]
        await living

    asyncio.run(live())
    assert said == [{"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}]


def test_a_server_is_told_that_it_can_t_be_opened() -> None:
    app = _app(_refuses)

    async def live() -> Any:
        outbox: asyncio.Queue[Any] = asyncio.Queue()

        async def receive() -> dict[str, str]:
            return {"type": "lifespan.startup"}

        await app.asgi({"type": "lifespan"}, receive, outbox.put)
        return outbox.get_nowait()

    assert asyncio.run(live()) == {
        "type": "lifespan.startup.failed",
        "message": "lifespan '_refuses' failed to start: ConnectionError: nobody listens there",
    }


# ---- failures ----------------------------------------------------------------------------------------


def _refuses() -> Iterator[None]:
    msg = "nobody listens there"
    raise ConnectionError(msg)
    yield


async def _refuses_async() -> AsyncIterator[None]:
    msg = "nobody listens there"
    raise ConnectionError(msg)
    yield


def _exits() -> Iterator[None]:
    msg = "nobody listens there"
    raise SystemExit(msg)
    yield


async def _exits_async() -> AsyncIterator[None]:
    msg = "nobody listens there"
    raise SystemExit(msg)
    yield


@pytest.mark.parametrize("lifespan", [_refuses, _refuses_async, _exits, _exits_async])
@pytest.mark.parametrize("surface", SURFACES)
def test_a_failure_to_open_is_told_whoever_calls(
    surface: str, lifespan: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    door = connect(_app(lifespan), surface)
    for _ in range(2):  # and it is tried again
        reply = door.call("Add", x=1, y=2)
        assert reply.failed
        said = reply.envelope["error"]
        assert said.startswith(f"StartError: lifespan {lifespan.__name__!r} failed to start: ")
        assert said.endswith("Error: nobody listens there") or "SystemExit" in said
    door.close()
    assert "nobody listens there" in caplog.text
    assert "Task exception was never retrieved" not in caplog.text


def test_a_door_that_can_t_be_opened_says_so() -> None:
    for surface in SURFACES:
        door = connect(_app(_refuses), surface)
        with pytest.raises(StartError, match="nobody listens there"):
            door.__enter__()
        door.close()


def test_the_next_call_tries_again() -> None:
    tries = 0

    def opens_at_last() -> Iterator[str]:
        nonlocal tries
        tries += 1
        if tries == 1:
            msg = "not yet"
            raise ConnectionError(msg)
        yield "the state"

    app = _app(opens_at_last)
    assert b"not yet" in app.call("State").body
    assert app.call("State").body == b'{"result":"the state"}'
    app.close()


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_failure_to_close_is_logged(
    surface: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    def leaks() -> Iterator[int]:
        yield 1
        msg = "there is a leak"
        raise OSError(msg)

    async def leaks_async() -> AsyncIterator[int]:
        yield 1
        msg = "there is a leak"
        raise OSError(msg)

    app = _app(leaks if kind == "plain" else leaks_async)
    with connect(app, surface) as door:
        assert door.call("State").envelope == {"result": "1"}
    assert "failed to close" in caplog.text
    assert "there is a leak" in caplog.text


@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("surface", ["in-process", "http"])
def test_a_call_waits_for_it_no_longer_than_it_may(surface: str, kind: str) -> None:
    go_on = threading.Event()

    def slow() -> Iterator[str]:
        go_on.wait(30)
        yield "the state"

    async def slow_async() -> AsyncIterator[str]:
        await asyncio.to_thread(go_on.wait, 30)
        yield "the state"

    app = App(timeout=0.2)
    app.lifespan(slow if kind == "plain" else slow_async)

    @app.function
    def State(ctx: Context) -> str:
        return str(ctx.state)

    door = connect(app, surface)
    assert door.call("State").envelope == {"error": "Timed out after 0.2 seconds"}
    go_on.set()
    for _ in range(100):
        reply = door.call("State")
        if not reply.failed:
            break
    assert reply.envelope == {"result": "the state"}
    door.close()


def test_a_caller_that_goes_away_takes_no_other_s_opening_with_it() -> None:
    app = App()
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.lifespan
    async def slow() -> AsyncIterator[str]:
        begun.set()
        await go_on.wait()
        yield "the state"

    @app.function
    def State(ctx: Context) -> str:
        return str(ctx.state)

    async def run() -> None:
        first = asyncio.create_task(_http_call(app.asgi, "/functions/State", b"", {}))
        await begun.wait()
        second = asyncio.create_task(_http_call(app.asgi, "/functions/State", b"", {}))
        await asyncio.sleep(0)
        first.cancel()
        go_on.set()
        assert (await second).envelope == {"result": "the state"}

    asyncio.run(run())


# ---- what it is given, and what it must be -----------------------------------------------------------


def test_it_may_take_the_environment() -> None:
    app = App(env={"DATABASE": "here"})

    @app.lifespan
    def database(env: Any) -> Iterator[str]:
        yield env.getenv("DATABASE")

    @app.function
    def State(ctx: Context) -> str:
        return str(ctx.state)

    for surface in SURFACES:
        with connect(app, surface) as door:
            assert door.call("State").envelope == {"result": "here"}


def test_a_lifespan_yields() -> None:
    def forgets() -> int:
        return 1

    async def awaits() -> int:
        return 1

    for wrong in (forgets, awaits, 5, None):
        with pytest.raises(DefinitionError, match="write `yield state` where the calls are made"):
            App().lifespan(wrong)  # type: ignore[type-var]


def test_a_lifespan_takes_at_most_the_environment() -> None:
    def greedy(app: object, env: object) -> Iterator[None]:
        yield

    with pytest.raises(DefinitionError, match=r"'greedy' takes 2 parameters.*def greedy\(env\)"):
        App().lifespan(greedy)


def test_there_is_one_lifespan() -> None:
    app = _app(_refuses)
    with pytest.raises(DefinitionError, match="has one already, '_refuses': open both in one"):
        app.lifespan(_refuses_async)


def test_a_process_of_its_own_opens_its_own() -> None:
    book = _Book()
    app = _app(book.lifespan("plain"))
    app.call("State")
    weave = app.service.weave
    assert weave is not None
    fresh = weave.afresh()  # as a worker has it
    assert fresh.life is not None
    assert not fresh.life.is_open
    assert weave.state == "the state"
    app.close()


def test_nothing_is_left_when_a_server_s_opening_is_broken_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    app = App()

    @app.lifespan
    async def slow() -> AsyncIterator[None]:
        await asyncio.sleep(60)
        yield

    async def run() -> None:
        opening = asyncio.create_task(open_service(app.service))
        await asyncio.sleep(0.01)
        opening.cancel()
        await app.asgi.close()

    asyncio.run(run())
    gc.collect()
    assert caplog.text == ""
