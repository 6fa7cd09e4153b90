"""The end of a server that speaks MCP: what was asked is answered, what would last for ever ends."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from tests.http.server import Server, eventually, said_at_the_end
from tests.mcp.posting import NEW, OLD, Client, Events, in_session, new_mark, serving_chatty

WORKERS = pytest.mark.parametrize("workers", ["1", "4"])
SOON = 5.0
"""Seconds in which a server ends that has nothing to wait for, on a busy machine."""


def _assert_ends_well(server: Server, told: float, within: float = SOON) -> None:
    assert server.wait() == 0
    assert time.monotonic() - told < within
    assert said_at_the_end(server.errors()) == ""


def _final(held: http.client.HTTPConnection) -> Any:
    """Read an answer to its end; give its last message."""
    events = Events(held)
    with events:
        return events.messages()[-1] if events.is_stream else events.reply().json


@WORKERS
def test_calls_in_flight_are_answered(workers: str) -> None:
    with serving_chatty("--workers", workers) as server:
        clients = [
            Client(server, NEW),
            Client(server, OLD),
            *(in_session(server) for _ in range(6)),
        ]
        held: dict[str, http.client.HTTPConnection] = {}
        for client in clients:
            for name, more in (
                ("Wait", {"seconds": 1.0}),
                ("Muse", {"seconds": 1.0}),
                ("Talk", {"steps": 10, "pause": 0.1}),
            ):
                mark = new_mark()
                arguments = {"mark": mark, **more}
                held[mark] = client.post_and_hold(client.call_message(name, arguments))
        eventually(lambda: sum(line.endswith("began") for line in server.notes()) == len(held))
        told = time.monotonic()
        server.signal()
        for mark, connection in held.items():
            assert _final(connection).get("result", {}).get("structuredContent") == {"result": mark}
        _assert_ends_well(server, told)


@pytest.mark.parametrize("name", ["Wait", "Muse"])
def test_calls_that_came_by_another_worker_are_answered(name: str) -> None:
    with serving_chatty("--workers", "2") as server:
        clients = {new_mark(): in_session(server) for _ in range(3)}
        held = {
            mark: client.post_and_hold(
                client.call_message(name, {"mark": mark, "seconds": 1.0}),
                connection=client.connect_elsewhere(),
            )
            for mark, client in clients.items()
        }
        eventually(lambda: all(f"{mark} began" in server.notes() for mark in held))
        told = time.monotonic()
        server.signal()
        for mark, connection in held.items():
            assert _final(connection)["result"]["structuredContent"] == {"result": mark}
        _assert_ends_well(server, told)


@WORKERS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whoever_listens_is_let_go(workers: str, number: signal.Signals) -> None:
    with serving_chatty("--workers", workers) as server, ExitStack() as stack:
        subscribed = [
            stack.enter_context(Client(server).listen(toolsListChanged=True)) for _ in range(4)
        ]
        listening = [stack.enter_context(in_session(server).listening()) for _ in range(8)]
        for events in subscribed:
            events.next_message()
        told = time.monotonic()
        os.killpg(server.process.pid, number)  # as a terminal does, and as systemd does
        for events in subscribed:
            assert events.next_message()["result"]["resultType"] == "complete"
            assert events.rest() == []
        for events in listening:
            assert events.rest() == []
        _assert_ends_well(server, told)


class _Faithful(threading.Thread):
    """Listens, and comes back at once whenever it is let go, on the same connection if it can."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client
        self.times = 0

    def run(self) -> None:
        """Listen until nobody is there any more."""
        server = self.client.server
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        message = None
        headers = self.client.headers()
        if not self.client.session:
            wanted = {"toolsListChanged": True}
            message = self.client.message("subscriptions/listen", notifications=wanted)
            headers = self.client.headers(message["method"])
        body = msgspec.json.encode(message) if message else None
        while True:
            try:
                method = "POST" if message else "GET"
                connection.request(method, "/mcp", body, headers)
                connection.getresponse().read()
                self.times += 1
            except ConnectionRefusedError:
                return
            except (http.client.HTTPException, OSError):
                connection.close()


