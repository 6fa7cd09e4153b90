"""Executors, retries and limits, on every surface: what an author asks for is what happens."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from kuniumi import (
    App,
    CannotAskError,
    Context,
    DefinitionError,
    FunctionError,
    Provide,
    Text,
    ToolResult,
)
from kuniumi.core.caller import Caller
from kuniumi.execute import loop, worker
from kuniumi.execute.loop import answer
from kuniumi.execute.processes import Processes
from kuniumi.testing import SURFACES, _http_call, connect
from kuniumi.wire.openapi import openapi
from tests.http.server import eventually

Executor = Literal["inline", "threads", "processes"]
EXECUTORS: list[Executor] = ["inline", "threads", "processes"]


def processes_of(app: App) -> Processes:
    """Give the worker processes of an app."""
    found: Processes = app.service.executors[0]
    return found


# ---- where a function runs -----------------------------------------------------------------------


def Where() -> list[int]:
    return [os.getpid(), threading.get_ident()]


async def WhereLater() -> list[int]:
    return Where()


@pytest.mark.parametrize("by", ["the function", "the app"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_function_runs_where_it_was_said_to(executor: Executor, by: str) -> None:
    app = App() if by == "the function" else App(executor=executor)
    if by == "the function":
        app.register(Where, executor=executor)
    else:
        app.register(Where)
    loop_thread = threading.Event()

    async def call() -> tuple[Any, int]:
        loop_thread.set()
        return (
            await _http_call(app.asgi, "/functions/Where", b"", {})
        ).envelope, threading.get_ident()

    (envelope, thread) = asyncio.run(call())
    pid, ran_in = envelope["result"]
    assert (pid == os.getpid()) is (executor != "processes")
    if executor != "processes":
        assert (ran_in == thread) is (executor == "inline")


def test_a_function_may_differ_from_its_app() -> None:
    app = App(executor="processes")
    app.register(Where, name="Here", executor="threads")
    app.register(Where, name="InPlace", inline=True)
    app.register(Where, name="There")
    with connect(app, "http") as door:
        pids = {
            name: door.call(name).envelope["result"][0] for name in ("Here", "InPlace", "There")
        }
    assert pids["Here"] == pids["InPlace"] == os.getpid() != pids["There"]


def test_a_generator_of_an_inline_app_runs_in_a_thread() -> None:
    def Count() -> Iterator[int]:
        yield 1

    app = App(executor="inline")
    app.register(Count)
    assert app.call("Count").body == b'{"result":[1]}'


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("function", [Where, WhereLater])
def test_processes_are_others_and_stay_on_every_surface(
    surface: str, function: Callable[..., Any]
) -> None:
    app = App(executor="processes")
    app.register(function, name="Where")
    with connect(app, surface) as door:
        pids = {door.call("Where").envelope["result"][0] for _ in range(5)}
    assert len(pids) == 1
    assert os.getpid() not in pids


def test_where_a_function_runs_is_nobody_elses_affair() -> None:
    """What its callers are told of it is the same."""

    def Describe(x: int = 3, *, ctx: Context, tags: list[str] | None = None) -> Iterator[str]:
        """Describes something."""
        yield from [f"{x} {tags}"] * x

    documents = []
    for executor in EXECUTORS[1:]:
        app = App("A", executor=executor)
        app.register(Describe)
        app.register(Where, retries=1, idempotent=True)
        documents.append(openapi(app.service))
        assert app.call("Describe", {"x": "2"}).body == b'{"result":["2 None","2 None"]}'
    assert documents[0] == documents[1]


def test_functions_registered_later_are_known_to_the_processes() -> None:
    app = App(executor="processes")
    app.register(lambda: 1, name="One")
    assert app.call("One").body == b'{"result":1}'
    app.register(lambda: 2, name="Two")
    assert app.call("Two").body == b'{"result":2}'
    assert app.call("One").body == b'{"result":1}'


def test_an_app_that_is_forgotten_leaves_no_process() -> None:
    app = App(executor="processes")
    app.register(Where)
    pid = app.call("Where").body
    child = int(pid.decode().partition("[")[2].partition(",")[0])
    assert Path(f"/proc/{child}").exists()
    del app
    gc.collect()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_copy_of_the_process_has_workers_of_its_own() -> None:
    code = """
