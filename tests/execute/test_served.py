"""Worker processes behind a real server: killed, wedged, starved, abandoned, drained."""

from __future__ import annotations

import os
import random
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import pytest

from tests.execute.conftest import LABOUR
from tests.http.server import JSON, Server, eventually, exchange, read_reply, serving

DIED = "ProcessDiedError: the process that ran it was ended by"


# ---- one call, one process -----------------------------------------------------------------------

ENDS = {
    "Exit": "ProcessDiedError: the process that ran it ended with status 3",
    "Abort": f"{DIED} SIGABRT",
    "Segfault": f"{DIED} SIGSEGV",
    "Kill": f"{DIED} SIGKILL",
    "KillLater": f"{DIED} SIGKILL",
    "KillInTheMidst": f"{DIED} SIGKILL",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_process_that_ends_costs_the_call_it_ran_and_no_other(labour: Server, name: str) -> None:
    stop = threading.Event()
    with _Load(labour, 2, stop) as load:
        for _ in range(3):
            reply = labour.call(name)
            assert (reply.status, reply.json) == (500, {"error": ENDS[name]})
        load.go_on()
    assert not load.failures


def test_a_process_that_takes_too_much_memory_costs_its_own_call(labour: Server) -> None:
    assert labour.call("Hoard", {"size": 1_000_000}).json == {"result": 1_000_000}
    for _ in range(3):
        reply = labour.call("Hoard", {"size": 1_000_000_000})
        assert (reply.status, reply.json) == (500, {"error": "MemoryError"})
        assert labour.call("Hoard", {"size": 1_000_000}).json == {"result": 1_000_000}


@pytest.mark.parametrize("name", ["Spin", "SpinInC", "Freeze"])
def test_a_process_whose_time_is_up_is_ended_whatever_it_does(labour: Server, name: str) -> None:
    for _ in range(6):  # more than there are processes
        began = time.monotonic()
        reply = labour.call(name)
        assert (reply.status, reply.json) == (504, {"error": "Timed out after 0.2 seconds"})
        assert time.monotonic() - began < 3
    assert labour.call("Square", {"x": 3}).json == {"result": 9}
    eventually(lambda: len(_processes(labour)) <= 4)


def test_processes_are_warm(labour: Server) -> None:
    labour.call("Pid")
    assert len({labour.call("Pid").json["result"] for _ in range(20)}) == 1


def test_a_process_that_is_killed_while_it_waits_costs_nothing(labour: Server) -> None:
    for _ in range(10):
        os.kill(labour.call("Pid").json["result"], signal.SIGKILL)
        assert labour.call("Square", {"x": 3}).json == {"result": 9}


def test_without_the_nursery_the_next_call_makes_another() -> None:
    with serving(LABOUR, "--log-level", "critical") as server:
        held: list[Any] = []
        thread = _in_background(server, "Hold", {"mark": "a", "seconds": 10}, held.append)
        eventually(server.notes)
        (nursery,) = _children(server.workers()[0])
        os.kill(nursery, signal.SIGKILL)
        thread.join()
        assert held[0].json == {"error": "ProcessDiedError: the process that ran it is gone"}
        for x in range(10):
            assert server.call("Square", {"x": x}).json == {"result": x * x}


@pytest.mark.parametrize("times", [0, 1, 3000, 5_000_000])
def test_small_and_big_arguments_and_results_cross_alike(labour: Server, times: int) -> None:
    reply = labour.call("Repeat", {"text": "ab", "times": times})
    assert reply.json == {"result": "ab" * times}
    if times < 3_000_000:
        text = "é" * (times // 2)
        assert labour.call("Repeat", {"text": text, "times": 1}).json == {"result": text}


def test_wrong_arguments_are_refused_as_everywhere(labour: Server) -> None:
    assert labour.call("Square", {"x": "no"}).status == 400
    assert labour.call("Square", b"{").json == {"error": "Invalid JSON body"}
    assert labour.call("Square", b'{"x":"\xff"}').status == 400


# ---- SIGKILL under load --------------------------------------------------------------------------


def _kill_under_load(kills: int) -> None:
    with serving(LABOUR, "--log-level", "critical") as server:
        stop = threading.Event()
        held: list[Any] = []
        with _Load(server, 3, stop) as load:
            for number in range(kills):
                mark = f"m{number}"
                thread = _in_background(server, "Hold", {"mark": mark}, held.append)
                os.kill(int(eventually(partial(_noted, server, mark))), signal.SIGKILL)
                thread.join()
            load.go_on()
        assert [reply.json for reply in held] == [{"error": f"{DIED} SIGKILL"}] * kills
        assert not load.failures
        assert load.answers > kills
        eventually(lambda: len(_processes(server)) <= 4)


def _kill_at_random(kills: int) -> None:
    """Whoever is hit, at whatever moment: a kill costs one call at the most."""
    chance = random.Random(kills)  # noqa: S311 - it only has to vary
    with serving(LABOUR, "--log-level", "critical") as server:
        stop = threading.Event()
        with _Load(server, 6, stop, seconds=0.002) as load:
            done = 0
            while done < kills:
                time.sleep(chance.random() / 100)
                for pid in chance.sample(processes := _processes(server), min(1, len(processes))):
                    done += _kill(pid)
            load.go_on()
        assert len(load.failures) <= kills
        assert set(load.failures) <= {f"{DIED} SIGKILL"}
        assert load.answers > kills
        assert server.call("Square", {"x": 3}).json == {"result": 9}


def test_fifty_kills_under_load_cost_fifty_calls() -> None:
    _kill_under_load(50)


def test_fifty_kills_at_random_cost_no_more_than_fifty_calls() -> None:
    _kill_at_random(50)


@pytest.mark.soak
def test_a_thousand_kills_under_load_cost_a_thousand_calls() -> None:
    _kill_under_load(1000)


@pytest.mark.soak
def test_a_thousand_kills_at_random_cost_no_more_than_a_thousand_calls() -> None:
    _kill_at_random(1000)


# ---- clients that leave --------------------------------------------------------------------------

TOLD = ["NoteCancellation", "NoteCancelled", "NoteClosing", "NoteClosingLater"]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("name", TOLD)
def test_a_function_in_a_process_is_told_that_its_client_has_left(
    labour: Server, name: str, accept: str
) -> None:
    mark = f"{name}-{time.monotonic_ns()}"
    connection = labour.open(_request(name, b'{"mark":"%b"}' % mark.encode(), accept))
    eventually(lambda: f"{mark} began" in labour.notes())
    connection.close()
    eventually(lambda: f"{mark} was cancelled" in labour.notes(), seconds=5)
    assert labour.call("Square", {"x": 3}).json == {"result": 9}


def test_a_function_that_can_t_be_told_is_ended_with_its_process(labour: Server) -> None:
    mark = f"m{time.monotonic_ns()}"
    connection = labour.open(_request("Hold", b'{"mark":"%b"}' % mark.encode()))
    pid = int(eventually(lambda: _noted(labour, mark)))
    connection.close()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), seconds=5)


