"""Types: what every supported type takes, and that it comes out as it went in."""

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import annotated_types as at
import attrs
import msgspec
import pydantic
import pytest

from kuniumi import App

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Text(str, enum.Enum):  # noqa: UP042 - as some still write it
    A = "a"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Size(enum.Enum):
    S = 1
    L = 2


class Mode(enum.StrEnum):
    ON = "on"


@dataclass
class Line:
    price: float
    note: str | None = None


@dataclass
class Order:
    name: str
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    a: int
    b: Annotated[int, at.Ge(0)] = 0


@dataclass
class Special(Line):
    discount: Annotated[float, at.Interval(ge=0, lt=1)] = 0.0


@dataclass
class Tree:
    value: int
    children: list["Tree"] = field(default_factory=list)
    parent: Optional["Tree"] = None


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class Counted:
    a: int
    count: int = field(init=False, default=3)


@dataclass
class Positive:
    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("a is negative")


class Person(TypedDict):
    name: str
    age: NotRequired[Annotated[int, at.Gt(0)]]


class Partly(TypedDict, total=False):
    name: Required[str]
    age: int


class Point(NamedTuple):
    x: int
    y: Annotated[int, at.Ge(0)] = 0


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str


class Circle(msgspec.Struct, tag=True):
    radius: float


class Square(msgspec.Struct, tag=True):
    side: float


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    a: int


class Row(msgspec.Struct, array_like=True):
    a: int
    b: str = "b"


class Patch(msgspec.Struct):
    a: int | msgspec.UnsetType | None = msgspec.UNSET


class Holder(msgspec.Struct):
    user: "UserId"


@attrs.define
class Measured:
    a: Annotated[int, at.MultipleOf(2)]
    b: int = attrs.field(default=4, validator=attrs.validators.gt(3))


class Address(pydantic.BaseModel):
    street: str
    number: int = pydantic.Field(default=1, gt=0)


class Customer(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)

    name: str = pydantic.Field(alias="fullName")
    addresses: list[Address] = []
    born: date | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def initial(self) -> str:
        return self.name[:1]

    @pydantic.model_validator(mode="after")
    def nobody_is_called_x(self) -> "Customer":
        if self.name == "X":
            raise ValueError("nobody is called X")
        return self


class Numbers(pydantic.RootModel[list[int]]):
    pass


@dataclass
class Shop:
    owner: Customer
    others: list[Address] = field(default_factory=list)


@dataclass
class Bill:
    total: Decimal


class Priced(pydantic.BaseModel):
    price: Decimal
    extra: Any = None
    weight: float = 0.5
    others: list[Decimal] = []
    named: dict[str, Decimal] = {}
    both: tuple[Decimal, float] | None = None


class Hen(pydantic.BaseModel):
    kind: Literal["hen"]
    eggs: int


class Fox(pydantic.BaseModel):
    kind: Literal["fox"]
    weight: Decimal = Decimal(1)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def heavy(self) -> bool:
        return self.weight > 5


Animal = Annotated[Hen | Fox, pydantic.Field(discriminator="kind", description="Either")]


@dataclass
class Farm:
    animal: Hen | Fox
    others: list[Animal | None] = field(default_factory=list)


UserId = NewType("UserId", int)
Age = NewType("Age", Annotated[int, at.Ge(0)])

ID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
PRICED = '{"price":%s,"extra":null,"weight":0.5,"others":[],"named":{},"both":null}'
TREE = '{"value":1,"children":[{"value":2,"children":[],"parent":null}],"parent":null}'

