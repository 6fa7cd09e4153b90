"""What functions see of it, on every surface: flags, failures, and one call beside another."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kuniumi import App, Context, Mount
from kuniumi.env.environment import Environment
from kuniumi.execute.loop import answer
from kuniumi.testing import SURFACES, connect
from tests.env.test_sandbox import CHANGES, EVERY_USE
from tests.http.server import serving
from tests.mcp.official import problems
from tests.openapi.running import APPS

FILES = Path(__file__).parent / "apps" / "files.py"
CALCULATOR = APPS["calculator"]


_without_openat2: list[str] = []


@pytest.fixture(autouse=True)
def _other_processes(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the programs that are started here go the same way."""
    said = ["EPERM"] if way == "walk" else []
    monkeypatch.setattr(f"{__name__}._without_openat2", said)


def _started(app: Path) -> tuple[Path, dict[str, str]]:
    """Give what is to be started for this app, and the variables for it."""
    if not _without_openat2:
        return app, {}
    said = f"{_without_openat2[0]} {app}"
    return Path(__file__).with_name("without_openat2.py"), {"WITHOUT_OPENAT2": said}


def _run(
    *words: object, app: Path = FILES, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    program, variables = _started(app)
    return subprocess.run(
        [sys.executable, str(program), *map(str, words)],
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], **variables, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _result(*words: object, **given: Any) -> Any:
    ended = _run(*words, **given)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["result"]


# ---- flags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order",
    [
        ("FLAGS", "call", "Read", "/data/a.txt"),
        ("call", "FLAGS", "Read", "/data/a.txt"),
        ("call", "Read", "FLAGS", "/data/a.txt"),
        ("call", "Read", "/data/a.txt", "FLAGS"),
    ],
)
def test_flags_stand_before_or_after_a_command(host: Path, order: Sequence[str]) -> None:
    flags = ("--mount", f"{host}/data:/data")
    words = [word for part in order for word in (flags if part == "FLAGS" else (part,))]
    assert _result(*words) == "a"


@pytest.mark.parametrize(
    "order", [("FLAGS", "call", "FILE"), ("call", "FLAGS", "FILE"), ("call", "FILE", "FLAGS")]
)
def test_the_kuniumi_program_takes_them(host: Path, order: Sequence[str]) -> None:
    meant = {"FLAGS": ("--mount", f"{host}/data:/data", "--env", "A=1"), "FILE": (str(FILES),)}
    words = [word for part in order for word in meant.get(part, (part,))]
    program = Path(sys.executable).with_name("kuniumi")
    assert _result(*words, "Read", "/data/a.txt", app=program) == "a"
    assert _result(*words, "Variables", app=program) == {"OWN": "app", "A": "1"}


def test_flags_add_to_what_the_app_says_and_to_files(tmp_path: Path) -> None:
    (tmp_path / "one.env").write_text("OWN=file\nA=file\nB='two\nlines'\n")
    words = (
        "--env-file",
        tmp_path / "one.env",
        "call",
        "Variables",
        "--env",
        "A=a=b,c",
        "--env=E=",
    )
    assert _result(*words) == {"OWN": "file", "A": "a=b,c", "B": "two\nlines", "E": ""}
    assert _result("call", "Variables", SECRET="the host's own") == {"OWN": "app"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--mount", "/srv"], "--mount '/srv': expected HOST:VIRTUAL, or HOST:VIRTUAL:ro"),
        (["--mount", "/missing-one:/data"], "there is no directory /missing-one"),
        (["--mount"], "--mount needs a value: --mount HOST:VIRTUAL[:ro]"),
        (["--env-file", "/missing.env"], "--env-file /missing.env: No such file or directory"),
        (["--env-file"], "--env-file needs a value: --env-file FILE"),
        (["--env", "A"], "--env 'A': expected KEY=VALUE"),
    ],
)
def test_a_flag_that_can_not_be_read_is_an_error(flags: list[str], said: str) -> None:
    for words in (
        ["call", "Where", *flags],
        [*flags[:2], "list"],
        ["serve", "--port", "0", *flags],
    ):
        if flags[1:] or words[0] != flags[0]:
            ended = _run(*words)
            assert ended.returncode == 2
            assert said in ended.stderr


def test_every_command_takes_them(host: Path) -> None:
    for command in ("list", "openapi", "describe Read", "--help"):
        assert _run(*command.split(), "--mount", f"{host}/data:/data").returncode == 0
        assert _run("--mount", f"{host}/data:/data", *command.split()).returncode == 0
    assert "--mount HOST:VIRTUAL[:ro]" in _run("--help").stdout