def test_many_clients_that_leave_at_once_leave_all_places_free(labour: Server) -> None:
    connections = [labour.open(_request("Hold", b'{"mark":"gone"}')) for _ in range(20)]
    eventually(lambda: sum(line.startswith("gone ") for line in labour.notes()) >= 4)
    for connection in connections:
        connection.close()
    for x in range(8):
        assert labour.call("Square", {"x": x}).json == {"result": x * x}
    eventually(lambda: len(_processes(labour)) <= 4, seconds=5)


def test_progress_and_items_come_out_of_a_process_in_their_order(labour: Server) -> None:
    reply = labour.call("Count", {"to": 3}, {**JSON, "Accept": "text/event-stream"})
    events = [line for line in reply.body.decode().splitlines() if line.startswith("data: ")]
    assert events == [
        'data: {"progress":1,"total":3,"message":"at 0"}',
        "data: 0",
        'data: {"progress":2,"total":3,"message":"at 1"}',
        "data: 1",
        'data: {"progress":3,"total":3,"message":"at 2"}',
        "data: 2",
        'data: {"result":[0,1,2]}',
    ]


def test_a_slow_reader_of_a_stream_holds_its_process_back(labour: Server) -> None:
    mark = f"m{time.monotonic_ns()}"
    arguments = b'{"mark":"%b"}' % mark.encode()
    connection = labour.open(_request("NoteClosing", arguments, "text/event-stream"))
    connection.recv(100)
    connection.close()
    eventually(lambda: f"{mark} was cancelled" in labour.notes(), seconds=5)


# ---- the end of the server -----------------------------------------------------------------------


