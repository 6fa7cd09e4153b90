"""SIGTERM: every request that was sent before it is answered, and then the server is gone."""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.http.server import (
    JSON,
    MISCHIEF,
    eventually,
    exchange,
    read_reply,
    said_at_the_end,
    serving,
)

if TYPE_CHECKING:
    import socket

    from tests.http.server import Server


class _Client(threading.Thread):
    """Calls without pause, and keeps book of what it sent, when, and what was answered."""

    def __init__(self, server: Server, name: str, number: int) -> None:
        super().__init__()
        self.server = server
        self.name_called = name
        self.number = number
        self.keeps_alive = number % 2 == 0
        self.sent: dict[str, float] = {}
        self.answered: set[str] = set()
        self.random = random.Random(number)  # noqa: S311 - it only has to differ

    def run(self) -> None:
        """Call until nobody listens any more."""
        connection: socket.socket | None = None
        for count in range(1_000_000):
            id_ = f"{self.number}-{count}"
            try:
                connection = connection or self.server.open()
                connection.sendall(self._request(id_))
                self.sent[id_] = time.monotonic()
                reply = read_reply(connection)
            except ConnectionRefusedError:
                return
            except (OSError, AssertionError):
                if connection is not None:
                    connection.close()
                connection = None
                continue
            assert reply.json == {"result": id_}
            self.answered.add(id_)
            if not self.keeps_alive or reply.headers.get("connection") == "close":
                connection.close()
                connection = None

    def _request(self, id_: str) -> bytes:
        seconds = self.random.choice([0, 0.05, 0.1, 0.2])
        body = b'{"mark":"%b","seconds":%f}' % (id_.encode(), seconds)
        head = b"POST /functions/%b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        return head % (self.name_called.encode(), len(body)) + body


@pytest.mark.parametrize("run", range(10))
@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_sent_before_sigterm_is_lost(workers: int, run: int) -> None:
    _stop_under_load(workers, ["NotedWait", "NotedBlock", "NotedWork"][run % 3])


@pytest.mark.soak
def test_a_thousand_sigterms_lose_nothing() -> None:
    for run in range(1000):
        _stop_under_load(1 + run % 2, ["NotedWait", "NotedBlock", "NotedWork"][run % 3])


def _stop_under_load(workers: int, name: str) -> None:
    with serving(MISCHIEF, "--workers", str(workers)) as server:
        clients = [_Client(server, name, number) for number in range(12)]
        for client in clients:
            client.start()
        eventually(lambda: all(len(client.answered) >= 3 for client in clients))
        told = time.monotonic()
        server.signal()
        assert server.wait() == 0
        assert time.monotonic() - told < 5
        for client in clients:
            client.join()
        answered = {id_ for client in clients for id_ in client.answered}
        # What a function was called for was received: whoever called it has the answer.
        assert set(server.notes()) - answered == set()
        # What was sent before the signal was answered, whether it had been read by then or not.
        early = {id_ for client in clients for id_, at in client.sent.items() if at < told}
        assert early - answered == set()
        assert said_at_the_end(server.errors()) == ""