@WORKERS
def test_whoever_comes_back_at_once_holds_nothing_up(workers: str) -> None:
    with serving_chatty("--workers", workers) as server:
        faithful = [_Faithful(Client(server)), *(_Faithful(in_session(server)) for _ in range(4))]
        for each in faithful:
            each.start()
        eventually(lambda: Client(server).result("Tasks") >= (3 if workers == "1" else 1))
        told = time.monotonic()
        server.signal()
        _assert_ends_well(server, told)
        for each in faithful:
            each.join(10)
            assert not each.is_alive()


@WORKERS
def test_what_waits_for_a_person_fails_and_says_why(workers: str) -> None:
    with serving_chatty("--workers", workers) as server:
        asking = [in_session(server).begin("Ask", mark=f"m{number}") for number in range(6)]
        for events in asking:
            assert events.next_message()["method"] == "elicitation/create"
        told = time.monotonic()
        server.signal()
        for events in asking:
            with events:
                result = events.next_message()["result"]
            assert result["isError"]
            assert "The server is stopping" in result["content"][0]["text"]
        assert server.wait() == 0
        assert time.monotonic() - told < SOON
        assert sum("failed: The server is stopping" in line for line in server.notes()) == 6


@WORKERS
def test_what_nobody_waits_for_is_given_up_and_cleans_up(workers: str) -> None:
    with serving_chatty("--workers", workers) as server:
        for number in range(4):
            client = in_session(server)
            arguments = {"mark": f"m{number}", "seconds": 60}
            held = client.post_and_hold(client.call_message("Muse", arguments))
            eventually(lambda mark=f"m{number}": f"{mark} began" in server.notes())  # type: ignore[misc]
            held.close()
        told = time.monotonic()
        server.signal()
        _assert_ends_well(server, told)
        assert {f"m{number} was cancelled" for number in range(4)} <= set(server.notes())


def _in_both_workers(server: Server) -> list[Client]:
    """Open sessions until both of two workers have one."""
    clients = [in_session(server)]
    while len({client.result("Pid") for client in clients}) < 2:
        clients.append(in_session(server))
    return clients


def test_a_rolling_restart_lets_streams_go_and_ends_sessions() -> None:
    with serving_chatty("--workers", "2") as server:
        before = server.workers()
        clients = {client.result("Pid"): client for client in _in_both_workers(server)}
        assert sorted(clients) == sorted(before)
        with ExitStack() as stack:
            streams = []
            for client in clients.values():
                connection = client.connect_elsewhere()
                connection.request("GET", "/mcp", headers=client.headers())
                streams.append(stack.enter_context(Events(connection)))
            subscribed = stack.enter_context(Client(server).listen(toolsListChanged=True))
            told = time.monotonic()
            server.signal(signal.SIGHUP)
            for events in (*streams, subscribed):
                events.rest()
        eventually(lambda: not {*before} & {*server.workers()})
        assert time.monotonic() - told < 2 * SOON + 10  # it takes its time between workers
        for client in clients.values():
            eventually(lambda client=client: client.request("ping").status == 404)  # type: ignore[misc]
            client.session = ""
            client.shake_hands()
            assert client.request("ping").status == 200
        told = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - told < SOON


def test_while_it_drains_every_answer_closes_its_connection() -> None:
    with serving_chatty() as server:
        client = Client(server)
        first = client.post_and_hold(client.call_message("Wait", {"mark": "m", "seconds": 1}))
        spare = http.client.HTTPConnection(server.host, server.port, timeout=30)
        spare.request("GET", "/health")
        spare.getresponse().read()
        eventually(lambda: "m began" in server.notes())
        server.signal()
        message = client.call_message("Echo", {"text": "x"})
        headers = client.headers("tools/call", "functions.Echo")
        said = "keep-alive"
        while said != "close":  # the signal may still be on its way to the worker
            spare.request("POST", "/mcp", msgspec.json.encode(message), headers)
            answer = spare.getresponse()
            result = msgspec.json.decode(answer.read())["result"]
            assert result["structuredContent"] == {"result": "x"}
            said = answer.getheader("connection", "keep-alive")
        spare.close()
        assert "result" in _final(first)
        assert server.wait() == 0
