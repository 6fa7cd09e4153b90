"""Running functions: time limits, what is left behind, and what must not leak between calls."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

from kuniumi import App, Context
from kuniumi.core.call import Call, Outcome
from kuniumi.core.fault import Fault, Kind
from kuniumi.execute import loop
from kuniumi.execute.threads import Pool
from kuniumi.testing import SURFACES, Reply, _http_call, connect

LIMIT = 0.05
PATIENCE = 20


async def SleepLater() -> None:
    await asyncio.sleep(PATIENCE)


def Sleep() -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(0.001)


def Spin() -> None:
    while True:
        pass


async def Swallow() -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            continue


def Endless() -> Iterator[int]:
    while True:
        yield 1


async def EndlessLater() -> AsyncIterator[int]:
    while True:
        await asyncio.sleep(0)
        yield 1


def CatchAll() -> None:
    while True:
        try:
            while True:
                pass
        except Exception:  # noqa: BLE001, S112 - that is the case
            continue


def SwallowAll() -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            time.sleep(0.01)
        except BaseException:  # noqa: BLE001, S112 - that is the case
            continue


def AnswerTooLate() -> None:
    try:
        Sleep()
    except BaseException:  # noqa: BLE001 - that is the case
        return


_over = threading.Event()


async def AwaitThread() -> None:
    await asyncio.to_thread(_over.wait, PATIENCE)


OVERLONG: list[Callable[..., Any]] = [
    SleepLater,
    Sleep,
    Spin,
    Swallow,
    Endless,
    EndlessLater,
    CatchAll,
    SwallowAll,
    AnswerTooLate,
    AwaitThread,
]


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled coroutine gets a second to clean up: these use all of it."""
    monkeypatch.setattr(loop, "GRACE", 0.05)


@pytest.fixture(scope="module", autouse=True)
def _ending() -> Iterator[None]:
    """Let go of the threads that wait in vain."""
    yield
    _over.set()


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("function", OVERLONG, ids=lambda function: function.__name__)
def test_a_call_that_takes_too_long_is_answered_in_time(
    function: Callable[..., Any], surface: str, executor: Literal["threads", "processes"]
) -> None:
    app = App()
    app.register(function, timeout=LIMIT, executor=executor)
    app.register(lambda: 1, name="One")
    with connect(app, surface) as door:
        started = time.monotonic()
        reply = door.call(function.__name__)
        assert time.monotonic() - started < PATIENCE / 4
        assert reply.envelope == {"error": "Timed out after 0.05 seconds"}
        told = 124 if surface == "shell" else 1 if surface.startswith("mcp") else 504
        assert reply.status == told
        assert door.call("One").envelope == {"result": 1}


@pytest.mark.parametrize("surface", SURFACES)
def test_the_app_may_set_the_limit_for_all(surface: str) -> None:
    app = App(timeout=LIMIT)
    app.register(SleepLater)
    app.register(Sleep)
    with connect(app, surface) as door:
        for name in ("SleepLater", "Sleep"):
            assert door.call(name).envelope == {"error": "Timed out after 0.05 seconds"}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("limit", [None, 60])
def test_a_call_within_its_limit_is_not_disturbed(surface: str, limit: float | None) -> None:
    async def Wait() -> int:
        await asyncio.sleep(0.001)
        return 1

    app = App(timeout=limit)
    app.register(lambda: 1, name="One")
    app.register(Wait)
    with connect(app, surface) as door:
        assert {door.call("One").body for _ in range(10)} == {b'{"result":1}'}
        assert {door.call("Wait").body for _ in range(10)} == {b'{"result":1}'}


WITHOUT_A_LOOP = ["in-process", "cgi", "shell"]


