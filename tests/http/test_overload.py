"""More calls than a server takes: the rest is told so at once, and what was taken is answered."""

from __future__ import annotations

import threading
import time

import pytest

from tests.http.server import (
    JSON,
    MISCHIEF,
    Reply,
    Server,
    eventually,
    exchange,
    read_reply,
    serving,
)


@pytest.mark.parametrize("name", ["NotedWait", "NotedBlock"])
def test_beyond_the_limit_calls_are_refused_at_once(name: str) -> None:
    with serving(MISCHIEF, "--limit-concurrency", "4") as server:
        replies: list[Reply] = []

        def call(number: int) -> None:
            replies.append(server.call(name, {"mark": str(number), "seconds": 1.5}))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(server.notes()) == 4)
        for _ in range(20):
            began = time.monotonic()
            refused = server.call("Add", {"x": 1, "y": 2})
            assert time.monotonic() - began < 0.1
            assert refused.status == 503
            assert refused.headers["retry-after"] == "1"
            assert "try again" in refused.json["error"]
        assert server.get("/health").status == 200  # what calls nothing is not limited
        assert server.get("/functions").status == 200
        for thread in threads:
            thread.join()
        assert [reply.status for reply in replies] == [200] * 4
        assert server.call("Add", {"x": 1, "y": 2}).json == {"result": 3}


def test_a_refused_call_leaves_its_connection_open() -> None:
    with serving(MISCHIEF, "--limit-concurrency", "1") as server:
        thread = threading.Thread(
            target=server.call, args=("NotedWait", {"mark": "1", "seconds": 1})
        )
        thread.start()
        eventually(server.notes)
        body = b'{"x":1,"y":"' + b" " * 1_000_000 + b'2"}'
        statuses = []
        with server.connect() as connection:
            while thread.is_alive():
                statuses.append(exchange(connection, "POST", "/functions/Add", body).status)
            assert 503 in statuses
            assert exchange(connection, "POST", "/functions/Add", body).status == 200


def test_who_sends_slowly_takes_nobodys_place() -> None:
    with serving(MISCHIEF, "--limit-concurrency", "2", "--body-timeout", "1") as server:
        head = b"POST /functions/Add HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{"
        slow = [server.open(head) for _ in range(20)]
        for _ in range(50):
            assert server.call("Add", {"x": 1, "y": 2}).json == {"result": 3}
        for connection in slow:
            assert read_reply(connection).status == 408
            connection.close()


def test_a_body_that_ends_when_all_places_are_taken_is_refused_then() -> None:
    with serving(MISCHIEF, "--limit-concurrency", "1") as server:
        head = b"POST /functions/Add HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\n"
        with server.open(head + b'{"x":1') as slow:
            eventually(lambda: server.call("Tasks").json["result"] > 1)  # it is being read
            arguments = {"mark": "1", "seconds": 1}
            thread = threading.Thread(target=server.call, args=("NotedWait", arguments))
            thread.start()
            eventually(server.notes)
            slow.sendall(b',"y":2}')
            refused = read_reply(slow)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            thread.join()
            slow.sendall(head + b'{"x":1,"y":2}')  # the connection is as good as before
            assert read_reply(slow).json == {"result": 3}


def test_under_ten_times_the_load_what_is_taken_is_answered() -> None:
    with serving(MISCHIEF, "--limit-concurrency", "4") as server:
        counted = {200: 0, 503: 0}
        lock = threading.Lock()
        until = time.monotonic() + 1.5

        def call() -> None:
            while time.monotonic() < until:
                reply = server.call("Wait", {"seconds": 0.02})
                with lock:
                    counted[reply.status] += 1  # a KeyError for any other

        threads = [threading.Thread(target=call) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counted[503] > 0
        assert counted[200] > 50  # of 300 that four places could give, on an idle machine


_PLACES = 8
_REST = 0.1
"""Seconds a call takes: so long that the processor is idle when all places are taken."""


@pytest.mark.parametrize("times", [2, 10])
def test_under_overload_the_useful_throughput_stays_at_its_peak(times: int) -> None:
    with serving(MISCHIEF, "--limit-concurrency", str(_PLACES)) as server:
        _throughput(server, _PLACES, seconds=0.3)  # it warms up

        def stays() -> bool:
            peak, refused = _throughput(server, _PLACES)
            assert len(refused) < peak / 10
            useful, refused = _throughput(server, times * _PLACES)
            assert len(refused) > useful
            return useful >= 0.9 * peak and sorted(refused)[len(refused) // 2] < _AT_ONCE

        assert any(stays() for _ in range(4))  # others may use this machine as well


_AT_ONCE = 0.05
"""Seconds until a refusal has come, as its clients see it: eighty threads on the server's cores."""


def _throughput(server: Server, clients: int, seconds: float = 2.0) -> tuple[int, list[float]]:
    """Call from many clients for a while; give how many calls were answered, and how soon refused."""
    answered: list[int] = []
    refused: list[float] = []
    until = time.monotonic() + seconds

    def call() -> None:
        body = b'{"seconds":%f}' % _REST
        with server.connect() as connection:
            while time.monotonic() < until:
                began = time.monotonic()
                reply = exchange(connection, "POST", "/functions/Wait", body, JSON)
                if reply.status == 200:
                    answered.append(1)
                    continue
                refused.append(time.monotonic() - began)
                assert (reply.status, reply.headers["retry-after"]) == (503, "1")
                time.sleep(_REST / 20)  # ten times as many clients, not a flood without end

    threads = [threading.Thread(target=call) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(answered), refused
