"""What stands at which address, and what its answer looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.server import JSON, read_reply

if TYPE_CHECKING:
    from tests.http.server import Server

TOOL_RESULT = "application/vnd.mcp.tool-result+json"


# ---- calls ---------------------------------------------------------------------------------------


def test_a_call_is_answered_with_its_result(calculator: Server) -> None:
    reply = calculator.call("Add", b'{"x":5,"y":5}')
    assert reply.status == 200
    assert reply.body == b'{"result":10}'
    assert reply.headers["content-type"] == "application/json"


def test_what_is_not_json_is_named_so_exactly(calculator: Server) -> None:
    reply = calculator.call("Add", b"not json")
    assert reply.status == 400
    assert reply.headers["content-type"] == "application/json"
    assert reply.body == b'{"error":"Invalid JSON body"}'


@pytest.mark.parametrize("body", [b"[]", b"5", b'"{}"', b"null", b"true"])
def test_json_that_is_no_object_is_refused_with_the_same_words(
    calculator: Server, body: bytes
) -> None:
    reply = calculator.call("Add", body)
    assert (reply.status, reply.body) == (400, b'{"error":"Invalid JSON body"}')


def test_numbers_may_come_as_text(calculator: Server) -> None:
    assert calculator.call("Add", b'{"x":"10","y":"20"}').body == b'{"result":30}'


def test_a_wrong_argument_is_named(calculator: Server) -> None:
    reply = calculator.call("Add", b'{"x":"abc","y":1}')
    assert reply.status == 400
    assert "'x'" in reply.json["error"]
    assert "'y'" not in reply.json["error"]


def test_a_missing_argument_is_named_and_never_zero(calculator: Server) -> None:
    reply = calculator.call("Add", b'{"x":1}')
    assert reply.status == 400
    assert "'y'" in reply.json["error"]


def test_an_unknown_argument_is_named_with_what_is_close(calculator: Server) -> None:
    reply = calculator.call("Midpoint", b'{"a":{"x":0,"y":0},"B":{"x":1,"y":1}}')
    assert reply.status == 400
    assert "'B'" in reply.json["error"]
    assert "'b'" in reply.json["error"]


def test_an_expected_failure_has_the_status_its_function_gave(calculator: Server) -> None:
    reply = calculator.call("Divide", {"x": 1, "y": 0})
    assert (reply.status, reply.json) == (422, {"error": "Division by zero"})


def test_a_fixed_tuple_gives_numbered_results(calculator: Server) -> None:
    reply = calculator.call("DivMod", {"x": 7, "y": 3})
    assert reply.json == {"result0": 2, "result1": 1}


def test_a_generator_gives_a_list_to_who_asks_for_no_stream(calculator: Server) -> None:
    assert calculator.call("Countdown").json == {"result": [3, 2, 1, 0]}


def test_no_such_function_is_not_found(calculator: Server) -> None:
    for method in ("POST", "GET", "PUT", "OPTIONS"):
        reply = calculator.request(method, "/functions/Nope", b"{}", JSON)
        assert (reply.status, reply.json) == (404, {"error": "Function not found: Nope"})


@pytest.mark.parametrize("body", [None, b""])
def test_an_empty_body_is_an_empty_object(calculator: Server, body: bytes | None) -> None:
    reply = calculator.request("POST", "/functions/Countdown", body, JSON)
    assert reply.json == {"result": [3, 2, 1, 0]}


def test_arguments_in_the_query_are_not_read(calculator: Server) -> None:
    reply = calculator.request("POST", "/functions/Add?x=1&y=2", b'{"x":5,"y":5}', JSON)
    assert reply.json == {"result": 10}


def test_many_calls_go_over_one_connection(calculator: Server) -> None:
    message = b"POST /functions/Add HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    with calculator.open() as connection:
        for number in range(100):
            body = b'{"x":%d,"y":1}' % number
            connection.sendall(message + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            assert read_reply(connection).json == {"result": number + 1}


# ---- content types -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; something=else",
    ],
)
def test_json_may_be_named_in_many_ways(calculator: Server, content_type: str) -> None:
    reply = calculator.call("Add", {"x": 1, "y": 2}, {"Content-Type": content_type})
    assert reply.json == {"result": 3}


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/json; charset=utf-16",
        "application/jsonp",
        "text/plain; application/json",
        "text/plain, application/json",
        "x",
        "",
    ],
)
def test_another_type_is_refused_with_what_to_send(calculator: Server, content_type: str) -> None:
    reply = calculator.call("Add", {"x": 1, "y": 2}, {"Content-Type": content_type})
    assert reply.status == 415
    assert "application/json" in reply.json["error"]


def test_no_type_counts_as_json(calculator: Server) -> None:
    assert calculator.call("Add", {"x": 1, "y": 2}, {}).json == {"result": 3}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_type_from_a_foreign_page_is_refused(
    calculator: Server, headers: dict[str, str]
) -> None:
    assert calculator.call("Add", {"x": 1, "y": 2}, headers).status == 415


def test_no_type_from_a_page_of_its_own_counts_as_json(calculator: Server) -> None:
    headers = {"Origin": f"http://{calculator.host}:{calculator.port}"}
    assert calculator.call("Add", {"x": 1, "y": 2}, headers).json == {"result": 3}


# ---- what can be read ----------------------------------------------------------------------------


def test_functions_are_listed(calculator: Server) -> None:
    listed = calculator.get("/functions").json
    assert (listed["name"], listed["version"]) == ("Calculator", "1.0.0")
    names = [function["name"] for function in listed["functions"]]
    assert names[0] == "Add"
    assert "Countdown" in names


def test_one_function_is_described(calculator: Server) -> None:
    described = calculator.get("/functions/Add").json
    assert described["operationId"] == "functions.Add"
    assert described["description"] == "Adds two integers together"
    assert described["inputSchema"]["properties"]["x"]["description"] == "First integer to add"
    assert described in calculator.get("/functions").json["functions"]


def test_openapi_is_served_in_both_formats(calculator: Server) -> None:
    import yaml

    json_reply, yaml_reply = calculator.get("/openapi.json"), calculator.get("/openapi.yaml")
    assert json_reply.json["openapi"].startswith("3.1")
    assert json_reply.json["paths"]["/functions/Add"]["post"]["operationId"] == "functions.Add"
    assert yaml_reply.headers["content-type"] == "application/yaml"
    assert yaml.safe_load(yaml_reply.body) == json_reply.json


def test_health_is_told(calculator: Server) -> None:
    assert calculator.get("/health").json == {"status": "ok"}


def test_a_person_gets_a_page(calculator: Server) -> None:
    reply = calculator.get("/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    text = reply.body.decode()
    assert "Adds two integers together" in text
    assert "First integer to add" in text
    assert "/openapi.json" in text
    assert "<script" not in text


@pytest.mark.parametrize(
    "path", ["/nowhere", "/functions/", "/health/", "/functions/Add/", "/mcp2"]
)
def test_where_nothing_is_nothing_is_found(calculator: Server, path: str) -> None:
    for method in ("GET", "POST"):
        reply = calculator.request(method, path, b"{}", JSON)
        assert reply.status == 404
        assert list(reply.json) == ["error"]


# ---- methods -------------------------------------------------------------------------------------

_ALLOWED = {
    "/functions/Add": "GET, HEAD, POST, OPTIONS",
    "/functions": "GET, HEAD, OPTIONS",
    "/health": "GET, HEAD, OPTIONS",
    "/openapi.json": "GET, HEAD, OPTIONS",
    "/": "GET, HEAD, OPTIONS",
}


@pytest.mark.parametrize("path", _ALLOWED)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "BREW", "POST"])
def test_a_wrong_method_is_told_the_right_ones(calculator: Server, path: str, method: str) -> None:
    if method in _ALLOWED[path]:
        return
    reply = calculator.request(method, path, b"{}", JSON)
    assert reply.status == 405
    assert reply.headers["allow"] == _ALLOWED[path]
    assert method in reply.json["error"]


@pytest.mark.parametrize("path", _ALLOWED)
def test_options_tells_the_methods(calculator: Server, path: str) -> None:
    reply = calculator.request("OPTIONS", path)
    assert (reply.status, reply.body) == (204, b"")
    # At a function's address it advertises what OpenAPI documents there: the call.
    advertised = "POST, OPTIONS" if path == "/functions/Add" else _ALLOWED[path]
    assert reply.headers["allow"] == advertised
    assert "content-type" not in reply.headers
    assert "access-control-allow-methods" not in reply.headers


@pytest.mark.parametrize("path", [*_ALLOWED, "/nowhere"])
def test_head_tells_what_get_would_and_has_no_body(calculator: Server, path: str) -> None:
    head = f"HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
    with calculator.open(head) as connection:
        said = b"".join(iter(lambda: connection.recv(65536), b""))
    fields, _, body = said.partition(b"\r\n\r\n")
    get = calculator.get(path)
    assert body == b""
    assert f"content-length: {len(get.body)}".encode() in fields
    assert fields.startswith(f"HTTP/1.1 {get.status} ".encode())


# ---- paths of their own, and formats -------------------------------------------------------------


def test_a_function_answers_at_its_own_path_too(weather: Server) -> None:
    for path in ("/weather", "/functions/Weather"):
        reply = weather.request("POST", path, b'{"location":"Oslo"}', JSON)
        assert reply.json["structuredContent"]["location"] == "Oslo"


def test_its_own_path_takes_post_alone(weather: Server) -> None:
    reply = weather.get("/weather")
    assert (reply.status, reply.headers["allow"]) == (405, "POST, OPTIONS")


def test_a_tool_that_fails_has_answered_all_the_same(weather: Server) -> None:
    reply = weather.request("POST", "/weather", b'{"location":"Atlantis"}', JSON)
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["isError"] is True
    assert "Atlantis" in reply.json["content"][0]["text"]
    assert "structuredContent" not in reply.json


def test_a_tool_tells_of_wrong_arguments_in_its_result(weather: Server) -> None:
    reply = weather.request("POST", "/weather", b"{}", JSON)
    assert (reply.status, reply.json["isError"]) == (200, True)


def test_a_tool_given_no_json_is_given_a_status(weather: Server) -> None:
    reply = weather.request("POST", "/weather", b"{", JSON)
    assert (reply.status, reply.body) == (400, b'{"error":"Invalid JSON body"}')


def test_a_bare_result_is_its_own_body(weather: Server) -> None:
    reply = weather.request("POST", "/weather", b'{"location":"Oslo"}', JSON)
    assert reply.json == {
        "content": [
            {
                "type": "text",
                "text": '{"location":"Oslo","temperature":5.0,"conditions":"Cloudy","humidity":78}',
            }
        ],
        "structuredContent": {
            "location": "Oslo",
            "temperature": 5.0,
            "conditions": "Cloudy",
            "humidity": 78,
        },
        "isError": False,
    }


@pytest.mark.parametrize(
    "accept",
    [
        TOOL_RESULT,
        f"{TOOL_RESULT}, application/json;q=0.5",
        f"application/json;q=0.1,{TOOL_RESULT}",
    ],
)
def test_a_tool_result_can_be_asked_for(calculator: Server, accept: str) -> None:
    headers = {**JSON, "Accept": accept}
    good = calculator.call("Add", {"x": 1, "y": 2}, headers)
    assert good.headers["content-type"] == TOOL_RESULT
    assert good.json["structuredContent"] == {"result": 3}
    assert good.json["isError"] is False
    bad = calculator.call("Divide", {"x": 1, "y": 0}, headers)
    assert (bad.status, bad.json["isError"]) == (200, True)
    assert bad.json["content"][0]["text"] == '{"error":"Division by zero"}'


@pytest.mark.parametrize(
    "lines",
    [
        [TOOL_RESULT, "text/html"],
        ["*/*;q=0.1", TOOL_RESULT],
        [f"{TOOL_RESULT};q=0.5", "application/json;q=0.1"],
    ],
)
def test_a_list_of_several_lines_is_one_list(calculator: Server, lines: list[str]) -> None:
    fields = "".join(f"Accept: {line}\r\n" for line in lines)
    head = f"POST /functions/Add HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: 13\r\n\r\n"
    with calculator.open(head.encode() + b'{"x":1,"y":2}') as connection:
        assert read_reply(connection).headers["content-type"] == TOOL_RESULT


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/json",
        "text/html",
        f"application/json, {TOOL_RESULT};q=0.9",
        f"{TOOL_RESULT};q=0",
        "application/json, text/event-stream",
        ";;;,,,q=,",
        f"{TOOL_RESULT};q=x",
    ],
)
def test_everyone_else_gets_plain_json(calculator: Server, accept: str) -> None:
    reply = calculator.call("Add", {"x": 1, "y": 2}, {**JSON, "Accept": accept})
    assert reply.headers["content-type"] == "application/json"
    assert reply.body == b'{"result":3}'