@pytest.mark.parametrize("surface", WITHOUT_A_LOOP)
def test_what_a_coroutine_leaves_behind_does_not_delay_its_answer(surface: str) -> None:
    left = []

    async def LeaveTask() -> int:
        left.append(asyncio.create_task(Swallow()))
        await asyncio.sleep(0)
        return 1

    async def LeaveThread() -> int:
        asyncio.get_running_loop().run_in_executor(None, _over.wait, PATIENCE)
        return 1

    async def LeaveInOrder() -> int:
        async def tidy() -> None:
            try:
                await asyncio.sleep(PATIENCE)
            finally:
                await asyncio.sleep(0)
                tidied.set()

        left.append(asyncio.create_task(tidy()))
        await asyncio.sleep(0)
        return 1

    tidied = threading.Event()
    app = App()
    for function in (LeaveTask, LeaveThread, LeaveInOrder):
        app.register(function)
    with connect(app, surface) as door:
        for name in ("LeaveTask", "LeaveThread", "LeaveInOrder"):
            started = time.monotonic()
            assert door.call(name).envelope == {"result": 1}
            assert time.monotonic() - started < PATIENCE / 4
    assert tidied.is_set()


def test_work_in_threads_gives_a_coroutine_its_results_and_its_errors() -> None:
    def fail() -> None:
        raise KeyError("on purpose")

    async def Gather() -> list[int]:
        return await asyncio.gather(*(asyncio.to_thread(abs, -number) for number in range(100)))

    async def Fail() -> None:
        await asyncio.to_thread(fail)

    app = App()
    app.register(Gather)
    app.register(Fail)
    assert app.call("Gather").body == b'{"result":[%b]}' % b",".join(
        b"%d" % number for number in range(100)
    )
    assert app.call("Fail").body == b"""{"error":"KeyError: 'on purpose'"}"""


def test_ctrl_c_ends_a_call_in_process_and_its_function_too() -> None:
    ended = threading.Event()

    def Press() -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        try:
            Sleep()
        finally:
            ended.set()

    app = App()
    app.register(Press, timeout=PATIENCE)
    with pytest.raises(KeyboardInterrupt):
        app.call("Press")
    assert ended.wait(PATIENCE / 2)


def test_a_coroutine_is_told_how_to_call_another_in_process() -> None:
    app = App()
    app.register(SleepLater)

    async def nest() -> None:
        app.call("SleepLater")

    with pytest.raises(RuntimeError, match="to_thread"):
        asyncio.run(nest())


def test_forty_endless_loops_leave_the_pool_answering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "pool", Pool(4))
    app = App()
    app.register(Spin, timeout=0.01)
    app.register(lambda: 1, name="One")
    before = count_threads()  # other tests have left some behind
    with connect(app, "http") as door:
        for _ in range(40):
            assert door.call("Spin").status == 504
        assert {door.call("One").body for _ in range(10)} == {b'{"result":1}'}
        eventually_at_most(before + 4)


def test_forty_endless_loops_at_once_leave_the_pool_answering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "pool", Pool(8))
    app = App()
    app.register(Spin, timeout=0.05)
    app.register(lambda: 1, name="One")
    with connect(app, "http") as door, ThreadPoolExecutor(40) as callers:
        door.call("One")  # its loop is made on the first call
        replies = list(callers.map(lambda _: door.call("Spin"), range(40)))
        assert {reply.status for reply in replies} == {504}
        assert door.call("One").envelope == {"result": 1}


def test_what_comes_too_late_is_no_answer_even_if_the_loop_was_held_up() -> None:
    async def bring() -> Outcome:
        wait = loop._Wait(Outcome, Call("functions.Late", b""), LIMIT, None)
        while time.monotonic() <= wait.until:
            time.sleep(LIMIT / 10)  # noqa: ASYNC251 - that is the point
        wait.bring(Outcome(1))
        return await wait.arrived

    error = asyncio.run(bring()).error
    assert isinstance(error, Fault)
    assert error.kind is Kind.TIMED_OUT


def count_threads() -> int:
    return sum(thread.name == "kuniumi-call" for thread in threading.enumerate())


