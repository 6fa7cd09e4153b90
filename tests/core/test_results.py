"""Results a function must not give: a fault, and never a lie, a hang or a null."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuniumi import App
from kuniumi.core.fault import Kind

NAN, INF = float("nan"), float("inf")


class Fraction(float):
    """As numpy's float64 is one."""


@dataclass
class Node:
    value: float
    next: Node | None = None
    extra: Any = None


@dataclass
class Loud:
    a: int

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("do not look")


class Model(pydantic.BaseModel):
    x: float = 1.0
    extra: Any = None


class Computed(pydantic.BaseModel):
    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def x(self) -> int:
        raise RuntimeError("no x")


@dataclass
class Holder:
    model: Model


class Typed(TypedDict):
    a: int


@dataclass
class Bill:
    total: Decimal


@dataclass
class Bag:
    items: dict[Any, Any]


@dataclass
class Stamp:
    id: UUID
    at: datetime | None = None


@dataclass
class LateStamp(Stamp):
    late: int = 0


DASHLESS: Any = "12345678123456781234567812345678"
ODD: Any = "2020-01-01 00:00:00z"
STAMP = '{"id":"%s","at":%s}'


def cyclic_list() -> Any:
    items: list[Any] = []
    items.append(items)
    return items


def cyclic_dict() -> Any:
    items: dict[str, Any] = {}
    items["a"] = [items]
    return items


def cyclic_node() -> Node:
    node = Node(1.0)
    node.next = node
    return node


def cyclic_model() -> Model:
    model = Model()
    model.extra = [model]
    return model


