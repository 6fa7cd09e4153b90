"""An app whose functions do what functions must not, for servers of MCP.

`HOSTILE` names those that any server must survive, with the words they have to be told in. `note`
leaves traces that outlive a call, in a file named by the environment.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from kuniumi import App, Context, FunctionError, Text

NOTES = os.environ.get("MISCHIEF_NOTES", os.devnull)
LIMIT = 0.2
app = App(name="Hostile", version="1.0.0", timeout=60)


def note(line: str) -> None:
    """Leave a line where the test finds it, in one write."""
    file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


# ---- what is well-behaved ------------------------------------------------------------------------


@app.function(inline=True)
def Add(x: int, y: int) -> int:
    """Adds two integers together."""
    return x + y


@app.function(inline=True)
def Same(value: Any) -> Any:
    """Gives back what it is given."""
    return value


@app.function
async def Wait(seconds: float) -> float:
    """Waits on the event loop."""
    note(f"waits {seconds:g}")
    await asyncio.sleep(seconds)
    return seconds


@app.function
def Block(seconds: float) -> float:
    """Sits in a system call."""
    note(f"blocks {seconds:g}")
    time.sleep(seconds)
    return seconds


@app.function
async def Hold(seconds: float) -> float:
    """Holds up the loop."""
    note(f"holds {seconds:g}")
    time.sleep(seconds)  # noqa: ASYNC251 - that is what it does wrong
    return seconds


@app.function
async def Pour(count: int, ctx: Context) -> int:
    """Reports more than anybody reads, and looks at nothing else meanwhile."""
    for step in range(count):
        ctx.progress(step + 1, count, "x" * 1000)
        ctx.log.error("y" * 1000)
    note("poured")
    return count


@app.function
async def NoteCancelled(mark: str, ctx: Context) -> int:
    """Notes when its caller gives it up, and goes on talking."""
    note(f"{mark} began")
    try:
        await asyncio.sleep(60)
    finally:
        for step in range(10):
            ctx.progress(step + 1)
            ctx.log.error("still here")
        note(f"{mark} was cancelled: {ctx.cancelled}")
    return 1


@app.function
def NotePolled(mark: str, ctx: Context) -> int:
    """Looks whether anybody still waits, and goes on talking."""
    note(f"{mark} began")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if ctx.cancelled:
            ctx.progress(1)
            note(f"{mark} was cancelled: {ctx.cancelled}")
            return 0
        time.sleep(0.005)
    return 1


@app.function
async def Report(steps: list[float], ctx: Context) -> int:
    """Reports just what it is told to, from the loop and from threads, and once more when over."""
    for step in steps:
        ctx.progress(step, None, f"at {step:g}")
    await asyncio.gather(*(asyncio.to_thread(ctx.progress, step) for step in steps))

    def report_late() -> None:
        ctx.progress(float("1e308"))
        note("reported late")

    threading.Timer(0.05, report_late).start()
    return len(steps)


# ---- what any server must survive ----------------------------------------------------------------

HOSTILE: dict[str, str] = {}
"""The hostile functions, and what their envelopes have to begin with."""


def hostile(expected: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that does harm."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        HOSTILE[function.__name__] = expected
        app.register(function, **options)
        return function

    return register


_EXCEPTIONS: list[type[BaseException]] = [
    kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and kind.__name__ == name
]
_ODD: dict[type[BaseException], tuple[Any, ...]] = {
    UnicodeDecodeError: ("utf-8", b"", 0, 1, "on purpose"),
    UnicodeEncodeError: ("utf-8", "", 0, 1, "on purpose"),
    UnicodeTranslateError: ("", 0, 1, "on purpose"),
    BaseExceptionGroup: ("on purpose", [SystemExit(1), KeyboardInterrupt()]),
    ExceptionGroup: ("on purpose", [ValueError("x")]),
}


def _raise_in_one_way(kind: type[BaseException], index: int) -> None:
    error = kind(*_ODD.get(kind, ("on purpose",)))

    def InThread() -> int:
        raise error

    async def AtOnce() -> int:
        raise error

    async def Later() -> int:
        await asyncio.sleep(0)
        raise error

    def InGenerator() -> Iterator[int]:
        yield 1
        raise error

    ways: list[Callable[..., Any]] = [InThread, AtOnce, Later, InGenerator]
    way = ways[index % len(ways)]
    name = f"Raise{kind.__name__}{way.__name__}"
    if name not in HOSTILE:
        HOSTILE[name] = '{"error":'
        app.register(way, name=name)


for _index, _kind in enumerate(_EXCEPTIONS):
    _raise_in_one_way(_kind, _index)
for _kind in (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
    for _index in range(4):
        _raise_in_one_way(_kind, _index)


# ---- results that are none


@hostile('{"error":')
def GiveCycle() -> Any:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


@hostile('{"error":')
async def GiveDictCycle() -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle["itself"] = [cycle]
    return cycle


@hostile('{"error":')
def GiveDeep() -> Any:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


@hostile('{"error":')
def GiveNan() -> float:
    return float("nan")


@hostile('{"error":')
def GiveInfinity() -> Any:
    return {"a": [1.0, float("inf")]}


@hostile('{"error":')
def GiveSurrogate() -> str:
    return "\ud800"


@hostile('{"error":')
def GiveSurrogateKey() -> Any:
    return {"\ud800": 1}


@hostile('{"error":')
def GiveSurrogateContent() -> Text:
    return Text("\ud800")


@hostile('{"error":')
def GiveObject() -> Any:
    return object()


@hostile('{"error":')
def GiveType() -> int:
    return "no integer"  # type: ignore[return-value]


@hostile('{"result":{"a":1}}')
def GiveExplosive() -> Any:
    class Explosive(dict[str, Any]):
        def items(self) -> Any:
            raise SystemExit

        def __iter__(self) -> Any:
            raise SystemExit

    return Explosive(a=1)


@hostile('{"error":')
def GiveEvilMessage() -> int:
    class Evil(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise SystemExit("in __str__")

        __repr__ = __str__

    raise Evil


@hostile('{"error":')
def RaiseSurrogate() -> int:
    raise FunctionError("\ud800\n\r\x00")


@hostile('{"result":"')
def GiveNewlines() -> str:
    return '\n\r\u2028\u2029\x00\x85{"jsonrpc":"2.0"}\n'


@hostile('{"result":"')
def GiveMuch() -> str:
    return "x" * 3_000_000


# ---- time that is not theirs


@hostile('{"error":"Timed out', timeout=LIMIT)
def LoopForEver() -> int:
    while True:
        pass


@hostile('{"error":"Timed out', timeout=LIMIT)
def SleepForEver() -> int:
    time.sleep(5)
    return 1


@hostile('{"error":"Timed out', timeout=LIMIT)
async def WaitForEver() -> int:
    await asyncio.Event().wait()
    return 1


@hostile('{"error":"Timed out', timeout=LIMIT)
async def RefuseToEnd() -> int:
    until = time.monotonic() + 3
    while time.monotonic() < until:
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            continue
    return 1


@hostile('{"error":"Timed out', timeout=LIMIT)
def YieldForEver() -> Iterator[int]:
    while True:
        yield 1


@hostile('{"error":"Timed out', timeout=LIMIT)
async def YieldForEverAsync() -> AsyncIterator[int]:
    while True:
        await asyncio.sleep(0.01)
        yield 1


@hostile('{"error":')
async def CancelItself() -> int:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)
    return 1


@hostile('{"result":1}')
async def CancelLater() -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)
    return 1


# ---- stdout that is not theirs


@hostile('{"result":1}')
def Print() -> int:
    print('{"jsonrpc":"2.0","method":"forged"}', flush=True)  # noqa: T201 - that is the point
    print("without an end", end="")  # noqa: T201
    return 1


@hostile('{"result":1}')
async def PrintAsync() -> int:
    print("forged")  # noqa: T201
    sys.__stdout__.write("forged\n")  # type: ignore[union-attr]
    return 1


@hostile('{"result":1}')
def Write() -> int:
    os.write(1, b"forged\n" * 100)
    os.write(1, b"\xff\xfe\n")
    return 1


@hostile('{"result":1}')
def Echo() -> int:
    subprocess.run(["echo", "forged"], check=True)
    subprocess.run("echo forged; echo forged >&2", shell=True, check=True)  # noqa: S602
    return 1


@hostile('{"result":1}')
def PrintLater() -> int:
    threading.Timer(0.01, print, ("forged",)).start()
    return 1


@hostile('{"result":1}')
def Fork() -> int:
    child = os.fork()
    if not child:
        os.write(1, b"forged\n")
        os._exit(0)
    os.waitpid(child, 0)
    return 1


@hostile('{"result":""}')
def ReadStdin() -> str:
    return sys.stdin.readline()


@hostile('{"result":0}')
def ReadDescriptor() -> int:
    return len(os.read(0, 10))


@hostile('{"error":')
def Input() -> str:
    return builtins.input("forged? ")


# ---- a process that is not theirs


@hostile('{"result":1}')
def Meddle() -> int:
    os.chdir("/")
    gc.collect()
    logging.disable(logging.CRITICAL)
    logging.disable(logging.NOTSET)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(sys.getrecursionlimit())
    return 1


@hostile('{"error":')
def Recurse() -> int:
    return int(Recurse()) + 1


@hostile('{"error":')
def SetSignal() -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # only the main thread may
    return 1


@hostile('{"result":1}')
def LeaveThread() -> int:
    threading.Thread(target=lambda: 1 / 0, daemon=True).start()
    threading.Thread(target=sys.exit).start()
    return 1


@hostile('{"result":1}')
async def LeaveTask() -> int:
    async def fail() -> None:
        raise ValueError("on purpose")

    leave = asyncio.get_running_loop().create_task(fail())
    leave.set_name("left behind")
    return 1


@hostile('{"result":1}')
async def FailInCallback() -> int:
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    return 1


@hostile('{"result":1}')
async def ExitInTask() -> int:
    async def leave() -> None:
        sys.exit("leaving")

    task = asyncio.get_running_loop().create_task(leave())
    await asyncio.sleep(0.01)
    task.done()
    return 1


@hostile('{"result":1}')
async def ExitInCallback() -> int:
    asyncio.get_running_loop().call_soon(sys.exit)
    await asyncio.sleep(0.01)
    return 1


@hostile('{"result":1}')
async def StopLoop() -> int:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return 1


@hostile('{"result":1}')
def LeaveGarbage() -> int:
    class Garbage:
        def __del__(self) -> None:
            raise SystemExit

    Garbage()
    return 1


@hostile('{"result":1}')
def RegisterExit() -> int:
    atexit.register(lambda: None)
    return 1


@hostile('{"error":')
async def Flood(ctx: Context) -> int:
    for step in range(5_000):
        ctx.progress(step, message="x" * 100)
        ctx.log.warning("flood %s", step)
    raise SystemExit


@hostile('{"result":1}')
def CloseStdout() -> int:
    os.close(1)
    os.dup2(2, 1)
    return 1


@hostile('{"result":1}')
def ReplaceStdout() -> int:
    sys.stdout = None
    sys.stderr = sys.__stderr__
    return 1


@app.function
def Process() -> dict[str, int]:
    """Tells of the worker: its id, memory, files and threads."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "pid": os.getpid(),
        "rss": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
    }


if __name__ == "__main__":
    app.run()
