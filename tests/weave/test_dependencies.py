"""Parameters that providers fill in: on every surface, once per call, cleaned up however it ends."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Annotated, Any

import pytest

from kuniumi import App, Context, DefinitionError, FunctionError, Provide
from kuniumi.testing import SURFACES, _http_call, connect
from kuniumi.wire.openapi import openapi
from tests.weave.ways import WAYS, Way

_BOOK: list[str] = []


@pytest.fixture(autouse=True)
def book() -> list[str]:
    """Give what the providers below note, empty at first."""
    _BOOK.clear()
    return _BOOK


class Thing:
    """Something a provider gives."""

    def __init__(self, name: str = "thing") -> None:
        self.name = name


def plain() -> str:
    """Give a value."""
    _BOOK.append("plain")
    return "plain"


async def awaiting() -> str:
    """Give a value after a wait."""
    await asyncio.sleep(0)
    _BOOK.append("awaiting")
    return "awaiting"


def cleaning() -> Iterator[str]:
    """Give a value, and clean up."""
    _BOOK.append("+cleaning")
    try:
        yield "cleaning"
    finally:
        _BOOK.append("-cleaning")


async def cleaning_async() -> AsyncIterator[str]:
    """Do the same on the loop, in one task."""
    async with asyncio.timeout(None):
        _BOOK.append("+cleaning")
        try:
            yield "cleaning_async"
        finally:
            await asyncio.sleep(0)
            _BOOK.append("-cleaning")


managed = contextmanager(cleaning)
managed_async = asynccontextmanager(cleaning_async)

PROVIDERS = [plain, awaiting, cleaning, cleaning_async, managed, managed_async]
CLEANING = [cleaning, cleaning_async, managed, managed_async]


def _app(provider: Callable[..., Any]) -> App:
    app = App()

    @app.function
    def Plain(x: int, given: Annotated[str, Provide(provider)], y: int = 2) -> str:
        return f"{given} {x} {y}"

    @app.function
    async def Async(x: int, *, given: Annotated[str, Provide(provider)], y: int = 2) -> str:
        await asyncio.sleep(0)
        return f"{given} {x} {y}"

    @app.function
    def Stream(given: Annotated[str, Provide(provider)], to: int) -> Iterator[str]:
        for x in range(to):
            _BOOK.append(f"item {x}")
            yield f"{given} {x}"

    @app.function
    async def StreamAsync(given: Annotated[str, Provide(provider)], to: int) -> AsyncIterator[str]:
        for x in range(to):
            await asyncio.sleep(0)
            _BOOK.append(f"item {x}")
            yield f"{given} {x}"

    @app.function
    def Fails(given: Annotated[str, Provide(provider)]) -> str:
        msg = f"{given} is not enough"
        raise FunctionError(msg, status=409)

    @app.function
    async def FailsAsync(given: Annotated[str, Provide(provider)]) -> str:
        await asyncio.sleep(0)
        msg = f"{given} is not enough"
        raise FunctionError(msg, status=409)

    return app


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_functions_get_what_providers_give_by_every_way(
    way: str, provider: Callable[..., Any], book: list[str]
) -> None:
    name = provider.__name__
    with Way(_app(provider), way) as open_way:
        assert open_way.call("Plain", {"x": 1}) == {"result": f"{name} 1 2"}
        assert open_way.call("Async", {"x": 1, "y": "3"}) == {"result": f"{name} 1 3"}
        for stream in ("Stream", "StreamAsync"):
            book.clear()
            assert open_way.call(stream, {"to": 2}) == {"result": [f"{name} 0", f"{name} 1"]}
            if provider in CLEANING:
                assert book == ["+cleaning", "item 0", "item 1", "-cleaning"]
        for failing in ("Fails", "FailsAsync"):
            book.clear()
            assert open_way.call(failing) == {"error": f"{name} is not enough"}
            if provider in CLEANING:
                assert book == ["+cleaning", "-cleaning"]


def test_an_inline_function_has_its_plain_providers() -> None:
    app = App()

    @app.function(inline=True)
    def Inline(given: Annotated[str, Provide(cleaning)]) -> str:
        return given

    for surface in SURFACES:
        with connect(app, surface) as door:
            assert door.call("Inline").envelope == {"result": "cleaning"}


def test_no_caller_sees_them_or_can_give_them() -> None:
    app = _app(plain)
    assert "given" not in str(openapi(app.service))
    answer = app.call("Plain", {"x": 1, "given": "mine"})
    assert answer.fault is not None
    assert b"given" in answer.body


def test_a_default_is_for_those_who_call_the_function_itself() -> None:
    app = App()

    @app.function
    def Look(given: Annotated[str, Provide(plain)] = "by hand") -> str:
        return given

    assert Look() == "by hand"
    assert app.call("Look").body == b'{"result":"plain"}'


def test_the_union_with_none_is_provided_too() -> None:
    app = App()

    @app.function
    def Look(given: Annotated[Thing, Provide(Thing)] | None = None) -> bool:
        return given is not None

    assert app.call("Look").body == b'{"result":true}'


# ---- providers that depend on others -----------------------------------------------------------------


def _settings(ctx: Context, suffix: str = "!") -> str:
    _BOOK.append("settings")
    return ctx.env.getenv("STAGE") + suffix


def _left(settings: Annotated[str, Provide(_settings)]) -> Iterator[str]:
    _BOOK.append("+left")
    yield f"left of {settings}"
    _BOOK.append("-left")


async def _right(
    *, settings: Annotated[str, Provide(_settings)], left: Annotated[str, Provide(_left)]
) -> AsyncIterator[str]:
    _BOOK.append("+right")
    yield f"right of {settings} and {left}"
    _BOOK.append("-right")


@pytest.mark.parametrize("way", WAYS)
def test_each_is_asked_once_a_call_and_ended_in_reverse(way: str, book: list[str]) -> None:
    app = App(env={"STAGE": "test"})

    @app.lifespan
    def open_it() -> Iterator[str]:
        yield "the state"

    def look(
        right: Annotated[str, Provide(_right)],
        ctx: Context,
        left: Annotated[str, Provide(_left)],
        again: Annotated[str, Provide(_settings)],
    ) -> list[str]:
        _BOOK.append("called")
        return [left, right, again, ctx.state]

    async def look_async(right: Annotated[str, Provide(_right)]) -> str:
        _BOOK.append("called")
        return right

    app.register(look, name="Look")
    app.register(look_async, name="LookAsync")
    with Way(app, way) as open_way:
        for _ in range(2):
            book.clear()
            left = "left of test!"
            assert open_way.call("Look") == {
                "result": [left, f"right of test! and {left}", "test!", "the state"]
            }
            assert book == ["settings", "+left", "+right", "called", "-right", "-left"]
        assert open_way.call("LookAsync") == {"result": f"right of test! and {left}"}


def test_one_may_depend_on_the_state() -> None:
    app = App()

    @app.lifespan
    async def open_it() -> AsyncIterator[dict[str, Thing]]:
        yield {"pool": Thing("pool")}

    def pool(ctx: Context) -> Thing:
        return ctx.state["pool"]  # type: ignore[no-any-return]

    @app.function
    def Name(pool: Annotated[Thing, Provide(pool)]) -> str:
        return pool.name

    for surface in SURFACES:
        with connect(app, surface) as door:
            assert door.call("Name").envelope == {"result": "pool"}


class _Repository:
    def __init__(self, name: Annotated[str, Provide(plain)]) -> None:
        self.name = name


class _Derived(_Repository):
    """It has no `__init__` of its own."""


class _Maker:
    def __call__(self) -> str:
        return "made"

    def method(self) -> str:
        return "by a method"


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (_Repository, "plain"),
        (_Derived, "plain"),
        (Thing, "thing"),
        (_Maker(), "made"),
        (_Maker().method, "by a method"),
        (lambda: "by a lambda", "by a lambda"),
        (partial(Thing, "partly"), "partly"),
    ],
    ids=["class", "derived", "class without parameters", "object", "method", "lambda", "partial"],
)
def test_whatever_can_be_called_is_a_provider(provider: Any, expected: str) -> None:
    app = App()

    @app.function
    def Name(given: Annotated[Any, Provide(provider)]) -> str:
        return given if isinstance(given, str) else given.name

    assert app.call("Name").body == b'{"result":"%b"}' % expected.encode()


# ---- where they run ----------------------------------------------------------------------------------


def test_a_plain_function_s_providers_run_in_its_thread_and_context() -> None:
    app = App()
    mark = contextvars.ContextVar("mark", default="none")

    def provider() -> Iterator[int]:
        mark.set("set")
        yield threading.get_ident()
        _BOOK.append(str(threading.get_ident()))

    @app.function
    def Where(
        thread: Annotated[int, Provide(provider)], also: Annotated[str, Provide(awaiting)]
    ) -> list[Any]:
        assert also == "awaiting"
        return [thread == threading.get_ident(), thread, mark.get()]

    with connect(app, "http") as door:
        same, thread, marked = door.call("Where").envelope["result"]
    assert same
    assert marked == "set"
    assert str(thread) in _BOOK
    assert mark.get() == "none"


def test_an_async_function_s_providers_run_on_its_loop() -> None:
    app = App()

    def loop() -> Iterator[asyncio.AbstractEventLoop]:
        yield asyncio.get_running_loop()

    @app.function
    async def Same(given: Annotated[Any, Provide(loop)]) -> bool:
        return given is asyncio.get_running_loop()

    for surface in SURFACES:
        with connect(app, surface) as door:
            assert door.call("Same").envelope == {"result": True}


# ---- failures ----------------------------------------------------------------------------------------


def _translating() -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        msg = f"there is no {error}"
        raise FunctionError(msg, status=404) from error


async def _translating_async() -> AsyncIterator[None]:
    try:
        yield
    except KeyError as error:
        await asyncio.sleep(0)
        msg = f"there is no {error}"
        raise FunctionError(msg, status=404) from error


def _swallowing() -> Iterator[None]:
    try:
        yield
    except KeyError:
        return


def _failing_to_commit() -> Iterator[None]:
    yield
    msg = "could not commit"
    raise FunctionError(msg, status=503)


def _failing() -> None:
    msg = "no connection"
    raise FunctionError(msg, status=503)


async def _failing_async() -> None:
    msg = "no connection"
    raise FunctionError(msg, status=503)


@pytest.mark.parametrize(
    ("provider", "raises", "error"),
    [
        (_translating, True, "there is no 'key'"),
        (_translating_async, True, "there is no 'key'"),
        (_swallowing, True, "KeyError: 'key'"),
        (_failing_to_commit, False, "could not commit"),
        (_failing_to_commit, True, "KeyError: 'key'"),
        (_failing, False, "no connection"),
        (_failing_async, False, "no connection"),
    ],
)
@pytest.mark.parametrize("surface", SURFACES)
def test_a_failure_is_told_whoever_fails(
    surface: str, provider: Callable[..., Any], error: str, *, raises: bool
) -> None:
    app = App()

    def look(given: Annotated[None, Provide(provider)]) -> str:
        if raises:
            raise KeyError("key")
        return "well"

    async def look_async(given: Annotated[None, Provide(provider)]) -> str:
        return look(given)

    app.register(look, name="Look")
    app.register(look_async, name="LookAsync")
    with connect(app, surface) as door:
        for name in ("Look", "LookAsync"):
            assert door.call(name).envelope == {"error": error}


def test_those_before_a_failing_one_are_ended(book: list[str]) -> None:
    app = App()

    def look(
        given: Annotated[str, Provide(cleaning)], never: Annotated[None, Provide(_failing)]
    ) -> str:
        return f"{given} {never}"

    async def look_async(
        given: Annotated[str, Provide(cleaning_async)], never: Annotated[None, Provide(_failing)]
    ) -> str:
        return f"{given} {never}"

    for function in (look, look_async):
        app.register(function)
        book.clear()
        assert app.call(function.__name__).body == b'{"error":"no connection"}'
        assert book == ["+cleaning", "-cleaning"]


@pytest.mark.parametrize("provider", CLEANING, ids=lambda provider: provider.__name__)
@pytest.mark.parametrize("surface", SURFACES)
def test_they_are_ended_when_time_is_up(
    surface: str, provider: Callable[..., Any], book: list[str]
) -> None:
    app = App(timeout=0.25)

    @app.function
    def Sleep(given: Annotated[str, Provide(provider)]) -> str:
        for _ in range(3000):  # an interruption comes between two steps
            time.sleep(0.01)
        return given

    @app.function
    async def Wait(given: Annotated[str, Provide(provider)]) -> str:
        await asyncio.sleep(30)
        return given

    with connect(app, surface) as door:
        for name in ("Sleep", "Wait"):
            book.clear()
            assert door.call(name).envelope == {"error": "Timed out after 0.25 seconds"}
            _eventually(lambda: book == ["+cleaning", "-cleaning"])


@pytest.mark.parametrize("provider", CLEANING, ids=lambda provider: provider.__name__)
def test_they_are_ended_when_the_caller_goes_away(
    provider: Callable[..., Any], book: list[str]
) -> None:
    app = App()
    begun = threading.Event()

    @app.function
    async def Wait(given: Annotated[str, Provide(provider)]) -> str:
        begun.set()
        await asyncio.sleep(30)
        return given

    @app.function
    def Poll(given: Annotated[str, Provide(provider)], ctx: Context) -> str:
        begun.set()
        while not ctx.cancelled:
            time.sleep(0.01)
        return given

    async def call(name: str) -> None:
        gone = asyncio.Event()
        asked = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if asked:
                return asked.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(_message: Any) -> None:
            return

        path = f"/functions/{name}"
        scope = {"type": "http", "method": "POST", "path": path, "headers": []}
        calling = asyncio.create_task(app.asgi(scope, receive, send))
        await asyncio.to_thread(begun.wait)
        gone.set()
        await calling
        await asyncio.to_thread(_eventually, lambda: book == ["+cleaning", "-cleaning"])

    for name in ("Wait", "Poll"):
        book.clear()
        begun.clear()
        asyncio.run(call(name))


def test_many_calls_at_once_have_each_its_own() -> None:
    app = App()
    alive: set[int] = set()

    async def own() -> AsyncIterator[Thing]:
        thing = Thing()
        alive.add(id(thing))
        yield thing
        alive.discard(id(thing))

    @app.function
    def Plain(x: int, thing: Annotated[Thing, Provide(own)]) -> int:
        assert id(thing) in alive
        return x

    @app.function
    async def Async(x: int, thing: Annotated[Thing, Provide(own)]) -> int:
        await asyncio.sleep(0)
        assert id(thing) in alive
        return x

    async def call_all() -> list[Any]:
        return await asyncio.gather(
            *(
                _http_call(app.asgi, f"/functions/{['Plain', 'Async'][x % 2]}", b'{"x":%d}' % x, {})
                for x in range(500)
            )
        )

    replies = asyncio.run(call_all())
    assert [reply.envelope for reply in replies] == [{"result": x} for x in range(500)]
    assert alive == set()


def _eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until, _BOOK
        time.sleep(0.005)


# ---- in tests ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_test_may_have_others_take_their_places(way: str, book: list[str]) -> None:
    app = App(env={"STAGE": "real"})

    async def fake_settings() -> str:
        return "fake"

    @app.function
    def Look(left: Annotated[str, Provide(_left)]) -> str:
        return left

    with Way(app, way, provide={_settings: fake_settings}) as open_way:
        assert open_way.call("Look") == {"result": "left of fake"}
        assert "settings" not in book
    with Way(app, way) as open_way:
        assert open_way.call("Look") == {"result": "left of real!"}


# ---- definitions -------------------------------------------------------------------------------------


def _first(second: Annotated[str, Provide(plain)]) -> str:
    return second


def _second(first: Annotated[str, Provide(_first)]) -> str:
    return first


_first.__annotations__["second"] = Annotated[str, Provide(_second)]


def _wants(url: str) -> str:
    return url


def _wants_more(wanted: Annotated[str, Provide(_wants)]) -> str:
    return wanted


def _takes_all(*args: str) -> str:
    return str(args)


@pytest.mark.parametrize(
    ("provide", "options", "said"),
    [
        (Provide(5), {}, r"parameter 'x' of function 'f': Provide\(5\) has nothing to call"),  # type: ignore[arg-type]
        (Provide, {}, r"parameter 'x' of function 'f': Provide\(None\) .* write Provide\(get_it\)"),
        (
            Provide(_first),
            {},
            r"parameter 'x' of function 'f'.* depend on each other \(_first → _second → _first\)",
        ),
        (
            Provide(_wants),
            {},
            r"parameter 'x' of function 'f': nobody gives its provider '_wants' .*'url': give it a",
        ),
        (
            Provide(_wants_more),
            {},
            r"parameter 'wanted' of its provider '_wants_more': nobody gives its provider '_wants'",
        ),
        (
            Provide(_takes_all),
            {},
            r"parameter 'x' of function 'f': provider '_takes_all': '\*args'",
        ),
        (
            Provide(awaiting),
            {"inline": True},
            r"function 'f': inline=True .* async provider 'awaiting': leave inline=True out",
        ),
    ],
)
def test_a_mistake_is_told_when_the_function_is_registered(
    provide: Any, options: dict[str, Any], said: str
) -> None:
    def f(x: Annotated[str, provide]) -> str:
        return x

    with pytest.raises(DefinitionError, match=said):
        App().register(f, **options)


def test_resources_and_prompts_have_providers_too() -> None:
    app = App()

    @app.resource("notes://{name}")
    def Note(name: str, given: Annotated[str, Provide(plain)]) -> str:
        return f"{name} {given}"

    @app.prompt
    def Begin(topic: str, given: Annotated[str, Provide(plain)]) -> str:
        return f"{topic} {given}"

    assert [p.name for p in app.service.registry.prompts["Begin"].operation.parameters] == ["topic"]
    with connect(app, "http", provide={plain: lambda: "another"}) as door:
        assert list(door.service.registry.resources) == ["notes://{name}"]
        operation = door.service.registry.prompts["Begin"].operation
        args, _ = operation.bind(operation.decode(b'{"topic":"t"}'), None)
        assert operation.run(*args) == "t another"
