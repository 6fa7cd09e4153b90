"""An answer's value held against a schema, and given as a type."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jsonschema
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi import agent
from kuniumi.errors import AnswerError
from tests.agent.cases import text

SCHEMAS: list[Any] = [
    True,
    False,
    {},
    *(
        {"type": kind}
        for kind in ("null", "boolean", "integer", "number", "string", "array", "object")
    ),
    {"type": ["string", "null"]},
    {"enum": [1, "a", None, [1], {"a": 1}]},
    {"const": {"a": [1.0]}},
    {"const": False},
    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"properties": {"a": {}}, "additionalProperties": False},
    {"additionalProperties": {"type": "string"}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"propertyNames": {"maxLength": 1}},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"minProperties": 1, "maxProperties": 1},
    {"items": {"type": "integer"}},
    {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    {"contains": {"type": "integer"}, "maxContains": 1},
    {"contains": {"type": "integer"}, "minContains": 0},
    {"uniqueItems": True},
    {"minItems": 1, "maxItems": 2},
    {"minLength": 1, "maxLength": 2},
    {"pattern": "^[ab]+$"},
    {"minimum": 0, "exclusiveMaximum": 2},
    {"exclusiveMinimum": 0, "maximum": 2},
    {"multipleOf": 2},
    {"allOf": [{"type": "integer"}, {"minimum": 1}]},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
    {"not": {"type": "integer"}},
    {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}},
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}},
    {"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "string"}}},
    {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
]
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.0, 1.0, 1.5]) | st.text("abc", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(value=_values, schema=st.sampled_from(SCHEMAS))
def test_the_verdict_is_that_of_a_full_validator(value: Any, schema: Any) -> None:
    answer = agent.read({"content": [], "structuredContent": value})
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (not answer.check(schema)) is fits, answer.check(schema)


def problems(value: Any, schema: Any) -> list[str]:
    return [
        str(problem)
        for problem in agent.read({"content": [], "structuredContent": value}).check(schema)
    ]


def test_what_is_wrong_is_told_with_its_place() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"items": {"type": "integer"}}},
        "required": ["b"],
        "additionalProperties": False,
    }
    assert problems({"a": [1, "x"], "c": 1}, schema) == [
        "$.a[1]: must be integer, and is string",
        "$.c: is not known to the schema",
        "$: lacks 'b'",
    ]


def test_an_answer_without_a_value_fits_no_schema() -> None:
    assert [str(each) for each in agent.read(text("hi")).check(True)] == [
        "$: the answer has no value"
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema"},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/nothing"},
        {"$dynamicRef": "#x"},
        {"$ref": 7},
    ],
)
def test_what_is_elsewhere_is_not_fetched(schema: Any) -> None:
    assert "not checked" in problems(1, schema)[0]


def test_schemas_that_would_never_end_do() -> None:
    started = time.process_time()
    assert problems(1, {"$ref": "#"})
    assert problems(
        1, {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}, "$ref": "#/$defs/a"}
    )
    doubling = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(40)}
    told = problems(1, {"$defs": {**doubling, "D40": {}}, "$ref": "#/$defs/D0"})
    assert told == ["$: too large to be checked to its end"]
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "(a|a)*b", "(a*)*b", r"(a)\1*b", "a*a*a*a*a*b", "("]
)
def test_patterns_that_would_take_for_ever_are_not_run(pattern: str) -> None:
    assert "too costly" in problems("a" * 2000, {"pattern": pattern})[0]


@pytest.mark.parametrize(
    "schema", [{"type": 7}, {"properties": 3}, {"required": "a"}, {"items": 3}, {"minimum": "x"}, {"enum": 1}]
)  # fmt: skip
def test_a_schema_that_is_garbage_forbids_nothing(schema: Any) -> None:
    assert problems({"a": 1}, schema) == []
    assert problems([1], schema) == []


# ---- types -----------------------------------------------------------------------------------------


@dataclass
class Sum:
    a: int
    b: list[str]


class Struct(msgspec.Struct):
    a: int


class Model(pydantic.BaseModel):
    a: int


@pytest.mark.parametrize(
    ("value", "expected", "typed"),
    [
        ({"a": 1, "b": ["x"]}, Sum, Sum(1, ["x"])),
        ({"a": 1}, Struct, Struct(1)),
        ({"a": 1}, Model, Model(a=1)),
        ({"a": 1}, dict[str, int], {"a": 1}),
        ({"result": 3}, int, 3),
        ({"result": {"a": 1}}, Struct, Struct(1)),
        ({"result": 3}, dict[str, int], {"result": 3}),
        ({"result0": 1, "result1": "x"}, tuple[int, str], (1, "x")),
        ({}, None, None),
        ([1], list[int], [1]),
    ],
)
def test_a_value_as_a_type(value: Any, expected: Any, typed: Any) -> None:
    assert agent.read({"content": [], "structuredContent": value}).as_type(expected) == typed


def test_text_is_a_string() -> None:
    assert agent.read(text("hi")).as_type(str) == "hi"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (text("hi"), "the answer is text, and has no value"),
        (text('{"a":"x"}'), "the value is no Struct: .*int"),
        (text("no such row", isError=True), "the tool failed: no such row"),
        (None, "the answer is empty"),
    ],
)
def test_a_value_that_is_no_such_type(raw: Any, told: str) -> None:
    with pytest.raises(AnswerError, match=told):
        agent.read(raw).as_type(Struct)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({}, {"required": [[]]}),
        ({"a": 1}, {"dependentRequired": {"a": [{}]}}),
        ([1], {"contains": {}, "minContains": "a", "maxContains": []}),
        (10**400, {"multipleOf": 0.5}),
        ([], {"prefixItems": {}, "items": 7}),
        (1, {"type": {}, "enum": 5, "anyOf": "x", "$defs": []}),
    ],
)
def test_keywords_that_mean_nothing_forbid_nothing(value: Any, schema: Any) -> None:
    assert agent.read({"content": [], "structuredContent": value}).check(schema) == ()
