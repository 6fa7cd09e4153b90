"""What `serve` can be told."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.http.server import (
    CALCULATOR,
    JSON,
    MISCHIEF,
    ROOT,
    Server,
    eventually,
    exchange,
    serving,
)


def _refused(*flags: str) -> str:
    """Run `serve` where it must not start; give what it says."""
    ran = subprocess.run(
        [sys.executable, str(CALCULATOR), "serve", *flags],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=ROOT,
        check=False,
    )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
    return ran.stderr


# ---- how it runs ----------------------------------------------------------------------------------


def _policies(server: Server) -> set[int]:
    """Give how the kernel schedules the threads of those processes that answer."""
    processes = [list(Path(f"/proc/{pid}/task").iterdir()) for pid in server.workers()]
    answering = [threads for threads in processes if len(threads) > 1]
    return {os.sched_getscheduler(int(each.name)) for threads in answering for each in threads}


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such policy")
def test_the_threads_of_a_worker_do_not_break_in_on_one_another() -> None:
    with serving(CALCULATOR) as server:
        assert _policies(server) == {os.SCHED_BATCH}
    with serving(CALCULATOR, "--scheduling", "normal") as server:
        assert _policies(server) == {os.SCHED_OTHER}


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such policy")
def test_scheduling_that_somebody_has_chosen_stays() -> None:
    def serve_idly() -> set[int]:
        os.sched_setscheduler(
            0, os.SCHED_IDLE, os.sched_param(0)
        )  # of this thread, and its children
        with serving(CALCULATOR) as server:
            return _policies(server)

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(serve_idly).result() == {os.SCHED_IDLE}


# ---- where it listens ----------------------------------------------------------------------------


def test_the_greeting_tells_what_to_paste() -> None:
    with serving(CALCULATOR) as server:  # on port 0: any that is free
        assert server.port > 0
        assert server.process.stdout is not None
        command = ""
        while not command.startswith("curl "):  # the last line
            command = server.process.stdout.readline().decode().strip()
        assert f"http://127.0.0.1:{server.port}/functions/Add" in command
        ran = subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=10)
        assert ran.stdout == b'{"result":14}'


def test_by_default_only_this_machine_is_served(calculator: object) -> None:
    assert isinstance(calculator, Server)
    assert calculator.host == "127.0.0.1"
    address = socket.gethostbyname(socket.gethostname())
    if address.startswith("127."):
        return
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, calculator.port), timeout=5)


@pytest.mark.parametrize("host", ["::1", "localhost", "0.0.0.0"])  # noqa: S104 - for a second
def test_it_listens_where_it_is_told(host: str) -> None:
    with serving(CALCULATOR, "--host", host) as server:
        assert server.call("Add", {"x": 1, "y": 2}).json == {"result": 3}


@pytest.mark.parametrize("reuse", [False, True])
def test_a_port_that_is_taken_is_named(reuse: bool) -> None:
    with socket.socket() as taken:
        if reuse:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = _refused("--port", str(taken.getsockname()[1]))
    assert f"can't listen on 127.0.0.1:{taken}" in said or "Address already in use" in said
    assert "--port" in said


def test_a_second_server_on_the_same_port_is_refused() -> None:
    with serving(CALCULATOR) as server:
        assert "Address already in use" in _refused("--port", str(server.port))


def test_a_port_just_left_can_be_taken_again() -> None:
    with serving(CALCULATOR) as first:
        assert first.call("Add", {"x": 1, "y": 2}).status == 200
        port = first.port
    with serving(CALCULATOR, "--port", str(port)) as second:
        assert second.port == port


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.1", "300.1.1.1"])
def test_an_address_that_is_not_ours_is_named(host: str) -> None:
    said = _refused("--host", host, "--port", "0")
    assert host in said
    assert "--host" in said


@pytest.mark.parametrize(
    "flags",
    [
        ("--port", "x"),
        ("--port", "65536"),
        ("--workers", "0"),
        ("--timeout", "-1"),
        ("--max-body", "lots"),
        ("--log-level", "loud"),
    ],
)
def test_a_senseless_flag_is_named(flags: tuple[str, str]) -> None:
    assert flags[0] in _refused(*flags)


# ---- workers -------------------------------------------------------------------------------------


def test_two_workers_share_the_work() -> None:
    with serving(MISCHIEF, "--workers", "2") as server:
        assert len(server.workers()) == 2

        def both_answered() -> bool:
            seen.add(server.call("Process").json["result"]["pid"])
            return len(seen) == 2

        seen: set[int] = set()
        eventually(both_answered)
        assert seen == set(server.workers())


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "limit"), [("64", 64), ("1K", 1024), ("1M", 1_048_576)])
def test_the_largest_body_can_be_set(size: str, limit: int) -> None:
    with serving(MISCHIEF, "--max-body", size) as server:
        body = b'{"text":"%b"}'
        exact = body % (b"x" * (limit - len(body) + 2))
        assert len(exact) == limit
        assert server.call("Length", exact).status == 200
        reply = server.call("Length", exact + b" ")
        assert reply.status == 413
        assert str(limit) in reply.json["error"]


def test_the_log_is_as_loud_as_it_is_told() -> None:
    for level, loud in (("critical", False), ("error", True)):
        with serving(MISCHIEF, "--log-level", level) as server:
            assert server.call("RaiseLater", {"name": "ValueError"}).status == 500
            assert server.stop() == 0
            assert ("on purpose" in server.errors()) == loud


# ---- behind a proxy, and other origins -----------------------------------------------------------


def test_a_root_path_is_where_links_begin() -> None:
    with serving(CALCULATOR, "--root-path", "/api/") as server:
        assert server.get("/openapi.json").json["servers"] == [{"url": "/api"}]
        assert 'href="/api/functions"' in server.get("/").body.decode()
        for path in ("/functions/Add", "/api/functions/Add"):  # stripped by the proxy, or not
            reply = server.request("POST", path, b'{"x":1,"y":2}', JSON)
            assert reply.json == {"result": 3}
        assert server.get("/apifunctions").status == 404


@pytest.mark.parametrize(
    ("given", "meant"), [("api", "/api"), ("/api/", "/api"), ("a/b", "/a/b"), ("/", "")]
)
def test_a_root_path_may_be_written_carelessly(given: str, meant: str) -> None:
    with serving(CALCULATOR, "--root-path", given) as server:
        assert server.get("/openapi.json").json["servers"] == [{"url": meant or "/"}]
        assert (
            server.request("POST", f"{meant}/functions/Add", b'{"x":1,"y":2}', JSON).status == 200
        )
        assert server.process.stdout is not None
        assert server.process.stdout.readline().decode().endswith(f"{meant}/functions\n")


@pytest.mark.parametrize("given", ["https://a.example/api", "/a b", "/a?b", "/a//b", "/ä", "/%2"])
def test_a_root_path_that_is_none_is_named(given: str) -> None:
    assert f"{given!r} is no path: write it like /api" in _refused("--root-path", given)


def test_no_other_origin_may_read_by_default() -> None:
    with serving(CALCULATOR) as server:
        origin = {"Origin": "https://a.example"}
        preflight = {**origin, "Access-Control-Request-Method": "POST"}
        for reply in (
            server.call("Add", {"x": 1, "y": 2}, {**JSON, **origin}),
            server.request("OPTIONS", "/functions/Add", headers=preflight),
        ):
            assert not [name for name in reply.headers if name.startswith("access-control")]


def test_an_origin_can_be_let_in() -> None:
    flags = ("--cors", "https://a.example", "--cors", "https://b.example")
    with serving(CALCULATOR, *flags) as server:
        for origin in ("https://a.example", "https://b.example"):
            ours = {"Origin": origin, **JSON}
            preflight = {**ours, "Access-Control-Request-Method": "POST"}
            asked = server.request("OPTIONS", "/functions/Add", headers=preflight)
            assert asked.status == 204
            assert asked.headers["access-control-allow-origin"] == origin
            assert "POST" in asked.headers["access-control-allow-methods"]
            assert "content-type" in asked.headers["access-control-allow-headers"]
            for reply in (
                server.call("Add", {"x": 1, "y": 2}, ours),
                server.call("Add", b"{", ours),
                server.call("Nope", b"{}", ours),
                server.call("Countdown", {}, {**ours, "Accept": "text/event-stream"}),
            ):
                assert reply.headers["access-control-allow-origin"] == origin
                assert reply.headers["vary"] == "origin"
        foreign = {"Origin": "https://evil.example", **JSON}
        preflight = {**foreign, "Access-Control-Request-Method": "POST"}
        for reply in (
            server.request("OPTIONS", "/functions/Add", headers=preflight),
            server.call("Add", {"x": 1, "y": 2}, foreign),
            server.get("/functions"),
        ):
            assert "access-control-allow-origin" not in reply.headers
            assert "access-control-allow-methods" not in reply.headers
            assert reply.headers["vary"] == "origin"


def test_every_origin_can_be_let_in() -> None:
    with serving(CALCULATOR, "--cors", "*") as server:
        reply = server.call("Add", {"x": 1, "y": 2}, {**JSON, "Origin": "null"})
        assert reply.headers["access-control-allow-origin"] == "*"


# ---- variables -----------------------------------------------------------------------------------

_STAGES = """
import multiprocessing
from kuniumi import App, Context
app = App(name="Stages", env={"OWN": "%s", "STAGE": "from the app"})

