"""Where the endpoint is found: beside the functions, by a command of its own, inside other apps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.server import CALCULATOR, Server, eventually, serving_by, serving_on_uvicorn
from tests.mcp.posting import NEW, OLD, Client, in_session, new_mark

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("command", [("serve",), ("mcp", "--http")])
def test_it_is_served_beside_the_functions(command: tuple[str, ...]) -> None:
    with serving_by(CALCULATOR, *command) as server:
        assert server.call("Add", {"x": 7, "y": 3}).json == {"result": 10}
        for revision in (NEW, OLD, "2025-06-18"):
            assert Client(server, revision).result("Add", x=7, y=3) == 10
        assert server.stop() == 0


@pytest.fixture(scope="module", params=["alone", "starlette", "fastapi", "wrapped"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    """Serve the app on uvicorn, alone or mounted; tell where its endpoint is."""
    root = {"starlette": "/deep/tools", "fastapi": "/tools"}.get(request.param, "")
    with serving_on_uvicorn(f"tests.mcp.apps.mounted:{request.param}") as server:
        yield server, f"{root}/mcp"
        assert "Traceback" not in server.errors()


def test_a_mounted_app_answers_every_revision(place: tuple[Server, str]) -> None:
    server, path = place
    for revision in (NEW, OLD, "2025-06-18", "2025-03-26"):
        client = Client(server, revision, path=path)
        listed = client.request("tools/list").json["result"]["tools"]
        assert "functions.Echo" in {tool["name"] for tool in listed}
        reply = client.call("Echo", text="x").json["result"]
        assert reply["content"][0]["text"] == '{"result":"x"}'


def test_a_mounted_app_streams(place: tuple[Server, str]) -> None:
    server, path = place
    for client in (Client(server, path=path), in_session(server, path=path)):
        with client.begin("Talk", mark="m", steps=3, pause=0.01) as events:
            told = events.messages()
        assert [message["params"]["progress"] for message in told[:-1]] == [1, 2, 3]
        assert told[-1]["result"]["structuredContent"] == {"result": "m"}


def test_a_mounted_app_asks(place: tuple[Server, str]) -> None:
    server, path = place
    client = in_session(server, path=path)
    with client.begin("Ask", mark="m") as asking:
        client.answer(asking.next_message(), action="accept", content={"name": "Ada"})
        assert asking.messages()[-1]["result"]["structuredContent"] == {"result": "m: Ada"}


def test_a_mounted_app_tells_of_changes(place: tuple[Server, str]) -> None:
    server, path = place
    client, old = Client(server, path=path), in_session(server, path=path)
    with client.listen(toolsListChanged=True) as events, old.listening() as listening:
        events.next_message()
        client.result("Toggle")
        for stream in (events, listening):
            assert stream.next_message()["method"] == "notifications/tools/list_changed"
    assert old.end().status == 200


def test_a_mounted_app_notices_who_leaves(place: tuple[Server, str]) -> None:
    server, path = place
    client, mark = Client(server, path=path), new_mark()
    with client.begin("Talk", mark=mark, steps=600, pause=0.1) as events:
        events.next_message()
    eventually(lambda: f"{mark} was cancelled" in server.notes(), seconds=5)
