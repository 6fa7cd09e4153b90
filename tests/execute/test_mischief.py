"""What functions do to the process they run in: it costs their own call, and nobody else's."""

from __future__ import annotations

import asyncio
import builtins
import ctypes
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kuniumi import App, AsyncAround, Calling, Context
from kuniumi.execute import loop
from kuniumi.execute.threads import Pool
from kuniumi.testing import Door, _http_call, connect
from tests.http.server import JSON, eventually, exchange, serving


@pytest.fixture
def app() -> App:
    """Make an app with one process, which is the next call's, too."""
    app = App(executor="processes", processes=1)
    app.register(Look)
    app.register(Slow)
    return app


def Look() -> dict[str, Any]:
    """Tell of the process what the next call would find changed."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "pid": os.getpid(),
        "folder": str(Path.cwd()),
        "umask": umask,
        "variables": os.environ.get("SPOILT"),
        "timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "told": str(getattr(signal.getsignal(signal.SIGUSR1), "__name__", None)),
    }


def Slow(seconds: float) -> str:
    time.sleep(seconds)
    return "slow"


# ---- copies --------------------------------------------------------------------------------------


def Fork(seconds: float) -> int:
    """Come back twice: the copy later, with another answer."""
    if os.fork():
        return 1
    time.sleep(seconds)
    return 2


def ForkAndExit(seconds: float) -> int:
    if os.fork():
        return 1
    time.sleep(seconds)
    sys.exit("the copy's own end")


def ForkEach(seconds: float) -> Iterator[int]:
    yield 1
    if not os.fork():
        time.sleep(seconds)
        yield 2


def ForkAndReport(seconds: float, ctx: Context) -> int:
    copy = not os.fork()
    time.sleep(seconds if copy else 0)
    ctx.progress(1)
    return 1 + copy


@pytest.mark.parametrize("seconds", [0.0, 0.1])
@pytest.mark.parametrize("function", [Fork, ForkAndExit, ForkEach, ForkAndReport])
def test_a_copy_that_comes_back_answers_nobody(app: App, function: Any, seconds: float) -> None:
    app.register(function, name="Fork")
    with connect(app, "http") as door:
        for _ in range(3):
            assert door.call("Fork", seconds=seconds).envelope["result"] in (1, [1])
            # While the copy comes back, others listen at the same line.
            assert door.call("Slow", seconds=seconds * 2).envelope == {"result": "slow"}
            assert door.call("Look").status == 200


FORKS = """
import asyncio, os
from kuniumi import App

app = App()


def Plain() -> int:
    return 1 if os.fork() else 2


async def AtOnce() -> int:
    return 1 if os.fork() else 2


async def Waiting() -> int:
    await asyncio.sleep(0)
    return 1 if os.fork() else 2


async def ForkAndWait() -> int:
    copy = not os.fork()
    await asyncio.sleep(0.01)
    return 1 + copy


for function in (Plain, AtOnce, Waiting, ForkAndWait):
    app.register(function)
app.register(Plain, name="InPlace", inline=True)
app.register(Plain, name="Timed", timeout=5)
app.register(os.getpid, name="Pid", inline=True)

if __name__ == "__main__":
    app.run()