def deep(wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = wrap(value)
    return value


def numbers() -> Iterator[int]:
    yield 1


def answer(annotation: Any, make: Callable[[], Any]) -> Any:
    def Give() -> Any:
        return make()

    Give.__annotations__["return"] = annotation
    app = App()
    app.register(Give)
    return app.call("Give")


FORBIDDEN: dict[str, tuple[Any, Any, str]] = {
    "text for an integer": (int, "x", "expected an integer, got a string"),
    "true for an integer": (int, True, "expected an integer, got a boolean"),
    "nothing for an integer": (int, None, "expected an integer, got null"),
    "a fraction for an integer": (int, 1.5, "expected an integer, got a number"),
    "an integer for text": (str, 1, "expected a string, got an integer"),
    "a decimal for a float": (float, Decimal("1.5"), "expected a number, got a string"),
    "a number below its bound": (Annotated[int, msgspec.Meta(ge=0)], -1, "an integer >= 0"),
    "another literal": (Literal["a"], "b", "invalid enum value 'b'"),
    "a wrong item": (list[int], [1, "x"], "expected an integer, got a string, at [1]"),
    "a wrong field": (Node, Node("x"), "expected a number, got a string, at value"),  # type: ignore[arg-type]
    "a missing key": (Typed, {}, "missing required field a"),
    "text that is no date": (date, "soon", "invalid RFC3339 encoded date"),
    "a moment for a day": (date, datetime(2020, 1, 1), "invalid RFC3339"),  # noqa: DTZ001 - naive on purpose
    "something for nothing": (None, 1, "where nothing was promised"),
    "a short tuple": (tuple[int, int], (1,), "a tuple of 1 where a tuple of 2 was promised"),
    "a long tuple": (tuple[int, int], (1, 2, 3), "a tuple of 3 where a tuple of 2"),
    "no tuple": (tuple[int, int], 5, "where a tuple of 2 was promised"),
    "no tuple at all": (tuple[int, int], None, "where a tuple of 2 was promised"),
    "a wrong member": (tuple[int, int], (1, "x"), "expected an integer"),
    "a generator for a list": (list[int], partial(numbers), "an object of type generator"),
    "a range for a list": (list[int], range(3), "an object of type range"),
    "a generator for anything": (Any, partial(numbers), "an object of type generator"),
    "a string for a stream": (Iterator[int], "ab", "expected an integer, got a string"),
    "an object of nobody's": (Any, object(), "an object of type object"),
    "a function": (Any, len, "an object of type builtin_function_or_method"),
    "a class": (Any, Decimal, "an object of type type"),
    "a complex number": (Any, 1 + 2j, "an object of type complex"),
    "an exception": (Any, ValueError("x"), "an object of type ValueError"),
    "a tuple as key": (Any, {(1, 2): 3}, "JSON can't carry"),
    "None as key": (Any, {None: 3}, "JSON can't carry"),
    "one key twice": (dict[str, int], {1: 2, "x": "y"}, "expected an integer"),
    "NaN": (float, NAN, "NaN or an infinity"),
    "infinity": (float, INF, "NaN or an infinity"),
    "NaN for a number or nothing": (float | None, NAN, "NaN or an infinity"),
    "NaN for anything": (Any, NAN, "NaN or an infinity"),
    "NaN deep in anything": (Any, [1, {"a": (None, -INF)}], "NaN or an infinity"),
    "NaN beside null": (dict[str, float | None], {"a": None, "b": NAN}, "NaN or an infinity"),
    "NaN in a dataclass": (Node, Node(1.0, extra=NAN), "NaN or an infinity"),
    "NaN in a dataclass for anything": (Any, Node(NAN), "NaN or an infinity"),
    "NaN of a class derived from float": (Any, Fraction("nan"), "NaN or an infinity"),
    "NaN in a model": (Model, Model(x=NAN), "NaN or an infinity"),
    "NaN in an untyped field of a model": (Model, Model(extra=[NAN]), "NaN or an infinity"),
    "NaN in a model for anything": (Any, Model(extra=NAN), "NaN or an infinity"),
    "NaN in a model in a dataclass": (Holder, Holder(Model(extra=NAN)), "NaN or an infinity"),
    "NaN in a list of models": (list[Model], [Model(x=INF)], "NaN or an infinity"),
    "a decimal that is none": (Decimal, Decimal("NaN"), "NaN or an infinity"),
    "an infinite decimal": (Decimal, Decimal("-Infinity"), "NaN or an infinity"),
    "a signalling decimal": (Decimal, Decimal("sNaN"), "NaN or an infinity"),
    "a decimal that is none, as text": (Decimal, "nan", "NaN or an infinity"),
    "a decimal that is none beside null": (list[Decimal | None], [None, Decimal("NaN")], "NaN or"),
    "a decimal that is none as a key": (dict[Decimal, int], {Decimal("NaN"): 1}, "NaN or"),
    "a decimal that is none in a dataclass": (Bill, Bill(Decimal("NaN")), "NaN or an infinity"),
    "a decimal that is none for anything": (Any, [Decimal("NaN")], "NaN or an infinity"),
    "raw JSON with a number that is none": (msgspec.Raw, msgspec.Raw(b"[1e400]"), "out of range"),
    "a lone surrogate": (str, "\ud800", "lone surrogate"),
    "a lone surrogate in a list": (Any, ["a\udcffb"], "lone surrogate"),
    "a lone surrogate as a key": (Any, {"\ud800": 1}, "lone surrogate"),
    "a lone surrogate in a model": (Model, Model(extra="\ud800"), "lone surrogate"),
    "a list in itself": (list, partial(cyclic_list), "contains itself"),
    "a list in itself for anything": (Any, partial(cyclic_list), "contains itself"),
    "a dict in itself": (dict, partial(cyclic_dict), "contains itself"),
    "a dataclass in itself": (Node, partial(cyclic_node), "contains itself"),
    "a model in itself": (Model, partial(cyclic_model), "Circular reference"),
    "lists without end": (list, partial(deep, lambda value: [value]), "nests too deeply"),
    "dicts without end": (Any, partial(deep, lambda value: {"a": value}), "nests too deeply"),
    "nodes without end": (Node, partial(deep, lambda value: Node(1.0, value)), "nests too deeply"),
    "a value that raises": (Loud, partial(Loud, 1), "do not look"),
    "a value that raises for anything": (Any, partial(Loud, 1), "do not look"),
    "a computed field that raises": (Computed, Computed(), "RuntimeError: no x"),
    "a computed field that raises for anything": (Any, Computed(), "no x"),
    "a model holding an object": (Model, Model(extra=object()), "JSON can't carry"),
    "a model of another kind": (Model, Holder(Model()), "valid"),
    "an integer of 5,000 digits": (int, 10**5000, "JSON can't carry"),
    "an integer no float can be": (float, 10**400, "out of range"),
    "raw bytes that are no JSON": (msgspec.Raw, msgspec.Raw(b"{x"), "malformed"),
    "raw bytes that go on": (Any, msgspec.Raw(b'1,"b":2'), "malformed"),
    "raw bytes that are NaN": (Any, msgspec.Raw(b"NaN"), "malformed"),
}  # fmt: skip


@pytest.mark.parametrize("what", FORBIDDEN)
def test_a_forbidden_result_is_a_fault(what: str) -> None:
    annotation, value, told = FORBIDDEN[what]
    started = time.process_time()
    envelope = answer(annotation, value if isinstance(value, partial) else lambda: value)
    assert time.process_time() - started < 1
    assert envelope.fault is not None
    assert envelope.fault.kind is Kind.BAD_RESULT
    message = msgspec.json.decode(envelope.body)["error"]
    assert message.startswith("Give returned what it must not: ")
    assert told in message
    assert "\n" not in message
    assert "Traceback" not in message


# Each row: what is promised, what is given, and the one way it goes out.
REWRITTEN: list[tuple[Any, Any, str]] = [
    (Decimal, 1.5, '"1.5"'),
    (Decimal, 3, '"3"'),
    (Decimal, Decimal("1.50"), '"1.50"'),
    (list[Decimal], [1.5], '["1.5"]'),
    (set[int], [1, 1], "[1]"),
    (frozenset[str], ["a", "a"], '["a"]'),
    (dict, {1: "a", "1": "b"}, '{"1":"b"}'),
    (Any, {1: "a", "1": "b"}, '{"1":"b"}'),
    (list[dict[str, int]], [{1: 1, "1": 2}], '[{"1":2}]'),
    (list[Any], [[{1: 1, "1": 2}]], '[[{"1":2}]]'),
    (dict[str, dict[str, int]], {"a": {1: 1, "1": 2}}, '{"a":{"1":2}}'),
    (Bag, Bag({1: 1, "1": 2}), '{"items":{"1":2}}'),
    (list[Bag], [Bag({1: ":", "1": ":"})], '[{"items":{"1":":"}}]'),
    (Node, Node(1.5, extra={1: 0.1, "1": 0.2}), '{"value":1.5,"next":null,"extra":{"1":0.2}}'),
    (list[Typed], [{"a": 1, 2: 3, "2": 4}], '[{"a":1,"2":4}]'),
    (
        msgspec.Raw,
        msgspec.Raw(b'{"a":1,"a":0.10000000000000000001}'),
        '{"a":0.10000000000000000001}',
    ),
    (list[msgspec.Raw], [msgspec.Raw(rb'{"a":1,"a":"\u003a"}')], '[{"a":":"}]'),
    (msgspec.Raw, msgspec.Raw(b'{"a": ":", "b": {"a": 1.50}}'), '{"a": ":", "b": {"a": 1.50}}'),
    (str, "NaN", '"NaN"'),
    (Any, "Infinity", '"Infinity"'),
    (Decimal, Decimal("1E+400"), '"1E+400"'),
    (UUID, DASHLESS, '"12345678-1234-5678-1234-567812345678"'),
    (Stamp, Stamp(DASHLESS), STAMP % ("12345678-1234-5678-1234-567812345678", "null")),
    (Stamp, Stamp(UUID(int=1), ODD), STAMP % (UUID(int=1), '"2020-01-01T00:00:00Z"')),
    (Stamp, LateStamp(UUID(int=1), None, 5), (STAMP % (UUID(int=1), "null"))[:-1] + ',"late":5}'),
    (datetime, "2020-01-01t00:00:00+0100", '"2020-01-01T00:00:00+01:00"'),
    (list[time_of_day], ["10:00:00z", "10:00:00"], '["10:00:00Z","10:00:00"]'),
    (float | None, None, "null"),
    (Any, [None], "[null]"),
    (Model, {"x": 2}, '{"x":2.0,"extra":null}'),
    (Any, Fraction(1.5), "1.5"),
    (msgspec.Raw, msgspec.Raw(b"[1, null]"), "[1, null]"),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), REWRITTEN)