import os
from kuniumi import App
app = App(executor="processes")
app.register(os.getppid, name="Nursery")
mine = app.call("Nursery").body
if os.fork() == 0:
    os._exit(0 if app.call("Nursery").body not in (mine, b"") else 1)
assert os.wait()[1] == 0
assert app.call("Nursery").body == mine
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_a_function_in_a_process_may_call_another_in_a_process_of_its_own() -> None:
    app = App(executor="processes")
    app.register(Where, name="Inner")

    def Outer() -> list[Any]:
        inner = app.call("Inner").body
        return [inner.decode().startswith('{"result":['), str(os.getpid()) in inner.decode()]

    app.register(Outer)
    assert app.call("Outer").body == b'{"result":[true,false]}'


@pytest.mark.parametrize(
    "command",
    [
        ["call", "Square", "--x", "7"],
        ["cgi"],
    ],
)
def test_a_function_of_a_script_runs_in_a_process(command: list[str], tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(
        "import os\n"
        "from kuniumi import App\n"
        'app = App(executor="processes")\n'
        "started = os.getpid()\n"
        "@app.function\n"
        "def Square(x: int) -> list[int | bool]:\n"
        '    print("noise")\n'
        "    return [x * x, os.getpid() != started]\n"
        'if __name__ == "__main__":\n'
        "    app.run()\n"
    )
    variables = {"PATH_INFO": "/Square"} if command == ["cgi"] else {}
    done = subprocess.run(
        [sys.executable, str(script), *command],
        input=b'{"x":7}',
        capture_output=True,
        env={**os.environ, **variables},
        check=True,
        timeout=30,
    )
    assert done.stdout.rstrip().endswith(b'{"result":[49,true]}')
    assert done.stderr == b"noise\n"


# ---- failures in processes -----------------------------------------------------------------------


def test_the_log_tells_what_happened_in_the_process(caplog: pytest.LogCaptureFixture) -> None:
    def Fail() -> None:
        secret = "on purpose"
        raise ValueError(secret)

    app = App(executor="processes")
    app.register(Fail)
    app.register(Fail, name="Masked", mask_errors=True)
    assert app.call("Fail").body == b'{"error":"ValueError: on purpose"}'
    assert "raise ValueError(secret)" in caplog.text
    assert len(caplog.records) == 1
    caplog.clear()
    envelope = app.call("Masked")
    assert envelope.fault is not None
    assert envelope.fault.incident
    assert b"purpose" not in envelope.body
    assert f"(incident {envelope.fault.incident})" in caplog.text
    assert "raise ValueError(secret)" in caplog.text


def test_the_end_of_a_process_is_masked_too() -> None:
    app = App(executor="processes", mask_errors=True)
    app.register(lambda: os._exit(3), name="Exit")
    envelope = app.call("Exit")
    assert envelope.fault is not None
    assert envelope.body.startswith(b'{"error":"Internal error (incident ')


def test_processes_that_end_before_they_take_a_call_are_not_started_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "work", lambda *_: None)
    app = App(executor="processes")
    app.register(Where)
    envelope = app.call("Where")
    assert envelope.fault is not None
    assert b"one process after another ended" in envelope.body
    nursery = processes_of(app)._nursery
    assert nursery is not None
    assert nursery._count == 10


def test_what_a_result_says_for_people_crosses_too() -> None:
    def Both() -> ToolResult[int]:
        return ToolResult(7, content=[Text("seven")], meta={"a": 1})

    app = App(executor="processes")
    app.register(Both)
    envelope = app.call("Both")
    assert envelope.body == b'{"result":7}'
    assert b"seven" in envelope.content
    assert envelope.meta == b'{"a":1}'


