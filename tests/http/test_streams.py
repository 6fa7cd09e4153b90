"""Streams: an event for each item as it comes, and the envelope that all others get at the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.http.server import JSON, MISCHIEF, eventually, serving

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator

    from tests.http.server import Server

EVENTS = {**JSON, "Accept": "text/event-stream"}
Event = tuple[str, Any]


def _events(response: http.client.HTTPResponse) -> Iterator[Event]:
    """Read events as a browser does."""
    name, data = "message", b""
    while line := response.readline():
        line = line.rstrip(b"\n")
        if line.startswith(b"event: "):
            name = line[7:].decode()
        elif line.startswith(b"data: "):
            data += line[6:]
        elif not line and data:
            yield name, msgspec.json.decode(data)
            name, data = "message", b""
        else:
            assert not line or line.startswith(b":"), line


def _stream(server: Server, name: str, arguments: Any = None) -> list[Event]:
    with server.connect() as connection:
        response = _begin(connection, name, arguments)
        assert response.status == 200
        assert response.getheader("content-type") == "text/event-stream"
        return list(_events(response))


def _begin(
    connection: http.client.HTTPConnection, name: str, arguments: Any = None
) -> http.client.HTTPResponse:
    connection.request("POST", f"/functions/{name}", msgspec.json.encode(arguments or {}), EVENTS)
    return connection.getresponse()


@pytest.mark.parametrize("name", ["Count", "CountAsync"])
@pytest.mark.parametrize("to", [0, 1, 3, 500])
def test_each_item_is_an_event_and_the_envelope_is_the_last(
    mischief: Server, name: str, to: int
) -> None:
    expected: list[Event] = [("item", number) for number in range(to)]
    expected.append(("result", {"result": list(range(to))}))
    assert _stream(mischief, name, {"to": to}) == expected
    assert mischief.call(name, {"to": to}).json == {"result": list(range(to))}


@pytest.mark.parametrize("name", ["Count", "CountAsync"])
def test_items_come_as_they_are_made(mischief: Server, name: str) -> None:
    with mischief.connect() as connection:
        began = time.monotonic()
        events = _events(_begin(connection, name, {"to": 5, "pause": 0.1}))
        came = [time.monotonic() - began for _ in events]
    assert came[0] < 0.25
    assert came[-1] > 0.45
    assert came == sorted(came)


def test_what_gives_one_value_gives_it_at_the_end(mischief: Server) -> None:
    assert _stream(mischief, "Add", {"x": 1, "y": 2}) == [("result", {"result": 3})]


@pytest.mark.parametrize(
    ("name", "arguments", "items", "error"),
    [
        ("Falter", {"after": 2}, 2, "No more"),
        ("Falter", {"after": 0}, 0, "No more"),
        ("FalterAsync", {"after": 2}, 2, "ValueError: No more"),
        ("RaiseInGenerator", {"name": "SystemExit"}, 1, "SystemExit: on purpose"),
        ("RaiseInAsyncGenerator", {"name": "SystemExit"}, 1, "SystemExit: on purpose"),
        ("RaiseInThread", {"name": "KeyboardInterrupt"}, 0, "KeyboardInterrupt: on purpose"),
        ("RaiseLater", {"name": "ValueError"}, 0, "ValueError: on purpose"),
        ("WaitForEver", {}, 0, "Timed out after 0.3 seconds"),
        ("LoopForEver", {}, 0, "Timed out after 0.3 seconds"),
    ],
)
def test_an_error_midway_is_the_last_event(
    mischief: Server, name: str, arguments: Any, items: int, error: str
) -> None:
    *before, last = _stream(mischief, name, arguments)
    assert len(before) == items
    assert last == ("error", {"error": error})


def test_an_item_that_was_not_promised_is_an_error(mischief: Server) -> None:
    *before, (kind, envelope) = _stream(mischief, "Slip")
    assert before == [("item", 1)]
    assert kind == "error"
    assert "Slip returned what it must not" in envelope["error"]
    assert mischief.call("Slip").json == envelope


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("Count", b"{}", 400),
        ("Count", b"{", 400),
        ("Nope", b"{}", 404),
        ("Count", b'{"to":[]}', 400),
    ],
)
def test_what_is_refused_is_refused_with_a_status(
    mischief: Server, name: str, body: bytes, status: int
) -> None:
    reply = mischief.call(name, body, EVENTS)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json) == ["error"]


@pytest.mark.parametrize("name", ["Work", "WorkAsync"])
def test_progress_is_told_in_order_and_before_the_result(mischief: Server, name: str) -> None:
    for _ in range(5):
        *progress, last = _stream(mischief, name, {"steps": 5})
        assert last == ("result", {"result": 5})
        assert [kind for kind, _ in progress] == ["progress"] * 5
        assert [said["progress"] for _, said in progress] == [1, 2, 3, 4, 5]
        assert progress[0][1]["total"] == 5


def test_progress_and_items_keep_their_order(mischief: Server) -> None:
    told = _stream(mischief, "WorkAndYield", {"steps": 10})
    kinds = [kind for kind, _ in told]
    assert kinds == ["progress", "item"] * 10 + ["result"]


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("name", ["CountForEver", "CountForEverAsync"])
def test_a_client_that_leaves_closes_the_stream(mischief: Server, name: str, accept: str) -> None:
    mark = f"{name}-{time.monotonic_ns()}"
    body = msgspec.json.encode({"mark": mark})
    head = f"POST /functions/{name} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n"
    connection = mischief.open(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    eventually(lambda: f"{mark} began" in mischief.notes())
    if accept == "text/event-stream":
        assert connection.recv(10)
    assert f"{mark} was closed" not in mischief.notes()
    connection.close()
    eventually(lambda: f"{mark} was closed" in mischief.notes(), seconds=5)


def test_streams_that_were_left_leave_nothing(mischief: Server) -> None:
    tasks = mischief.call("Tasks").json["result"]
    for _ in range(20):
        for name in ("CountForEver", "CountForEverAsync"):
            with mischief.connect() as connection:
                response = _begin(connection, name, {"mark": "left"})
                assert response.readline() == b"event: item\n"
                response.close()
    eventually(lambda: mischief.call("Tasks").json["result"] <= tasks, seconds=5)
    assert mischief.call("Block", {"seconds": 0}).status == 200


def test_a_client_that_does_not_read_makes_the_function_wait(mischief: Server) -> None:
    before = mischief.call("Process").json["result"]["rss"]
    with mischief.connect() as connection:
        connection.request("POST", "/functions/CountAsync", b'{"to":3000000}', EVENTS)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            rss = mischief.call("Process").json["result"]["rss"]
            assert rss - before < 64 * 1024 * 1024


def test_a_stream_counts_as_one_call() -> None:
    with serving(MISCHIEF, "--limit-concurrency", "1") as server:
        with server.connect() as connection:
            response = _begin(connection, "CountForEver", {"mark": "1"})
            assert response.readline() == b"event: item\n"
            assert server.call("Add", {"x": 1, "y": 2}).status == 503
            response.close()
        eventually(lambda: server.call("Add", {"x": 1, "y": 2}).status == 200, seconds=5)


def test_a_stream_is_kept_by_no_one(mischief: Server) -> None:
    with mischief.connect() as connection:
        response = _begin(connection, "Count", {"to": 1})
        assert response.getheader("cache-control") == "no-store"
        assert response.getheader("x-accel-buffering") == "no"
        response.read()