@pytest.mark.parametrize("flags", [(), ("--workers", "2"), ("--reload",)])
def test_servers_take_them(host: Path, flags: Sequence[str]) -> None:
    program, variables = _started(FILES)
    words = ("--mount", f"{host}/data:/data:ro", "--env", "A=1", *flags)
    with serving(program, *words, **variables) as server:
        assert server.call("Read", {"path": "/data/a.txt"}).json == {"result": "a"}
        assert server.call("Variables", {}).json == {"result": {"OWN": "app", "A": "1"}}
        refused = server.call("Write", {"path": "/data/a.txt", "text": "x"})
        assert refused.status == 500
        error = "PermissionError: [Errno 30] Read-only file system: '/data/a.txt'"
        assert refused.json == {"error": error}


def test_mcp_takes_them(host: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "functions.Read", "arguments": {"path": "/data/a.txt"}},
    }
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    lines = "".join(json.dumps(message) + "\n" for message in (hello, call))
    ended = _run("mcp", "--mount", f"{host}/data:/data", stdin=lines)
    answers = {message["id"]: message for message in map(json.loads, ended.stdout.splitlines())}
    for asked in (hello, call):
        assert problems(answers[asked["id"]], "2025-06-18", answers=asked) == []
    assert answers[1]["result"]["structuredContent"] == {"result": "a"}


def test_cgi_takes_them(host: Path) -> None:
    ended = _run(
        *("cgi", "--mount", f"{host}/data:/data"),
        stdin='{"path": "/data/a.txt"}',
        PATH_INFO="/Read",
    )
    assert ended.stdout.endswith('{"result":"a"}')


def test_a_visitor_of_a_web_server_mounts_nothing() -> None:
    ended = _run(
        *("cgi", "--mount", "/:/data"),
        stdin='{"path": "/data/etc/passwd"}',
        PATH_INFO="/Read",
        GATEWAY_INTERFACE="CGI/1.1",
        REQUEST_METHOD="POST",
        CONTENT_LENGTH="28",
    )
    assert "FileNotFoundError" in ended.stdout


def test_a_function_may_have_such_parameters_itself(host: Path) -> None:
    app = App()

    @app.function
    def Mounted(mount: str, env_file: str, ctx: Context) -> list[Any]:
        return [mount, env_file, ctx.env.list_files()]

    words = ["--mount", f"{host}/data:/data", "call", "Mounted"]
    words += ["--mount", "x", "--env-file", "y"]
    from kuniumi.serve.cli import run

    assert run(app.service, words) == 0


# ---- the Go original's scenario ------------------------------------------------------------------


def test_the_calculator_notes_what_it_adds(tmp_path: Path) -> None:
    flags = ("--env", "DEBUG=true", "--mount", f"{tmp_path}:/")
    ended = _run("cgi", *flags, app=CALCULATOR, stdin='{"x":1,"y":1}', PATH_INFO="/Add")
    assert ended.stdout.endswith('{"result":2}')
    assert (tmp_path / "debug.log").read_text() == "Adding 1 + 1\n"
    assert _result("call", "Add", "2", "3", *flags, app=CALCULATOR) == 5
    assert (tmp_path / "debug.log").read_text() == "Adding 1 + 1\nAdding 2 + 3\n"


def test_the_calculator_notes_nothing_unless_it_is_told_to(tmp_path: Path) -> None:
    assert _result("call", "Add", "2", "3", "--mount", f"{tmp_path}:/", app=CALCULATOR) == 5
    assert list(tmp_path.iterdir()) == []


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "/data/nowhere",
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/nowhere'",
        ),
        ("/data/out", "PermissionError: [Errno 13] It leads out of its mount: '/data/out'"),
        ("/data", "IsADirectoryError: [Errno 21] Is a directory: '/data'"),
        (
            "data/../../etc/passwd",
            "FileNotFoundError: [Errno 2] No such file or directory: '/etc/passwd'",
        ),
        ("/data/\0", "OSError: [Errno 22] Invalid argument: '/data/\\x00'"),
    ],
)
def test_what_a_function_does_not_catch_names_virtual_paths_only(
    host: Path, surface: str, path: str, said: str
) -> None:
    with connect(_app(), surface, mounts=[f"{host}/data:/data"]) as door:
        reply = door.call("Read", path=path)
    assert reply.failed
    assert reply.envelope == {"error": said}


@pytest.mark.parametrize("surface", SURFACES)
def test_a_test_gives_what_it_likes(host: Path, surface: str) -> None:
    app = _app(env={"A": "app", "B": "app"}, mounts=[Mount(host / "database", "/data")])
    mounts = [Mount(host / "data", "/data")]
    with connect(app, surface, env={"B": "test"}, mounts=mounts) as door:
        assert door.call("Read", path="/data/a.txt").envelope == {"result": "a"}
        assert door.call("Variables").envelope == {"result": {"A": "app", "B": "test"}}
    with connect(app, surface) as door:  # and the app is as it was
        assert "FileNotFoundError" in door.call("Read", path="/data/a.txt").envelope["error"]
        assert door.call("Variables").envelope == {"result": {"A": "app", "B": "app"}}


