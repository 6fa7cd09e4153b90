"""The hooks that come with the house: a limit on how often, and answers that are remembered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi import (
    App,
    Cache,
    Calling,
    Context,
    DefinitionError,
    FunctionError,
    Provide,
    limit_rate,
)
from kuniumi.core.cache import remember
from kuniumi.testing import SURFACES, connect
from tests.weave.ways import WAYS, Way

if TYPE_CHECKING:
    from collections.abc import Callable


class _Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


# ---- how often ---------------------------------------------------------------------------------------


def _limited(*args: Any, **options: Any) -> App:
    app = App()

    @app.function
    def Hello(name: str = "") -> str:
        return f"Hello, {name}!"

    @app.function
    async def Other() -> str:
        return "other"

    app.around(limit_rate(*args, **options))
    return app


@pytest.mark.parametrize("way", WAYS)
def test_a_call_too_many_is_refused_by_every_way(way: str) -> None:
    clock = _Clock()
    app = _limited(2, per=10, clock=clock)
    with Way(app, way) as open_way:
        assert open_way.call("Hello") == {"result": "Hello, !"}
        assert open_way.call("Hello") == {"result": "Hello, !"}
        assert open_way.call("Hello") == {"error": "Too many calls: try again in 5 seconds"}
        assert open_way.call("Other") == {"result": "other"}  # each function by itself
        clock.now += 4.5
        assert open_way.call("Hello") == {"error": "Too many calls: try again in 1 second"}
        clock.now += 0.5
        assert open_way.call("Hello") == {"result": "Hello, !"}


def test_over_http_the_status_is_429_with_retry_after() -> None:
    for surface in ("http", "cgi"):
        app = _limited(1, per=10, clock=_Clock())
        with connect(app, surface) as door:
            assert door.call("Hello").status == 200
            reply = door.call("Hello")
            assert (reply.status, reply.headers["retry-after"]) == (429, "10")


def test_a_key_counts_by_itself_and_none_is_not_counted() -> None:
    def name(call: Calling) -> str | None:
        return str(call.arguments["name"]) or None

    app = _limited(1, per=10, key=name, clock=_Clock())
    for who, refused in (("a", False), ("b", False), ("a", True), ("", False), ("", False)):
        assert (app.call("Hello", {"name": who}).fault is not None) is refused


def test_no_more_keys_are_kept_than_told() -> None:
    clock = _Clock()
    app = _limited(
        1, per=10, key=lambda call: str(call.arguments["name"]), most_keys=2, clock=clock
    )
    names = ["a", "b", "b", "c", "a", "c"]  # "a" is forgotten, since it was seen longest ago
    refused = [app.call("Hello", {"name": name}).fault is not None for name in names]
    assert refused == [False, False, True, False, False, True]


def _refused_for(hook: Any) -> float:
    try:
        next(hook(None))
    except FunctionError as error:
        return error.retry_after
    return 0


@given(
    calls=st.integers(1, 5),
    per=st.sampled_from([0.1, 1, 7, 60]),
    steps=st.lists(st.floats(0, 30), max_size=60),
)
@settings(max_examples=200, deadline=None)
def test_in_no_span_of_time_does_more_pass_than_twice_the_limit_nor_less_than_it_could(
    calls: int, per: float, steps: list[float]
) -> None:
    clock = _Clock()
    hook = limit_rate(calls, per=per, key=lambda _call: "one", clock=clock)
    passed: list[float] = []
    for step in steps:
        clock.now += step
        wait = _refused_for(hook)
        if wait:
            assert wait <= per + 1e-6
            clock.now += wait
            assert _refused_for(hook) == 0  # who waits as long as told passes
        passed.append(clock.now)
    for begin in passed:  # at once what it may save up, and then its share
        assert sum(begin <= at <= begin + per * 0.999 for at in passed) <= 2 * calls


@pytest.mark.parametrize(
    "options",
    [
        *({"calls": calls} for calls in (0, -1, True, 0.5, 2.0, "1", None, float("nan"))),
        *({"calls": 1, "per": per} for per in (0, -1, True, "1", float("inf"), float("nan"))),
        *({"calls": 1, "most_keys": most} for most in (0, 0.5, True)),
    ],
)
def test_a_limit_that_is_none_is_refused(options: dict[str, Any]) -> None:
    *_, option = options
    with pytest.raises(DefinitionError, match=f"limit_rate: {option}=.* must be a "):
        limit_rate(**options)


# ---- answers that are remembered ---------------------------------------------------------------------


def _counting(**options: Any) -> tuple[App, list[Any]]:
    app = App()
    made: list[Any] = []

    def look(x: int, y: Any = None) -> int:
        made.append((x, y))
        if x < 0:
            msg = "x is negative"
            raise FunctionError(msg, status=422)
        return len(made)

    async def look_async(x: int) -> int:
        await asyncio.sleep(0)
        return look(x)

    app.register(look, name="Look", **options)
    app.register(look_async, name="LookAsync", **options)
    return app, made


@pytest.mark.parametrize("way", WAYS)
def test_the_same_call_gets_the_same_answer_by_every_way(way: str) -> None:
    app, made = _counting(cache=60)
    with Way(app, way) as open_way:
        for name in ("Look", "LookAsync"):
            first = open_way.call(name, {"x": 1})
            assert open_way.call(name, {"x": 1}) == first
            assert open_way.call(name, {"x": 2}) != first
    assert len(made) == 4


def test_the_hooks_of_the_app_are_outside() -> None:
    app, made = _counting(cache=60)
    seen: list[str] = []

    @app.around
    def note(call: Calling) -> Any:
        answer = yield None
        seen.append(answer.body.decode())

    for _ in range(3):
        app.call("Look", {"x": 1})
    assert seen == ['{"result":1}'] * 3
    assert len(made) == 1


def test_faults_are_not_remembered() -> None:
    app, made = _counting(cache=60)
    for _ in range(3):
        assert app.call("Look", {"x": -1}).fault is not None
        assert app.call("Look", {"x": "wrong"}).fault is not None
    assert len(made) == 3


def test_other_functions_are_not_remembered() -> None:
    app, _ = _counting(cache=60)
    made: list[int] = []

    @app.function
    def Plain(x: int) -> int:
        made.append(x)
        return x

    for _ in range(3):
        app.call("Plain", {"x": 1})
    assert made == [1, 1, 1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (b'{"x":1,"y":2}', b' { "y" : 2 , "x" : 1 } ', True),
        (b'{"x":1,"y":{"a":1,"b":[1,2]}}', b'{"x":1,"y":{"b":[1,2],"a":1}}', True),
        (b'{"x":1,"y":"\\u0061"}', b'{"x":1,"y":"a"}', True),
        (b'{"x":1,"y":[1,2]}', b'{"x":1,"y":[2,1]}', False),
        (b'{"x":1,"y":1}', b'{"x":1,"y":true}', False),
        (b'{"x":1,"y":1}', b'{"x":1,"y":"1"}', False),
        (b'{"x":1,"y":null}', b'{"x":1,"y":"null"}', False),
        (b'{"x":1,"y":0.1}', b'{"x":1,"y":0.1000000000000000055511151231257827}', False),
        (b'{"x":1,"y":1}', b'{"x":1,"y":1.0}', False),
        (b'{"x":1,"y":1}', b'{"x":1,"y":1e0}', False),
        (b'{"x":1,"y":10}', b'{"x":1,"y":[10e0]}', False),
        (b'{"x":1,"y":[10]}', b'{"x":1,"y":[10e0]}', False),
        (b'{"x":1,"y":1e400}', b'{"x":1,"y":2e400}', False),
        (b'{"x":1,"y":12345678901234567890123}', b'{"x":1,"y":12345678901234567890124}', False),
    ],
)
def test_calls_are_the_same_if_their_arguments_are(one: bytes, other: bytes, *, same: bool) -> None:
    app = App()
    made: list[Any] = []

    @app.function(cache=60)
    def Look(x: int, y: Any = None) -> int:
        made.append((x, y))
        return len(made)

    first, second = app.call("Look", one), app.call("Look", other)
    if first.fault is None and second.fault is None:
        assert (first.body == second.body) is same
    else:
        assert not same


def test_decimals_that_a_float_can_t_tell_apart_are_told_apart() -> None:
    app = App()

    @app.function(cache=60)
    def Same(x: Decimal) -> Decimal:
        return x

    for text in ("0.1000000000000000000001", "0.1000000000000000000002", "0.1"):
        assert text.encode() in app.call("Same", b'{"x":%b}' % text.encode()).body


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1", 0.5, 1.5]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


@given(st.lists(_VALUES, min_size=2, max_size=6))
@settings(max_examples=200, deadline=None)
def test_nobody_gets_another_s_answer(values: list[Any]) -> None:
    app = App()

    @app.function(cache=60)
    def Same(x: Any) -> Any:
        return x

    for value in values * 2:
        remembered = app.call("Same", {"x": value}).body
        fresh = App()
        fresh.register(Same)
        assert remembered == fresh.call("Same", {"x": value}).body


def _hooked(clock: Callable[[], float], **limits: int) -> tuple[App, list[int]]:
    """Give an app whose memory has a clock and limits of its own."""
    app = App()
    made: list[int] = []

    @app.function(cache=10)
    def Look(x: int, size: int = 0) -> list[Any]:
        made.append(x)
        return [len(made), "*" * size]

    weave = app.service.weave
    assert weave is not None
    weave.remembering = None
    app.around(remember(clock=clock, **limits))
    return app, made


def test_answers_are_forgotten_when_their_time_is_over() -> None:
    clock = _Clock()
    app, made = _hooked(clock)
    for after, count in ((0, 1), (9.9, 1), (0.1, 2), (9.9, 2), (0.2, 3)):
        clock.now += after
        app.call("Look", {"x": 1})
        assert len(made) == count


def test_no_more_answers_are_kept_than_told_and_the_unused_go_first() -> None:
    app, made = _hooked(_Clock(), most=2)
    for x in (1, 2, 1, 3, 1, 2):
        app.call("Look", {"x": x})
    assert made == [1, 2, 3, 2]


def test_no_more_bytes_are_kept_than_told() -> None:
    app, made = _hooked(_Clock(), most_bytes=20_000)
    for x in (1, 2, 3, 1):
        for _ in range(2):
            app.call("Look", {"x": x, "size": 8_000})  # too large to be kept at all
    assert len(made) == 8
    made.clear()
    for x in range(100):
        app.call("Look", {"x": x, "size": 1_000})
    app.call("Look", {"x": 99, "size": 1_000})
    app.call("Look", {"x": 0, "size": 1_000})
    assert made == [*range(100), 0]


def test_a_function_with_a_context_says_on_what_its_answer_depends() -> None:
    app = App()

    def look(ctx: Context, x: int) -> str:
        return f"{x} {ctx.env.getenv('WHO')}"

    with pytest.raises(DefinitionError, match=r"say on what, cache=Cache\(60, key=lambda call: …"):
        app.register(look, name="Look", cache=60)

    who = ["a"]
    app.register(look, name="Look", cache=Cache(60, key=lambda _call: who[0]))
    assert app.call("Look", {"x": 1}).body == app.call("Look", {"x": 1}).body

    made: list[str] = []

    def note(ctx: Context) -> str:
        made.append(ctx.operation_id)
        return who[0]

    app.register(note, name="Note", cache=Cache(60, key=lambda _call: who[0]))
    for name in ("a", "a", "b", "a", "b"):
        who[0] = name
        assert app.call("Note").body == b'{"result":"%b"}' % name.encode()
    assert len(made) == 2


def test_a_provider_with_a_context_counts_as_one() -> None:
    def state(ctx: Context) -> str:
        return str(ctx.state)

    def look(given: Annotated[str, Provide(state)]) -> str:
        return given

    with pytest.raises(DefinitionError, match="with a Context its answers may depend on more"):
        App().register(look, cache=60)


def test_streams_are_not_remembered() -> None:
    def count() -> Iterator[int]:
        yield 1

    async def count_async() -> AsyncIterator[int]:
        yield 1

    for function in (count, count_async):
        with pytest.raises(DefinitionError, match="cache= is for functions that give one value"):
            App().register(function, cache=60)


@pytest.mark.parametrize("wrong", [0, -1, True, "60", float("nan"), Cache(0), Cache(1, key=5)])  # type: ignore[arg-type]
def test_a_time_that_is_none_is_refused(wrong: Any) -> None:
    def look() -> int:
        return 1

    with pytest.raises(DefinitionError, match=r"function 'look': cache=.* must be a positive"):
        App().register(look, cache=wrong)


def test_each_app_remembers_its_own_on_every_surface() -> None:
    for surface in SURFACES:
        app, made = _counting(cache=60)
        with connect(app, surface) as door:
            for _ in range(3):
                assert door.call("Look", x=1).envelope == {"result": 1}
        assert len(made) == 1