@pytest.mark.parametrize("to_all", [False, True])
def test_what_runs_in_processes_is_answered_before_the_server_ends(*, to_all: bool) -> None:
    with serving(LABOUR) as server:
        held: list[Any] = []
        threads = [
            _in_background(server, "Hold", {"mark": f"m{number}", "seconds": 0.7}, held.append)
            for number in range(4)
        ]
        eventually(lambda: len(server.notes()) == 4)
        pids = [int(line.split()[1]) for line in server.notes()]
        if to_all:
            os.killpg(server.process.pid, signal.SIGTERM)  # as systemd does
        else:
            server.signal()
        assert server.wait(10) == 0
        for thread in threads:
            thread.join()
        assert sorted(reply.json["result"] for reply in held) == ["m0", "m1", "m2", "m3"]
        eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), seconds=5)


@pytest.mark.parametrize("name", [*TOLD, "NoteInThread"])
def test_what_outlasts_the_patience_of_the_server_is_told_before_it_is_cut_off(name: str) -> None:
    with serving(LABOUR, "--drain-timeout", "2", "--log-level", "error") as server:
        connection = server.open(_request(name, b'{"mark":"m"}'))
        eventually(lambda: "m began" in server.notes())
        told = time.monotonic()
        server.signal()
        assert server.wait(10) == 0
        assert "m was cancelled" in server.notes()
        assert 1.4 < time.monotonic() - told < 8
        reply = read_reply(connection)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        assert reply.json["error"].startswith("Cut off: the server is stopping")
        connection.close()


def test_a_function_in_a_thread_ends_when_its_client_has_left(labour: Server) -> None:
    mark = f"m{time.monotonic_ns()}"
    connection = labour.open(_request("NoteInterruption", b'{"mark":"%b"}' % mark.encode()))
    eventually(lambda: f"{mark} began" in labour.notes())
    connection.close()
    eventually(lambda: f"{mark} was interrupted" in labour.notes(), seconds=5)


def test_a_server_that_is_killed_leaves_no_process_behind() -> None:
    with serving(LABOUR) as server:
        _in_background(server, "Hold", {"mark": "m"}, lambda _: None)
        pid = int(eventually(lambda: _noted(server, "m")))
        (worker,) = server.workers()
        os.kill(server.process.pid, signal.SIGKILL)
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: not Path(f"/proc/{pid}").exists(), seconds=5)


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LimitedBlock", "LimitedHold", "LimitedWait"])
def test_beyond_its_limit_a_function_has_calls_wait_and_then_refuses_them(name: str) -> None:
    with serving(LABOUR) as server:
        replies: list[Any] = []
        threads = [
            _in_background(server, name, {"mark": f"m{n}", "seconds": 2.0}, replies.append)
            for n in range(6)
        ]
        eventually(lambda: len(replies) == 2)  # two run, two wait, and two are refused at once
        took = []
        for _ in range(10):
            began = time.monotonic()
            replies.append(server.call(name, {"mark": "no", "seconds": 0}))
            took.append(time.monotonic() - began)
        assert sorted(took)[5] < 0.05
        assert server.call("Square", {"x": 3}).json == {"result": 9}  # others go their way
        refused = list(replies)
        assert {(reply.status, reply.headers["retry-after"]) for reply in refused} == {(503, "1")}
        assert refused[0].json == {
            "error": f"Overloaded: too many calls of {name} at once, try again in a second"
        }
        for thread in threads:
            thread.join()
        assert len(server.notes()) == 4
        assert [reply.status for reply in replies].count(200) == 4
        assert server.call(name, {"mark": "again", "seconds": 0}).status == 200


def test_who_leaves_while_waiting_makes_room_for_another() -> None:
    with serving(LABOUR) as server:
        body = b'{"mark":"held","seconds":60}'
        held = [server.open(_request("LimitedHold", body)) for _ in range(2)]
        eventually(lambda: len(server.notes()) == 2)

        def one_of_three_is_refused() -> bool:
            body = b'{"mark":"never","seconds":0}'
            three = [server.open(_request("LimitedHold", body)) for _ in range(3)]
            server.call("Inline")  # by then they have come in
            answered, _, _ = select.select(three, [], [], 0)
            statuses = [read_reply(connection).status for connection in answered]
            for connection in three:
                connection.close()
            return statuses == [503]

        for _ in range(5):  # each time two others wait: those before have made room
            eventually(one_of_three_is_refused)
        for connection in held:
            connection.close()
        eventually(
            lambda: server.call("LimitedHold", {"mark": "after", "seconds": 0}).status == 200
        )
        assert server.notes() == ["held", "held", "after"]


