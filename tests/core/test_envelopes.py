"""What a success looks like."""

from __future__ import annotations

import collections
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Never, NoReturn, Optional, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from kuniumi import App


@dataclass
class Stats:
    count: int


class Struct(msgspec.Struct):
    count: int


class Array(msgspec.Struct, array_like=True):
    count: int


class Typed(TypedDict):
    count: int


class Pair(NamedTuple):
    a: int
    b: int


@attrs.define
class Attrs:
    count: int


class Model(pydantic.BaseModel):
    count: int


class Root(pydantic.RootModel[list[int]]):
    pass


UNANNOTATED = object()


def giving(value: Any, annotation: Any = UNANNOTATED) -> Callable[[], Any]:
    def Give():  # type: ignore[no-untyped-def]  # noqa: ANN202 - that is the case
        return value

    if annotation is not UNANNOTATED:
        Give.__annotations__["return"] = annotation
    return Give


def envelope(function: Callable[..., Any], **options: Any) -> str:
    app = App()
    app.register(function, **options)
    return app.call(function.__name__).body.decode()


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 10, '{"result":10}'),
        (list[int], [1, 2], '{"result":[1,2]}'),
        (dict[str, int], {"a": 1}, '{"result":{"a":1}}'),
        (Stats, Stats(1), '{"result":{"count":1}}'),
        (Annotated[int, "a sum"], 10, '{"result":10}'),
        # a tuple of fixed length is several results
        (tuple[int, str], (1, "a"), '{"result0":1,"result1":"a"}'),
        (tuple[int, str], [1, "a"], '{"result0":1,"result1":"a"}'),
        (tuple[int], (1,), '{"result0":1}'),
        (tuple[()], (), "{}"),
        (Annotated[tuple[int, int], "both"], (1, 2), '{"result0":1,"result1":2}'),
        (tuple[int | None, Stats], (None, Stats(1)), '{"result0":null,"result1":{"count":1}}'),
        # any other is one value
        (tuple[int, ...], (1, 2), '{"result":[1,2]}'),
        (tuple, (1, "a"), '{"result":[1,"a"]}'),
        (tuple[int, int] | None, (1, 2), '{"result":[1,2]}'),
        (Pair, Pair(1, 2), '{"result":[1,2]}'),
        # nothing
        (None, None, "{}"),
        (type(None), None, "{}"),
        (int | None, None, '{"result":null}'),
        (Optional[Stats], None, '{"result":null}'),  # noqa: UP045 - as some still write it
        (Any, None, '{"result":null}'),
        (object, None, '{"result":null}'),
        (UNANNOTATED, None, "{}"),
        (UNANNOTATED, 10, '{"result":10}'),
        (UNANNOTATED, (1, 2), '{"result":[1,2]}'),
        (UNANNOTATED, Stats(1), '{"result":{"count":1}}'),
        # streams
        (Iterator[int], iter([1, 2]), '{"result":[1,2]}'),
        (Iterable[int], [1, 2], '{"result":[1,2]}'),
        (Iterator[Stats], iter([Stats(1)]), '{"result":[{"count":1}]}'),
    ],
)
def test_a_success_is_wrapped(annotation: Any, value: Any, expected: str) -> None:
    assert envelope(giving(value, annotation)) == expected


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Stats, Stats(1)),
        (Struct, Struct(1)),
        (Typed, {"count": 1}),
        (Attrs, Attrs(1)),
        (Model, Model(count=1)),
        (dict[str, int], {"count": 1}),
        (dict, {"count": 1}),
        (Annotated[Stats, "of today"], Stats(1)),
    ],
)
def test_a_bare_envelope_is_the_object_itself(annotation: Any, value: Any) -> None:
    assert envelope(giving(value, annotation), envelope="bare") == '{"count":1}'


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 1, '{"result":1}'),
        (list[Stats], [Stats(1)], '{"result":[{"count":1}]}'),
        (Stats | None, Stats(1), '{"result":{"count":1}}'),
        (Array, Array(1), '{"result":[1]}'),
        (Root, Root([1]), '{"result":[1]}'),
        (Any, {"count": 1}, '{"result":{"count":1}}'),
        (UNANNOTATED, {"count": 1}, '{"result":{"count":1}}'),
        (tuple[int, int], (1, 2), '{"result0":1,"result1":2}'),
        (None, None, "{}"),
    ],
)
def test_what_is_not_always_an_object_stays_wrapped(
    annotation: Any, value: Any, expected: str
) -> None:
    assert envelope(giving(value, annotation), envelope="bare") == expected


def test_the_app_may_choose_the_envelope_and_a_function_may_differ() -> None:
    app = App(envelope="bare")
    app.register(giving(Stats(1), Stats), name="Bare")
    app.register(giving(Stats(1), Stats), name="Wrapped", envelope="wrapped")
    assert app.call("Bare").body == b'{"count":1}'
    assert app.call("Wrapped").body == b'{"result":{"count":1}}'


def test_generators_give_a_list() -> None:
    def Count() -> Iterator[int]:
        yield from range(3)

    def Bare():  # type: ignore[no-untyped-def]  # noqa: ANN202 - that is the case
        yield from range(3)

    async def CountLater() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    async def CountSoon() -> AsyncIterator[int]:
        return CountLater()

    for function in (Count, Bare, CountLater, CountSoon):
        assert envelope(function) == '{"result":[0,1,2]}'


def test_a_function_that_never_returns_promises_nothing() -> None:
    def Fail() -> NoReturn:
        raise ValueError("always")

    def FailAgain() -> Never:
        raise ValueError("always")

    assert envelope(Fail) == envelope(FailAgain) == '{"error":"ValueError: always"}'


class Fraction(float):
    pass


class Number(int):
    pass


class Word(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (float, Fraction(1.5), "1.5"),
        (int, Number(3), "3"),
        (str, Word("a"), '"a"'),
        (Any, [Fraction(1.5), Number(3), Word("a")], '[1.5,3,"a"]'),
        (dict, collections.OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (dict[str, int], collections.Counter("aab"), '{"a":2,"b":1}'),
        (list[int], collections.UserList, None),
    ],
)
def test_what_is_derived_from_a_plain_type_goes_out_as_that(
    annotation: Any, value: Any, expected: str | None
) -> None:
    found = envelope(giving(value, annotation))
    assert found == f'{{"result":{expected}}}' if expected else "error" in found
