"""More calls than a server takes: the rest is told so at once, and what was taken is answered."""

from __future__ import annotations

import threading
import time

import pytest

from tests.http.server import MISCHIEF, Reply, eventually, exchange, serving


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