# Each row: a type, JSON that it takes, and the JSON that comes out (None: the same).
ACCEPTED: list[tuple[Any, str, str | None]] = [
    (int, "1", None),
    (int, "-123456789012345678901234567890", None),
    (float, "1.5", None),
    (float, "1", "1.0"),
    (float, "-0.0", None),
    (bool, "true", None),
    (str, '"aä\\u0000😀"', None),
    (str, '""', None),
    (None, "null", None),
    (Any, '{"a":[1,"2",null,true,1.5]}', None),
    (object, '{"a":[1,"2",null,true,1.5]}', None),
    (msgspec.Raw, '[1, 2,  {"a":3}]', None),
    # enums and literals
    (Color, '"red"', None),
    (Text, '"a"', None),
    (Mode, '"on"', None),
    (Level, "2", None),
    (Size, "2", None),
    (Literal["a", 1, True], "true", None),
    (Literal["a", 1, None], "null", None),  # noqa: PYI061 - as some write it
    (Literal["a", 1] | None, "1", None),
    (Color | None, "null", None),
    # unions
    (int | str, "1", None),
    (int | str, '"1"', None),
    (int | float, "1.0", None),
    (int | float, "1", None),
    (Union[int, None], "null", None),  # noqa: UP007 - as some still write it
    (Optional[list[int]], "[1]", None),  # noqa: UP045 - as some still write it
    (Circle | Square, '{"type":"Square","side":1.0}', None),
    (Circle | Square | None, "null", None),
    (list[Circle | Square], '[{"type":"Circle","radius":1.0}]', None),
    (dict[str, int] | list[int] | str | None, "[1]", None),
    # classes with fields
    (Line, '{"price":1.5}', '{"price":1.5,"note":null}'),
    (
        Order,
        '{"name":"a","lines":[{"price":1}]}',
        '{"name":"a","lines":[{"price":1.0,"note":null}]}',
    ),
    (Frozen, '{"a":1}', '{"a":1,"b":0}'),
    (Special, '{"price":1.5,"note":"a","discount":0.5}', None),
    (Tree, TREE, None),
    (Box[int], '{"content":1}', None),
    (Box[Order], '{"content":{"name":"a","lines":[]}}', None),
    (Box, '{"content":[1,"a"]}', None),
    (Counted, '{"a":1}', '{"a":1,"count":3}'),
    (Positive, '{"a":1}', None),
    (Person, '{"name":"a"}', None),
    (Person, '{"name":"a","age":1}', None),
    (Partly, '{"name":"a"}', None),
    (Point, "[1]", "[1,0]"),
    (Renamed, '{"firstName":"a"}', None),
    (Closed, '{"a":1}', None),
    (Row, "[1]", '[1,"b"]'),
    (Patch, "{}", None),
    (Patch, '{"a":null}', None),
    (Holder, '{"user":1}', None),
    (Measured, '{"a":2}', '{"a":2,"b":4}'),
    (Line, '{"price":1.5,"unknown":[{}]}', '{"price":1.5,"note":null}'),
    # text that means something
    (datetime, '"2026-01-31T12:00:00Z"', None),
    (datetime, '"2026-01-31T12:00:00.123456+02:00"', None),
    (datetime, '"2026-01-31T12:00:00"', None),
    (date, '"2026-01-31"', None),
    (time, '"12:00:00"', None),
    (timedelta, '"PT1H30M"', '"PT5400S"'),
    (UUID, f'"{ID}"', None),
    (Decimal, '"1.10"', None),
    (Decimal, "1.10", '"1.10"'),
    (Decimal, '"12345678901234567890.12345678901234567890"', None),
    (bytes, '"aGk="', None),
    (bytearray, '"aGk="', None),
    (memoryview, '"aGk="', None),
    # collections
    (list[int], "[]", None),
    (list, '[1,"a"]', None),
    (set[int], "[1]", None),
    (set[int], "[1,1]", "[1]"),
    (frozenset[str], '["a"]', None),
    (AbstractSet[int], "[1]", None),
    (tuple[int, ...], "[1,2,3]", None),
    (tuple, '[1,"a"]', None),
    (Sequence[int], "[1]", None),
    (Collection[int], "[1]", None),
    (Mapping[str, int], '{"a":1}', None),
    (dict, '{"a":1}', None),
    (dict[int, str], '{"1":"a"}', None),
    (dict[float, str], '{"1.5":"a"}', None),
    (dict[date, int], '{"2026-01-31":1}', None),
    (dict[UUID, int], f'{{"{ID}":1}}', None),
    (dict[Color, int], '{"red":1}', None),
    (dict[Level, int], '{"1":1}', None),
    (dict[Literal["a"], int], '{"a":1}', None),
    (dict[str, list[dict[str, Order]]], '{"a":[{"b":{"name":"c","lines":[]}}]}', None),
    # names and constraints
    (UserId, "1", None),
    (list[UserId], "[1]", None),
    (Age, "1", None),
    (Annotated[int, "words only"], "1", None),
    (Annotated[int | None, at.Ge(0)], "null", None),
    (Annotated[int | None, pydantic.Field(ge=0)], "0", None),
    (Annotated[int | str, at.Ge(0)], '"a"', None),
    # pydantic
    (Address, '{"street":"a"}', '{"street":"a","number":1}'),
    (
        Customer,
        '{"fullName":"Ann","addresses":[{"street":"a","number":2}],"born":"2026-01-31"}',
        '{"fullName":"Ann","addresses":[{"street":"a","number":2}],"born":"2026-01-31","initial":"A"}',
    ),
    (list[Address], '[{"street":"a","number":2}]', None),
    (dict[str, Address | None], '{"a":{"street":"a","number":2},"b":null}', None),
    (Numbers, "[1,2]", None),
    (Priced, '{"price":0.1000000000000000000000001}', PRICED % '"0.1000000000000000000000001"'),
    (Priced, '{"price":1.50}', PRICED % '"1.50"'),
    (Priced, '{"price":"1.50"}', PRICED % '"1.50"'),
    (
        Priced,
        '{"price":1,"extra":1.50,"weight":1.50,"others":[1.50],"named":{"a":1.50},"both":[1.50,1.50]}',
        '{"price":"1","extra":1.5,"weight":1.5,"others":["1.50"],"named":{"a":"1.50"},"both":["1.50",1.5]}',
    ),
    (Hen | Fox, '{"kind":"hen","eggs":2}', None),
    (Hen | Fox | None, "null", None),
    (
        Hen | Fox | None,
        '{"kind":"fox","weight":1.50}',
        '{"kind":"fox","weight":"1.50","heavy":false}',
    ),
    (list[Hen | Fox], '[{"kind":"hen","eggs":2}]', None),
    (list[Hen] | Fox, '[{"kind":"hen","eggs":2}]', None),
    (Animal, '{"kind":"fox","weight":"2"}', '{"kind":"fox","weight":"2","heavy":false}'),
    (Farm, '{"animal":{"kind":"hen","eggs":2}}', '{"animal":{"kind":"hen","eggs":2},"others":[]}'),
    (Farm, '{"animal":{"kind":"hen","eggs":2},"others":[{"kind":"hen","eggs":0},null]}', None),
    (
        Shop,
        '{"owner":{"fullName":"Ann"},"others":[{"street":"a"}]}',
        '{"owner":{"fullName":"Ann","addresses":[],"born":null,"initial":"A"},"others":[{"street":"a","number":1}]}',
    ),
]