# ---- the context in a process --------------------------------------------------------------------


def test_a_context_in_a_process_has_env_progress_log_and_meta(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def Tell(ctx: Context) -> list[Any]:
        ctx.progress(1, 2, "half")
        ctx.log.warning("told %s", "once")
        ctx.log.debug("not wanted")
        logging.getLogger("kuniumi.call.elsewhere").warning("its own affair")
        return [ctx.operation_id, ctx.env.list_env(), ctx.traceparent, ctx.cancelled]

    app = App(executor="processes", env={"STAGE": "test"})
    operation = app.register(Tell)
    reports: list[Any] = []
    logged: list[Any] = []
    caller = Caller(
        report=lambda *report: reports.append(report),
        log=lambda *line: logged.append(line),
        log_level=logging.INFO,
        meta={"traceparent": "00-1"},
    )
    call = app.service.call(operation, b"", caller)
    envelope = asyncio.run(answer(operation, call, None))
    assert envelope.body == b'{"result":["functions.Tell",{"STAGE":"test"},"00-1",false]}'
    assert reports == [(1, 2, "half")]
    assert logged == [(logging.WARNING, "kuniumi.call.functions.Tell", "told once")]
    assert [record.message for record in caplog.records] == ["told once"]


def test_a_function_in_a_process_can_ask_nobody() -> None:
    async def Ask(ctx: Context) -> str:
        try:
            return str(await ctx.ask("Which?"))
        except CannotAskError:
            return "nobody"

    app = App(executor="processes")
    app.register(Ask)
    assert app.call("Ask").body == b'{"result":"nobody"}'


def test_variables_of_the_command_line_reach_a_process(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(
        "from kuniumi import App, Context\n"
        'app = App(executor="processes", env={"A": "1"})\n'
        "@app.function\n"
        "def Env(ctx: Context) -> dict[str, str]:\n"
        "    return ctx.env.list_env()\n"
        'if __name__ == "__main__":\n'
        "    app.run()\n"
    )
    words = [sys.executable, str(script), "--env", "B=2", "call", "Env"]
    done = subprocess.run(words, capture_output=True, check=True, timeout=30)
    assert done.stdout == b'{"result":{"A":"1","B":"2"}}\n'


@pytest.mark.parametrize("surface", SURFACES)
def test_nothing_of_one_call_in_a_process_is_left_for_the_next(surface: str) -> None:
    def Spoil(to: str) -> list[Any]:
        found = [str(Path.cwd()), os.environ.get("SPOILT"), os.environ.get("HOME")]
        os.chdir(to)
        os.environ["SPOILT"] = "yes"
        os.environ.pop("HOME", None)
        return found

    app = App(executor="processes", processes=1)
    app.register(Spoil)
    before = [str(Path.cwd()), None, os.environ.get("HOME")]
    with connect(app, surface) as door:
        for to in ("/", "/tmp", "/usr"):  # noqa: S108 - any folder will do
            assert door.call("Spoil", to=to).envelope == {"result": before}


# ---- cancellation --------------------------------------------------------------------------------


def test_a_call_in_a_process_ends_with_the_task_that_awaits_it() -> None:
    def Sleep() -> None:
        time.sleep(60)

    app = App(executor="processes", processes=1)
    operation = app.register(Sleep)
    app.register(lambda: 1, name="One")

    async def cancel() -> None:
        call = app.service.call(operation, b"")
        for _ in range(5):
            task = asyncio.ensure_future(answer(operation, call, None))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        waiting = [asyncio.ensure_future(answer(operation, call, None)) for _ in range(5)]
        await asyncio.sleep(0.02)
        for task in waiting:  # one of them runs, the others wait for a process
            task.cancel()
        await asyncio.wait(waiting)
        assert (await _http_call(app.asgi, "/functions/One", b"", {})).envelope == {"result": 1}

    asyncio.run(cancel())
    assert processes_of(app)._count == 1


def test_a_function_that_ignores_its_cancellation_is_ended_with_its_process() -> None:
    async def Ignore() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    def IgnoreContext(ctx: Context) -> None:
        time.sleep(60)

    app = App(executor="processes", processes=1, timeout=0.05)
    app.register(Ignore)
    app.register(IgnoreContext)
    with connect(app, "http") as door:
        for name in ("Ignore", "IgnoreContext"):
            for _ in range(5):
                began = time.monotonic()
                assert door.call(name).status == 504
                assert time.monotonic() - began < 2


def test_many_loops_share_the_processes_of_an_app() -> None:
    app = App(executor="processes", processes=2)
    app.register(lambda x: x * x, name="Square")
    wrong: list[Any] = []

    def call(number: int) -> None:
        wrong.extend(
            x
            for x in range(number, number + 50)
            if app.call("Square", {"x": x}).body != b'{"result":%d}' % (x * x)
        )

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert processes_of(app)._count <= 2


# ---- once more -----------------------------------------------------------------------------------


def _fail_twice(file: str) -> int:
    tried = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(tried, b".")
    os.close(tried)
    count = Path(file).stat().st_size
    if count <= 2:
        raise ConnectionResetError("try again")
    return count


def FailTwice(file: str) -> int:
    return _fail_twice(file)


async def FailTwiceLater(file: str) -> int:
    await asyncio.sleep(0)
    return _fail_twice(file)


def DieTwice(file: str) -> int:
    try:
        return _fail_twice(file)
    except ConnectionResetError:
        os.kill(os.getpid(), signal.SIGKILL)
        raise


RETRIED: list[tuple[Callable[..., Any], Executor]] = [
    (FailTwice, "inline"),
    (FailTwice, "threads"),
    (FailTwiceLater, "inline"),
    (FailTwice, "processes"),
    (FailTwiceLater, "processes"),
    (DieTwice, "processes"),
]


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("function", "executor"), RETRIED)
def test_an_idempotent_function_is_begun_anew_as_often_as_was_said(
    function: Callable[..., Any], executor: Executor, surface: str, tmp_path: Path
) -> None:
    app = App(executor=executor)
    app.register(function, name="Enough", retries=2, idempotent=True)
    app.register(function, name="TooFew", retries=1, idempotent=True)
    with connect(app, surface) as door:
        assert door.call("Enough", file=str(tmp_path / "a")).envelope == {"result": 3}
        assert door.call("TooFew", file=str(tmp_path / "b")).failed
        assert (tmp_path / "b").stat().st_size == 2


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_was_to_be_expected_is_not_tried_again(executor: Executor, tmp_path: Path) -> None:
    def Refuse(file: str) -> int:
        with Path(file).open("a") as tried:
            tried.write(".")
        raise FunctionError("No", status=409)

    app = App()
    app.register(Refuse, executor=executor, retries=5, idempotent=True)
    assert app.call("Refuse", {"file": str(tmp_path / "a")}).body == b'{"error":"No"}'
    assert app.call("Refuse", {"file": 7}).fault is not None
    assert (tmp_path / "a").stat().st_size == 1


def test_all_tries_together_take_no_longer_than_a_call_may() -> None:
    def Fail() -> None:
        time.sleep(0.05)
        raise OSError

    app = App(executor="processes", timeout=0.3)
    app.register(Fail, retries=1_000_000, idempotent=True)
    began = time.monotonic()
    assert app.call("Fail").body == b'{"error":"Timed out after 0.3 seconds"}'
    assert time.monotonic() - began < 5


def test_what_nobody_waits_for_any_more_is_not_tried_again() -> None:
    tried: list[bool] = []

    def Try(*, ctx: Context) -> None:
        tried.append(ctx.cancelled)
        while not ctx.cancelled:
            time.sleep(0.001)
        raise OSError

    app = App()
    operation = app.register(Try, retries=100, idempotent=True)

    async def leave() -> None:
        gone = asyncio.Event()
        call = app.service.call(operation, b"")
        answering = asyncio.ensure_future(answer(operation, call, None, gone.wait))
        while not tried:  # noqa: ASYNC110 - a thread tells no loop
            await asyncio.sleep(0.001)
        gone.set()
        assert (await answering).fault is not None

    before = loop.pool.overstaying
    asyncio.run(leave())
    eventually(lambda: loop.pool.overstaying <= before)
    assert tried == [False]


# ---- limits --------------------------------------------------------------------------------------


def Rest(x: int) -> int:
    time.sleep(0.005)
    return x


async def RestLater(x: int) -> int:
    await asyncio.sleep(0.005)
    return x


def RestEach(x: int) -> Iterator[int]:
    time.sleep(0.005)
    yield x


async def RestEachLater(x: int) -> AsyncIterator[int]:
    await asyncio.sleep(0.005)
    yield x


LIMITED: list[tuple[Callable[..., Any], Executor]] = [
    (Rest, "threads"),
    (RestEach, "threads"),
    (RestLater, "threads"),
    (RestEachLater, "threads"),
    (Rest, "processes"),
    (RestEachLater, "processes"),
]


@pytest.mark.parametrize(("function", "executor"), LIMITED)
def test_of_many_calls_at_once_as_many_run_as_may_run_and_wait(
    function: Callable[..., Any], executor: Executor
) -> None:
    app = App(executor="threads" if executor == "threads" else "processes")
    app.register(function, name="Rest", concurrency=3, queue=7)

    async def call_all() -> list[int]:
        calls = (_http_call(app.asgi, "/functions/Rest", b'{"x":%d}' % x, {}) for x in range(50))
        replies = await asyncio.gather(*calls)
        for x, reply in enumerate(replies):
            if reply.status == 200:
                assert reply.envelope["result"] in (x, [x])
            else:
                assert reply.headers["retry-after"] == "1"
        return [reply.status for reply in replies]

    for _ in range(3):  # the places come back
        statuses = asyncio.run(call_all())
        assert (statuses.count(200), statuses.count(503)) == (10, 40)


@pytest.mark.parametrize("name", ["Rest", "RestLater"])
def test_waiting_for_a_turn_counts_as_time(name: str) -> None:
    app = App(timeout=0.1)

    def Rest() -> None:
        time.sleep(0.2)

    async def RestLater() -> None:
        await asyncio.sleep(0.2)

    app.register(Rest, concurrency=1, queue=5)
    app.register(RestLater, concurrency=1, queue=5)

    async def call_all() -> set[int]:
        calls = (_http_call(app.asgi, f"/functions/{name}", b"", {}) for _ in range(5))
        return {reply.status for reply in await asyncio.gather(*calls)}

    began = time.monotonic()
    assert asyncio.run(call_all()) == {504}
    assert time.monotonic() - began < 0.4


def test_as_many_may_wait_as_may_run_unless_it_was_said() -> None:
    app = App()
    app.register(RestLater, concurrency=4)

    async def call_all() -> list[int]:
        calls = (_http_call(app.asgi, "/functions/RestLater", b'{"x":1}', {}) for _ in range(20))
        return [reply.status for reply in await asyncio.gather(*calls)]

    assert asyncio.run(call_all()).count(200) == 8


def RestUntil(gate: str) -> int:
    while not Path(gate).exists():
        time.sleep(0.001)
    return 1


async def RestUntilLater(gate: str) -> int:
    while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 - other processes have no event to set
        await asyncio.sleep(0.001)
    return 1


def RestUntilEach(gate: str) -> Iterator[int]:
    yield RestUntil(gate)


HELD: list[tuple[Callable[..., Any], Executor]] = [
    (RestUntil, "threads"),
    (RestUntilEach, "threads"),
    (RestUntilLater, "threads"),
    (RestUntil, "processes"),
    (RestUntilLater, "processes"),
]


WAYS: list[tuple[str, float | None]] = [
    *((surface, None) for surface in SURFACES),
    *((surface, 60) for surface in ("in-process", "cgi")),
]


@pytest.mark.parametrize(("surface", "limit"), WAYS)
@pytest.mark.parametrize(("function", "executor"), HELD)
def test_a_limit_holds_for_all_that_share_a_process_whatever_way_they_come(
    function: Callable[..., Any],
    executor: Executor,
    surface: str,
    limit: float | None,
    tmp_path: Path,
) -> None:
    app = App(executor=executor, timeout=limit)
    app.register(function, name="Rest", concurrency=2, queue=1)
    gate = tmp_path / "gate"
    bodies: list[bytes] = []

    def call() -> None:
        bodies.append(app.call("Rest", {"gate": str(gate)}).body)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(8)]
    crowded = "Overloaded: too many calls of Rest at once, try again in a second"
    with connect(app, surface) as door:
        try:
            for thread in threads:
                thread.start()
            eventually(lambda: len(bodies) == 5)  # two run, one waits
            assert door.call("Rest", gate=str(gate)).envelope == {"error": crowded}
        finally:
            gate.touch()
        for thread in threads:
            thread.join()
        answered = [body for body in bodies if body != b'{"error":"%b"}' % crowded.encode()]
        assert answered in ([b'{"result":1}'] * 3, [b'{"result":[1]}'] * 3)
        assert not door.call("Rest", gate=str(gate)).failed  # the places come back


