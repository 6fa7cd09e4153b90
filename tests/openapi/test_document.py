"""The OpenAPI document: the same everywhere, valid, and telling no more than what can happen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kuniumi import App
from kuniumi.wire.openapi import openapi
from tests.openapi.running import APPS, Foreign, document_of, fetch, output_of, serving

ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


def operations_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the operations of a document by their ids."""
    found = [operation for path in document["paths"].values() for operation in path.values()]
    by_id = {operation["operationId"]: operation for operation in found}
    assert len(by_id) == len(found)
    return by_id


def document_with(app: App) -> dict[str, dict[str, Any]]:
    """Give the operations of an app's document as they arrive."""
    return operations_of(json.loads(json.dumps(openapi(app.service))))


def schemas_of(operation: dict[str, Any]) -> dict[int, Any]:
    """Give the schema of each of an operation's answers."""
    return {
        int(status): response["content"]["application/json"]["schema"]
        for status, response in operation["responses"].items()
    }


def test_an_independent_validator_accepts_it(
    foreign: Foreign, app_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "openapi.json").write_bytes(output_of(app_file, "openapi"))
    done = foreign.run("openapi-spec-validator", "--errors", "all", "openapi.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "openapi.json: OK\n"), done.stdout + done.stderr


def test_it_is_the_same_over_http_cgi_and_the_shell(app_file: Path) -> None:
    printed = output_of(app_file, "openapi").rstrip(b"\n")
    with serving(app_file) as url:
        assert fetch(f"{url}/openapi.json") == ("application/json", printed)
    cgi = {"GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "GET", "PATH_INFO": "/openapi.json"}
    head, _, body = output_of(app_file, **cgi).partition(b"\r\n\r\n")
    assert b"Status: 200 OK" in head.split(b"\r\n")
    assert b"Content-Type: application/json" in head.split(b"\r\n")
    assert body == printed


def test_as_yaml_it_says_the_same(app_file: Path) -> None:
    printed = output_of(app_file, "openapi", "--yaml")
    assert yaml.safe_load(printed) == document_of(app_file)
    with serving(app_file) as url:
        assert fetch(f"{url}/openapi.yaml") == ("application/yaml", printed)


def test_every_operation_has_its_id_and_tells_of_its_errors(app_file: Path) -> None:
    for operation in operations_of(document_of(app_file)).values():
        schemas = schemas_of(operation)
        assert {200, 400, 413, 415, 500} <= schemas.keys()
        assert all(schema == ERROR for status, schema in schemas.items() if status != 200)
        assert operation["tags"]
        assert operation["summary"]


def test_the_ids_are_those_that_callers_use_everywhere() -> None:
    document = document_of(APPS["rich"])
    listed = json.loads(output_of(APPS["rich"], "list", "--json"))["functions"]
    assert list(operations_of(document)) == [function["operationId"] for function in listed]
    assert document["paths"]["/pets/adopt"]["post"]["operationId"] == "adopt_pet"
    assert document["paths"]["/functions/Pages"]["post"]["operationId"] == "functions.Pages"


def test_a_function_stands_in_it_once_under_the_path_of_its_own() -> None:
    paths = document_of(APPS["weather"])["paths"]
    assert {path: list(item) for path, item in paths.items()} == {"/weather": ["post"]}


def test_the_app_tells_its_name_version_and_description() -> None:
    document = document_of(APPS["rich"])
    assert document["openapi"].startswith("3.1.")
    assert document["info"] == {
        "title": "Rich",
        "version": "2.3.4",
        "description": "All there is.",
    }


def test_the_calculator_says_what_its_author_said() -> None:
    add = operations_of(document_of(APPS["calculator"]))["functions.Add"]
    body = add["requestBody"]["content"]["application/json"]["schema"]
    assert add["summary"] == add["description"] == "Adds two integers together"
    assert body == {
        "type": "object",
        "properties": {
            "x": {"type": "integer", "description": "First integer to add"},
            "y": {"type": "integer", "description": "Second integer to add"},
        },
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    assert schemas_of(add)[200] == {
        "type": "object",
        "properties": {"result": {"type": "integer", "description": "Sum of x and y"}},
        "required": ["result"],
    }
    assert add["responses"]["200"]["description"] == "Sum of x and y"


def test_statuses_stand_only_where_they_can_happen() -> None:
    app = App("A")
    app.register(lambda: 1, name="Plain")
    app.register(lambda: 1, name="Slow", timeout=1)
    app.register(lambda: 1, name="Picky", errors={422: "Too picky", 500: "Broken"})
    found = document_with(app)
    always = {200, 400, 413, 415, 500}
    assert schemas_of(found["functions.Plain"]).keys() == always
    assert schemas_of(found["functions.Slow"]).keys() == always | {504}
    assert schemas_of(found["functions.Picky"]).keys() == always | {422}
    responses = found["functions.Picky"]["responses"]
    assert responses["422"]["description"] == "Too picky"
    assert responses["500"]["description"] == "Broken"
    assert responses["413"]["description"] == "Content Too Large"


def test_an_apps_own_limits_are_told_too() -> None:
    app = App("A", timeout=1, limit_concurrency=1)
    app.register(lambda: 1, name="Plain")
    (operation,) = document_with(app).values()
    assert schemas_of(operation).keys() == {200, 400, 413, 415, 500, 503, 504}
    assert operation["responses"]["503"]["headers"]["Retry-After"]["schema"] == {"type": "integer"}


def test_the_limit_of_a_single_function_is_told_of_that_one() -> None:
    app = App("A")
    app.register(lambda: 1, name="Limited", concurrency=1)
    app.register(lambda: 1, name="Plain")
    limited, plain = document_with(app).values()
    assert schemas_of(limited).keys() - schemas_of(plain).keys() == {503}
    assert "Retry-After" in limited["responses"]["503"]["headers"]


def test_a_tool_result_tells_of_failures_itself() -> None:
    app = App("A", http_format="tool-result", timeout=1)
    app.register(lambda: 1, name="Plain", errors={422: "Told by isError"})
    (operation,) = document_with(app).values()
    assert schemas_of(operation).keys() == {200, 400, 413, 415, 500}
    assert schemas_of(operation)[200]["required"] == ["content", "isError"]


def test_an_example_is_made_of_defaults_and_examples() -> None:
    contents = {
        name: operation["requestBody"]["content"]["application/json"]
        for name, operation in operations_of(document_of(APPS["rich"])).items()
    }
    assert contents["functions.Constrained"]["example"] == {
        "count": 3,
        "name": "ada",
        "color": "red",
        "mode": "fast",
        "ratio": None,
        "size": 1,
    }
    assert "example" not in contents["functions.Scalars"]  # most of it has none
    assert "example" not in contents["functions.Nothing"]


def test_a_body_is_required_where_an_argument_is() -> None:
    found = operations_of(document_of(APPS["rich"]))
    assert found["functions.Trees"]["requestBody"]["required"] is True
    assert found["functions.Stream"]["requestBody"]["required"] is False


def test_a_stream_is_offered_as_events_too() -> None:
    found = operations_of(document_of(APPS["rich"]))
    for name in ("functions.Stream", "functions.AsyncStream"):
        assert "text/event-stream" in found[name]["responses"]["200"]["content"]
    assert "text/event-stream" not in found["functions.Trees"]["responses"]["200"]["content"]


def test_tags_and_deprecation_are_told() -> None:
    found = operations_of(document_of(APPS["rich"]))
    assert found["functions.Trees"]["deprecated"] is True
    assert "deprecated" not in found["functions.Pages"]
    assert found["functions.Constrained"]["tags"] == ["constraints"]
    assert found["functions.Pages"]["tags"] == ["Rich"]


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    schemas: dict[str, Any] = document_of(APPS["rich"])["components"]["schemas"]
    return schemas


def test_what_is_shared_or_recursive_stands_under_components(shared: dict[str, Any]) -> None:
    assert shared["Node"]["properties"]["children"]["items"] == {
        "$ref": "#/components/schemas/Node"
    }
    assert {"Page_int", "Order", "Cat", "Dog"} <= shared.keys()
    assert not {"Page_str", "Size", "Options"} & shared.keys()  # used once, written in place


def test_types_of_one_name_are_told_apart(shared: dict[str, Any]) -> None:
    assert shared["Square"]["properties"].keys() == {"side"}
    assert shared["SquareOutput"]["properties"].keys() == {"side", "area"}
    assert shared["Square2"]["properties"].keys() == {"corner"}
    assert all(schema["title"] == name for name, schema in shared.items())


def test_a_discriminator_names_what_is_there(shared: dict[str, Any]) -> None:
    pets = document_of(APPS["rich"])["paths"]["/pets/adopt"]["post"]["requestBody"]["content"]
    discriminator = pets["application/json"]["schema"]["properties"]["pet"]["discriminator"]
    assert discriminator == {
        "propertyName": "type",
        "mapping": {"cat": "#/components/schemas/Cat", "dog": "#/components/schemas/Dog"},
    }
    assert {"Circle", "Line"} <= shared.keys()
