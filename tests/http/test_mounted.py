"""The app is plain ASGI: inside other apps, on another server, without any ritual."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.http.server import JSON, eventually, read_all, serving_on_uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.server import Server


@pytest.fixture(scope="module", params=["alone", "starlette", "fastapi"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    """Serve the app on uvicorn, alone or mounted; tell where it is."""
    root = {"alone": "", "starlette": "/deep/tools", "fastapi": "/tools"}[request.param]
    with serving_on_uvicorn(f"tests.http.apps.mounted:{request.param}") as server:
        yield server, root
        assert "Traceback" not in _unexpected(server.errors())


def _unexpected(log: str) -> str:
    """Leave out the tracebacks of functions that fail on purpose."""
    return log if "on purpose" not in log else ""


def test_functions_are_called(place: tuple[Server, str]) -> None:
    server, root = place
    for body, expected in (
        (b'{"x":1,"y":2}', b'{"result":3}'),
        (b"{", b'{"error":"Invalid JSON body"}'),
    ):
        assert server.request("POST", f"{root}/functions/Add", body, JSON).body == expected


def test_everything_else_is_there(place: tuple[Server, str]) -> None:
    server, root = place
    assert server.get(f"{root}/health").json == {"status": "ok"}
    assert server.get(f"{root}/functions").json["name"] == "Mischief"
    assert server.get(f"{root}/functions/Nope").json == {"error": "Function not found: Nope"}
    assert server.request("PUT", f"{root}/health").status == 405


def test_links_lead_to_where_it_is_mounted(place: tuple[Server, str]) -> None:
    server, root = place
    assert f'href="{root}/openapi.json"' in server.get(f"{root}/").body.decode()
    document = server.get(f"{root}/openapi.json").json
    assert document["servers"] == [{"url": root or "/"}]


def test_streams_stream(place: tuple[Server, str]) -> None:
    server, root = place
    headers = {**JSON, "Accept": "text/event-stream"}
    reply = server.request("POST", f"{root}/functions/Count", b'{"to":2}', headers)
    assert reply.body.count(b"event: item") == 2
    assert reply.body.endswith(b'event: result\ndata: {"result":[0,1]}\n\n')


def test_bodies_are_bounded(place: tuple[Server, str]) -> None:
    server, root = place
    text = b'{"value":"%b"}' % (b"x" * 4_194_304)
    assert server.request("POST", f"{root}/functions/Echo", text, JSON).status == 413


def test_a_client_that_leaves_is_noticed(place: tuple[Server, str]) -> None:
    server, root = place
    id_ = f"left{time.monotonic_ns()}"
    body = b'{"mark":"%b"}' % id_.encode()
    head = f"POST {root}/functions/NoteCancellation HTTP/1.1\r\nHost: a\r\n".encode()
    connection = server.open(head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    eventually(lambda: f"{id_} began" in server.notes())
    connection.close()
    eventually(lambda: f"{id_} was cancelled" in server.notes(), seconds=5)


def test_a_websocket_is_refused(place: tuple[Server, str]) -> None:
    server, root = place
    head = (
        f"GET {root}/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with server.open(head.encode()) as connection:
        said = read_all(connection)
    assert said.startswith((b"HTTP/1.1 403", b"HTTP/1.1 404"))


def test_a_mount_of_many_names_tells_each_its_own() -> None:
    with serving_on_uvicorn("tests.http.apps.mounted:starlette") as server:
        assert server.get("/").body == b"outer"
        for tenant in ("a", "b"):
            document = server.get(f"/tenants/{tenant}/openapi.json").json
            assert document["servers"] == [{"url": f"/tenants/{tenant}"}]
        page = server.get("/tenants/%3Cscript%3E/").body
        assert b"<script" not in page


def test_a_root_path_told_to_the_server_is_taken_off() -> None:
    with serving_on_uvicorn("tests.http.apps.mounted:alone", "--root-path", "/api") as server:
        assert server.request("POST", "/functions/Add", b'{"x":1,"y":2}', JSON).json == {
            "result": 3
        }
        assert server.get("/openapi.json").json["servers"] == [{"url": "/api"}]
