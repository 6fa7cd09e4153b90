"""How types become JSON Schema: of the arguments, and of the envelope that goes out."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import annotated_types
import attrs
import msgspec
import pydantic
import pytest

from kuniumi import App
from kuniumi.core import forms
from kuniumi.core.describe import described_input, described_output
from kuniumi.core.forms import TIME, WRITTEN_MOMENT, WRITTEN_TIME

Item = TypeVar("Item")
DECIMAL = {"type": "string", "format": "decimal", "pattern": forms.DECIMAL}


@dataclass
class Point:
    """A point."""

    x: int
    y: int = 0


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Even:
    odd: Odd | None = None


@dataclass
class Odd:
    even: Even | None = None


@dataclass
class Box(Generic[Item]):
    content: Item


class Color(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


class Alarm(msgspec.Struct, tag="alarm", rename={"at": "moment"}):
    at: datetime.datetime


@dataclass
class Event:
    start: Annotated[datetime.datetime, "When"]
    later: list[Event] = field(default_factory=list)


class Stamp(NamedTuple):
    moment: datetime.datetime
    number: int


class Pair(NamedTuple):
    left: int
    right: str = ""


class Options(TypedDict, total=False):
    deep: bool


@attrs.define
class Order:
    number: int


class Model(pydantic.BaseModel):
    side: int = pydantic.Field(ge=0, alias="Side")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.side**2


class Tree(pydantic.BaseModel):
    branches: list[Tree] = []


@dataclass
class Holder:
    model: Model


def inputs(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Describe the arguments of a function."""
    return described_input(App("A").register(function, **options))