"""
FORKING = ["Plain", "AtOnce", "Waiting", "ForkAndWait", "InPlace", "Timed"]


@pytest.fixture
def forks(tmp_path: Path) -> Path:
    """Give an app whose functions come back twice."""
    (tmp_path / "forks.py").write_text(FORKS)
    return tmp_path / "forks.py"


def test_a_copy_of_the_server_that_comes_back_takes_no_call(forks: Path) -> None:
    with serving(forks) as server, server.connect() as connection:
        (worker,) = server.workers()
        for name in FORKING * 3:
            reply = exchange(connection, "POST", f"/functions/{name}", b"{}", JSON)
            assert reply.json == {"result": 1}
            for _ in range(3):  # on this connection, where it would answer, and on new ones
                reply = exchange(connection, "POST", "/functions/Pid", b"{}", JSON)
                assert reply.json == {"result": worker}
                assert server.call("Pid").json == {"result": worker}
        assert server.stop() == 0


@pytest.mark.parametrize("name", FORKING)
@pytest.mark.parametrize("command", ["call", "cgi"])
def test_a_copy_of_a_program_that_comes_back_says_nothing(
    forks: Path, command: str, name: str
) -> None:
    words = [command, name] if command == "call" else [command]
    said = subprocess.run(
        [sys.executable, "-W", "ignore", str(forks), *words],
        env={**os.environ, "PATH_INFO": f"/{name}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert said.stdout.count(b"result") == 1
    assert said.stdout.rstrip().endswith(b'{"result":1}')


# ---- programs ------------------------------------------------------------------------------------


def Start(note: str, *, session: bool = False) -> int:
    program = subprocess.Popen(["sleep", "60"], start_new_session=session)
    Path(note).write_text(str(program.pid))
    return program.pid


def StartAndWait(note: str, *, session: bool = False) -> None:
    subprocess.Popen(["sleep", "60"])
    Start(note, session=session)
    time.sleep(60)


def StartAndCrash(note: str) -> None:
    Start(note)
    faulthandler.disable()  # pytest's own would tell of it at length
    os.kill(os.getpid(), signal.SIGSEGV)


def _runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except FileNotFoundError:
        return False


def test_what_a_function_has_started_ends_with_its_process(app: App, tmp_path: Path) -> None:
    note = str(tmp_path / "note")
    app.register(Start)
    app.register(StartAndWait, timeout=0.3)
    app.register(StartAndCrash)
    with connect(app, "http") as door:
        assert door.call("StartAndWait", note=note).status == 504
        eventually(lambda: not _runs(int(Path(note).read_text())), seconds=5)
        assert b"SIGSEGV" in door.call("StartAndCrash", note=note).body
        eventually(lambda: not _runs(int(Path(note).read_text())), seconds=5)
        # What was started on purpose goes on for as long as its process does …
        started = door.call("Start", note=note).envelope["result"]
        assert door.call("Look").status == 200
        assert _runs(started)
        door.call("StartAndWait", note=note, session=True)
        eventually(lambda: not _runs(started), seconds=5)
        # … or longer, in a session of its own.
        started = int(Path(note).read_text())
        assert _runs(started)
        os.kill(started, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_function_that_signals_its_group_reaches_nobody_but_itself(
    app: App, number: signal.Signals
) -> None:
    def SignalAll() -> int:
        os.killpg(0, number)
        return 1

    app.register(SignalAll)
    with connect(app, "http") as door:
        reply = door.call("SignalAll")
        assert (reply.status == 200) is (number != signal.SIGKILL)
        assert door.call("Look").status == 200


# ---- what is put back, and what costs the process ------------------------------------------------


def Spoil() -> None:
    os.umask(0o777)
    os.chdir("/")
    os.environ["SPOILT"] = "yes"
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)


def test_what_a_function_changes_is_put_back_before_the_next_call(app: App) -> None:
    app.register(Spoil)
    with connect(app, "http") as door:
        before = door.call("Look").envelope
        for _ in range(3):
            assert door.call("Spoil").status == 200
            assert door.call("Look").envelope == before
            assert door.call("Slow", seconds=0.1).envelope == {"result": "slow"}


def Overflow() -> None:
    """Take all of the stack, in C."""
    sys.setrecursionlimit(10**9)

    def deeper(depth: int) -> Any:
        return list(map(deeper, [depth + 1]))

    deeper(0)


def CloseAll() -> None:
    os.closerange(0, 1000)


def Hoard() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(10_000_000))


def Patch() -> None:
    builtins.len = lambda _: 1 / 0  # type: ignore[assignment,return-value]
    os.getcwd = None  # type: ignore[assignment]


def Unlimit() -> None:
    """Leave no descriptor for what comes."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    os._exit(0)


