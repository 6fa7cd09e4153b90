"""Calls over HTTP that no session holds: whoever leaves, ends them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.server import Server, eventually
from tests.mcp.posting import BOTH, NEW, OLD, Client, new_mark, serving_chatty

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON_ONLY = "application/json"
CALM = 3
"""Tasks of a worker that answers nothing but who asks for their number."""
ERAS = [NEW, OLD, "2025-06-18"]


@pytest.fixture(scope="module")
def lonely() -> Iterator[Server]:
    """Serve the app, one call at a time."""
    with serving_chatty("--limit-concurrency", "1", SILENCE="0.2") as server:
        yield server
        assert server.stop() == 0
        assert server.errors() == ""


def _arguments(name: str, mark: str) -> dict[str, Any]:
    more: dict[str, dict[str, Any]] = {
        "Wait": {"seconds": 60},
        "Muse": {"seconds": 60},
        "Talk": {"steps": 600, "pause": 0.1},
        "Look": {},
    }
    return {"mark": mark, **more[name]}


@pytest.mark.parametrize(
    ("revision", "name", "accept"),
    [
        (revision, name, accept)
        for revision, name, accept in itertools.product(
            ERAS, ("Wait", "Muse", "Talk", "Look"), (BOTH, JSON_ONLY)
        )
    ],
)
def test_a_call_ends_when_its_client_leaves(
    lonely: Server, revision: str, name: str, accept: str
) -> None:
    client, mark = Client(lonely, revision), new_mark()
    held = client.post_and_hold(client.call_message(name, _arguments(name, mark)), accept)
    eventually(lambda: f"{mark} began" in lonely.notes())
    assert client.call("Echo", text="x").status == 503
    held.close()
    eventually(lambda: f"{mark} was cancelled" in lonely.notes(), seconds=5)
    eventually(lambda: client.call("Echo", text="x").status == 200, seconds=5)
    eventually(lambda: client.result("Tasks") <= CALM, seconds=5)


@pytest.mark.parametrize("revision", ERAS)
def test_a_client_that_leaves_in_the_midst_of_a_stream_ends_it(
    lonely: Server, revision: str
) -> None:
    client, mark = Client(lonely, revision), new_mark()
    with client.begin("Talk", **_arguments("Talk", mark)) as talking:
        assert talking.is_stream
        assert talking.next_message()["params"]["progress"] == 1
    eventually(lambda: f"{mark} was cancelled" in lonely.notes(), seconds=5)
    eventually(lambda: client.result("Tasks") <= CALM, seconds=5)


def test_who_listens_and_leaves_is_forgotten(lonely: Server) -> None:
    client = Client(lonely)
    for _ in range(20):
        with client.listen(toolsListChanged=True) as events:
            assert "acknowledged" in events.next_message()["method"]
    eventually(lambda: client.result("Tasks") <= CALM, seconds=5)
    assert client.result("Toggle") is None


def test_a_listener_hears_what_it_asked_for_and_nothing_else(lonely: Server) -> None:
    client = Client(lonely)
    with client.listen(toolsListChanged=True, resourceSubscriptions=["news://today"]) as events:
        assert "acknowledged" in events.next_message()["method"]
        client.result("Report", uri="news://yesterday")
        client.result("Report", uri="news://today")
        assert events.next_message()["params"]["uri"] == "news://today"
        client.result("Toggle")
        assert events.next_message()["method"] == "notifications/tools/list_changed"


def test_a_client_that_takes_no_events_gets_the_answer_alone(lonely: Server) -> None:
    for revision in ERAS:
        client = Client(lonely, revision)
        said = client.call("Talk", mark="m", steps=3, pause=0)
        assert said.headers["content-type"] == "application/json"
        assert said.json["result"]["content"][0]["text"] == '{"result":"m"}'


def test_the_path_may_end_in_a_slash(lonely: Server) -> None:
    assert Client(lonely, path="/mcp/").result("Echo", text="x") == "x"
