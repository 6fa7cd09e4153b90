"""Parity: a call has the same answer on every surface, byte for byte.

Functions are drawn: what they take, what they give, how they run. So are their arguments, right
and wrong ones. A new surface joins by being in `kuniumi.testing.SURFACES`.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict
from uuid import UUID

import annotated_types as at
import msgspec
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kuniumi import App, FunctionError
from kuniumi.core.codec import dumps
from kuniumi.testing import SURFACES, Reply, connect
from tests.mcp.official import problems

Values = st.SearchStrategy[Any]
Typed = tuple[Any, Values]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: Annotated[float, at.Ge(0)] = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    value: int | None
    children: list[Tree] = field(default_factory=list)


class Person(TypedDict, total=False):
    name: str
    born: date | None


class Pair(NamedTuple):
    a: int
    b: str = "b"


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    tricks: set[str]


class Model(pydantic.BaseModel):
    count: int = pydantic.Field(default=1, ge=0)
    point: Point | None = None


_floats = st.floats(allow_nan=False, allow_infinity=False)
_texts = st.text(max_size=6)
_points = st.builds(Point, st.integers(), st.floats(0, 1e9), st.lists(_texts, max_size=2))
_trees = st.recursive(
    st.builds(Tree, st.none() | st.integers(), st.just([])),
    lambda inner: st.builds(Tree, st.integers(), st.lists(inner, max_size=2)),
    max_leaves=4,
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _floats | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)

SCALARS: list[Typed] = [
    (int, st.integers()),
    (float, _floats),
    (bool, st.booleans()),
    (str, _texts),
    (None, st.none()),
    (Any, _json),
    (bytes, st.binary(max_size=6)),
    (datetime, st.datetimes()),
    (date, st.dates()),
    (time, st.times()),
    (timedelta, st.timedeltas(timedelta(-999), timedelta(999))),
    (UUID, st.uuids()),
    (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (Color, st.sampled_from(Color)),
    (Level, st.sampled_from(Level)),
    (Literal["a", 1, True], st.sampled_from(["a", 1, True])),
    (int | str | None, st.none() | st.integers() | _texts),
    (Annotated[int, at.Interval(ge=0, le=9)], st.integers(0, 9)),
    (Annotated[str, at.MaxLen(3)], st.text(max_size=3)),
]
CLASSES: list[Typed] = [
    (Point, _points),
    (Tree, _trees),
    (Person, st.fixed_dictionaries({}, optional={"name": _texts, "born": st.dates()})),
    (Pair, st.builds(Pair, st.integers(), _texts)),
    (Cat | Dog, st.builds(Cat, st.integers()) | st.builds(Dog, st.sets(_texts, max_size=2))),
    (Model, st.builds(Model, count=st.integers(0), point=st.none() | _points)),
]


def optional(annotation: Any) -> Any:
    return Optional[annotation]  # noqa: UP045 - None | None is no type


def _containers(parts: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    def of(origin: type, *args: Any) -> Any:
        return GenericAlias(origin, args)

    return st.one_of(
        parts.map(lambda part: (of(list, part[0]), st.lists(part[1], max_size=2))),
        parts.map(
            lambda part: (of(dict, str, part[0]), st.dictionaries(_texts, part[1], max_size=2))
        ),
        parts.map(lambda part: (of(tuple, part[0], ...), st.lists(part[1], max_size=2).map(tuple))),
        parts.map(lambda part: (optional(part[0]), st.none() | part[1])),
        st.tuples(parts, parts).map(
            lambda two: (of(tuple, two[0][0], two[1][0]), st.tuples(two[0][1], two[1][1]))
        ),
    )


types = st.recursive(st.sampled_from(SCALARS + CLASSES), _containers, max_leaves=3)
kinds = st.sampled_from(["plain", "inline", "coroutine", "waiting", "generator", "async generator"])
executors: st.SearchStrategy[Literal["processes"] | None] = st.sampled_from(
    [None, None, None, None, None, "processes"]
)
outcomes = st.sampled_from(["itself", "itself", "itself", "another", "failure", "crash"])


def function_of(kind: str, taken: Any, given: Any, act: Callable[[Any], Any]) -> Callable[..., Any]:
    """Make a function of this kind, which gives what `act` makes of its argument."""

    def Plain(x: Any, y: Any = None) -> Any:
        return act(x)

    async def Coroutine(x: Any, y: Any = None) -> Any:
        return act(x)

    async def Waiting(x: Any, y: Any = None) -> Any:
        await asyncio.sleep(0)
        return act(x)

    def Generator(x: Any, y: Any = None) -> Any:
        yield act(x)

    async def AsyncGenerator(x: Any, y: Any = None) -> Any:
        yield act(x)

    functions = [Plain, Plain, Coroutine, Waiting, Generator, AsyncGenerator]
    names = ["plain", "inline", "coroutine", "waiting", "generator", "async generator"]
    function: Callable[..., Any] = dict(zip(names, functions, strict=True))[kind]
    streams: dict[str, Any] = {"generator": Iterator, "async generator": AsyncIterator}
    result = streams[kind][given] if kind in streams else given
    function.__annotations__ = {"x": taken, "y": optional(taken), "return": result}
    return function


@st.composite
def calls(draw: st.DrawFn) -> tuple[App, bytes]:
    """Draw an app with one function `F`, and the body of a call."""
    taken, values = draw(types)
    value = draw(values)
    another, other_values = draw(types)
    outcome = draw(outcomes)
    kind = draw(kinds)

    def act(x: Any) -> Any:
        if outcome == "failure":
            raise FunctionError(f"no: {value!r}"[:99], status=draw_status)
        if outcome == "crash":
            raise ValueError(repr(value)[:99])
        return x if outcome == "itself" else other

    draw_status = draw(st.integers(400, 599))
    executor = None if kind == "inline" else draw(executors)
    other = draw(other_values | _json)
    app = App()
    app.register(
        function_of(kind, taken, taken if outcome == "itself" else another, act),
        name="F",
        inline=kind == "inline",
        executor=executor,
        strict=draw(st.booleans()),
        envelope=draw(st.sampled_from(["wrapped", "bare"])),
    )
    return app, draw(bodies(value))


@st.composite
def bodies(draw: st.DrawFn, value: Any) -> bytes:
    """Draw arguments: right ones, loose ones, wrong ones, and none at all."""
    right = dumps({"x": value})
    text = dumps(value).decode()
    body: bytes = draw(
        st.one_of(
            st.just(right),
            st.just(right),
            st.just(dumps({"y": value, "x": value})),
            st.just(dumps({"x": text})),
            st.just(dumps({"x": value, "y": text})),
            st.just(dumps({"x": value, "y": None})),
            _json.map(lambda wrong: dumps({"x": wrong})),
            st.dictionaries(st.sampled_from(["x", "y", "X", "z"]), _json, max_size=3).map(dumps),
            st.sampled_from(
                [b"{}", b"[]", b"null", b"not json", b'{"x":NaN}', b"", b'{"x":"\xff"}']
            ),
            st.binary(max_size=8),
            st.just(right[:-1]),
        )
    )
    return body


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls())
def test_a_call_has_the_same_answer_on_every_surface(call: tuple[App, bytes]) -> None:
    app, body = call
    expected = reply_of(app, "http", body)
    for surface in SURFACES:
        reply = reply_of(app, surface, body)
        assert list(reply.envelope) == ["error"] or not reply.failed
        if surface.startswith("mcp"):
            check_message(reply, surface)
        if surface.startswith("mcp") and expected.body == b'{"error":"Invalid JSON body"}':
            check_no_arguments(app, surface, body, reply)
        else:
            assert (reply.body, reply.failed) == (expected.body, expected.failed), surface


def reply_of(app: App, surface: str, body: bytes) -> Reply:
    with connect(app, surface) as door:
        return door.call("F", body)


def check_message(reply: Reply, surface: str) -> None:
    """Check what stands around the envelope: the text and the structured content are its bytes."""
    revision = "2025-11-25" if "handshake" in surface else "2026-07-28"
    message = msgspec.json.decode(reply.message)
    asked = {"id": message.get("id"), "method": "tools/call"}
    assert problems(reply.message, revision, answers=asked) == []
    if "error" in message:
        return
    result = msgspec.json.decode(reply.message, type=dict[str, msgspec.Raw])["result"]
    fields = msgspec.json.decode(result, type=dict[str, msgspec.Raw])
    (block,) = message["result"]["content"]
    assert block == {"type": "text", "text": reply.body.decode()}
    assert message["result"]["isError"] is reply.failed
    assert fields.get("structuredContent") == (None if reply.failed else msgspec.Raw(reply.body))


def check_no_arguments(app: App, surface: str, body: bytes, reply: Reply) -> None:
    """Check the answer to what can't be arguments: JSON-RPC has its own codes for it."""
    if body.strip() == b"null":  # some clients write it where there are no arguments
        nothing = reply_of(app, surface, b"")
        assert (reply.body, reply.status) == (nothing.body, nothing.status)
        return
    try:
        msgspec.json.decode(body)
    except ValueError:
        assert reply.status == -32700, reply
    else:
        assert reply.status == -32602, reply


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(types.flatmap(lambda typed: st.tuples(st.just(typed[0]), typed[1])), kinds, executors)
def test_a_right_argument_comes_back_as_it_went(
    pair: tuple[Any, Any], kind: str, executor: Literal["processes"] | None
) -> None:
    annotation, value = pair
    app = App()
    function = function_of(kind, annotation, annotation, lambda x: x)
    if kind == "inline":
        app.register(function, name="F", inline=True)
    else:
        app.register(function, name="F", executor=executor)
    envelope = app.call("F", {"x": value})
    assert envelope.fault is None, envelope.body
    if "generator" in kind:
        assert envelope.body == dumps({"result": [value]})
        return
    result = msgspec.json.decode(envelope.body)
    plain = msgspec.json.decode(dumps(value))
    if annotation in {None, type(None)}:
        assert result == {}
    elif len(result) == 2 and "result0" in result:
        assert list(result.values()) == plain
    elif "result0" not in result:
        assert result == {"result": plain}


@pytest.mark.parametrize("surface", SURFACES)
def test_a_door_can_be_used_many_times(surface: str) -> None:
    app = App()
    app.register(function_of("plain", int, int, lambda x: x), name="F")
    with connect(app, surface) as door:
        assert [door.call("F", x=x).envelope["result"] for x in range(50)] == list(range(50))
