"""What functions do: whatever it is, it happens to their own call alone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.http.server import JSON, MISCHIEF, eventually, exchange, serving

if TYPE_CHECKING:
    from tests.http.server import Server

_WAYS = [
    "RaiseInThread",
    "RaiseInline",
    "RaiseAtOnce",
    "RaiseLater",
    "RaiseInTask",
    "RaiseInGenerator",
    "RaiseInAsyncGenerator",
]
_RAISED = [
    "SystemExit",
    "KeyboardInterrupt",
    "GeneratorExit",
    "BaseException",
    "StopIteration",
    "StopAsyncIteration",
    "CancelledError",
    "MemoryError",
    "RecursionError",
    "ValueError",
]


# ---- exceptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", _RAISED)
@pytest.mark.parametrize("way", _WAYS)
def test_whatever_a_function_raises_is_the_error_of_its_call(
    mischief: Server, way: str, name: str
) -> None:
    workers = mischief.workers()
    with mischief.open() as waiting:  # another call, which must not notice
        body = b'{"seconds":0.05}'
        head = b"POST /functions/Wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        waiting.sendall(head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        reply = mischief.call(way, {"name": name})
        assert reply.status == 500
        if (way, name) == ("RaiseInTask", "GeneratorExit"):
            # Python closes whoever awaits such a task, us among them: the server words the answer.
            assert reply.body == b"Internal server error"
        else:
            said = reply.json["error"]
            assert said.startswith((name, "RuntimeError")), said
            assert "Traceback" not in said
        assert waiting.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert mischief.workers() == workers


def test_leaving_ends_only_the_call(mischief: Server) -> None:
    reply = mischief.call("Exit")
    assert (reply.status, reply.json) == (500, {"error": "SystemExit: leaving"})


def test_a_function_that_cancels_itself_gets_an_error(mischief: Server) -> None:
    for _ in range(3):
        reply = mischief.call("CancelItself")
        assert (reply.status, reply.json) == (500, {"error": "CancelledError"})


def test_the_log_tells_what_the_answer_does_not(mischief: Server) -> None:
    mischief.call("RaiseLater", {"name": "MemoryError"})
    eventually(lambda: "MemoryError: on purpose" in mischief.errors())
    assert "in RaiseLater" in mischief.errors()


def test_a_worker_that_dies_is_replaced() -> None:
    with serving(MISCHIEF, "--workers", "2") as server:
        before = set(server.workers())
        with pytest.raises(ConnectionError):
            server.call("Die")
        eventually(lambda: len(set(server.workers()) - before) == 1)
        eventually(lambda: _answers(server))
        assert server.stop() == 0


def test_workers_that_die_at_every_call_are_replaced_once_then_the_server_gives_up() -> None:
    with serving(MISCHIEF, "--log-level", "critical") as server:
        while server.process.poll() is None:  # nobody waits between one crash and the next
            with suppress(ConnectionError):
                server.call("NoteAndDie")
        assert server.wait() == 1
        assert len(server.notes()) <= 3
        assert len(set(server.notes())) == len(server.notes())


_STILLBORN = """
import os
from kuniumi import App

app = App(name="Stillborn")

def die():
    with open("notes", "a") as notes:
        notes.write("died\\n")
    os._exit(3)

os.register_at_fork(after_in_child=die)
app.run()
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_that_die_at_their_start_are_not_started_for_ever(
    tmp_path: Path, workers: int
) -> None:
    file = tmp_path / "stillborn.py"
    file.write_text(_STILLBORN)
    command = [sys.executable, str(file), "serve", "--port", "0", "--workers", str(workers)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert b"crash loop" in ended.stderr
    assert workers <= (tmp_path / "notes").read_text().count("died") <= 3 * workers


def _answers(server: Server) -> bool:
    try:
        return server.call("Add", {"x": 1, "y": 2}).status == 200
    except ConnectionError:
        return False


# ---- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    [
        "nan",
        "infinity",
        "nested nan",
        "cycle",
        "deep",
        "surrogate",
        "surrogate key",
        "object",
        "function",
        "keys",
        "generator",
    ],
)
def test_what_json_cannot_carry_is_an_error(mischief: Server, what: str) -> None:
    began = time.monotonic()
    reply = mischief.call("Give", {"what": what})
    assert reply.status == 500
    assert "Give returned what it must not" in reply.json["error"]
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("what", ["text", "float", "none", "true"])
def test_what_was_not_promised_is_an_error(mischief: Server, what: str) -> None:
    reply = mischief.call("Lie", {"what": what})
    assert reply.status == 500
    assert "Lie returned what it must not" in reply.json["error"]


# ---- time ----------------------------------------------------------------------------------------


def test_blocking_functions_leave_the_rest_answering(mischief: Server) -> None:
    blocking = [_in_background(mischief, "Block", {"seconds": 1.0}) for _ in range(10)]
    took = []
    with mischief.connect() as connection:
        while any(thread.is_alive() for thread in blocking):
            began = time.monotonic()
            assert exchange(connection, "GET", "/health").status == 200
            took.append(time.monotonic() - began)
    assert len(took) > 100
    assert sorted(took)[int(len(took) * 0.99)] < 0.05