def test_what_could_be_written_in_two_ways_goes_out_in_one(
    annotation: Any, value: Any, expected: str
) -> None:
    assert answer(annotation, lambda: value).body.decode() == f'{{"result":{expected}}}'


def test_a_rewritten_dataclass_keeps_its_defaults() -> None:
    @dataclass
    class Priced:
        price: Decimal
        note: str | None = None

    assert answer(Priced, lambda: Priced(1.5)).body == b'{"result":{"price":"1.5","note":null}}'  # type: ignore[arg-type]


def test_an_item_of_a_stream_is_checked_too() -> None:
    assert b"expected an integer" in answer(Iterator[int], lambda: iter([1, "x"])).body
    assert b"NaN" in answer(Iterator[Any], lambda: iter([NAN])).body


_anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=4)
    | st.binary(max_size=4)
    | st.complex_numbers()
    | st.decimals()
    | st.dates()
    | st.uuids()
    | st.builds(object)
    | st.builds(Fraction, st.floats()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Node, st.just(1.0), st.none(), inner)
        | st.builds(Model, extra=inner)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("annotation", [Any, int, str, list[int], dict[str, Any], Node, Model])
@given(value=_anything)
def test_whatever_is_given_the_answer_is_json(annotation: Any, value: Any) -> None:
    envelope = answer(annotation, lambda: value)
    body = msgspec.json.decode(envelope.body)
    assert list(body) == (["result"] if envelope.fault is None else ["error"])


def has_infinity(value: Any) -> bool:
    if isinstance(value, float):
        return value != value or value in {INF, -INF}  # noqa: PLR0124 - NaN is not itself
    if isinstance(value, dict):
        return any(map(has_infinity, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(has_infinity, value))
    return False


@given(
    st.recursive(
        st.none() | st.integers() | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=5,
    )
)
def test_a_number_that_is_none_is_always_found(value: Any) -> None:
    envelope = answer(Any, lambda: value)
    assert (envelope.fault is not None) == has_infinity(value)