def test_under_ten_times_the_load_a_limited_function_does_as_much_as_ever() -> None:
    with serving(LABOUR) as server:
        _throughput(server, 8, 0.3)  # it warms up

        def as_much_as_ever() -> bool:
            peak, _ = _throughput(server, 8)
            useful, refused = _throughput(server, 80)
            assert len(refused) > useful
            return useful >= 0.9 * peak and sorted(refused)[len(refused) // 2] < 0.05

        assert _at_best(as_much_as_ever)


@pytest.mark.parametrize("name", ["Block", "Hold"])
def test_functions_that_block_leave_the_rest_answering(name: str) -> None:
    arguments = {"Block": {"seconds": 60}, "Hold": {"mark": "m", "seconds": 60}}[name]
    with serving(LABOUR) as server:
        for _ in range(40):
            _in_background(server, name, arguments, lambda _: None)

        def answers_at_once() -> bool:
            took: list[float] = []
            with server.connect() as connection:
                while len(took) < 300:
                    began = time.monotonic()
                    assert exchange(connection, "GET", "/health").status == 200
                    took.append(time.monotonic() - began)
            return sorted(took)[int(len(took) * 0.99)] < 0.05

        assert _at_best(answers_at_once)
        os.killpg(server.process.pid, signal.SIGKILL)
        server.wait()


# ---- what the tests share ------------------------------------------------------------------------


class _Load:
    """Clients that call without pause, and look at every answer."""

    def __init__(
        self, server: Server, clients: int, stop: threading.Event, seconds: float = 0.0
    ) -> None:
        self.server = server
        self.stop = stop
        self.seconds = seconds
        self.answers = 0
        self.failures: list[str] = []
        self.threads = [threading.Thread(target=self._call) for _ in range(clients)]

    def _call(self) -> None:
        x = 0
        with self.server.connect() as connection:
            while not self.stop.is_set():
                x += 1
                body = b'{"x":%d,"seconds":%f}' % (x, self.seconds)
                reply = exchange(connection, "POST", "/functions/Square", body, JSON)
                if reply.json == {"result": x * x}:
                    self.answers += 1
                else:
                    self.failures.append(reply.json.get("error", repr(reply.json)))

    def go_on(self) -> None:
        """Let it go on for some answers more."""
        before = self.answers
        eventually(lambda: self.answers > before + 50)

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


def _at_best(holds: Callable[[], bool]) -> bool:
    """Whether something holds once in a few times: others may use this machine as well."""
    return any(holds() for _ in range(4))


def _throughput(server: Server, clients: int, seconds: float = 2.0) -> tuple[int, list[float]]:
    """Call from many clients; give how many calls were answered, and how soon others refused."""
    answered: list[int] = []
    refused: list[float] = []
    until = time.monotonic() + seconds

    def call() -> None:
        with server.connect() as connection:
            while time.monotonic() < until:
                began = time.monotonic()
                body = b'{"seconds":0.1}'
                status = exchange(connection, "POST", "/functions/Rest", body, JSON).status
                if status == 200:
                    answered.append(1)
                else:
                    assert status == 503
                    refused.append(time.monotonic() - began)
                    time.sleep(0.02)  # not a flood without end

    threads = [threading.Thread(target=call) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(answered), refused


def _in_background(
    server: Server, name: str, arguments: Any, then: Callable[[Any], None]
) -> threading.Thread:
    def call() -> None:
        try:
            then(server.call(name, arguments))
        except OSError:
            return  # the server was killed

    thread = threading.Thread(target=call)
    thread.start()
    return thread


def _request(name: str, body: bytes, accept: str = "application/json") -> bytes:
    head = f"POST /functions/{name} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _noted(server: Server, mark: str) -> str:
    """Give what a function noted under this mark, if it has."""
    found = (line.split() for line in server.notes())
    return next((told[1] for told in found if told[0] == mark), "")


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _children(pid: int) -> list[int]:
    def told() -> Iterator[str]:
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from (task / "children").read_text().split()

    return [int(child) for child in told()]


def _processes(server: Server) -> list[int]:
    """Give the processes that functions run in."""
    found = []
    for worker in server.workers():
        for nursery in _children(worker):
            found += _children(nursery)
    return found