@pytest.mark.parametrize("name", ["Rest", "RestLater"])
def test_waiting_for_a_turn_counts_as_time_in_process_too(name: str) -> None:
    told: list[bool] = []

    def Rest(seconds: float, ctx: Context) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not ctx.cancelled:
            time.sleep(0.001)
        told.append(ctx.cancelled)

    async def RestLater(seconds: float) -> None:
        await asyncio.sleep(seconds)

    app = App(timeout=0.2)
    app.register(Rest, concurrency=1, queue=5)
    app.register(RestLater, concurrency=1, queue=5)
    bodies: list[bytes] = []
    began = time.monotonic()
    seconds = {"seconds": 0.15}  # the second begins, and is out of time before it is done
    threads = [
        threading.Thread(target=lambda: bodies.append(app.call(name, seconds).body))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 5
    assert sorted(bodies) == [b'{"error":"Timed out after 0.2 seconds"}'] * 4 + [b"{}"]
    assert app.call(name, {"seconds": 0}).body == b"{}"


def test_whoever_waits_for_a_turn_runs_in_the_context_of_its_own_caller() -> None:
    caller = contextvars.ContextVar("caller", default="nobody")

    def Who(seconds: float) -> str:
        time.sleep(seconds)
        return caller.get()

    app = App()
    app.register(Who, concurrency=1, queue=100)

    async def call(x: int) -> Any:
        caller.set(f"caller {x}")
        return (await _http_call(app.asgi, "/functions/Who", b'{"seconds":0.002}', {})).envelope

    async def call_all() -> list[Any]:
        return await asyncio.gather(*(asyncio.create_task(call(x)) for x in range(20)))

    assert asyncio.run(call_all()) == [{"result": f"caller {x}"} for x in range(20)]


def test_a_copy_of_the_process_has_turns_of_its_own() -> None:
    code = """
import os, threading
from kuniumi import App
app = App()
began, over = threading.Event(), threading.Event()
def Hold(wait: bool) -> int:
    if wait:
        began.set()
        over.wait()
    return 1
app.register(Hold, concurrency=1, queue=0)
threading.Thread(target=app.call, args=("Hold", {"wait": True}), daemon=True).start()
began.wait()
if os.fork() == 0:
    os._exit(0 if app.call("Hold", {"wait": False}).body == b'{"result":1}' else 1)
assert os.wait()[1] == 0
assert app.call("Hold", {"wait": False}).fault is not None
over.set()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=30)


# ---- with other providers, for a test ------------------------------------------------------------


def _real() -> str:
    raise AssertionError


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("awaits", [False, True])
def test_retries_and_limits_stay_where_a_test_has_other_providers(
    executor: Executor, *, awaits: bool
) -> None:
    tried: list[str] = []

    def FailTwice(who: Annotated[str, Provide(_real)]) -> str:
        tried.append(who)
        if len(tried) <= 2:
            raise ConnectionResetError
        return who

    async def FailTwiceLater(who: Annotated[str, Provide(_real)]) -> str:
        await asyncio.sleep(0)
        return FailTwice(who)

    async def RestLater(who: Annotated[str, Provide(_real)]) -> str:
        await asyncio.sleep(0.05)
        return who

    def Rest(who: Annotated[str, Provide(_real)]) -> str:
        time.sleep(0.05)
        return who

    app = App(executor=executor)
    again = FailTwiceLater if awaits else FailTwice
    app.register(again, name="Again", retries=2, idempotent=True)
    app.register(RestLater if awaits else Rest, name="Rest", concurrency=1, queue=1)
    with connect(app, "http", provide={_real: lambda: "fake"}) as door:
        assert door.call("Again").envelope == {"result": "fake"}
        assert tried == ["fake"] * 3

        async def call_all() -> list[int]:
            calls = (_http_call(door.asgi, "/functions/Rest", b"", {}) for _ in range(5))
            return [reply.status for reply in await asyncio.gather(*calls)]

        assert sorted(door.wait(call_all())) == [200, 200, 503, 503, 503]


# ---- mistakes in a definition --------------------------------------------------------------------


def plain() -> int:
    return 1


def stream() -> Iterator[int]:
    yield 1


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (plain, {"executor": "moon"}, "executor='moon' must be 'inline' or 'threads' or 'processes'"),
    (plain, {"executor": "threads", "inline": True}, "contradict each other"),
    (plain, {"inline": 1}, "inline=1 must be True or False"),
    (stream, {"executor": "inline"}, "inline=True is for plain functions, not for generators"),
    (plain, {"retries": 2}, "pass idempotent=True as well"),
    (plain, {"retries": 2, "idempotent": False}, "pass idempotent=True as well"),
    (plain, {"retries": -1, "idempotent": True}, "retries=-1 must be a whole number, 0 or more"),
    (plain, {"retries": True, "idempotent": True}, "retries=True must be a whole number"),
    (stream, {"retries": 2, "idempotent": True}, "retries=… is not for generators"),
    (plain, {"memory": 1000}, "pass executor='processes'"),
    (plain, {"memory": 0, "executor": "processes"}, "memory=0 must be a whole number, 1 or more"),
    (plain, {"memory": "1G", "executor": "processes"}, "memory='1G' must be a whole number"),
    (plain, {"concurrency": 0}, "concurrency=0 must be a whole number, 1 or more"),
    (plain, {"concurrency": 2, "inline": True}, "one at a time anyway"),
    (plain, {"concurrency": 2, "queue": -1}, "queue=-1 must be a whole number, 0 or more"),
    (plain, {"queue": 2}, "pass concurrency=…"),
]


@pytest.mark.parametrize(("function", "options", "said"), REFUSED)
def test_an_option_that_can_t_be_kept_is_refused(
    function: Callable[..., Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(DefinitionError, match=function.__name__) as refused:
        App().register(function, **options)
    assert said in str(refused.value)


@pytest.mark.parametrize("options", [{"executor": "moon"}, {"processes": -1}, {"processes": "2"}])
def test_an_option_of_an_app_that_can_t_be_kept_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=r"the app: (executor|processes)="):
        App(**options)


def test_no_limit_and_no_process_is_loaded_that_nobody_asked_for() -> None:
    code = (
        "import sys; from kuniumi import App; app = App()\n"
        "def Add(x: int, y: int) -> int: return x + y\n"
        "app.register(Add); app.call('Add', {'x': 1, 'y': 2})\n"
        "print(sorted(m for m in sys.modules if m.startswith('kuniumi.execute.')), 'asyncio' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = ["kuniumi.execute.alone", "kuniumi.execute.inline", "kuniumi.execute.report"]
    assert shown.stdout == f"{expected} False\n"