@app.function
def Env(ctx: Context) -> dict[str, str]:
    return ctx.env.list_env()

if __name__ == "__main__":
    multiprocessing.set_start_method("%s")
    app.run()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_variables_reach_the_workers_however_they_start(tmp_path: Path, method: str) -> None:
    file = tmp_path / "stages.py"
    file.write_text(_STAGES % ("1", method))
    with serving(file, "--env", "STAGE=test") as server:
        assert server.call("Env").json == {"result": {"OWN": "1", "STAGE": "test"}}


def test_variables_stay_when_a_changed_file_is_served_anew(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    file = tmp_path / "stages.py"
    file.write_text(_STAGES % ("1", "fork"))
    with serving(file, "--reload", "--env", "STAGE=test") as server:

        def has(own: str) -> bool:
            try:
                found = server.call("Env").json["result"]
            except OSError:
                return False
            assert found["STAGE"] == "test"
            return bool(found["OWN"] == own)

        assert has("1")
        file.write_text(_STAGES % ("2", "fork"))
        eventually(lambda: has("2"))


# ---- reloading -----------------------------------------------------------------------------------

_APP = """
import word
from kuniumi import App
app = App(name="Changing")

@app.function
def Say() -> str:
    return word.WORD + "{mark}"

if __name__ == "__main__":
    app.run()
"""


def test_a_changed_file_is_served_anew(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    file, word = tmp_path / "changing.py", tmp_path / "word.py"
    file.write_text(_APP.format(mark="!"))
    word.write_text("WORD = 'one'")
    with serving(file, "--reload", "--log-level", "critical") as server:

        def says(expected: str) -> bool:
            try:
                with server.connect() as connection:
                    reply = exchange(connection, "POST", "/functions/Say", b"{}", JSON)
            except OSError:
                return False
            return bool(reply.json == {"result": expected})

        assert says("one!")
        file.write_text(_APP.format(mark="?"))
        eventually(lambda: says("one?"))
        word.write_text("WORD = 'another'")  # what the app imports
        eventually(lambda: says("another?"))
        file.write_text("def broken(:")
        eventually(lambda: "SyntaxError" in server.errors())
        file.write_text(_APP.format(mark="."))  # a mistake is mended by the next change
        eventually(lambda: says("another."))
        assert server.stop() == 0
        assert "Traceback" not in server.errors()