def outputs(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Describe the envelope of a function."""
    return described_output(App("A").register(function, **options))


def schema_of(annotation: Any, default: Any = msgspec.NODEFAULT) -> dict[str, Any]:
    """Describe one argument of a type."""

    def take(x):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        pass

    take.__annotations__["x"] = annotation
    if default is not msgspec.NODEFAULT:
        take.__defaults__ = (default,)
    schema: dict[str, Any] = inputs(take)["properties"]["x"]
    return schema


def result_of(annotation: Any) -> dict[str, Any]:
    """Describe the envelope of a function that gives this type."""

    def give() -> None:
        pass

    give.__annotations__["return"] = annotation
    return outputs(give)


# ---- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (str, {"type": "string"}),
        (None, {"type": "null"}),
        (Any, {}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (decimal.Decimal, {"anyOf": [DECIMAL, {"type": "number"}]}),
        (
            decimal.Decimal | None,
            {"anyOf": [DECIMAL, {"type": "number"}, {"type": "null"}]},
        ),
        (datetime.time, {"type": "string", "pattern": TIME}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Color, {"title": "Color", "description": "A colour.", "enum": ["blue", "red"]}),
        (Level, {"title": "Level", "enum": [1, 2]}),
    ],
    ids=str,
)
def test_a_plain_type_is_written_in_place(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (decimal.Decimal, {"type": "string", "format": "decimal"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (datetime.datetime, {"type": "string", "pattern": WRITTEN_MOMENT}),
        (datetime.time, {"type": "string", "pattern": WRITTEN_TIME}),
    ],
    ids=str,
)
def test_a_result_is_described_as_it_goes_out(annotation: Any, schema: dict[str, Any]) -> None:
    assert result_of(annotation)["properties"]["result"] == schema
    model = pydantic.create_model("Model", x=(annotation, ...))
    held = result_of(model)["properties"]["result"]["properties"]["x"]
    assert held == {**schema, "title": "X"}


def test_an_offset_is_promised_where_it_is_demanded() -> None:
    aware = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
    promised = {"type": "string", "format": "date-time"}
    assert result_of(aware)["properties"]["result"] == promised
    model = pydantic.create_model("Model", x=(pydantic.AwareDatetime, ...))
    held = result_of(model)["properties"]["result"]["properties"]["x"]
    assert held == {**promised, "title": "X"}


INTEGER = {"type": "string", "pattern": "^-?(0|[1-9][0-9]*)$"}


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        (dict[int, int], INTEGER),
        (dict[Literal["k", 2], int], {"enum": ["2", "k"]}),
        (dict[Color, int], {"enum": ["blue", "red"]}),
        (dict[Level, int], {"enum": ["1", "2"]}),
        (dict[datetime.date, int], {"type": "string", "format": "date"}),
        (dict[uuid.UUID, int], {"type": "string", "format": "uuid"}),
        (dict[decimal.Decimal, int], DECIMAL),
        (dict[Annotated[int, "A number"], int], INTEGER),
        (
            dict[datetime.date | int, int],
            {"anyOf": [{"type": "string", "format": "date"}, INTEGER]},
        ),
        (dict[int | str, int], None),
        (dict[str, int], None),
        (dict[Any, int], None),
        (dict[Annotated[str, annotated_types.MaxLen(3)], int], {"maxLength": 3}),
    ],
    ids=str,
)
def test_the_keys_of_a_dict_are_told(annotation: Any, names: dict[str, Any] | None) -> None:
    assert schema_of(annotation).get("propertyNames") == names
    nested = schema_of(list[annotation] | None)["anyOf"][0]["items"]
    assert nested.get("propertyNames") == names


def test_a_moment_is_told_wherever_it_stands() -> None:
    moment = {"type": "string", "format": "date-time"}
    nothing = {"type": "null"}
    assert schema_of(list[datetime.datetime])["items"] == moment
    assert schema_of(dict[str, datetime.datetime])["additionalProperties"] == moment
    assert schema_of(tuple[int, datetime.datetime])["prefixItems"][1] == moment
    assert schema_of(datetime.datetime | None)["anyOf"] == [moment, nothing]
    assert moment in schema_of(Cat | datetime.datetime | Dog | None)["anyOf"]
    assert inputs(_taking(event=Event))["$defs"]["Event"]["properties"] == {
        "start": {**moment, "description": "When"},
        "later": {"type": "array", "items": {"$ref": "#/$defs/Event"}},
    }
    assert schema_of(Cat | Alarm)["anyOf"][1]["properties"]["moment"] == moment
    assert schema_of(Stamp)["prefixItems"] == [moment, {"type": "integer"}]


def test_a_tuple_of_fixed_length_tells_each_of_its_items() -> None:
    schema = schema_of(tuple[int, str])
    assert schema["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert (schema["minItems"], schema["maxItems"]) == (2, 2)


@pytest.mark.parametrize("annotation", [Point, Pair, Options, Order, Cat, Box[int], Model])
def test_a_class_used_once_is_written_in_place(annotation: Any) -> None:
    schema = schema_of(annotation)
    assert "$ref" not in schema
    assert schema["type"] in {"object", "array"}


def test_a_class_tells_its_fields_defaults_and_docstring() -> None:
    assert schema_of(Point) == {
        "title": "Point",
        "description": "A point.",
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
    }


def test_a_class_used_twice_moves_to_the_definitions() -> None:
    def between(start: Point, end: Point) -> None: ...

    schema = inputs(between)
    assert schema["properties"] == {
        "start": {"$ref": "#/$defs/Point"},
        "end": {"$ref": "#/$defs/Point"},
    }
    assert schema["$defs"].keys() == {"Point"}


def test_a_class_used_once_within_one_used_twice_is_written_there() -> None:
    outer = make_dataclass("Outer", [("inner", Point)])
    schema = inputs(_taking(a=outer, b=outer))
    assert schema["$defs"].keys() == {"Outer"}
    assert schema["$defs"]["Outer"]["properties"]["inner"]["title"] == "Point"


def test_a_recursive_class_moves_to_the_definitions() -> None:
    def walk(root: Node) -> Node:
        return root

    for schema, name in ((inputs(walk), "root"), (outputs(walk), "result")):
        assert schema["properties"][name] == {"$ref": "#/$defs/Node"}
        children = schema["$defs"]["Node"]["properties"]["children"]
        assert children["items"] == {"$ref": "#/$defs/Node"}


def test_classes_that_need_each_other_both_move_to_the_definitions() -> None:
    schema = inputs(_taking(even=Even))
    assert schema["$defs"].keys() == {"Even", "Odd"}


def test_a_recursive_model_moves_to_the_definitions() -> None:
    schema = inputs(_taking(tree=Tree))
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["branches"]["items"] == {"$ref": "#/$defs/Tree"}


def test_generic_classes_are_named_by_what_is_in_them() -> None:
    schema = inputs(_taking(a=Box[int], b=Box[int], c=Box[str], d=Box[str]))
    assert schema["$defs"].keys() == {"Box_int", "Box_str"}
    assert schema["$defs"]["Box_str"]["properties"]["content"] == {"type": "string"}


def test_classes_that_share_a_name_are_told_apart() -> None:
    first, second = (make_dataclass("Twin", [(name, int)]) for name in ("x", "y"))
    third = pydantic.create_model("Twin", z=(int, ...))
    schema = inputs(_taking(a=first, b=second, c=third, d=first, e=second, f=third))
    refs = [schema["properties"][name]["$ref"] for name in "abcdef"]
    assert refs == [f"#/$defs/{name}" for name in ("Twin", "Twin2", "Twin3") * 2]
    fields = [schema["$defs"][name]["properties"].keys() for name in ("Twin", "Twin2", "Twin3")]
    assert fields == [{"x"}, {"y"}, {"z"}]


def test_classes_that_say_the_same_are_one() -> None:
    first, second = (make_dataclass("Twin", [("x", int)]) for _ in range(2))
    assert inputs(_taking(a=first, b=second))["$defs"].keys() == {"Twin"}


def test_a_union_of_tagged_structs_tells_their_tags() -> None:
    arms = schema_of(Cat | Dog)["anyOf"]
    assert [arm["properties"]["type"] for arm in arms] == [{"enum": ["cat"]}, {"enum": ["dog"]}]
    assert "discriminator" not in schema_of(Cat | Dog)  # it would name definitions


def test_a_field_may_be_called_like_a_word_of_json_schema() -> None:
    Strange = TypedDict("Strange", {"$ref": int, "properties": str})
    schema = inputs(_taking(a=Strange, b=Strange))["$defs"]["Strange"]
    assert schema["properties"] == {"$ref": {"type": "integer"}, "properties": {"type": "string"}}


# ---- constraints ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Annotated[int, msgspec.Meta(ge=0, lt=9)], {"minimum": 0, "exclusiveMaximum": 9}),
        (Annotated[int, annotated_types.Ge(0)], {"minimum": 0}),
        (
            Annotated[float, annotated_types.Interval(gt=0, le=1)],
            {"exclusiveMinimum": 0, "maximum": 1},
        ),
        (Annotated[int, annotated_types.MultipleOf(3)], {"multipleOf": 3}),
        (Annotated[str, annotated_types.Len(1, 3)], {"minLength": 1, "maxLength": 3}),
        (Annotated[list[int], annotated_types.MinLen(1)], {"minItems": 1}),
        (Annotated[int, pydantic.Field(ge=1, multiple_of=2)], {"minimum": 1, "multipleOf": 2}),
        (Annotated[str, pydantic.Field(pattern="^a", max_length=3)], {"maxLength": 3}),
        (Annotated[str, pydantic.Field(pattern="^a")], {"pattern": "^a"}),
        (Annotated[str, msgspec.Meta(examples=["a"], title="T")], {"examples": ["a"], "title": "T"}),
        (
            Annotated[str, pydantic.Field(title="T", examples=["a"])],
            {"examples": ["a"], "title": "T"},
        ),
        (Annotated[int, msgspec.Meta(extra_json_schema={"not": {"const": 0}})], {"not": {"const": 0}}),
    ],
    ids=str,
)  # fmt: skip
def test_constraints_are_told_whichever_way_they_are_written(
    annotation: Any, expected: dict[str, Any]
) -> None:
    assert expected.items() <= schema_of(annotation).items()


def test_constraints_within_containers_and_classes_are_told() -> None:
    positive = Annotated[int, annotated_types.Gt(0)]
    assert schema_of(list[positive])["items"] == {"type": "integer", "exclusiveMinimum": 0}
    stock = make_dataclass("Stock", [("count", positive)])
    assert schema_of(stock)["properties"]["count"]["exclusiveMinimum"] == 0


# ---- defaults ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (int, 3, 3),
        (float, 0.5, 0.5),
        (int | None, None, None),
        (datetime.date, datetime.date(2026, 1, 31), "2026-01-31"),
        (decimal.Decimal, decimal.Decimal("1.50"), "1.50"),
        (bytes, b"x", "eA=="),
        (Color, Color.RED, "red"),
        (list[int], [1], [1]),
        (tuple[int, ...], (), []),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (Point, Point(1), {"x": 1, "y": 0}),
        (Model, Model(Side=2), {"Side": 2, "area": 4}),
        (Any, [None], [None]),
    ],
    ids=str,
)
def test_a_default_is_shown_as_a_caller_would_send_it(
    annotation: Any, default: Any, shown: Any
) -> None:
    schema = schema_of(annotation, default)
    assert schema["default"] == shown
    assert type(schema["default"]) is type(shown)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [(int, None), (float, float("nan")), (float | None, float("inf")), (Any, object())],
    ids=str,
)
def test_a_default_no_caller_could_send_just_makes_an_argument_optional(
    annotation: Any, default: Any
) -> None:
    assert "default" not in schema_of(annotation, default)


def test_what_has_no_default_is_required() -> None:
    def take(a: int, b: int = 1, *, c: int, d: int = 2) -> None: ...

    schema = inputs(take)
    assert schema["required"] == ["a", "c"]
    assert schema["additionalProperties"] is False
    assert "required" not in inputs(_taking())


# ---- descriptions --------------------------------------------------------------------------------


def Google(x: int, y: Annotated[int, "from the annotation"], z: int = 0) -> int:
    """Does it well.

    At length.

    Args:
        x (int): from the
            docstring
        y: from the docstring: too
        z: from the docstring

    Returns:
        int: the docstring's answer

    Raises:
        ValueError: never
    """
    return x


def NumPy(x: int, y: Annotated[int, "from the annotation"], z: int = 0) -> int:
    """Does it well.

    At length.

    Parameters
    ----------
    x : int
        from the
        docstring
    y, z : int, optional
        from the docstring

    Returns
    -------
    int
        the docstring's answer
    """  # noqa: D416
    return x


def Rest(x: int, y: Annotated[int, "from the annotation"], z: int = 0) -> int:
    """Does it well.

    At length.

    :param x: from the
        docstring
    :param int y: from the docstring
    :param z: from the docstring
    :returns: the docstring's answer
    :rtype: int
    """
    return x


@pytest.mark.parametrize("function", [Google, NumPy, Rest])
def test_docstrings_of_three_styles_describe_parameters_and_result(
    function: Callable[..., Any],
) -> None:
    properties = inputs(function, params={"z": "from the author"})["properties"]
    assert {name: part["description"] for name, part in properties.items()} == {
        "x": "from the docstring",
        "y": "from the annotation",
        "z": "from the author",
    }
    result = outputs(function)["properties"]["result"]
    assert result == {"type": "integer", "description": "the docstring's answer"}
    told = outputs(function, returns="the author's answer")["properties"]["result"]
    assert told["description"] == "the author's answer"


@pytest.mark.parametrize("function", [Google, NumPy, Rest])
def test_summary_and_description_come_from_the_docstring(function: Callable[..., Any]) -> None:
    from kuniumi.core.describe import words_of

    words = words_of(App("A").register(function))
    assert (words.summary, words.description) == ("Does it well.", "Does it well.\n\nAt length.")
    words = words_of(App("A").register(function, "Better.\nMuch."))
    assert (words.summary, words.description) == ("Better.", "Better.\nMuch.")


def Wrapped() -> None:
    """Does it, and goes on
    in the line below.

    At length,
    in two lines.
    """  # noqa: D205


def Listing() -> None:
    """Does it:
    - once
    - twice
    """  # noqa: D205, D415


@pytest.mark.parametrize(
    ("function", "summary", "description"),
    [
        (
            Wrapped,
            "Does it, and goes on in the line below.",
            "Does it, and goes on in the line below.\n\nAt length,\nin two lines.",
        ),
        (Listing, "Does it:", "Does it:\n\n- once\n- twice"),
    ],
)
def test_a_summary_ends_where_its_paragraph_does(
    function: Callable[..., Any], summary: str, description: str
) -> None:
    from kuniumi.core.describe import words_of

    words = words_of(App("A").register(function))
    assert (words.summary, words.description) == (summary, description)


def test_numpys_returns_describe_each_of_several_values() -> None:
    def divide() -> tuple[int, Annotated[int, "From the annotation"], int]:
        """Divide it.

        Returns
        -------
        quotient : int
            How often it goes
        remainder : int
            From the docstring
        steps : int
            How long it
            took
        """  # noqa: D416
        return 1, 2, 3

    told = outputs(divide)
    assert "description" not in told
    assert [part["description"] for part in told["properties"].values()] == [
        "How often it goes",
        "From the annotation",
        "How long it took",
    ]
    assert outputs(divide, returns="All of it")["description"] == "All of it"


def test_a_sentence_under_numpys_returns_is_no_type() -> None:
    def give() -> int:
        """Give it.

        Returns
        -------
        The number of things
        """  # noqa: D416
        return 1

    assert outputs(give)["properties"]["result"]["description"] == "The number of things"


@pytest.mark.parametrize(
    "note",
    [
        "What it is",
        msgspec.Meta(description="What it is"),
        pydantic.Field(description="What it is"),
    ],
    ids=["text", "Meta", "Field"],
)
def test_an_annotation_describes_a_parameter_and_a_result(note: Any) -> None:
    assert schema_of(Annotated[int, note])["description"] == "What it is"
    result = result_of(Annotated[int, note])["properties"]["result"]
    assert result == {"type": "integer", "description": "What it is"}


def test_a_parameters_description_stands_beside_the_reference_to_its_type() -> None:
    schema = inputs(_taking(a=Point, b=Point), params={"a": "Where from"})
    assert schema["properties"]["a"] == {"$ref": "#/$defs/Point", "description": "Where from"}


# ---- envelopes -----------------------------------------------------------------------------------


def test_one_value_is_the_result() -> None:
    assert result_of(int) == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }


def test_several_values_are_numbered() -> None:
    annotation = tuple[Annotated[int, "The quotient"], Point]
    assert result_of(annotation) == {
        "type": "object",
        "properties": {
            "result0": {"type": "integer", "description": "The quotient"},
            "result1": schema_of(Point),
        },
        "required": ["result0", "result1"],
    }


def test_nothing_is_an_empty_object() -> None:
    assert result_of(None) == {"type": "object", "properties": {}}


def test_an_unannotated_function_may_give_a_result() -> None:
    def give():  # type: ignore[no-untyped-def] # noqa: ANN202
        pass

    assert outputs(give) == {"type": "object", "properties": {"result": {}}}


def test_a_stream_is_the_list_of_its_items() -> None:
    def give() -> Iterator[int]:
        yield 1

    async def give_async() -> AsyncIterator[int]:
        yield 1

    for function in (give, give_async):
        result = outputs(function)["properties"]["result"]
        assert result == {"type": "array", "items": {"type": "integer"}}


def test_a_bare_object_is_its_own_envelope() -> None:
    def give() -> Point:
        return Point(1)

    assert outputs(give, envelope="bare") == schema_of(Point)
    told = outputs(give, envelope="bare", returns="Where it is")
    assert told == {**schema_of(Point), "description": "Where it is"}


def test_what_is_no_object_is_wrapped_even_if_bare() -> None:
    def give() -> list[int]:
        return []

    assert outputs(give, envelope="bare")["required"] == ["result"]


# ---- pydantic ------------------------------------------------------------------------------------


def test_a_model_is_described_as_it_is_sent_and_as_it_is_given() -> None:
    assert schema_of(Model)["properties"].keys() == {"Side"}
    assert result_of(Model)["properties"]["result"]["properties"].keys() == {"Side", "area"}


def test_a_model_within_a_list_or_a_class_is_described_likewise() -> None:
    given = result_of(list[Model])["properties"]["result"]["items"]
    assert given["properties"].keys() == {"Side", "area"}
    held = result_of(Holder)["properties"]["result"]["properties"]["model"]
    assert held["properties"].keys() == {"Side", "area"}
    assert schema_of(Holder)["properties"]["model"]["properties"].keys() == {"Side"}


def test_a_model_promises_no_more_than_is_so() -> None:
    model = pydantic.create_model(
        "Model", tags=(set[int], ...), price=(decimal.Decimal, ...), at=(datetime.datetime, ...)
    )
    properties = schema_of(model)["properties"]
    assert "uniqueItems" not in properties["tags"]
    assert {arm.get("format") for arm in properties["price"]["anyOf"]} == {None, "decimal"}
    assert properties["at"]["format"] == "date-time"


def test_a_union_of_models_tells_each_of_them() -> None:
    either = Annotated[Model | Tree, "Either"]
    assert schema_of(either)["description"] == "Either"
    schema = inputs(_taking(x=Model | Tree))
    first, second = schema["properties"]["x"]["anyOf"]
    assert (first["title"], second) == ("Model", {"$ref": "#/$defs/Tree"})
    assert result_of(list[Model | Tree])["properties"]["result"]["type"] == "array"


def test_a_description_is_made_anew_for_nobody() -> None:
    operation = App("A").register(_taking(x=int))
    from kuniumi.core.schema import input_schema

    assert input_schema(operation) is input_schema(operation)


def _taking(**annotations: Any) -> Callable[..., Any]:
    """Make a function that takes arguments of these types."""
    scope: dict[str, Any] = {}
    exec(f"def take({', '.join(annotations)}): pass", scope)  # noqa: S102
    function: Callable[..., Any] = scope["take"]
    function.__annotations__ = annotations
    return function
