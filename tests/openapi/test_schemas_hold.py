"""What goes out is as the output schema says, and what the input schema is about is taken.

Types and values are drawn at random; an independent validator, in a process of its own, judges.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kuniumi import App
from kuniumi.core.codec import dumps
from kuniumi.core.schema import input_schema, output_schema
from tests.openapi.running import HERE, Foreign

Item = TypeVar("Item")
Judge = Callable[[Any, Any], list[str]]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Box(Generic[Item]):
    content: Item
    note: str = ""


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog", forbid_unknown_fields=True):
    name: str


class Row(msgspec.Struct, array_like=True):
    number: int
    text: str = ""


class Pair(NamedTuple):
    left: int
    right: str = ""


class Options(TypedDict, total=False):
    deep: bool
    color: Color


@attrs.define
class Order:
    number: int
    lines: list[str]


class Tagged(pydantic.BaseModel):
    tags: set[int]
    price: decimal.Decimal = decimal.Decimal(1)


class Model(pydantic.BaseModel):
    side: int
    tags: set[str] = set()

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.side**2


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
nodes: st.SearchStrategy[Node] = st.deferred(
    lambda: st.builds(Node, texts, st.lists(nodes, max_size=2))
)
SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, numbers),
    (bool, st.booleans()),
    (str, texts),
    (datetime.date, st.dates()),
    (datetime.datetime, st.datetimes(timezones=st.just(datetime.UTC))),
    (datetime.time, st.times()),
    (datetime.timedelta, st.timedeltas(datetime.timedelta(-9), datetime.timedelta(9))),
    (uuid.UUID, st.uuids()),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=2)),
    (bytes, st.binary(max_size=8)),
    (Color, st.sampled_from(Color)),
    (Level, st.sampled_from(Level)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (Annotated[int, msgspec.Meta(ge=0, le=9)], st.integers(0, 9)),
    (Annotated[str, msgspec.Meta(min_length=1, max_length=3)], st.text("abc", min_size=1, max_size=3)),
    (Node, nodes),
    (Cat | Dog, st.builds(Cat, st.integers()) | st.builds(Dog, texts)),
    (Row, st.builds(Row, st.integers(), texts)),
    (Pair, st.builds(Pair, st.integers(), texts)),
    (Options, st.fixed_dictionaries({}, optional={"deep": st.booleans(), "color": st.sampled_from(Color)})),
    (Order, st.builds(Order, st.integers(), st.lists(texts, max_size=2))),
    (Model, st.builds(Model, side=st.integers(-99, 99), tags=st.sets(texts, max_size=2))),
    (Any, st.none() | st.integers() | texts | st.lists(st.booleans(), max_size=2)),
]  # fmt: skip


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a type made of a drawn type, and the strategy of its values."""
    return st.one_of(
        inner.map(lambda one: (_of(list, one[0]), st.lists(one[1], max_size=2))),
        inner.map(lambda one: (_of(dict, str, one[0]), st.dictionaries(texts, one[1], max_size=2))),
        inner.map(lambda one: (one[0] | None, st.none() | one[1])),
        inner.map(lambda one: (_of(Box, one[0]), st.builds(Box, one[1], texts))),
        st.tuples(inner, inner).map(
            lambda two: (_of(tuple, two[0][0], two[1][0]), st.tuples(two[0][1], two[1][1]))
        ),
    )


def _of(generic: Any, *types: Any) -> Any:
    return generic[types[0] if len(types) == 1 else types]


types = st.recursive(st.sampled_from(SCALARS), _larger, max_leaves=4)


@pytest.fixture(scope="module")
def judge(foreign: Foreign) -> Iterator[Judge]:
    process = subprocess.Popen(
        [foreign.folder / "python", HERE / "foreign/validate.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    asked, said = process.stdin, process.stdout
    assert asked is not None
    assert said is not None

    def ask(schema: Any, instance: Any) -> list[str]:
        asked.write(json.dumps({"schema": schema, "instance": instance}).encode() + b"\n")
        asked.flush()
        problems: list[str] = json.loads(said.readline())
        return problems

    with process:
        yield ask
        asked.close()


# Each row: a type, and JSON values that may or may not be taken for it.
DOUBTFUL: list[tuple[Any, list[Any]]] = [
    (set[int], [[1, 1], [], [1, "a"]]),
    (frozenset[str], [["a", "a"]]),
    (Annotated[set[int], msgspec.Meta(min_length=2)], [[1, 1], [1, 2], [1]]),
    (decimal.Decimal, [1.5, 1, "1.5", "-1e5", "+.5", "1.", "abc", "NaN", "inf", " 1", "1_0", "\u0661", True]),
    (decimal.Decimal | int | None, [1.5, "1.5", "a", None, False]),
    (list[decimal.Decimal], [[1.5, "1.5"], ["a"]]),
    (datetime.time, ["10:00:00", "10:00:00.5Z", "10:00:00+01:00", "abc", "10:00", "23:59:60Z", "25:00:00", 5]),
    (Annotated[datetime.time, msgspec.Meta(tz=True)], ["10:00:00", "10:00:00z", "10:00:00-0100"]),
    (datetime.time | None, ["10:00:00", "abc", None]),
    (dict[int, int], [{"1": 1}, {"-1": 1}, {"x": 1}, {"01": 1}, {"1.0": 1}, {"": 1}]),
    (dict[float, int], [{"1.5": 1}, {"1e3": 1}, {"x": 1}, {".5": 1}]),
    (dict[Literal["k"], int], [{"k": 1}, {"z": 1}]),
    (dict[Literal["k", 2], int], [{"k": 1}, {"2": 1}, {"z": 1}]),
    (dict[Color, int], [{"red": 1}, {"RED": 1}]),
    (dict[Level, int], [{"1": 1}, {"3": 1}]),
    (dict[datetime.date, int], [{"2020-01-01": 1}]),
    (dict[decimal.Decimal, int], [{"1.5": 1}, {"NaN": 1}, {"a": 1}]),
    (dict[datetime.time, int], [{"10:00:00": 1}, {"soon": 1}]),
    (Tagged, [{"tags": [1, 1]}, {"tags": [1], "price": 1.5}, {"tags": ["a"]}, {"tags": [], "price": "a"}]),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "values"), DOUBTFUL)
def test_a_strict_function_takes_just_what_its_schema_says(
    judge: Judge, annotation: Any, values: list[Any]
) -> None:
    def Take(x: Any) -> None: ...

    Take.__annotations__["x"] = annotation
    app = App("A", strict=True)
    schema = input_schema(app.register(Take))
    for value in values:
        taken = app.call("Take", json.dumps({"x": value}).encode()).fault is None
        assert taken == (judge(schema, {"x": value}) == []), value


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_arguments_and_envelopes_are_as_their_schemas_say(
    judge: Judge, data: st.DataObject
) -> None:
    annotation, values = data.draw(types, "type")
    value = data.draw(values, "value")
    app = App("A", strict=True, envelope=data.draw(st.sampled_from(["wrapped", "bare"])))

    def Echo(x):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        return x

    Echo.__annotations__ = {"x": annotation, "return": annotation}
    operation = app.register(Echo)
    sent = dumps({"x": value})
    assert judge(input_schema(operation), json.loads(sent)) == []
    envelope = app.call("Echo", sent)
    assert envelope.fault is None, envelope.body
    assert judge(output_schema(operation), json.loads(envelope.body)) == []