# Each row: a type, JSON that it refuses, and words of the message.
REFUSED: list[tuple[Any, str, str]] = [
    (int, "true", "'x': expected an integer, got true"),
    (int, "1.5", "'x': expected an integer, got 1.5"),
    (int, "null", "'x': expected an integer, got null"),
    (int, "[1]", "'x': expected an integer, got an array of 1"),
    (float, '"nan"', "'x': expected a number"),
    (bool, "1", "'x': expected true or false, got 1"),
    (str, "1", "'x': expected a string, got 1"),
    (Color, '"RED"', 'one of "blue", "red", got "RED"; did you mean "red"?'),
    (Level, "3", "'x': expected one of 1, 2, got 3"),
    (Level, "true", "'x': expected one of 1, 2, got true"),
    (Literal["on", "off"], '"of"', 'expected one of "off", "on", got "of"; did you mean "off"?'),
    (int | None, '"a"', "'x': expected an integer or null, got \"a\""),
    (Circle | Square, '{"type":"Oval"}', '\'x.type\': expected one of "Circle", "Square"'),
    (Circle | Square, '{"side":1}', "'x.type' is missing: expected one of"),
    (Circle | Square, '{"type":"Square","side":"a"}', "'x.side': expected a number, got \"a\""),
    (list[Circle | Square], '[{"type":"Square"}]', "'x[0].side' is missing: expected a number"),
    (Line, "{}", "'x.price' is missing: expected a number"),
    (Order, '{"name":"a","lines":[{"price":1},{"price":"b"}]}', "'x.lines[1].price': expected a"),
    (Frozen, '{"a":1,"b":-1}', "'x.b': expected an integer >= 0"),
    (Special, '{"price":1,"discount":1}', "'x.discount': expected a number < 1"),
    (Tree, '{"value":1,"children":[{"value":"a"}]}', "'x.children[0].value': expected an integer"),
    (Box[int], '{"content":"a"}', "'x.content': expected an integer"),
    (Positive, '{"a":-1}', "'x': a is negative"),
    (Person, '{"age":1}', "'x.name' is missing: expected a string"),
    (Person, '{"name":"a","age":0}', "'x.age': expected an integer >= 1"),
    (Partly, "{}", "'x.name' is missing"),
    (Point, "[]", "expected an array of 1 to 2 items, got an array of 0"),
    (Point, "[1,-1]", "'x[1]': expected an integer >= 0"),
    (Renamed, '{"first_name":"a"}', "'x.firstName' is missing"),
    (Closed, '{"a":1,"aa":2}', "'x.aa' is unknown: did you mean 'a'?"),
    (Closed, '{"a":1,"zzz":2}', "'x.zzz' is unknown: known are a"),
    (Measured, '{"a":3}', "'x.a': expected an integer that's a multiple of 2"),
    (Measured, '{"a":2,"b":1}', "'b' must be > 3"),
    (date, '"2026-13-01"', "'x': invalid RFC3339 encoded date"),
    (timedelta, "3600", "'x': expected a duration like PT1H30M, got 3600"),
    (UUID, '"a"', "'x': invalid UUID"),
    (Decimal, '"a"', "'x': expected a decimal number, got \"a\""),
    (Decimal, '"NaN"', "'x': expected a decimal number, got \"NaN\""),
    (Decimal, '"-Infinity"', "'x': expected a decimal number"),
    (Decimal, r'"\u004eaN"', "'x': expected a decimal number, got \"NaN\""),
    (Decimal, r'"N\u0061N"', "'x': expected a decimal number, got \"NaN\""),
    (Decimal, '"sNaN12"', "'x': expected a decimal number"),
    (Decimal, '"1_0"', "'x': expected a decimal number"),
    (Decimal, '"1e"', "'x': expected a decimal number"),
    (Decimal, "true", "'x': expected a decimal number, got true"),
    (Decimal, "1e400", "'x': number out of range"),
    (Decimal | None, '"NaN"', "'x': expected a decimal number or null, got \"NaN\""),
    (list[Decimal], '["1","nan"]', "'x[1]': expected a decimal number, got \"nan\""),
    (dict[Decimal, int], '{"NaN":1}', "'x': expected a decimal number as a key, got \"NaN\""),
    (Bill, '{"total":"inf"}', "'x.total': expected a decimal number, got \"inf\""),
    (Bill, '{"total":"1","unknown":[1,1e400]}', "'x.unknown[1]': number out of range"),
    (Bill, f'{{"total":"1","unknown":-{"9" * 400}.5}}', "'x.unknown': number out of range"),
    (Line, '{"price":1.5,"unknown":{"a":1E+400}}', "'x.unknown.a': number out of range"),
    (Row, '[1,"b",1e400]', "'x[2]': number out of range"),
    (msgspec.Raw, '{"a":[1e400]}', "'x.a[0]': number out of range"),
    (Priced, '{"price":1,"extra":{"a":[1e400]}}', "'x.extra.a[0]': number out of range"),
    (Priced, '{"price":"NaN"}', "'x.price': expected a decimal number, got \"NaN\""),
    (time, '"soon"', "'x': invalid RFC3339 encoded time"),
    (time | None, '"soon"', "'x': expected a time like 12:00:00 or null, got \"soon\""),
    (dict[date, int], '{"soon":1}', "'x': expected a date like 2026-01-31 as a key, got \"soon\""),
    (Hen | Fox, '{"kind":"cow"}', '\'x.kind\': expected one of "hen", "fox", got "cow"'),
    (Hen | Fox, '{"kind":"hen"}', "'x.eggs' is missing: expected an integer"),
    (bytes, '"a"', "'x': invalid base64"),
    (tuple[int, str], "[1]", "expected an array of 2 items, got an array of 1"),
    (tuple[int, str], '[1,"a",2]', "expected an array of 2 items, got an array of 3"),
    (dict[int, str], '{"a":"b"}', "'x': expected an integer, got a string as a key"),
    (dict[str, int], '{"a":"b"}', "'x.a': expected an integer, got \"b\""),
    (Age, "-1", "expected an integer >= 0"),
    (Annotated[int | None, at.Ge(0)], "-1", "expected an integer >= 0"),
    (Annotated[int, at.Interval(gt=1, le=5)], "6", "expected an integer <= 5"),
    (Annotated[int, at.MultipleOf(3)], "4", "a multiple of 3"),
    (Annotated[int, msgspec.Meta(ge=0)], "-1", "expected an integer >= 0"),
    (Annotated[str, at.MinLen(2)], '"a"', "expected a string of length >= 2"),
    (Annotated[str, at.MaxLen(2)], '"abc"', "expected a string of length <= 2"),
    (Annotated[str, pydantic.Field(pattern="^a")], '"b"', "expected a string matching regex '^a'"),
    (Annotated[str, pydantic.StringConstraints(min_length=3)], '"b"', "length >= 3"),
    (Annotated[list[int], at.Len(1, 2)], "[]", "expected an array of 1 to 2 items"),
    (Annotated[dict[str, int], at.MinLen(1)], "{}", "expected an object of length >= 1"),
    (list[Annotated[int, at.Ge(0)]], "[0,-1]", "'x[1]': expected an integer >= 0"),
    (list[pydantic.PositiveInt], "[1,0]", "'x[1]': expected an integer >= 1"),
    (dict[str, Annotated[int | None, at.Le(5)]], '{"a":6}', "expected an integer <= 5"),
    (Customer, '{"fullName":"X"}', "nobody is called X"),
    (Customer, '{"fullName":"A","addresses":[{}]}', "'x.addresses[0].street' is missing"),
    (Customer, '{"fullName":"A","born":"x"}', "born"),
    (Address, '{"street":"a","number":0}', "greater than 0"),
    (Shop, '{"owner":{"fullName":"X"}}', "'x.owner': value error, nobody is called X"),
    (Numbers, '["a"]', "'x[0]': expected an integer"),
]