@pytest.mark.parametrize("name", ["LoopForEver", "SleepForEver", "WaitForEver", "RefuseToEnd"])
def test_a_call_that_takes_too_long_is_ended(mischief: Server, name: str) -> None:
    began = time.monotonic()
    reply = mischief.call(name)
    assert (reply.status, reply.json) == (504, {"error": "Timed out after 0.3 seconds"})
    assert time.monotonic() - began < 3


def test_an_endless_loop_gives_its_thread_back() -> None:
    with serving(MISCHIEF, "--limit-concurrency", "2") as server:
        for _ in range(3):
            threads = [_in_background(server, "LoopForEver") for _ in range(2)]
            for thread in threads:
                thread.join()
        assert server.call("Block", {"seconds": 0}).status == 200
        eventually(lambda: server.call("Process").json["result"]["threads"] <= 6)


def test_functions_nothing_can_interrupt_do_not_use_up_the_threads(mischief: Server) -> None:
    threads = [_in_background(mischief, "SleepForEver") for _ in range(40)]
    for thread in threads:
        thread.join()
    assert mischief.call("Block", {"seconds": 0}).status == 200


def test_the_command_line_bounds_all_calls() -> None:
    with serving(MISCHIEF, "--timeout", "0.2") as server:
        for name in ("Block", "Wait"):
            reply = server.call(name, {"seconds": 1})
            assert (reply.status, reply.json) == (504, {"error": "Timed out after 0.2 seconds"})
        reply = server.call("LoopForEver")  # its own bound goes before
        assert reply.json == {"error": "Timed out after 0.3 seconds"}


# ---- clients that leave --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["NoteCancellation", "NoteCancelled"])
def test_a_client_that_goes_away_cancels_its_call(mischief: Server, name: str) -> None:
    id_ = f"{name}-{time.monotonic_ns()}"
    body = b'{"mark":"%b"}' % id_.encode()
    head = b"POST /functions/%b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
    connection = mischief.open(head % (name.encode(), len(body)) + body)
    eventually(lambda: f"{id_} began" in mischief.notes())
    connection.close()
    eventually(lambda: f"{id_} was cancelled" in mischief.notes(), seconds=5)


def test_a_client_that_leaves_leaves_no_task(mischief: Server) -> None:
    before = mischief.call("Tasks").json["result"]
    body = b'{"seconds":50}'
    head = b"POST /functions/Wait HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
    connections = [mischief.open(head % len(body) + body) for _ in range(20)]
    eventually(lambda: mischief.call("Tasks").json["result"] >= before + 20)
    for connection in connections:
        connection.close()
    eventually(lambda: mischief.call("Tasks").json["result"] <= before, seconds=5)


# ---- what is left --------------------------------------------------------------------------------


def test_nothing_grows_over_thousands_of_good_and_bad_requests() -> None:
    mixed: list[tuple[str, Any]] = [
        ("Add", {"x": 1, "y": 2}),
        ("Add", {"x": "a"}),
        ("Echo", {"value": ["x" * 1000] * 10}),
        ("Add", b"{"),
        ("Nope", {}),
        ("RaiseLater", {"name": "ValueError"}),
        ("RaiseInThread", {"name": "SystemExit"}),
        ("Give", {"what": "nan"}),
        ("Count", {"to": 5}),
        ("CountAsync", {"to": 5}),
        ("Block", {"seconds": 0}),
        ("Wait", {"seconds": 0}),
    ]

    def run(count: int) -> None:
        with server.connect() as connection:
            for number in range(count):
                name, arguments = mixed[number % len(mixed)]
                call(connection, name, arguments)
                if number % 10 == 0:  # one that leaves in the middle
                    server.open(
                        b"POST /functions/Add HTTP/1.1\r\nContent-Length: 9\r\n\r\n"
                    ).close()

    def call(connection: Any, name: str, arguments: Any) -> None:
        raw = arguments if isinstance(arguments, bytes) else msgspec.json.encode(arguments)
        reply = exchange(connection, "POST", f"/functions/{name}", raw, JSON)
        assert set(reply.json) <= {"result", "error"}

    with serving(MISCHIEF, "--log-level", "critical") as server:
        run(1000)
        before = server.call("Process").json["result"]
        tasks = server.call("Tasks").json["result"]
        run(2000)
        after = server.call("Process").json["result"]
        assert after["rss"] - before["rss"] < 4 * 1024 * 1024
        eventually(lambda: server.call("Process").json["result"]["files"] <= before["files"] + 1)
        eventually(lambda: server.call("Tasks").json["result"] <= tasks)
        assert after["threads"] <= before["threads"] + 1


def _in_background(server: Server, name: str, arguments: Any = None) -> threading.Thread:
    thread = threading.Thread(target=server.call, args=(name, arguments))
    thread.start()
    return thread
