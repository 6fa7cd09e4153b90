"""What a client over HTTP may do wrong, and how calls end: each has its one answer and its status."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.http.server import CALCULATOR, Server, eventually, exchange, read_replies, serving
from tests.mcp.official import REVISIONS, STATELESS
from tests.mcp.senders import (
    BOTH,
    HANDSHAKE,
    MISCHIEF,
    Poster,
    call,
    elapsed,
    encoded,
    lines_in,
    messages_of,
    meta,
    request,
)
from tests.mcp.test_stdio_faults import ARGUMENTS, BAD, CAPABILITIES, VERSION, changed


@pytest.fixture
def poster(hostile: Server) -> Iterator[Poster]:
    """Give a client of the latest revision; the server answers the next one, too."""
    poster = Poster(hostile)
    yield poster
    assert poster.is_well()


@pytest.fixture(params=BOTH)
def either(hostile: Server, request: pytest.FixtureRequest) -> Iterator[Poster]:
    """Give a client in each way of speaking."""
    poster = Poster(hostile, request.param)
    yield poster
    assert poster.is_well()


# ---- the plain way -----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_calculator_adds_and_says_what_is_wrong(revision: str) -> None:
    with serving(CALCULATOR) as server:
        poster = Poster(server, revision)
        reply = poster.post(poster.call_of("Add", x=7, y=3))
        assert reply.status == 200
        (answer,) = messages_of(reply)
        assert answer["result"]["isError"] is False
        assert answer["result"]["content"] == [{"type": "text", "text": '{"result":10}'}]
        structured = {"result": 10} if revision >= "2025-06-18" else None
        assert answer["result"].get("structuredContent") == structured

        reply = poster.post(poster.call_of("Add", x="not_a_number", y=3))
        assert reply.status == 200
        (answer,) = messages_of(reply)
        assert answer["result"]["isError"] is True
        assert "structuredContent" not in answer["result"]
        assert list(json.loads(answer["result"]["content"][0]["text"])) == ["error"]

        listed = poster.ask(request("tools/list", revision=revision))["result"]["tools"]
        document = server.get("/openapi.json").json
        ids = [
            each["operationId"]
            for path in document["paths"].values()
            for each in path.values()
            if "operationId" in each
        ]
        assert sorted(tool["name"] for tool in listed) == sorted(ids)


def test_a_call_with_neither_handshake_nor_meta_is_answered(hostile: Server) -> None:
    poster = Poster(hostile, "2025-03-26")
    message = call("Add", revision="2025-03-26", x=7, y=3)
    reply = poster.post(message, {"mcp-protocol-version": None, "accept": None})
    assert messages_of(reply)[0]["result"]["content"][0]["text"] == '{"result":10}'


# ---- what is no message ------------------------------------------------------------------------------


@pytest.mark.parametrize(("body", "code"), BAD, ids=[f"{line[:60]!r}" for line, _ in BAD])
def test_what_is_no_message_is_told_so(either: Poster, body: bytes, code: int) -> None:
    began = time.monotonic()
    reply = either.post(body)
    assert elapsed(began) < 1
    assert reply.status == 400
    assert messages_of(reply)[0]["error"]["code"] == code


@pytest.mark.parametrize("body", [b"", b" ", b"\n\n", b"\r\n"])
def test_an_empty_body_is_no_message(either: Poster, body: bytes) -> None:
    reply = either.post(body)
    assert reply.status == 400
    assert messages_of(reply)[0]["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("arguments", "expected"), ARGUMENTS, ids=[f"{given[:30]!r}" for given, _ in ARGUMENTS]
)
def test_odd_arguments_have_one_well_formed_answer(
    poster: Poster, arguments: bytes, expected: str
) -> None:
    asked = request("tools/call", 4, name="functions.Add")
    said = json.dumps(meta()).encode()
    params = b'{"_meta":%b,"name":"functions.Add","arguments":%b}' % (said, arguments)
    body = b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":%b}' % params
    with poster.server.connect() as connection:
        reply = exchange(connection, "POST", "/mcp", body, poster.headers_of(asked))
    (answer,) = messages_of(reply)
    if expected == "no json":
        assert reply.status == 400
        assert answer["error"]["code"] == -32700
        return
    assert reply.status == 200
    assert list(json.loads(answer["result"]["content"][0]["text"])) == [expected]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_of_another_type_is_refused(poster: Poster, content_type: str | None) -> None:
    reply = poster.post(call("Add", x=7, y=3), {"content-type": content_type})
    assert reply.status == 415
    assert "error" in reply.json


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_by_its_other_names_is_json(poster: Poster, content_type: str) -> None:
    assert poster.post(call("Add", x=7, y=3), {"content-type": content_type}).status == 200


def test_what_wants_no_answer_gets_202_and_none(either: Poster) -> None:
    for method in ("notifications/initialized", "notifications/x", "notifications/cancelled", "x"):
        reply = either.post({"jsonrpc": "2.0", "method": method})
        assert (reply.status, reply.body) == (202, b"")


def test_an_answer_that_nobody_waits_for_is_refused(either: Poster) -> None:
    reply = either.post(b'{"jsonrpc":"2.0","id":"ask-1","result":{}}')
    assert reply.status == 400


# ---- what a request says of itself, and what its headers say -----------------------------------------


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({VERSION: STATELESS}, -32602),
        ({CAPABILITIES: {}}, -32602),
        ({}, -32602),
        ({VERSION: 7, CAPABILITIES: {}}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: []}, -32602),
        ({VERSION: STATELESS, CAPABILITIES: {}, "progressToken": []}, -32602),
    ],
)
def test_meta_that_lacks_something_is_invalid(
    poster: Poster, said: dict[str, Any], code: int
) -> None:
    reply = poster.post(changed(call("Add", x=7, y=3), said))
    assert reply.status == 400
    assert messages_of(reply)[0]["error"]["code"] == code


@pytest.mark.parametrize("version", ["2099-01-01", "x", "1" * 1000])
def test_a_version_nobody_speaks_is_told_with_those_that_are_spoken(
    poster: Poster, version: str
) -> None:
    message = changed(call("Add", x=7, y=3), {VERSION: version, CAPABILITIES: {}})
    reply = poster.post(message, {"mcp-protocol-version": version})
    assert reply.status == 400
    error = messages_of(reply)[0]["error"]
    assert error["code"] == -32022
    assert error["data"] == {"requested": version, "supported": list(reversed(REVISIONS))}


@pytest.mark.parametrize("version", ["2099-01-01", "x"])
def test_a_version_nobody_speaks_in_a_header_alone_is_refused(
    hostile: Server, version: str
) -> None:
    poster = Poster(hostile, HANDSHAKE)
    reply = poster.post(poster.call_of("Add", x=7, y=3), {"mcp-protocol-version": version})
    assert reply.status == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-protocol-version": HANDSHAKE},
        {"mcp-protocol-version": "2099-01-01"},
        {"mcp-protocol-version": None},
        {"mcp-method": "tools/list"},
        {"mcp-method": "TOOLS/CALL"},
        {"mcp-method": None},
        {"mcp-method": ""},
        {"mcp-method": "=?base64?dG9vbHMvY2FsbA==?="},  # only names may be encoded
        {"mcp-name": "functions.Same"},
        {"mcp-name": "Functions.Add"},
        {"mcp-name": None},
        {"mcp-name": ""},
        {"mcp-name": "=?base64?ZnVuY3Rpb25zLlNhbWU=?="},
        {"mcp-name": "=?base64?!!!?="},
        {"mcp-name": "=?base64?/w==?="},
        {"mcp-name": "x" * 8000},
    ],
)
def test_headers_that_differ_from_the_body_are_a_mismatch(
    poster: Poster, headers: dict[str, str | None]
) -> None:
    reply = poster.post(call("Add", x=7, y=3), headers)
    assert reply.status == 400
    assert messages_of(reply)[0]["error"]["code"] == -32020


@pytest.mark.parametrize(
    ("repeated", "status"),
    [
        (b"mcp-name: functions.Same", 400),
        (b"mcp-method: tools/list", 400),
        (b"mcp-protocol-version: 2025-11-25", 400),
        (b"origin: http://evil.example\r\norigin: http://localhost", 403),
        (b"content-type: text/plain", 415),
    ],
)
@pytest.mark.parametrize("accept", [b"accept: application/json\r\n", b""], ids=["accept", "none"])
def test_a_header_that_comes_twice_is_not_only_its_last(
    poster: Poster, repeated: bytes, status: int, accept: bytes
) -> None:
    message = call("Add", x=7, y=3)
    fields = {**poster.headers_of(message), "host": "localhost", "connection": "close"}
    del fields["accept"]
    body = encoded(message)
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()
    head += b"content-length: %d\r\n" % len(body)
    (reply,) = poster.server.raw(
        b"POST /mcp HTTP/1.1\r\n%b\r\n%b%b\r\n%b" % (repeated, accept, head, body)
    )
    assert reply.status == status


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"mcp-protocol-version": "1999-01-01"}, 400, -32022),
        ({"mcp-method": "tools/call"}, 400, -32020),
        ({"mcp-method": "notifications/cancelled"}, 202, None),
        ({"mcp-method": None}, 202, None),
        ({"mcp-protocol-version": None}, 202, None),
    ],
)
def test_headers_of_a_notification_have_to_fit_it(
    poster: Poster, headers: dict[str, str | None], status: int, code: int | None
) -> None:
    said = {"requestId": 1, "_meta": meta()}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": said}
    reply = poster.post(cancelled, headers)
    assert reply.status == status
    assert [message["error"]["code"] for message in messages_of(reply)] == ([code] if code else [])


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_version_nobody_speaks_is_refused_before_all_else(hostile: Server, method: str) -> None:
    reply = hostile.request(method, "/mcp", headers={"mcp-protocol-version": "1999-01-01"})
    assert reply.status == 400
    assert reply.json["error"]["code"] == -32022


def test_a_header_may_be_encoded(poster: Poster) -> None:
    reply = poster.post(call("Add", x=7, y=3), {"mcp-name": "=?base64?ZnVuY3Rpb25zLkFkZA==?="})
    assert reply.status == 200


@pytest.mark.parametrize("method", ["nothing/like/it", "initialize", "ping", "logging/setLevel"])
def test_a_method_that_the_latest_revision_lacks_is_not_found(poster: Poster, method: str) -> None:
    reply = poster.post(request(method))
    assert reply.status == 404
    assert messages_of(reply)[0]["error"]["code"] == -32601


def test_a_method_that_nobody_knows_is_an_error_for_those_who_shake_hands(hostile: Server) -> None:
    poster = Poster(hostile, HANDSHAKE)
    reply = poster.post(request("server/discover", revision=HANDSHAKE))
    assert reply.status == 200
    assert messages_of(reply)[0]["error"]["code"] == -32601


def test_a_tool_that_nobody_knows_is_an_error(either: Poster) -> None:
    reply = either.post(either.call_of("None"))
    assert reply.status == (400 if either.revision == STATELESS else 200)
    assert messages_of(reply)[0]["error"] == {
        "code": -32602,
        "message": "Function not found: functions.None",
    }


def test_who_cannot_be_asked_is_told_what_is_missing(everything: Server) -> None:
    reply = Poster(everything).post(call("test_missing_capability"))
    assert reply.status == 400
    (answer,) = messages_of(reply)
    assert answer["error"]["code"] == -32021
    assert answer["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize("line", [b"GET /mcp HTTP/1.1", b"DELETE /mcp HTTP/1.1"])
def test_who_has_no_session_can_only_post(hostile: Server, line: bytes) -> None:
    head = b"%b\r\nHost: localhost\r\nConnection: close\r\n\r\n" % line
    (reply,) = hostile.raw(head)
    assert reply.status == 405
    assert "POST" in reply.headers["allow"]
    assert reply.json["error"]["code"] == -32600


# ---- ids, and who gets which answer ------------------------------------------------------------------


def test_the_same_id_from_a_thousand_clients_is_answered_to_each_its_own(hostile: Server) -> None:
    """Each client asks something else, all under one id; half of them wait, so that calls overlap."""
    posters = [Poster(hostile, revision) for revision in BOTH]

    def ask(number: int) -> Any:
        poster = posters[number % 2]
        if number % 4 < 2:
            answer = poster.ask(poster.call_of("Same", "same id", value=number))
        else:
            answer = poster.ask(poster.call_of("Wait", "same id", seconds=0.01 + number / 1e6))
            return round((answer["result"]["structuredContent"]["result"] - 0.01) * 1e6)
        return answer["result"]["structuredContent"]["result"]

    with ThreadPoolExecutor(64) as clients:
        assert list(clients.map(ask, range(1000))) == list(range(1000))


# ---- how calls end -----------------------------------------------------------------------------------


@pytest.fixture
def noting(tmp_path: Path) -> Iterator[tuple[Server, Callable[[], list[str]]]]:
    """Serve functions that leave notes; give a way to read them."""
    with serving(MISCHIEF, MISCHIEF_NOTES=str(tmp_path / "noted")) as server:
        yield server, lambda: lines_in(tmp_path / "noted")


@pytest.mark.parametrize("name", ["NoteCancelled", "NotePolled"])
@pytest.mark.parametrize("revision", BOTH)
def test_a_client_that_goes_away_has_given_up_its_call(
    noting: tuple[Server, Callable[[], list[str]]], revision: str, name: str
) -> None:
    server, notes = noting
    poster = Poster(server, revision)
    body = encoded(poster.call_of(name, mark="x"))
    fields = poster.headers_of(poster.call_of(name)).items()
    head = b"".join(f"{key}: {value}\r\n".encode() for key, value in fields)
    line = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % len(body)
    with server.open(line + head + b"\r\n" + body):
        eventually(lambda: notes() == ["x began"])
    eventually(lambda: "x was cancelled: True" in notes(), "the end of the call")
    assert poster.is_well()


def test_progress_only_grows_and_ends_with_the_result(either: Poster) -> None:
    steps = [1, 1, 0.5, 2, -3, 2.5, 2.5, 1e300, 7]
    message = either.call_of("Report", steps=steps)
    message["params"]["_meta"] = {**message["params"].get("_meta", {}), "progressToken": "here"}
    *told, last = messages_of(either.post(message))
    assert last["result"]["structuredContent"] == {"result": len(steps)}
    params = [each["params"] for each in told if each["method"] == "notifications/progress"]
    assert [each["progress"] for each in params] == [1, 2, 2.5, 1e300]
    assert {each["progressToken"] for each in params} == {"here"}


@pytest.mark.parametrize("accept", ["application/json", "text/html", None, "*/*", ""])
def test_who_reads_no_events_gets_the_result_alone(either: Poster, accept: str | None) -> None:
    reply = either.post(either.call_of("Report", steps=[1, 2]), {"accept": accept})
    assert messages_of(reply)[-1]["result"]["structuredContent"] == {"result": 2}
    if accept != "*/*":
        assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize("revision", BOTH)
def test_a_server_that_is_told_to_stop_answers_what_it_has(
    noting: tuple[Server, Callable[[], list[str]]], revision: str
) -> None:
    server, notes = noting
    poster = Poster(server, revision)
    answers: list[Any] = []

    def ask(name: str) -> None:
        answers.append(poster.ask(poster.call_of(name, seconds=1)))

    asking = [threading.Thread(target=ask, args=(name,)) for name in ("Wait", "Block")]
    for thread in asking:
        thread.start()
    eventually(lambda: len(notes()) == 2)
    server.signal()
    for thread in asking:
        thread.join()
    assert [answer["result"]["isError"] for answer in answers] == [False, False]
    assert server.wait() == 0


# ---- what is no HTTP ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Name: a\0b\r\n\r\n",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    ],
)
def test_what_is_no_http_is_refused_or_closed(poster: Poster, data: bytes) -> None:
    with poster.server.open(data) as connection:
        for reply in read_replies(connection):
            assert 400 <= reply.status < 500
