"""An app whose functions do what functions must not: the tests start it as a real server.

`notes` is where functions leave traces that outlive their call: a file named by the environment.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from kuniumi import App, Context, FunctionError

NOTES = os.environ.get("MISCHIEF_NOTES", os.devnull)
app = App(name="Mischief", version="1.0.0")


def note(line: str) -> None:
    """Leave a line where the test finds it, in one write."""
    file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


@app.function(inline=True)
def Add(x: int, y: int) -> int:
    """Adds two integers together."""
    return x + y


@app.function(inline=True)
def Echo(value: Any) -> Any:
    """Gives back what it is given."""
    return value


@app.function
def Length(text: str) -> int:
    """Counts characters."""
    return len(text)


@app.function(inline=True)
def Nothing(text: str = "") -> None:
    """Takes what it is given, and gives nothing."""


# ---- what ends more than its own call, elsewhere -------------------------------------------------

_RAISED: dict[str, type[BaseException]] = {
    "SystemExit": SystemExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "BaseException": BaseException,
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
    "CancelledError": asyncio.CancelledError,
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
    "ValueError": ValueError,
}


@app.function
def RaiseInThread(name: str) -> int:
    raise _RAISED[name]("on purpose")


@app.function(inline=True)
def RaiseInline(name: str) -> int:
    raise _RAISED[name]("on purpose")


@app.function
async def RaiseAtOnce(name: str) -> int:
    raise _RAISED[name]("on purpose")


@app.function
async def RaiseLater(name: str) -> int:
    await asyncio.sleep(0)
    raise _RAISED[name]("on purpose")


@app.function
async def RaiseInTask(name: str) -> int:
    async def child() -> int:
        raise _RAISED[name]("on purpose")

    return await asyncio.create_task(child())


@app.function
def RaiseInGenerator(name: str) -> Iterator[int]:
    yield 1
    raise _RAISED[name]("on purpose")


@app.function
async def RaiseInAsyncGenerator(name: str) -> AsyncIterator[int]:
    yield 1
    raise _RAISED[name]("on purpose")


@app.function
async def CancelItself() -> int:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)
    return 1


@app.function
def Exit() -> int:
    sys.exit("leaving")


@app.function
def Die() -> int:
    os._exit(3)


@app.function
def NoteAndDie() -> int:
    """Notes which process it ends."""
    note(str(os.getpid()))
    os._exit(3)


@app.function(errors={422: "Always"})
def Fail(message: str, status: int = 422) -> int:
    raise FunctionError(message, status=status)


# ---- what JSON can't carry -----------------------------------------------------------------------


class _Strange:
    pass


class _Explosive(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit


def _cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


@app.function
def Give(what: str) -> Any:
    """Gives something that JSON can't carry."""
    made: Any = {
        "nan": lambda: float("nan"),
        "infinity": lambda: float("inf"),
        "nested nan": lambda: {"a": [1.0, float("nan")]},
        "cycle": _cycle,
        "deep": _deep,
        "surrogate": lambda: "\ud800",
        "surrogate key": lambda: {"\ud800": 1},
        "object": _Strange,
        "function": lambda: _cycle,
        "keys": lambda: {(1, 2): 3},
        "generator": lambda: (number for number in range(3)),
    }
    return made[what]()


@app.function
def Lie(what: str) -> int:
    """Promises an integer."""
    made: Any = {"text": "x", "float": 1.5, "none": None, "true": True}
    return made[what]  # type: ignore[no-any-return]


# ---- what takes long -----------------------------------------------------------------------------


@app.function
def Block(seconds: float) -> float:
    """Sits in a system call."""
    time.sleep(seconds)
    return seconds


@app.function
async def Wait(seconds: float) -> float:
    """Waits on the event loop."""
    await asyncio.sleep(seconds)
    return seconds


@app.function(timeout=0.3)
def LoopForEver() -> int:
    """Never ends, and never looks up."""
    while True:
        pass


@app.function(timeout=0.3)
def SleepForEver() -> int:
    """Never ends, in C code that nothing can interrupt."""
    time.sleep(20)
    return 1


