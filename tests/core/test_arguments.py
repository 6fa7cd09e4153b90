"""Arguments that are refused: the kind of fault, the place, and the words."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from kuniumi import App
from kuniumi.core.call import Envelope
from kuniumi.core.fault import Fault, Kind


@dataclass
class Line:
    price: float
    count: int = 1


@dataclass
class Order:
    lines: list[Line]
    notes: dict[str, list[int]] = field(default_factory=dict)


def Take(x: int, y: float = 0.0, z: Any = None, s: str = "", items: list[int] = []) -> None:  # noqa: B006 - what users write
    pass


def Place(order: Order, express: bool = False) -> None:
    pass


@dataclass
class Fork:
    left: Fork | None = None
    right: Fork | None = None
    value: int = 0


def Nothing() -> None:
    pass


@pytest.fixture(scope="module")
def app() -> App:
    app = App()
    for function in (Take, Place, Nothing):
        app.register(function)
    return app


def fault_of(envelope: Envelope) -> Fault:
    assert envelope.fault is not None, envelope.body
    return envelope.fault


NOT_JSON = [
    b"not json",
    b"{",
    b'{"x":1',
    b'{"x":1}}',
    b'{"x":1}x',
    b'{"x":1}\x00',
    b'{"x":1,}',
    b"{'x':1}",
    b'{"x":01}',
    b'{"x":1/*c*/}',
    b'{"x":"a\nb"}',
    b'\xef\xbb\xbf{"x":1}',
    b"[1",
    b" ",
    b'{"x":NaN}',
    b'{"x":1,"y":NaN}',
    b'{"x":1,"y":-Infinity}',
    b'{"x":1,"z":[Infinity]}',
    b"\xff",
    b'{"x":"\xff"}',
    b'{"x":1,"s":"\xff"}',
    b'{"x":1,"s":"\xed\xa0\x80"}',
    b'{"x":1,"s":"\\ud800"}',
    b'{"x":1,"z":{"\\udfff":1}}',
    b'{"x":1,"nobody":"\xff"}',
    b'{"x":1,"nobody":"\\ud800"}',
    b'{"x":1,"nobody":NaN}',
]


@pytest.mark.parametrize("body", NOT_JSON)
def test_what_is_not_json_is_told_so_exactly(app: App, body: bytes) -> None:
    envelope = app.call("Take", body)
    assert envelope.body == b'{"error":"Invalid JSON body"}'
    assert fault_of(envelope).kind is Kind.MALFORMED


@pytest.mark.parametrize("body", [b"null", b"[]", b"5", b'"x"', b"true", b'[{"x":1}]'])
def test_json_that_is_no_object_is_told_the_same(app: App, body: bytes) -> None:
    envelope = app.call("Take", body)
    assert envelope.body == b'{"error":"Invalid JSON body"}'
    assert fault_of(envelope).kind is Kind.NOT_AN_OBJECT


def test_bad_utf8_is_found_even_where_nobody_looks(app: App) -> None:
    body = b'{"order":{"lines":[],"unknown":"\xff"}}'
    assert fault_of(app.call("Place", body)).kind is Kind.MALFORMED


def test_an_empty_body_is_an_empty_object(app: App) -> None:
    assert app.call("Nothing", b"").body == app.call("Nothing", b" {} ").body == b"{}"


def test_no_such_function(app: App) -> None:
    envelope = app.call("Missing", b"{}")
    assert envelope.body == b'{"error":"Function not found: Missing"}'
    assert fault_of(envelope).kind is Kind.NOT_FOUND


def test_a_name_of_megabytes_is_not_sent_back_whole() -> None:
    envelope = App().call("x" * 5_000_000)
    assert len(envelope.body) < 300
    assert b"Function not found: xxx" in envelope.body


# Each row: the function, the body, the place, and the whole message.
WRONG = [
    ("Take", "{}", "x", "Missing argument 'x' (an integer)"),
    ("Take", '{"x":"abc"}', "x", "Argument 'x': expected an integer, got \"abc\""),
    ("Take", '{"x":null}', "x", "Argument 'x': expected an integer, got null"),
    ("Take", '{"x":1e400}', "x", "Argument 'x': expected an integer, got 1e400"),
    ("Take", '{"x":"1e400"}', "x", "Argument 'x': expected an integer, got \"1e400\""),
    ("Take", '{"x":1,"y":1e400}', "y", "Argument 'y': number out of range"),
    ("Take", '{"x":1,"z":[1e400]}', "z[0]", "Argument 'z[0]': number out of range"),
    ("Take", f'{{"x":{"9" * 5000}}}', "x", "Argument 'x': integer value out of range"),
    ("Take", f'{{"x":1,"z":{"9" * 5000}}}', "z", "Argument 'z': integer value out of range"),
    ("Take", '{"x":1,"items":{}}', "items", "Argument 'items': expected an array, got an object"),
    ("Take", '{"x":1,"items":[1,"b"]}', "items[1]", "Argument 'items[1]': expected an integer, got \"b\""),
    ("Take", '{"x":1,"X":2}', "X", "Unknown argument 'X': did you mean 'x'?"),
    ("Take", '{"x":1,"itmes":[]}', "itmes", "Unknown argument 'itmes': did you mean 'items'?"),
    ("Take", '{"x":1,"foo":2}', "foo", "Unknown argument 'foo': Take takes x, y, z, s, items"),
    ("Nothing", '{"x":1}', "x", "Unknown argument 'x': Nothing takes none"),
    ("Place", '{"order":5}', "order", "Argument 'order': expected an object, got 5"),
    ("Place", '{"order":{}}', "order.lines", "Argument 'order.lines' is missing: expected an array"),
    (
        "Place",
        '{"order":{"lines":[{"price":1},{"price":2},{"price":"free"}]}}',
        "order.lines[2].price",
        "Argument 'order.lines[2].price': expected a number, got \"free\"",
    ),
    (
        "Place",
        '{"order":{"lines":[],"notes":{"a":[1,"b"]}}}',
        "order.notes.a[1]",
        "Argument 'order.notes.a[1]': expected an integer, got \"b\"",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "body", "path", "message"), WRONG)
def test_a_wrong_argument_is_told_with_its_place(
    app: App, name: str, body: str, path: str, message: str
) -> None:
    fault = fault_of(app.call(name, body.encode()))
    assert (fault.kind, fault.path, fault.message) == (Kind.BAD_ARGUMENTS, path, message)


def test_several_problems_are_told_at_once(app: App) -> None:
    fault = fault_of(app.call("Take", b'{"y":"q","Z":1,"foo":2}'))
    assert fault.message.split("; ") == [
        "Missing argument 'x' (an integer)",
        "Argument 'y': expected a number, got \"q\"",
        "Unknown argument 'Z': did you mean 'z'?",
        "Unknown argument 'foo': Take takes x, y, z, s, items",
    ]


def test_text_that_looks_like_no_number_is_text() -> None:
    @dataclass
    class Listed:
        price: Decimal
        note: str = ""

    def Buy(listed: Listed, word: str) -> str:
        return f"{listed.price} {listed.note} {word}"

    app = App(strict=True)
    app.register(Buy)
    for text in (
        "NaN",
        "1_0",
        " 1",
        "1e400",
        "0e123456",
        "-Infinity",
        "a\\u0031",
        "tiny",
        "9" * 999,
    ):
        body = f'{{"listed":{{"price":"1.50","note":"{text}"}},"word":"{text}"}}'
        said = msgspec.json.decode(f'"{text}"')
        assert msgspec.json.decode(app.call("Buy", body.encode()).body) == {
            "result": f"1.50 {said} {said}"
        }


def test_the_last_of_two_equal_keys_counts(app: App) -> None:
    assert app.call("Take", b'{"x":"a","x":2}').fault is None
    assert fault_of(app.call("Take", b'{"x":2,"x":"a"}')).path == "x"


# ---- at any size ---------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["x", "z", "s", "items", "nobody"])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting_is_refused_at_once(
    app: App, key: str, opening: str, closing: str, *, closed: bool
) -> None:
    deep = opening * 100_000 + "1" + closing * 100_000 * closed
    body = f'{{"x":1,"{key}":{deep}}}'.encode()
    took = []
    for _ in range(3):  # a busy machine may be slow once
        started = time.perf_counter()
        envelope = app.call("Take", body)
        took.append(time.perf_counter() - started)
    assert min(took) < 0.05
    assert envelope.body == b'{"error":"Invalid JSON body"}'


def test_deep_json_in_text_is_refused(app: App) -> None:
    for depth in (150, 500, 100_000):
        fault = fault_of(app.call("Take", {"x": 1, "items": "[" * depth + "]" * depth}))
        assert fault.kind is Kind.BAD_ARGUMENTS


def test_many_unknown_arguments_make_a_short_message(app: App) -> None:
    body = ("{" + ",".join(f'"k{index}":1' for index in range(100_000)) + "}").encode()
    fault = fault_of(app.call("Take", body))
    assert len(fault.message) < 1000
    assert fault.message.endswith("; and 99993 more")


@pytest.mark.parametrize("body", ['{{"x":1,"{}":1}}', '{{"x":"{}"}}', '{{"x":1,"items":["{}"]}}'])
def test_a_long_value_is_not_repeated_in_full(app: App, body: str) -> None:
    fault = fault_of(app.call("Take", body.format("k" * 100_000).encode()))
    assert len(fault.message) < 1000
    assert len(fault.path) < 200


def test_many_loose_values_take_little_time(app: App) -> None:
    started = time.perf_counter()
    envelope = app.call("Take", b'{"x":1,"items":[' + b'"1",' * 1_000_000 + b"1]}")
    assert time.perf_counter() - started < 2
    assert envelope.fault is None


def Sort(
    words: list[int | None] | None = None,
    fork: Fork | None = None,
    grid: list[list[int]] | None = None,
) -> None:
    pass


def fork(depth: int, leaf: str) -> str:
    inside = fork(depth - 1, leaf) if depth else leaf
    return f'{{"left":{inside},"right":{inside}}}'


@pytest.mark.parametrize(
    "body",
    [
        '{"words":[' + '"1",' * 100_000 + "1]}",
        '{"grid":[' + '["1","2"],' * 50_000 + "[1]]}",
        f'{{"fork":{fork(10, "null")[:-1]},"value":"1"}}}}',
    ],
)
def test_as_many_loose_values_as_a_caller_may_mean_are_read(body: str) -> None:
    app = App()
    app.register(Sort)
    assert app.call("Sort", body.encode()).fault is None


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('{"words":[' + '"1",' * 900_000 + "1]}", "words"),
        (f'{{"fork":{fork(16, """{"value":"1"}""")}}}', "fork"),
    ],
)
def test_what_may_be_read_in_too_many_ways_is_told_so(body: str, place: str) -> None:
    app = App()
    app.register(Sort)
    started = time.process_time()
    fault = fault_of(app.call("Sort", body.encode()))
    assert time.process_time() - started < 5
    assert fault.message.startswith(f"Argument {place!r}: expected values as their types have them")
    assert "too many ways to read these" in fault.message