def IgnoreAll(ctx: Context) -> None:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=time.sleep, args=(60,)).start()
    ctypes.CDLL(None).sleep(60)


DEADLY = {
    "Overflow": "ended by SIGSEGV",
    "CloseAll": "ended with status",
    "Hoard": "MemoryError",
    "Patch": "ended with status 1",
    "Unlimit": "ended with status 0",
    "IgnoreAll": "Timed out",
}


@pytest.mark.parametrize("name", DEADLY)
def test_what_can_not_be_put_back_costs_the_process_and_its_own_call(app: App, name: str) -> None:
    app.register(globals()[name], memory=200_000_000, timeout=5 if name != "IgnoreAll" else 0.3)

    def find_pid(door: Door) -> int:
        return int(door.call("Look").envelope["result"]["pid"])

    with connect(app, "http") as door:
        for _ in range(2):
            before = find_pid(door)
            reply = door.call(name)
            assert reply.status in (500, 504)
            assert DEADLY[name] in reply.envelope["error"]
            assert find_pid(door) != before


def test_a_hundred_megabytes_cross_both_ways(app: App) -> None:
    app.register(lambda text: text, name="Echo")
    text = "x" * 100_000_000
    with connect(app, "in-process") as door:
        assert door.call("Echo", text=text).body == b'{"result":"%b"}' % text.encode()


# ---- tasks that a coroutine leaves behind --------------------------------------------------------

ENDS: dict[str, type[BaseException]] = {
    "SystemExit": SystemExit,
    "GeneratorExit": GeneratorExit,
    "ValueError": ValueError,
}


async def look_on(call: Calling) -> AsyncAround:
    yield None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("surface", ["in-process", "cgi", "shell", "http"])
def test_a_task_that_ends_badly_ends_no_call_but_of_whoever_awaits_it(
    surface: str, executor: Any, *, hooked: bool
) -> None:
    async def end(name: str) -> int:
        raise ENDS[name]

    async def Leave(name: str) -> int:
        task = asyncio.create_task(end(name))
        while not task.done():  # noqa: ASYNC110 - to wait for it is to be told
            await asyncio.sleep(0)
        task.exception() if not task.cancelled() else None
        return 1

    async def Await(name: str) -> int:
        return await asyncio.create_task(end(name))

    async def StopLoop(name: str) -> int:
        asyncio.get_running_loop().call_soon(sys.exit)
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.001)
        return 1

    app = App(executor=executor)
    for function in (Leave, Await, StopLoop):
        app.register(function)
    if hooked:
        app.around(look_on)
    with connect(app, surface) as door:
        for name in ENDS:
            assert door.call("Leave", name=name).envelope == {"result": 1}
            if surface == "http":  # the server has other calls on the same loop
                continue
            assert door.call("Await", name=name).envelope == {"error": name}
            assert door.call("StopLoop", name=name).envelope == {"result": 1}


def test_where_no_ctrl_c_comes_an_interruption_is_a_tasks_own() -> None:
    async def end() -> None:
        raise KeyboardInterrupt

    async def Await() -> None:
        await asyncio.create_task(end())

    app = App()
    app.register(Await)
    with ThreadPoolExecutor(1) as caller:
        assert caller.submit(app.call, "Await").result().body == b'{"error":"KeyboardInterrupt"}'


# ---- results that can't be sent ------------------------------------------------------------------


