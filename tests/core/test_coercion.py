"""Coercion: what callers send for what they mean, and never the lossy way round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from types import GenericAlias
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuniumi import App


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    weight: Decimal = Decimal(1)


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    tricks: list[int]


class Model(pydantic.BaseModel):
    count: int
    ratio: float = 1.0
    points: list[Point] = []


Instant = Annotated[datetime, msgspec.Meta(tz=True)]


def identity(annotation: Any) -> Callable[..., Any]:
    def Same(x: Any) -> Any:
        return x

    Same.__annotations__ = {"x": annotation, "return": annotation}
    return Same


def asked(annotation: Any, text: str, **options: Any) -> str:
    app = App()
    app.register(identity(annotation), **options)
    return app.call("Same", f'{{"x":{text}}}'.encode()).body.decode()


COERCED: list[tuple[Any, str, str]] = [
    (int, '"10"', "10"),
    (int, '" 10 "', "10"),
    (int, '"-7"', "-7"),
    (int, '"+7"', "7"),
    (int, '"007"', "7"),
    (int, '"-0"', "0"),
    (int, '"1e3"', "1000"),
    (int, '"10.0"', "10"),
    (int, '"123456789012345678901234567890"', "123456789012345678901234567890"),
    (int, '"12345678901234567890.0"', "12345678901234567890"),
    (float, '"1e3"', "1000.0"),
    (float, '" 1.5 "', "1.5"),
    (float, '".5"', "0.5"),
    (float, '"5."', "5.0"),
    (float, '"+1"', "1.0"),
    (float, '"-0.0"', "-0.0"),
    (bool, '"true"', "true"),
    (bool, '"False"', "false"),
    (bool, '" TRUE "', "true"),
    (int | None, '"5"', "5"),
    (int | None, '"null"', "null"),
    (bool | int, '"1"', "1"),
    (bool | int, '"true"', "true"),
    (int | bool, '"true"', "true"),
    (int | float, '"1"', "1"),
    (int | float, '"1.5"', "1.5"),
    (int | float, '"1.0"', "1.0"),
    (Literal[1, 2], '"2"', "2"),
    (Literal[1, "a"], '"1"', "1"),
    (Level, '"2"', "2"),
    (Level | None, '"2"', "2"),
    (date, '" 2026-01-31 "', '"2026-01-31"'),
    (Instant, '" 2026-01-31T12:00:00Z "', '"2026-01-31T12:00:00Z"'),
    (Instant, '"2026-01-31 12:00+01:00"', '"2026-01-31T12:00:00+01:00"'),
    (UUID, '" 6ba7b810-9dad-11d1-80b4-00c04fd430c8"', '"6ba7b810-9dad-11d1-80b4-00c04fd430c8"'),
    (datetime | int, '"5"', "5"),
    (datetime | None, '"null"', "null"),
    (date | list[int], '"[1]"', "[1]"),
    (UUID | bool, '"true"', "true"),
    # JSON in text
    (list[int], '"[1, \\"2\\"]"', "[1,2]"),
    (list[int] | int, '"[1]"', "[1]"),
    (list[int] | int, '"1"', "1"),
    (list[list[int]], '[["1"],"[2]"]', "[[1],[2]]"),
    (dict[str, int], '"{\\"a\\":\\"1\\"}"', '{"a":1}'),
    (dict[str, list[int]], '{"a":"[1]"}', '{"a":[1]}'),
    (dict, '"{\\"a\\":\\"1\\"}"', '{"a":"1"}'),
    (list[int] | None, '"[1]"', "[1]"),
    (Point, '"{\\"x\\":1}"', '{"x":1,"y":0,"tags":[],"weight":"1"}'),
    (Cat | Dog, '{"type":"Cat","lives":"9"}', '{"type":"Cat","lives":9}'),
    (Cat | Dog, '"{\\"type\\":\\"Dog\\",\\"tricks\\":\\"[1]\\"}"', '{"type":"Dog","tricks":[1]}'),
    # inside of others
    (tuple[int, ...], '["1",2]', "[1,2]"),
    (set[int], '["1"]', "[1]"),
    (list[int | None], '["1","null",null]', "[1,null,null]"),
    (list[Point], '[{"x":"1","y":"2","tags":["3"]}]', '[{"x":1,"y":2,"tags":["3"],"weight":"1"}]'),
    (Model, '{"count":"1","ratio":"0.5","points":[{"x":"1"}]}', '{"count":1,"ratio":0.5,"points":[{"x":1,"y":0,"tags":[],"weight":"1"}]}'),
    # null for what has a default
    (Point, '{"x":1,"y":null,"tags":null}', '{"x":1,"y":0,"tags":[],"weight":"1"}'),
    # and beside what is coerced, nothing is lost
    (Point, '{"x":"1","weight":1.10000000000000000000000000001}', '{"x":1,"y":0,"tags":[],"weight":"1.10000000000000000000000000001"}'),
    (dict[str, float | int], '{"a":1.0,"b":"2"}', '{"a":1.0,"b":2}'),
    (list[float | bool], '[1.0,"true",1]', "[1.0,true,1.0]"),
]  # fmt: skip

# 1.0 is an integer to JSON Schema: that is no coercion.
MATHEMATICAL: list[tuple[Any, str, str]] = [
    (int, "1.0", "1"),
    (int, "-0.0", "0"),
    (int, "1e3", "1000"),
    (int, "1e22", "10000000000000000000000"),
    (int, "12345678901234567890.0", "12345678901234567890"),
    (Level, "2.0", "2"),
    (Literal[1, 2], "1.0", "1"),
    (int | None, "1.0", "1"),
    (list[int | str], '[1.0,"1"]', '[1,"1"]'),
    (dict[str, int | float], '{"a":1.0}', '{"a":1.0}'),
    (Model, '{"count":1.0}', '{"count":1,"ratio":1.0,"points":[]}'),
]

NEVER: list[tuple[Any, str]] = [
    (int, "1.5"),
    (int, '"1.5"'),
    (int, "true"),
    (int, '"true"'),
    (int, '""'),
    (int, '" "'),
    (int, '"1_000"'),
    (int, '"1,000"'),
    (int, '"٣"'),
    (int, '"0x10"'),
    (int, '"1e-1"'),
    (int, "[1]"),
    (int, '"[1]"'),
    (int, '"1 2"'),
    (int, '"--1"'),
    (float, "true"),
    (float, '"nan"'),
    (float, '"inf"'),
    (float, '"-Infinity"'),
    (float, '"1e999"'),
    (float, '"."'),
    (float, '""'),
    (bool, "1"),
    (bool, "0"),
    (bool, '"yes"'),
    (bool, '"2"'),
    (bool, "null"),
    (str, "1"),
    (str, "true"),
    (str, "null"),
    (str, '{"a":1}'),
    (str, '["a"]'),
    (Level, "true"),
    (Level, '"LOW"'),
    (Literal[1], "true"),
    (Literal["1"], "1"),
    (Literal[True], "1"),
    (date, "20260131"),
    (timedelta, "5"),
    (time, '"noon"'),
    (bool | None, "1"),
    (datetime | int, '"soon"'),
    (list[int], '"[1"'),
    (list[int], '"1"'),
    (list[int], '{"a":1}'),
    (list[int], "1"),
    (dict[str, int], '"[]"'),
    (dict[str, int], "[]"),
    (Point, '"[1]"'),
    (Point, '{"x":null}'),
    (list[str], "[1]"),
    (Model, '{"count":"1.5"}'),
    (Model, '{"count":true}'),
]


@pytest.mark.parametrize(("annotation", "text", "expected"), COERCED)
def test_text_becomes_what_the_type_says(annotation: Any, text: str, expected: str) -> None:
    assert asked(annotation, text) == f'{{"result":{expected}}}'


@pytest.mark.parametrize(("annotation", "text", "expected"), COERCED[:-2])
def test_strict_functions_take_nothing_for_something_else(
    annotation: Any, text: str, expected: str
) -> None:
    assert asked(annotation, text, strict=True).startswith('{"error":"Argument ')


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("annotation", "text", "expected"), MATHEMATICAL)
def test_a_whole_number_is_an_integer_however_it_is_written(
    annotation: Any, text: str, expected: str, *, strict: bool
) -> None:
    assert asked(annotation, text, strict=strict) == f'{{"result":{expected}}}'


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("annotation", "text"), NEVER)
def test_nothing_is_coerced_the_lossy_way_round(
    annotation: Any, text: str, *, strict: bool
) -> None:
    assert asked(annotation, text, strict=strict).startswith('{"error":"Argument ')


@pytest.mark.parametrize("annotation", [str | int, int | str | None, list[int] | str, Any, object])
@pytest.mark.parametrize("text", ['"10"', '"true"', '"null"', '"[1]"', '" 10 "', '"{}"'])
def test_text_stays_text_where_text_is_welcome(annotation: Any, text: str) -> None:
    assert asked(annotation, text) == f'{{"result":{text}}}'


def test_the_app_may_be_strict_and_a_function_may_differ() -> None:
    app = App(strict=True)
    app.register(identity(int), name="Strict")
    app.register(identity(int), name="Loose", strict=False)
    assert "error" in app.call("Strict", {"x": "1"}).body.decode()
    assert app.call("Loose", {"x": "1"}).body == b'{"result":1}'


def test_null_for_a_parameter_with_a_default_means_the_default() -> None:
    def Count(a: int = 3, b: int | None = 4, c: list[int] = [5]) -> list[Any]:  # noqa: B006 - what users write
        return [a, b, c]

    app = App()
    app.register(Count)
    app.register(Count, name="Strict", strict=True)
    nulls = {"a": None, "b": None, "c": None}
    assert app.call("Count", nulls).body == b'{"result":[3,null,[5]]}'
    assert "error" in app.call("Strict", nulls).body.decode()
    assert app.call("Strict", {"b": None}).body == b'{"result":[3,null,[5]]}'


# ---- properties ----------------------------------------------------------------------------------

_scalars: st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]] = st.sampled_from(
    [
        (int, st.integers()),
        (float, st.floats(allow_nan=False, allow_infinity=False)),
        (bool, st.booleans()),
        (str, st.text(max_size=8)),
        (date, st.dates()),
        (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
        (UUID, st.uuids()),
        (Level, st.sampled_from(Level)),
        (Literal[1, "a"] | None, st.sampled_from([1, "a", None])),
        (int | None, st.none() | st.integers()),
        (int | float, st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
        (int | str, st.integers() | st.text(max_size=8)),
        (bool | int, st.booleans() | st.integers()),
    ]
)


def _containers(
    parts: st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]],
) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    def of(origin: type, *args: Any) -> Any:
        return GenericAlias(origin, args)

    return st.one_of(
        parts.map(lambda part: (of(list, part[0]), st.lists(part[1], max_size=3))),
        parts.map(
            lambda part: (
                of(dict, str, part[0]),
                st.dictionaries(st.text(max_size=3), part[1], max_size=3),
            )
        ),
        parts.map(lambda part: (part[0] | None, st.none() | part[1])),
    )


typed = st.recursive(_scalars, _containers, max_leaves=3)


@given(pair=typed.flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1])), strict=st.booleans())
def test_what_is_valid_already_is_never_changed(pair: tuple[Any, Any], *, strict: bool) -> None:
    annotation, value = pair
    text = msgspec.json.encode(value).decode()
    expected = f'{{"result":{text}}}'
    if annotation is Decimal:
        expected = f'{{"result":"{value}"}}'
    assert asked(annotation, text, strict=strict) == expected


@given(typed.flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1])))
def test_what_stands_beside_a_coerced_value_is_never_changed(pair: tuple[Any, Any]) -> None:
    annotation, value = pair
    two = msgspec.defstruct("Two", [("a", annotation), ("b", int)])
    text = msgspec.json.encode(value).decode()
    assert asked(two, f'{{"a":{text},"b":"5"}}') == f'{{"result":{{"a":{text},"b":5}}}}'


@given(st.integers())
def test_integers_of_any_size_survive_being_text(number: int) -> None:
    assert asked(int, f'"{number}"') == f'{{"result":{number}}}'


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive_being_text(number: float) -> None:
    assert asked(float, f'"{number!r}"') == asked(float, repr(number))


@given(st.text())
def test_no_text_is_taken_for_a_number_that_reads_otherwise(text: str) -> None:
    answer = msgspec.json.decode(asked(int, msgspec.json.encode(text).decode()))
    if "result" in answer:
        assert Decimal(text.strip()) == answer["result"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6))  # fmt: skip
def test_json_in_text_is_the_same_as_json(value: Any) -> None:
    text = msgspec.json.encode({"a": value})
    inside = msgspec.json.encode(text.decode()).decode()
    assert asked(dict[str, Any], inside) == asked(dict[str, Any], text.decode())


@pytest.mark.parametrize("annotation", [int, float, bool, list[int], dict[str, int], Point, Cat | Dog, Model, Level, date, Decimal, int | None])  # fmt: skip
@given(value=st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "type", "count", "tags"]), inner, max_size=3), max_leaves=6))  # fmt: skip
def test_any_json_is_answered(annotation: Any, value: Any) -> None:
    answer = msgspec.json.decode(asked(annotation, msgspec.json.encode(value).decode()))
    assert list(answer) in (["result"], ["error"])
