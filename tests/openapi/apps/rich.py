"""An app that uses all that the document can tell of."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import annotated_types
import attrs
import msgspec
import pydantic

from kuniumi import App, Context

app = App("Rich", "2.3.4", "All there is.", limit_concurrency=100)

Item = TypeVar("Item")


class Color(enum.Enum):
    """The colours we paint in."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Node:
    """A tree."""

    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Page(Generic[Item]):
    """A page of a longer list."""

    items: list[Item]
    more: bool = False


class Cat(msgspec.Struct, tag="cat"):
    """It has lives."""

    lives: int


class Dog(msgspec.Struct, tag="dog"):
    """It has a name."""

    name: str


class Options(TypedDict, total=False):
    """All of them may be left out."""

    color: Color
    ratio: float


class Size(NamedTuple):
    """Width and height."""

    width: int
    height: int = 1


@attrs.define
class Order:
    """Made with attrs."""

    number: int
    lines: list[str]


class Square(pydantic.BaseModel):
    """Made with pydantic."""

    side: Annotated[int, pydantic.Field(ge=0, description="Of one side")]

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        """Of the whole."""
        return self.side**2


class Circle(pydantic.BaseModel):
    """Made with pydantic too."""

    kind: Literal["circle"] = "circle"
    radius: float


class Line(pydantic.BaseModel):
    """And this."""

    kind: Literal["line"] = "line"
    length: float


class Drawing(pydantic.BaseModel):
    """One of two shapes, told apart by their kind."""

    shape: Annotated[Circle | Line, pydantic.Field(discriminator="kind")]


def shapes_of_another_module() -> type:
    """Make a class that shares its name with one above."""

    @dataclass
    class Square:
        """Not the square above."""

        corner: float

    return Square


OtherSquare: Any = shapes_of_another_module()


@app.function
def Scalars(
    flag: bool,
    day: datetime.date,
    moment: datetime.datetime,
    amount: decimal.Decimal,
    key: uuid.UUID,
    data: bytes,
    duration: datetime.timedelta = datetime.timedelta(hours=1),
) -> dict[str, Any]:
    """Takes one of each."""
    return {"flag": flag, "day": day, "key": key}


@app.function(tags=["constraints"], errors={409: "Taken", 422: "No good"}, timeout=5)
def Constrained(
    count: Annotated[int, annotated_types.Ge(0), "How many"] = 3,
    name: Annotated[str, msgspec.Meta(min_length=1, pattern="^[a-z]+$", examples=["ada"])] = "bob",
    color: Color = Color.RED,
    mode: Literal["fast", "slow"] = "fast",
    ratio: float | None = None,
    *,
    size: int = pydantic.Field(1, lt=10, description="How big"),
) -> str:
    """Takes what is within bounds."""
    return name


@app.function(deprecated=True)
def Trees(root: Node) -> Node:
    """Takes a tree and gives one."""
    return root


@app.function
def Pages(first: Page[int], second: Page[str]) -> Page[int]:
    """Takes generic types."""
    return first


@app.function(path="/pets/adopt", operation_id="adopt_pet")
def Adopt(pet: Cat | Dog) -> list[Cat | Dog]:
    """Takes one of several."""
    return [pet]


@app.function(envelope="bare")
def Records(options: Options, size: Size, order: Order) -> Order:
    """Takes all kinds of records."""
    return order


@app.function
def Squares(square: Square, other: OtherSquare) -> Square:
    """Takes two types of one name."""
    return square


@app.function
def MoreSquares(square: list[Square], other: OtherSquare | None = None) -> dict[str, Square]:
    """Takes them again."""
    return {"first": square[0]}


@app.function
def Draw(drawing: Drawing) -> Drawing:
    """Takes what has a discriminator."""
    return drawing


@app.function
def Several(pair: tuple[int, str], rest: tuple[int, ...] = ()) -> tuple[int, Node, None]:
    """Gives several results."""
    return pair[0], Node(pair[1]), None


@app.function
def Nothing(ctx: Context) -> None:
    """Takes nothing and gives nothing."""


@app.function
def Untyped(a, b=1):  # type: ignore[no-untyped-def] # noqa: ANN201, ANN001
    """Says nothing of its types."""
    return a


@app.function
def Stream(count: int = 2) -> Iterator[Node]:
    """Gives one thing after another."""
    yield from (Node(str(number)) for number in range(count))


@app.function
async def AsyncStream(values: set[int]) -> AsyncIterator[int]:
    """Does so too."""
    for value in values:
        yield value


if __name__ == "__main__":
    app.run()
