"""The same in real processes: servers with workers and signals, MCP on pipes, CGI, the shell, cold starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.http.server import JSON, eventually, serving, serving_on_uvicorn
from tests.mcp.official import problems

if TYPE_CHECKING:
    from collections.abc import Iterator

POOL = Path(__file__).parent / "apps" / "pool.py"
ROOT = Path(__file__).parents[2]
KINDS = ["plain", "async"]
HOOKS = ["", "plain", "async"]


class Notes:
    """What the app noted, by process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Everything, in order."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]

    @property
    def what(self) -> list[str]:
        """Everything, whoever noted it."""
        return [what for _, what in self.lines]

    def of(self, pid: int) -> list[str]:
        """Give what one process noted."""
        return [what for who, what in self.lines if who == pid]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


def _environment(notes: Notes, kind: str, fails: str = "", hook: str = "") -> dict[str, str]:
    said = {"POOL_NOTES": str(notes.path), "POOL_KIND": kind}
    return {**said, "POOL_FAILS": fails, "POOL_HOOK": hook}


def _run(words: list[str], environment: dict[str, str], **options: Any) -> Any:
    return subprocess.run(
        [sys.executable, str(POOL), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
        **options,
    )


# ---- servers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_each_worker_opens_its_own_and_closes_it_when_it_has_answered_all(
    kind: str, notes: Notes
) -> None:
    with serving(POOL, "--workers", "2", **_environment(notes, kind)) as server:
        workers = server.workers()
        assert sorted(pid for pid, _ in notes.lines) == sorted(workers)  # before there is a call
        assert notes.what == ["opened", "opened"]
        for name in ("Take", "TakeAsync", "Query"):
            assert server.call(name).json == {"result": "open"}
        with server.connect() as connection:
            connection.request("POST", "/functions/Linger", '{"seconds": 0.7}', JSON)
            eventually(lambda: "lingering" in notes.what)
            server.signal(signal.SIGTERM)
            assert json.load(connection.getresponse()) == {"result": "open"}
        assert server.wait() == 0
        for pid in workers:
            assert notes.of(pid)[0] == "opened"
            assert notes.of(pid)[-1] == "closed"
        assert notes.what.count("closed") == 2