def eventually_at_most(threads: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while count_threads() > threads:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_function_is_told_through_its_context_that_its_time_is_up(surface: str) -> None:
    told = threading.Event()

    def Poll(ctx: Context) -> None:
        while not ctx.cancelled:
            time.sleep(0.001)
        told.set()

    async def PollLater(ctx: Context) -> None:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            assert ctx.cancelled
            told.set()

    app = App(timeout=LIMIT)
    app.register(Poll)
    app.register(PollLater)
    with connect(app, surface) as door:
        assert "Timed out" in door.call("PollLater").envelope["error"]
        assert told.wait(PATIENCE)
        told.clear()
        assert "Timed out" in door.call("Poll").envelope["error"]


# ---- leaks ---------------------------------------------------------------------------------------

_mark: contextvars.ContextVar[int] = contextvars.ContextVar("mark", default=0)


def Mark(x: int) -> int:
    before = _mark.get()
    _mark.set(x)
    return before


async def MarkLater(x: int) -> int:
    before = _mark.get()
    _mark.set(x)
    await asyncio.sleep(0)
    assert _mark.get() == x
    return before


async def MarkAtOnce(x: int) -> int:
    before = _mark.get()
    _mark.set(x)
    return before


def MarkEach(x: int) -> Iterator[int]:
    yield _mark.get()
    _mark.set(x)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("function", "inline"),
    [(Mark, False), (Mark, True), (MarkLater, False), (MarkAtOnce, False), (MarkEach, False)],
)
def test_context_variables_do_not_leak_into_the_next_call(
    function: Callable[..., Any], surface: str, *, inline: bool
) -> None:
    app = App()
    app.register(function, inline=inline)
    with connect(app, surface) as door:
        for x in range(1, 4):
            assert door.call(function.__name__, x=x).envelope["result"] in (0, [0])
    assert _mark.get() == 0


def test_nothing_leaks_between_ten_thousand_calls_many_at_a_time() -> None:
    """Context variables, `ctx` and its variables, and the working directory."""
    home = str(Path.cwd())

    def look(x: int, ctx: Context) -> list[Any]:
        found = [x, _mark.get(), str(Path.cwd()), ctx.env.list_env(), ctx.cancelled]
        _mark.set(x)
        ctx.env.list_env()["LEAK"] = str(x)  # its own copy
        return found

    async def Look(x: int, ctx: Context) -> list[Any]:
        found = look(x, ctx)
        await asyncio.sleep(0)
        assert _mark.get() == x
        return found

    def LookInThread(x: int, ctx: Context) -> list[Any]:
        found = look(x, ctx)
        time.sleep(0)
        assert _mark.get() == x
        return found

    def LookInProcess(x: int, ctx: Context) -> list[Any]:
        found = look(x, ctx)
        assert "LEAK" not in os.environ
        os.environ["LEAK"] = str(x)
        os.chdir("/")
        return found

    app = App(env={"STAGE": "test"})
    app.register(Look)
    app.register(LookInThread)
    app.register(LookInProcess, executor="processes")
    app.register(look, name="LookInline", inline=True)
    names = ("Look", "LookInThread", "LookInline", "LookInProcess")

    async def call_all() -> list[Reply]:
        return await asyncio.gather(
            *(
                _http_call(app.asgi, f"/functions/{names[x % 4]}", b'{"x":%d}' % x, {})
                for x in range(10_000)
            )
        )

    replies = asyncio.run(call_all())
    expected = [0, home, {"STAGE": "test"}, False]
    for x, reply in enumerate(replies):
        assert reply.envelope == {"result": [x, *expected]}
    assert _mark.get() == 0


def test_a_thousand_concurrent_calls_keep_their_own_arguments_and_context() -> None:
    async def Echo(x: int, ctx: Context) -> list[Any]:
        _mark.set(x)
        await asyncio.sleep(0)
        return [x, _mark.get(), ctx.cancelled]

    def EchoInThread(x: int, ctx: Context) -> list[Any]:
        _mark.set(x)
        time.sleep(0)
        return [x, _mark.get(), ctx.cancelled]

    app = App()
    app.register(Echo)
    app.register(EchoInThread)
    with connect(app, "http") as door, ThreadPoolExecutor(32) as callers:
        door.call("Echo", x=0)
        for name in ("Echo", "EchoInThread"):
            replies = callers.map(lambda x, name=name: door.call(name, x=x).envelope, range(500))
            assert list(replies) == [{"result": [x, x, False]} for x in range(500)]