def identity(annotation: Any) -> Callable[..., Any]:
    def Same(x: Any) -> Any:
        return x

    Same.__annotations__ = {"x": annotation, "return": annotation}
    return Same


def asked(function: Callable[..., Any], body: str, **options: Any) -> str:
    app = App()
    app.register(function, **options)
    return app.call(function.__name__, body.encode()).body.decode()


def row_id(value: Any) -> str | None:
    return str(value)[:60] if not isinstance(value, str) else None


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("annotation", "given", "expected"), ACCEPTED, ids=row_id)
def test_what_fits_comes_out_as_it_went_in(
    annotation: Any, given: str, expected: str | None, *, strict: bool
) -> None:
    out = "{}" if annotation is None else f'{{"result":{expected or given}}}'
    assert asked(identity(annotation), f'{{"x":{given}}}', strict=strict) == out


@pytest.mark.parametrize(("annotation", "given", "told"), REFUSED, ids=row_id)
def test_what_does_not_fit_is_told_with_its_place(annotation: Any, given: str, told: str) -> None:
    message = msgspec.json.decode(asked(identity(annotation), f'{{"x":{given}}}'))["error"]
    assert message.startswith("Argument 'x")
    assert told in message


def test_iterables_come_as_lists() -> None:
    def Sum(x: Iterable[int], y: Iterable = ()) -> int:  # type: ignore[type-arg]
        total: int = sum(x) + sum(y)
        return total

    assert asked(Sum, '{"x":[1,"2"],"y":[3]}') == '{"result":6}'


