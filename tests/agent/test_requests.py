"""OpenAPI documents read as tools, and arguments written into requests: pure, row by row."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi.agent import ServerError
from kuniumi.agent.servers.openapi import Operation, read_document
from kuniumi.agent.servers.requests import prepare


def read(paths: dict[str, Any], *, settled: frozenset[str] = frozenset(), **more: Any) -> list[Any]:
    return read_document({"openapi": "3.1.0", "paths": paths, **more}, settled)


def operation(*parameters: dict[str, Any], path: str = "/p", **more: Any) -> Operation:
    (found,) = read({path: {"get": {"operationId": "f", "parameters": list(parameters), **more}}})
    assert isinstance(found, Operation)
    return found


def target(parameter: dict[str, Any], value: Any, path: str = "/p") -> str:
    return prepare(operation(parameter, path=path), {parameter["name"]: value}).target


# ---- the table of styles in the specification ------------------------------------------------------

LIST, OBJECT = ["blue", "black"], {"R": 100, "G": 200}


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", False, LIST, "blue,black"),
        ("simple", False, OBJECT, "R,100,G,200"),
        ("simple", True, OBJECT, "R=100,G=200"),
        ("label", False, "blue", ".blue"),
        ("label", False, LIST, ".blue,black"),
        ("label", True, LIST, ".blue.black"),
        ("label", True, OBJECT, ".R=100.G=200"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, LIST, ";color=blue,black"),
        ("matrix", True, LIST, ";color=blue;color=black"),
        ("matrix", True, OBJECT, ";R=100;G=200"),
        ("simple", False, "a/b?c#d;e,é", "a%2Fb%3Fc%23d%3Be%2C%C3%A9"),
        ("simple", False, "{other}", "%7Bother%7D"),
    ],
)
def test_a_path_is_written_in_its_style(
    style: str, explode: bool, value: Any, written: str
) -> None:
    parameter = {"name": "color", "in": "path", "style": style, "explode": explode}
    assert target(parameter, value, "/x/{color}/y") == f"/x/{written}/y"


@pytest.mark.parametrize(
    ("style", "explode", "value", "written"),
    [
        ("form", True, "blue", "?color=blue"),
        ("form", True, LIST, "?color=blue&color=black"),
        ("form", True, OBJECT, "?R=100&G=200"),
        ("form", False, LIST, "?color=blue,black"),
        ("form", False, OBJECT, "?color=R,100,G,200"),
        ("spaceDelimited", False, LIST, "?color=blue%20black"),
        ("pipeDelimited", False, LIST, "?color=blue%7Cblack"),
        ("deepObject", True, OBJECT, "?color%5BR%5D=100&color%5BG%5D=200"),
        ("form", True, "", "?color="),
        ("form", True, [], ""),
        ("form", True, None, ""),
        ("form", True, True, "?color=true"),
        ("form", True, "a b&c=d#%+é", "?color=a%20b%26c%3Dd%23%25%2B%C3%A9"),
    ],
)
def test_a_query_is_written_in_its_style(
    style: str, explode: bool, value: Any, written: str
) -> None:
    parameter = {"name": "color", "in": "query", "style": style, "explode": explode}
    assert target(parameter, value) == f"/p{written}"


def test_reserved_characters_that_may_stay_begin_no_other_parameter() -> None:
    parameter = {"name": "q", "in": "query", "allowReserved": True}
    assert target(parameter, "a/b?c:d&admin=1#e+f[0]") == "/p?q=a/b?c:d%26admin=1%23e%2Bf%5B0%5D"


@pytest.mark.parametrize(
    ("place", "explode", "value", "name", "written"),
    [
        ("header", False, LIST, "color", "blue,black"),
        ("header", True, OBJECT, "color", "R=100,G=200"),
        ("cookie", True, "a;b=c", "Cookie", "color=a%3Bb%3Dc"),
        ("cookie", False, LIST, "Cookie", "color=blue,black"),
    ],
)
def test_headers_and_cookies_are_written_in_theirs(
    place: str, explode: bool, value: Any, name: str, written: str
) -> None:
    parameter = {"name": "color", "in": place, "explode": explode}
    assert prepare(operation(parameter), {"color": value}).headers[name] == written


@pytest.mark.parametrize("value", ["a\r\nX: y", "é", "\0"])
def test_what_no_header_can_hold_is_refused(value: str) -> None:
    with pytest.raises(ServerError, match="no header can hold"):
        prepare(operation({"name": "X-Color", "in": "header"}), {"X-Color": value})


# ---- where requests may go -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "style", "value"),
    [
        ("/x/{a}", "simple", ".."),
        ("/x/{a}", "simple", "."),
        ("/x/{a}", "simple", ""),
        ("/x/{a}", "label", "."),
        ("/x/{a}", "label", ""),
        ("/x/{a}/y", "label", "."),
        ("/x/.{a}", "simple", "."),
    ],
)
def test_no_argument_leads_up_the_path(path: str, style: str, value: str) -> None:
    parameter = {"name": "a", "in": "path", "style": style}
    with pytest.raises(ServerError, match="address"):
        prepare(operation(parameter, path=path), {"a": value})


def test_a_place_in_a_path_is_a_parameter_even_if_nobody_said_so() -> None:
    found = operation(path="/x/{id}")
    assert found.tool.input_schema["required"] == ["id"]
    assert prepare(found, {"id": "a/b"}).target == "/x/a%2Fb"


@pytest.mark.parametrize(
    "name", ["Host", "content-length", "Transfer-Encoding", "Connection", "Authorization"]
)
def test_no_argument_is_a_header_that_steers_the_request(name: str) -> None:
    found = operation({"name": name, "in": "header", "required": True})
    assert found.tool.input_schema["properties"] == {}
    with pytest.raises(ServerError, match="not known"):
        prepare(found, {name: "x"})


def test_a_header_that_is_settled_is_no_question_to_a_model() -> None:
    sent = {"name": "X-Api-Key", "in": "header", "required": True}
    paths = {"/p": {"get": {"operationId": "f", "parameters": [sent]}}}
    (found,) = read(paths, settled=frozenset({"x-api-key"}))
    assert found.tool.input_schema["properties"] == {}
    assert "X-Api-Key" not in prepare(found, {}).headers


def test_parameters_of_one_name_have_arguments_of_their_own() -> None:
    places = ("path", "query", "header", "cookie")
    found = operation(
        {"name": "query_id", "in": "query"},
        *({"name": "id", "in": place} for place in places),
        path="/x/{id}",
    )
    names = [parameter.argument for parameter in found.parameters]
    assert len(set(names)) == 5
    given = prepare(found, {name: str(number) for number, name in enumerate(names)})
    assert given.target == "/x/1?query_id=0&id=2"
    assert (given.headers["id"], given.headers["Cookie"]) == ("3", "id=4")


# ---- references ------------------------------------------------------------------------------------


def input_schema(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    sent = {"name": "x", "in": "query", "schema": schema}
    (found,) = read({"/p": {"get": {"operationId": "f", "parameters": [sent]}}}, **more)
    given: dict[str, Any] = found.tool.input_schema
    return given


def test_what_is_referred_to_is_a_definition_wherever_it_was() -> None:
    schemas = {
        "Node": {"properties": {"next": {"$ref": "#/components/schemas/Node"}}},
        "a/b~c": {"$ref": "#/components/schemas/Node/properties/next"},
    }
    found = input_schema({"$ref": "#/components/schemas/a~1b~0c"}, components={"schemas": schemas})
    assert found["properties"]["x"] == {"$ref": "#/$defs/a~1b~0c"}
    assert found["$defs"] == {
        "a/b~c": {"$ref": "#/$defs/Node_properties_next"},
        "Node_properties_next": {"$ref": "#/$defs/Node"},
        "Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}},
    }


@pytest.mark.parametrize(
    "ref", ["https://example.com/x.json", "other.yaml#/X", "file:///etc/passwd", "#anchor"]
)
def test_nothing_outside_the_document_is_followed(ref: str) -> None:
    assert input_schema({"$ref": ref})["properties"]["x"] == {}


def test_references_in_a_circle_end() -> None:
    parameters = {
        "P": {"$ref": "#/components/parameters/Q"},
        "Q": {"$ref": "#/components/parameters/P"},
    }
    paths = {
        "/a": {"$ref": "#/paths/~1a"},
        "/b": {"get": {"operationId": "b", "parameters": [{"$ref": "#/components/parameters/P"}]}},
    }
    (found,) = read(paths, components={"parameters": parameters})
    assert found.tool.input_schema["properties"] == {}
    circle = {"S": {"$ref": "#/components/schemas/S"}}
    schema = input_schema({"$ref": "#/components/schemas/S"}, components={"schemas": circle})
    assert schema["$defs"] == {"S": {"$ref": "#/$defs/S"}}


def test_references_that_double_cost_no_more_than_their_number() -> None:
    levels: dict[str, Any] = {"l0": {"type": "string"}}
    for number in range(1, 60):
        ref = {"$ref": f"#/x/l{number - 1}"}
        levels[f"l{number}"] = {"properties": {"a": ref, "b": ref}}
    started = time.process_time()
    found = input_schema({"$ref": "#/x/l59"}, x=levels)
    assert len(found["$defs"]) == 60
    assert time.process_time() - started < 1


def test_a_tool_has_only_so_many_definitions_and_all_that_are_named() -> None:
    schemas = {
        f"S{n}": {"properties": {"a": {"$ref": f"#/components/schemas/S{n + 1}"}}}
        for n in range(5000)
    }
    found = input_schema({"$ref": "#/components/schemas/S0"}, components={"schemas": schemas})
    definitions = found["$defs"]
    assert len(definitions) == 251
    assert definitions["S250"] == {}
    for definition in definitions.values():
        for part in definition.get("properties", {}).values():
            assert part["$ref"].removeprefix("#/$defs/") in definitions


def test_tools_share_what_they_refer_to() -> None:
    schemas = {"S": {"properties": {"t": {"$ref": "#/components/schemas/T"}}}, "T": {}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}}
    paths = {
        f"/{n}": {"get": {"operationId": f"o{n}", "responses": {"200": body}}} for n in range(2)
    }
    one, two = (found.tool.output_schema for found in read(paths, components={"schemas": schemas}))
    assert one["$defs"] is two["$defs"]
    assert one is not two


# ---- documents of any shape ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "no OpenAPI document"),
        ({"paths": []}, "no OpenAPI document"),
        ({}, "version is none"),
        ({"swagger": "2.0"}, "version is 2.0: only 3.x"),
        ({"openapi": "4.0.0"}, "version is 4.0.0: only 3.x"),
    ],
)
def test_what_is_no_document_is_told(document: Any, said: str) -> None:
    with pytest.raises(ServerError, match=said):
        read_document(document)


@pytest.mark.parametrize(
    "item",
    [
        None,
        [],
        "x",
        {"get": None},
        {"get": {"parameters": 5, "requestBody": [], "responses": "x"}},
        {"get": {"parameters": [None, {}, {"name": 5}, {"name": "a", "in": "nowhere"}]}},
        {"get": {"requestBody": {"content": {"application/json": {"schema": True}}}}},
        {"get": {"parameters": [{"name": "a", "in": "query", "schema": {"$ref": 5}}]}},
    ],
)
def test_parts_of_any_shape_are_read(item: Any) -> None:
    for found in read({"/p": item}):
        msgspec.json.encode(found.tool.input_schema)
        prepare(found, {})


_WORDS = ("get", "parameters", "name", "in", "schema", "$ref", "content", "requestBody", "style")
_MORE = ("responses", "200", "properties", "required", "application/json", "servers", "explode")
_TELLING = ("#/paths", "#/components/schemas/A", "#", "#/", "object", "path", "query", "header")
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(_TELLING),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(_WORDS + _MORE) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(
    st.dictionaries(st.sampled_from(["/x/{id}", "/{a}{b}", "", "y"]), _ANYTHING, max_size=3),
    _ANYTHING,
    st.sampled_from(["3.0.3", "3.1.0"]),
)
@settings(deadline=None, max_examples=200)
def test_whatever_a_document_says_it_is_read_or_refused(
    paths: dict[str, Any], anything: Any, version: str
) -> None:
    components = {"schemas": anything, "parameters": anything}
    document = {"openapi": version, "paths": paths, "components": components}
    for found in read_document(document):
        msgspec.json.encode([found.tool.input_schema, found.tool.output_schema])
        arguments = dict.fromkeys(found.tool.input_schema["properties"], anything)
        with suppress(ServerError):
            assert prepare(found, arguments).target.isascii()