class Hostile:
    """Whoever looks at it is surprised."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


def _cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


RESULTS: dict[str, Callable[[], Any]] = {
    "not a number": lambda: float("nan"),
    "infinity deep inside": lambda: [{"a": [float("-inf")]}],
    "a cycle": _cycle,
    "what nests too deeply": _deep,
    "half a character": lambda: "a\ud800",
    "half a character as a key": lambda: {"a\udfff": 1},
    "an object": object,
    "a lock": threading.Lock,
    "a generator": lambda: (x for x in "ab"),
    "a key that is no text": lambda: {(1, 2): 3},
    "what fails to be looked at": Hostile,
    "an exception": lambda: [ValueError("x")],
}


@pytest.mark.parametrize("executor", ["inline", "threads", "processes"])
def test_what_can_t_be_sent_is_an_error_wherever_it_was_made(executor: Any) -> None:
    async def GiveLater(what: str) -> Any:
        return RESULTS[what]()

    def Give(what: str) -> Any:
        return RESULTS[what]()

    def GiveEach(what: str) -> Iterator[Any]:
        yield RESULTS[what]()

    app = App(executor=executor)
    functions = {"Give": Give, "GiveLater": GiveLater, "GiveEach": GiveEach}
    for function in functions.values():
        app.register(function)
    app.register(lambda: 1, name="One")
    with connect(app, "http") as door:
        for what in RESULTS:
            for name in functions:
                began = time.monotonic()
                reply = door.call(name, what=what)
                assert reply.status == 500, (name, what)
                said = "SystemExit" if "fails" in what else f"{name} returned what it must not"
                assert reply.envelope["error"].startswith(said), what
                assert time.monotonic() - began < 5
                assert door.call("One").envelope == {"result": 1}


# ---- threads -------------------------------------------------------------------------------------


def test_what_is_raised_in_a_thread_that_waits_costs_no_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever raises errors in threads, as time limits by others do, may come too late."""
    monkeypatch.setattr(loop, "pool", Pool(3))
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def Interrupt() -> int:
        eventually(lambda: loop.pool._jobs == 1)  # this one: the others wait
        others = set(_pool_threads()) - {threading.get_ident()}
        for thread in others:
            raise_in(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
        return len(others)

    app = App(timeout=5)
    app.register(Interrupt)
    app.register(Slow)

    async def call_all(count: int) -> list[Any]:
        body = b'{"seconds":0.05}'
        calls = (_http_call(app.asgi, "/functions/Slow", body, {}) for _ in range(count))
        return [reply.envelope for reply in await asyncio.gather(*calls)]

    with connect(app, "http") as door:
        before = len(_pool_threads())
        for _ in range(5):
            assert door.wait(call_all(12)) == [{"result": "slow"}] * 12
            interrupted = door.call("Interrupt").envelope["result"]
            assert interrupted >= 2
        assert door.wait(call_all(12)) == [{"result": "slow"}] * 12
        assert len(_pool_threads()) <= before + 3


def _pool_threads() -> list[int]:
    return [thread.ident or 0 for thread in threading.enumerate() if thread.name == "kuniumi-call"]


# ---- no more threads -----------------------------------------------------------------------------

NO_THREADS = """
import asyncio, resource, threading, time
from kuniumi import App
from kuniumi.testing import _http_call

STACK = 512 * 1024 * 1024
app = App()
app.register(lambda: time.sleep(0.01) or 1, name="Rest")
app.register(lambda: time.sleep(0.01) or 1, name="Timed", timeout=30)
app.register(lambda: time.sleep(0.01) or 1, name="InTurn", concurrency=2, queue=10)


def allow(threads):
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    limit = taken + threads * STACK + STACK // 2
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


async def call(name, count):
    calls = (_http_call(app.asgi, f"/functions/{name}", b"", {}) for _ in range(count))
    return {reply.body for reply in await asyncio.wait_for(asyncio.gather(*calls), 30)}


async def main():
    threading.stack_size(STACK)
    allow(0)
    error = b'{"error":"RuntimeError: can\\'t start new thread"}'
    assert await call("Rest", 50) == await call("InTurn", 5) == {error}
    assert app.call("Timed").body == error
    allow(2)
    assert await call("Rest", 50) == await call("InTurn", 10) == {b'{"result":1}'}
    assert sum(thread.name == "kuniumi-call" for thread in threading.enumerate()) == 2


asyncio.run(main())
"""


def test_calls_make_do_with_the_threads_that_are_to_be_had() -> None:
    subprocess.run(
        [sys.executable, "-c", NO_THREADS], check=True, stderr=subprocess.DEVNULL, timeout=60
    )