def _app(**options: Any) -> App:
    app = App(**options)

    @app.function
    def Read(path: str, ctx: Context) -> str:
        return ctx.env.read_file(path).decode()

    @app.function
    def Variables(ctx: Context) -> dict[str, str]:
        return ctx.env.list_env()

    return app


LEADING_OUT = [
    *("/data/out", "/data/out-folder", "/data/out-folder/secret", "/data/out-folder/new"),
    *("/data/dangling-out", "/data/absolute", "/data/absolute-in", "/data/out-and-in"),
    *("/data/far-out", "/secret", "/data/../secret", "/data../secret", "/database/secret"),
    *("/data/ring", "/data/a.txt\0", "/data/" + "n" * 256, "/data/pipe", "/data/to-pipe"),
]


@pytest.mark.parametrize("awaits", [False, True])
@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_wherever_a_function_runs_no_use_leads_out(
    env: Environment, host: Path, executor: Any, *, awaits: bool
) -> None:
    app = App(executor=executor, mounts=[f"{host}/data:/data", f"{host}/data:/ro:ro"])

    def Use(use: str, path: str, ctx: Context) -> None:
        (EVERY_USE[use] if use in EVERY_USE else CHANGES[use])(ctx.env, path)

    async def UseLater(use: str, path: str, ctx: Context) -> None:
        await asyncio.sleep(0)
        Use(use, path, ctx)

    app.register(UseLater if awaits else Use, name="Use")
    with connect(app, "http") as door:
        for path in LEADING_OUT:
            for use in EVERY_USE:
                reply = door.call("Use", use=use, path=path)
                if reply.status == 200:  # it may be looked at, that is all
                    assert (path[-4:], use) == ("pipe", "stat")
                    continue
                assert re.match(r"\w+Error: \[Errno \d+\]", reply.envelope["error"]), (use, path)
                assert str(host) not in reply.envelope["error"]
        for use in CHANGES:
            reply = door.call("Use", use=use, path="/ro/a.txt")
            assert "Read-only file system: '/ro/" in reply.envelope["error"], use
        assert door.call("Use", use="read", path="/data/to-link").envelope == {}


# ---- one call beside another ---------------------------------------------------------------------


def test_no_call_sees_where_another_went(host: Path) -> None:
    app = App(mounts=[f"{host}/data:/data"])

    @app.function
    async def Go(to: str, ctx: Context) -> list[str]:
        before = ctx.env.cwd
        ctx.env.chdir(to)
        await asyncio.sleep(0)
        return [before, ctx.env.cwd, ctx.env.list_files()[0]]

    @app.function
    def GoInAThread(to: str, ctx: Context) -> list[str]:
        before = ctx.env.cwd
        ctx.env.chdir(to)
        return [before, ctx.env.cwd, ctx.env.list_files()[0]]

    answers = {"/data": "..dots", "/data/sub": "b.txt", "/data/sub/deep": "c.csv"}
    service = app.service

    async def call_all() -> None:
        async def call(number: int) -> None:
            to = list(answers)[number % 3]
            operation = service.registry.find("GoInAThread" if number % 2 else "Go")
            assert operation is not None
            made = service.call(operation, json.dumps({"to": to}).encode())
            envelope = await answer(operation, made, None)
            assert json.loads(envelope.body) == {"result": ["/", to, answers[to]]}

        await asyncio.gather(*(call(number) for number in range(10_000)))

    asyncio.run(call_all())


def test_a_call_in_process_leaves_the_app_where_it_was(host: Path) -> None:
    app = App(mounts=[f"{host}/data:/data"])

    @app.function
    def Where(ctx: Context) -> str:
        before = ctx.env.cwd
        ctx.env.chdir("/data")
        return before

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: app.call("Where").body, range(50)))
    assert set(answers) == {b'{"result":"/"}'}


# ---- what it costs -------------------------------------------------------------------------------

LIGHT = {"kuniumi.env", "kuniumi.env.environment", "kuniumi.env.variables"}
WITH_MOUNTS = {*LIGHT, "kuniumi.env.mounts"}


def test_a_call_that_reads_no_files_loads_nothing_for_them(host: Path) -> None:
    assert set(_result("call", "Loaded")) == {*LIGHT, "app"}
    mounted = _result("call", "Loaded", "--mount", f"{host}/data:/data")
    assert set(mounted) == {*WITH_MOUNTS, "app"}


def test_files_need_no_event_loop() -> None:
    code = (
        "import sys; from kuniumi.env.environment import Environment;"
        "env = Environment({}, ['/:/host:ro']); env.list_files('/host'); env.path('/host').stat();"
        "print('asyncio' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"