@app.function(timeout=0.3)
async def WaitForEver() -> int:
    """Never ends, on the event loop."""
    await asyncio.Event().wait()
    return 1


@app.function(timeout=0.3)
async def RefuseToEnd() -> int:
    """Ignores that it is cancelled."""
    while True:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            continue


@app.function
async def NoteCancellation(mark: str) -> int:
    """Notes when its caller goes away."""
    note(f"{mark} began")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        note(f"{mark} was cancelled")
        raise
    return 1


@app.function
def NoteCancelled(mark: str, ctx: Context) -> int:
    """Looks whether anybody still waits."""
    note(f"{mark} began")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if ctx.cancelled:
            note(f"{mark} was cancelled")
            return 0
        time.sleep(0.01)
    return 1


@app.function
def NotedBlock(mark: str, seconds: float) -> str:
    """Blocks a thread, and notes that it was called."""
    note(mark)
    time.sleep(seconds)
    return mark


@app.function(executor="processes")
def NotedWork(mark: str, seconds: float) -> str:
    """Works in a process, and notes that it was called."""
    note(mark)
    time.sleep(seconds)
    return mark


@app.function
async def NotedWait(mark: str, seconds: float) -> str:
    """Waits, and notes that it was called."""
    note(mark)
    await asyncio.sleep(seconds)
    return mark


# ---- streams -------------------------------------------------------------------------------------


@app.function
def Count(to: int, pause: float = 0.0) -> Iterator[int]:
    """Counts up."""
    for number in range(to):
        if pause:
            time.sleep(pause)
        yield number


@app.function
async def CountAsync(to: int, pause: float = 0.0) -> AsyncIterator[int]:
    """Counts up, on the event loop."""
    for number in range(to):
        await asyncio.sleep(pause)
        yield number


@app.function
def Falter(after: int) -> Iterator[int]:
    """Fails midway."""
    yield from range(after)
    raise FunctionError("No more", status=418)


@app.function
async def FalterAsync(after: int) -> AsyncIterator[int]:
    """Fails midway, on the event loop."""
    for number in range(after):
        yield number
    message = "No more"
    raise ValueError(message)


@app.function
def Slip() -> Iterator[int]:
    """Promises integers, and gives one."""
    yield 1
    yield "two"  # type: ignore[misc]


@app.function
def CountForEver(mark: str) -> Iterator[int]:
    """Never ends, and notes when it is closed."""
    number = 0
    note(f"{mark} began")
    try:
        while True:
            yield number
            number += 1
            time.sleep(0.001)
    finally:
        note(f"{mark} was closed")


@app.function
async def CountForEverAsync(mark: str) -> AsyncIterator[int]:
    """Never ends on the event loop, and notes when it is closed."""
    number = 0
    note(f"{mark} began")
    try:
        while True:
            yield number
            number += 1
            await asyncio.sleep(0.001)
    finally:
        note(f"{mark} was closed")


@app.function
def Work(steps: int, ctx: Context) -> int:
    """Tells how far it is, from a thread."""
    for step in range(steps):
        ctx.progress(step + 1, steps, f"step {step + 1}")
    return steps


@app.function
async def WorkAsync(steps: int, ctx: Context) -> int:
    """Tells how far it is, from the event loop."""
    for step in range(steps):
        ctx.progress(step + 1, steps)
    return steps


@app.function
async def WorkAndYield(steps: int, ctx: Context) -> AsyncIterator[int]:
    """Tells how far it is before each item."""
    for step in range(steps):
        ctx.progress(step + 1, steps)
        yield step


# ---- what a test asks about the worker itself ----------------------------------------------------


@app.function
def Process() -> dict[str, int]:
    """Tells of the worker: its id, memory, files and threads."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "pid": os.getpid(),
        "rss": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
    }


@app.function
async def Tasks() -> int:
    """Counts the tasks on the event loop, this one included."""
    return len(asyncio.all_tasks())


if __name__ == "__main__":
    app.run()
