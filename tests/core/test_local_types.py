"""Types that live inside a function, in a module whose annotations are text."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypedDict

import annotated_types as at
import attrs
import msgspec
import pytest

from kuniumi import App, Context, DefinitionError


def called(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    app = App()
    app.register(function)
    return msgspec.json.decode(app.call(function.__name__, arguments).body)


def test_a_local_dataclass_is_found() -> None:
    @dataclass
    class Point:
        x: int
        y: Annotated[int, at.Ge(0)] = 0

    def Move(point: Point, by: int = 1) -> Point:
        return Point(point.x + by, point.y)

    assert called(Move, {"point": {"x": "1"}}) == {"result": {"x": 2, "y": 0}}
    assert "error" in called(Move, {"point": {"x": 1, "y": -1}})


def test_a_local_dataclass_in_a_local_dataclass_is_found() -> None:
    @dataclass
    class Line:
        price: float

    @dataclass
    class Order:
        lines: list[Line]

    def Total(order: Order) -> float:
        return sum(line.price for line in order.lines)

    assert called(Total, {"order": {"lines": [{"price": 1}, {"price": "2"}]}}) == {"result": 3.0}


def test_a_local_type_may_be_recursive() -> None:
    @dataclass
    class Tree:
        value: int
        children: list[Tree]

    def Sum(tree: Tree) -> int:
        return tree.value + sum(map(Sum, tree.children))

    leaf = {"value": "2", "children": []}
    assert called(Sum, {"tree": {"value": 1, "children": [leaf, leaf]}}) == {"result": 5}


def test_local_types_of_every_kind_may_name_each_other() -> None:
    @dataclass
    class Inner:
        x: int

    class InStruct(msgspec.Struct):
        inner: Inner

    class InDict(TypedDict):
        inner: Inner

    class InTuple(NamedTuple):
        inner: Inner

    @attrs.define
    class InAttrs:
        inner: Inner

    def Sum(a: InStruct, b: InDict, c: InTuple, d: InAttrs) -> int:
        return a.inner.x + b["inner"].x + c.inner.x + d.inner.x

    inner = {"inner": {"x": "1"}}
    arguments = {"a": inner, "b": inner, "c": [{"x": 1}], "d": inner}
    assert called(Sum, arguments) == {"result": 4}


def test_a_local_type_is_found_through_a_decorator() -> None:
    @dataclass
    class Point:
        x: int

    def twice(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> int:
            return 2 * function(*args, **kwargs)

        return wrapper

    @twice
    def Read(point: Point, ctx: Context) -> int:
        return point.x

    assert called(Read, {"point": {"x": 4}}) == {"result": 8}


def test_a_local_type_that_is_gone_is_refused_with_a_remedy() -> None:
    def make() -> type:
        class Gone(TypedDict):
            x: int

        @dataclass
        class Kept:
            gone: Gone

        return Kept

    kept = make()

    def Read(x: Any) -> None: ...

    Read.__annotations__["x"] = kept
    with pytest.raises(DefinitionError, match=r"names 'Gone'.*at the top level"):
        App().register(Read)