def test_a_post_init_that_crashes_is_the_functions_own_failure() -> None:
    @dataclass
    class Odd:
        a: int

        def __post_init__(self) -> None:
            raise KeyError("odd")

    def Read(x: Odd) -> None: ...

    app = App()
    app.register(Read)
    envelope = app.call("Read", {"x": {"a": 1}})
    assert envelope.body == b'{"error":"KeyError: \'odd\'"}'
    assert envelope.fault is not None
    assert envelope.fault.kind.name == "CRASHED"


def test_adapting_a_class_leaves_its_base_alone() -> None:
    @dataclass
    class Base:
        a: Any

    @dataclass
    class Derived(Base):
        a: Annotated[int, at.Ge(0)]

    def Read(x: Derived) -> None: ...

    App().register(Read)
    assert Base.__annotations__["a"] is Any


def test_a_dataclass_stays_as_its_author_wrote_it() -> None:
    def written(cls: type) -> dict[str, Any]:
        return {name: value for name, value in vars(cls).items() if "msgspec" not in name}

    for cls in (Line, Positive):
        before = written(cls)
        asked(identity(cls), '{"x":{"price":1,"a":1}}')
        assert written(cls) == before


def test_a_post_init_sees_the_defaults_and_runs_once() -> None:
    @dataclass
    class Sum:
        a: int
        b: int = 2
        calls: int = 0

        def __post_init__(self) -> None:
            self.b += self.a
            self.calls += 1

    def Read(x: Sum) -> list[int]:
        return [x.a, x.b, x.calls]

    assert asked(Read, '{"x":{"a":1}}') == '{"result":[1,3,1]}'


def test_a_class_may_be_used_by_several_functions() -> None:
    for _ in range(2):
        assert "x.b" in asked(identity(Frozen), '{"x":{"a":1,"b":-1}}')
        assert "error" in asked(identity(list[Frozen]), '{"x":[{"a":1,"b":-1}]}')