class _Caller(threading.Thread):
    """Calls until it is told to stop, and repeats what was cut off before any answer came."""

    def __init__(self, server: Server, number: int, stop: threading.Event) -> None:
        super().__init__()
        self.server = server
        self.number = number
        self.stop = stop
        self.answered: list[str] = []
        self.repeated = 0

    def run(self) -> None:
        """Call, on kept connections or on new ones."""
        connection: http.client.HTTPConnection | None = None
        while not self.stop.is_set():
            mark = f"{self.number}-{len(self.answered)}"
            body = b'{"mark":"%b","seconds":0.002}' % mark.encode()
            connection = connection or http.client.HTTPConnection(
                self.server.host, self.server.port, timeout=30
            )
            try:
                reply = exchange(connection, "POST", "/functions/NotedWait", body, JSON)
            except ConnectionError:
                connection.close()
                connection, self.repeated = None, self.repeated + 1
                continue
            if (reply.status, reply.json) != (200, {"result": mark}):
                return  # which leaves it with fewer answers than notes
            self.answered.append(mark)
            if self.number % 2 or reply.headers.get("connection") == "close":
                connection.close()
                connection = None
        if connection is not None:
            connection.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_rolling_restart_under_load_fails_no_call(workers: int) -> None:
    with serving(MISCHIEF, "--workers", str(workers)) as server:
        before = set(server.workers())
        stop = threading.Event()
        callers = [_Caller(server, number, stop) for number in range(8)]
        for caller in callers:
            caller.start()
        eventually(lambda: all(caller.answered for caller in callers))
        server.signal(signal.SIGHUP)
        eventually(lambda: len(now := set(server.workers())) == workers and not now & before)
        at_the_end = [len(caller.answered) for caller in callers]
        eventually(
            lambda: all(
                len(caller.answered) > count or not caller.is_alive()
                for caller, count in zip(callers, at_the_end, strict=True)
            )
        )
        stop.set()
        for caller in callers:
            caller.join()
        answered = [mark for caller in callers for mark in caller.answered]
        # Every call was made once and answered: also one whose new connection came to a worker at
        # the very moment of its end, and was closed unread, so that it had to be repeated.
        assert sorted(server.notes()) == sorted(answered)
        assert sum(caller.repeated for caller in callers) < max(len(answered) / 100, 8)
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_ends_the_server_cleanly(number: int, workers: str) -> None:
    with serving(MISCHIEF, "--workers", workers) as server:
        idle = server.open(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        read_reply(idle)
        silent = server.open()
        server.signal(number)
        assert server.wait(5) == 0
        assert said_at_the_end(server.errors()) == ""
        idle.close()
        silent.close()


def test_an_interrupt_from_the_keyboard_reaches_all_and_ends_the_server_cleanly() -> None:
    import os

    for _ in range(3):
        with serving(MISCHIEF, "--workers", "2") as server:
            os.killpg(server.process.pid, signal.SIGINT)
            assert server.wait(5) == 0
            assert said_at_the_end(server.errors()) == ""


def test_a_signal_to_the_whole_group_ends_the_server_cleanly() -> None:
    import os

    with serving(MISCHIEF, "--workers", "2") as server:
        os.killpg(server.process.pid, signal.SIGTERM)  # as systemd does
        assert server.wait(5) == 0
        assert said_at_the_end(server.errors()) == ""


def test_an_impatient_second_signal_changes_nothing() -> None:
    with serving(MISCHIEF) as server:
        replies = []
        thread = threading.Thread(
            target=lambda: replies.append(server.call("NotedWait", {"mark": "1", "seconds": 1}))
        )
        thread.start()
        eventually(server.notes)
        for _ in range(3):
            server.signal()
        assert server.wait(5) == 0
        thread.join()
        assert replies[0].json == {"result": "1"}


@pytest.mark.parametrize("name", ["Block", "Wait"])
def test_a_call_that_outlasts_the_patience_is_cut_off(name: str) -> None:
    with serving(MISCHIEF, "--drain-timeout", "1", "--log-level", "error") as server:
        body = b'{"seconds":60}'
        head = b"POST /functions/%b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b"
        connection = server.open(head % (name.encode(), len(body), body))
        eventually(lambda: server.call("Tasks").json["result"] > 1)
        told = time.monotonic()
        server.signal()
        assert server.wait(10) == 0
        assert 0.7 < time.monotonic() - told < 4
        connection.close()


def test_while_it_drains_every_answer_closes_its_connection() -> None:
    with serving(MISCHIEF) as server:
        body = b'{"mark":"1","seconds":0.5}'
        head = b"POST /functions/NotedWait HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
        connection = server.open(head % len(body) + body)
        eventually(server.notes)
        server.signal()
        reply = read_reply(connection)
        assert reply.json == {"result": "1"}
        assert reply.headers["connection"] == "close"
        assert connection.recv(1) == b""
        assert server.wait(5) == 0
        connection.close()