def test_a_worker_that_takes_another_s_place_opens_its_own(notes: Notes) -> None:
    with serving(POOL, **_environment(notes, "async")) as server:
        before = server.workers()
        server.signal(signal.SIGHUP)
        eventually(lambda: notes.what.count("closed") == 1)
        assert notes.what.count("opened") == 2
        assert server.call("TakeAsync").json == {"result": "open"}
        assert all(notes.of(pid) == ["opened", "closed"] for pid in before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fails", ["start", "exit"])
def test_a_server_that_can_t_open_it_ends_and_says_why(kind: str, fails: str, notes: Notes) -> None:
    words = ["serve", "--port", "0", "--workers", "2"]
    ended = _run(words, _environment(notes, kind, fails))
    assert ended.returncode == 1
    assert ended.stdout == ""
    name = "open_pool" if kind == "plain" else "open_pool_async"
    error = "ConnectionError: nobody listens there" if fails == "start" else "SystemExit"
    said = f"lifespan {name!r} failed to start: {error}"
    assert sum(line.startswith(said) for line in ended.stderr.splitlines()) == 1
    assert "crash loop" not in ended.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_stopped_while_it_opens_it_does_not_wait_for_that(
    kind: str, notes: Notes
) -> None:
    server = subprocess.Popen(
        [sys.executable, str(POOL), "serve", "--port", "0", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **_environment(notes, kind, "slow")},
    )
    eventually(lambda: notes.what.count("opened") == 2)
    server.send_signal(signal.SIGTERM)
    said, _ = server.communicate(timeout=10)
    assert server.returncode == 0
    assert said == b""


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_can_t_close_it_logs_that_and_ends_well(kind: str, notes: Notes) -> None:
    with serving(POOL, **_environment(notes, kind, "close")) as server:
        assert server.call("Take").json == {"result": "open"}
        server.signal()
        assert server.wait() == 0
        assert "failed to close" in server.errors()
        assert "OSError: the pool had a leak" in server.errors()


@pytest.mark.parametrize("kind", KINDS)
def test_on_uvicorn_it_is_the_same(
    kind: str, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _environment(notes, kind).items():
        monkeypatch.setenv(name, value)
    with serving_on_uvicorn("tests.weave.apps.pool:app.asgi") as server:
        assert notes.what == ["opened"]
        assert server.call("TakeAsync").json == {"result": "open"}
    assert notes.what == ["opened", "closed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("outer", "number"),
    [
        ("outer", signal.SIGINT),  # on SIGTERM, uvicorn's last act is to have itself killed
        ("closing", signal.SIGTERM),
    ],
)
def test_mounted_in_an_app_that_keeps_its_life_to_itself(
    kind: str, outer: str, number: int, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _environment(notes, kind).items():
        monkeypatch.setenv(name, value)
    with serving_on_uvicorn(f"tests.weave.apps.mounted:{outer}") as server:
        assert notes.what == []
        for name in ("Take", "TakeAsync", "Take"):
            assert server.request("POST", f"/tools/functions/{name}").json == {"result": "open"}
        assert notes.what == ["opened"]
        server.signal(number)
        server.wait()
    assert notes.what == ["opened", "closed"]


# ---- MCP on pipes ------------------------------------------------------------------------------------


class Pipes:
    """A client of `mcp`, on pipes."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(POOL), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request; give its result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert problems(answer, "2025-06-18", answers=request) == []
        return answer["result"]

    def shake_hands(self) -> Any:
        """Agree on a revision."""
        client = {"name": "a test", "version": "1"}
        return self.ask(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
        )

    def call(self, name: str) -> Any:
        """Call a tool; give what it says as data."""
        result = self.ask("tools/call", name=f"functions.{name}", arguments={})
        return json.loads(result["content"][0]["text"])

    def end(self) -> str:
        """Wait for its end; give what it wrote to stderr."""
        _, errors = self.process.communicate(timeout=30)
        return errors.decode()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("end", ["input", "signal"])
def test_on_pipes_it_is_open_from_the_first_call_to_the_end(
    kind: str, hook: str, end: str, notes: Notes
) -> None:
    pipes = Pipes(_environment(notes, kind, hook=hook))
    pipes.shake_hands()
    for name in ("Take", "TakeAsync", "Query"):
        assert pipes.call(name) == {"result": "open"}
    if end == "signal":
        pipes.process.send_signal(signal.SIGTERM)
    assert pipes.end() == ""
    assert pipes.process.returncode == 0
    assert notes.what[0] == "opened"
    assert notes.what[-1] == "closed"
    assert notes.what.count("opened") == notes.what.count("closed") == 1
    assert notes.what.count("before Take") == (1 if hook else 0)


def test_on_pipes_hands_can_be_shaken_while_it_is_being_opened(notes: Notes) -> None:
    pipes = Pipes(_environment(notes, "async", "slow"))
    assert pipes.shake_hands()["serverInfo"]["name"] == "Pool"
    assert pipes.call("TakeInTime") == {"error": "Timed out after 1 seconds"}
    pipes.process.send_signal(signal.SIGTERM)
    pipes.end()


@pytest.mark.parametrize("kind", KINDS)
def test_on_pipes_a_failure_to_open_ends_the_process(kind: str, notes: Notes) -> None:
    pipes = Pipes(_environment(notes, kind, "start"))
    assert pipes.process.wait(30) == 1  # though its client is still there
    errors = pipes.end()
    assert "failed to start: ConnectionError: nobody listens there" in errors


# ---- one call a process ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", HOOKS)
def test_in_the_shell_it_is_opened_for_the_call(kind: str, hook: str, notes: Notes) -> None:
    for name in ("Take", "TakeAsync"):
        notes.path.unlink(missing_ok=True)
        ended = _run(["call", name], _environment(notes, kind, hook=hook))
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, '{"result":"open"}\n', "")
        around = [f"before {name}", f'after {name} {{"result":"open"}}'] if hook else []
        assert notes.what == ["opened", *around, "closed"]


def test_what_calls_nothing_opens_nothing(notes: Notes) -> None:
    for words in (["list"], ["describe", "Take"], ["openapi"], ["call", "--help"], ["call", "No"]):
        _run(words, _environment(notes, "plain", hook="plain"))
    assert notes.what == []


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_shell_a_failure_is_told(kind: str, notes: Notes) -> None:
    ended = _run(["call", "Take"], _environment(notes, kind, "start"))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert json.loads(ended.stderr)["error"].endswith("ConnectionError: nobody listens there")
    ended = _run(["call", "Take"], _environment(notes, kind, "close"))
    assert (ended.returncode, ended.stdout) == (0, '{"result":"open"}\n')
    assert "OSError: the pool had a leak" in ended.stderr
    ended = _run(["call", "TakeInTime"], _environment(notes, kind, "slow"))
    assert (ended.returncode, ended.stderr) == (124, '{"error":"Timed out after 1 seconds"}\n')


def _cgi(name: str, environment: dict[str, str]) -> Any:
    variables = {"GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "POST", "CONTENT_LENGTH": "2"}
    return _run([], {**environment, **variables, "PATH_INFO": f"/{name}"}, input="{}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", HOOKS)
def test_by_cgi_it_is_opened_for_the_call(kind: str, hook: str, notes: Notes) -> None:
    for name in ("Take", "TakeAsync"):
        notes.path.unlink(missing_ok=True)
        ended = _cgi(name, _environment(notes, kind, hook=hook))
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.startswith("Status: 200 OK\n")
        assert ended.stdout.endswith('\n\n{"result":"open"}')
        assert notes.what[0] == "opened"
        assert notes.what[-1] == "closed"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fails", "status", "error"),
    [("start", "500", "nobody listens there"), ("exit", "500", "SystemExit"), ("slow", "504", "")],
)
def test_by_cgi_a_failure_to_open_is_an_answer(
    kind: str, fails: str, status: str, error: str, notes: Notes
) -> None:
    ended = _cgi("TakeInTime", _environment(notes, kind, fails))
    assert ended.returncode == 0
    assert ended.stdout.startswith(f"Status: {status} ")
    assert error in json.loads(ended.stdout.partition("\n\n")[2])["error"]


def test_a_script_that_calls_in_process_closes_at_its_end(notes: Notes) -> None:
    script = "from tests.weave.apps.pool import app; print(app.call('TakeAsync').body.decode())"
    for kind in KINDS:
        notes.path.unlink(missing_ok=True)
        ended = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            timeout=60,
            env={**os.environ, **_environment(notes, kind)},
        )
        assert (ended.stdout, ended.stderr) == ('{"result":"open"}\n', "")
        assert notes.what == ["opened", "closed"]


# ---- cold starts -------------------------------------------------------------------------------------

_PLAIN = """
import sys
from typing import Annotated
from kuniumi import App, Context, Provide, limit_rate
{before}
app = App()

@app.lifespan
def state():
    yield 3

@app.around
def note(call):
    yield

app.around(limit_rate(10))

def given(ctx: Context) -> int:
    return ctx.state

@app.function
def Add(x: int, y: Annotated[int, Provide(given)]) -> int:
    return x + y

@app.function(cache=60)
def Twice(x: int) -> int:
    return 2 * x

try:
    app.run()
finally:
    print("\\n".join(sys.modules), file=sys.stderr)
"""


@pytest.fixture
def plain_app(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "app.py"
    path.write_text(_PLAIN.format(before=""))
    return path  # type: ignore[return-value]


@pytest.mark.parametrize("function", ["Add", "Twice"])
def test_a_cold_start_with_plain_ones_loads_no_event_loop(plain_app: Path, function: str) -> None:
    in_shell = subprocess.run(
        [sys.executable, str(plain_app), "call", function, "--x", "4"],
        capture_output=True,
        text=True,
        check=True,
    )
    by_cgi = subprocess.run(
        [sys.executable, str(plain_app)],
        input='{"x":4}',
        capture_output=True,
        text=True,
        check=True,
        env={
            "GATEWAY_INTERFACE": "CGI/1.1",
            "PATH_INFO": f"/{function}",
            "CONTENT_LENGTH": "7",
        },
    )
    for ended in (in_shell, by_cgi):
        assert f'{{"result":{7 if function == "Add" else 8}}}' in ended.stdout
        heavy = {"asyncio", "threading", "concurrent.futures", "logging", "socket"}
        assert set(ended.stderr.split()) & heavy == set()


def test_an_app_without_any_of_this_loads_none_of_it(plain_app: Path) -> None:
    plain_app.write_text(
        "import sys\nfrom kuniumi import App\napp = App()\n"
        "@app.function\ndef Add(x: int, y: int = 3) -> int:\n    return x + y\n"
        "try:\n    app.run()\nfinally:\n    print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(plain_app), "call", "Add", "--x", "4"],
        capture_output=True,
        text=True,
        check=True,
    )
    ours = {"around", "cache", "life", "provide", "rates", "weave"}
    loaded = set(ended.stderr.split())
    assert {name for name in ours if f"kuniumi.core.{name}" in loaded} == set()
    assert "kuniumi.execute.life" not in loaded
