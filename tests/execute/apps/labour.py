"""An app whose functions run in processes: the tests start it as a real server, and kill those.

`notes` is where functions leave traces that outlive them: a file named by the environment.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator

from kuniumi import App, Context

NOTES = os.environ.get("MISCHIEF_NOTES", os.devnull)
app = App(name="Labour", version="1.0.0", executor="processes", processes=4)


def note(line: str) -> None:
    """Leave a line where the test finds it, in one write."""
    file = os.open(NOTES, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


@app.function
def Square(x: int, seconds: float = 0.0) -> int:
    """Multiplies a number by itself, in its own time."""
    time.sleep(seconds)
    return x * x


@app.function
async def SquareLater(x: int) -> int:
    await asyncio.sleep(0.001)
    return x * x


@app.function
def Hold(mark: str, seconds: float = 60.0) -> str:
    """Says which process it is in, and stays there."""
    note(f"{mark} {os.getpid()}")
    time.sleep(seconds)
    return mark


@app.function
def Pid() -> int:
    return os.getpid()


@app.function
def Repeat(text: str, times: int) -> str:
    return text * times


@app.function
def Shout() -> int:
    """Writes where answers go, in three ways."""
    print("a line")  # noqa: T201 - that is the case
    os.write(1, b"another\n")
    subprocess.run(["echo", "a third"], check=True)
    return 1


# ---- ends ----------------------------------------------------------------------------------------


@app.function
def Exit() -> int:
    os._exit(3)


@app.function
def Abort() -> int:
    os.abort()


@app.function
def Segfault() -> int:
    return len(ctypes.string_at(0))


@app.function
def Kill() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 1


@app.function
async def KillLater() -> int:
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)
    return 1


@app.function
def KillInTheMidst() -> Iterator[str]:
    yield "x" * 1_000_000
    os.kill(os.getpid(), signal.SIGKILL)


@app.function(memory=64 * 1024 * 1024)
def Hoard(size: int) -> int:
    return len(b"x" * size)


@app.function(timeout=0.2)
def Spin() -> None:
    while True:
        pass


@app.function(timeout=0.2)
def SpinInC() -> int:
    return sum(range(10**12))


@app.function(timeout=0.2)
def Freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


# ---- being told ----------------------------------------------------------------------------------


@app.function
def NoteCancellation(mark: str, ctx: Context) -> None:
    """Looks whether anybody waits, and notes it when nobody does."""
    note(f"{mark} began")
    ctx.progress(1, 2, "began")
    while not ctx.cancelled:
        time.sleep(0.005)
    note(f"{mark} was cancelled")


@app.function
async def NoteCancelled(mark: str, ctx: Context) -> None:
    """Waits, and notes how that ended."""
    note(f"{mark} began")
    ctx.progress(1, 2, "began")
    try:
        await asyncio.sleep(60)
    finally:
        note(f"{mark} was cancelled")


@app.function
def NoteClosing(mark: str) -> Iterator[int]:
    """Counts for ever, and notes that it was closed."""
    note(f"{mark} began")
    try:
        number = 0
        while True:
            yield number
            number += 1
            time.sleep(0.005)
    finally:
        note(f"{mark} was cancelled")


@app.function
async def NoteClosingLater(mark: str) -> AsyncIterator[int]:
    note(f"{mark} began")
    try:
        number = 0
        while True:
            yield number
            number += 1
            await asyncio.sleep(0.005)
    finally:
        note(f"{mark} was cancelled")


@app.function
def Count(to: int, ctx: Context) -> Iterator[int]:
    """Counts up, and tells of it."""
    for number in range(to):
        ctx.progress(number + 1, to, f"at {number}")
        yield number


@app.function(executor="threads")
def NoteInThread(mark: str, ctx: Context) -> None:
    NoteCancellation(mark, ctx)


@app.function(executor="threads")
def NoteInterruption(mark: str) -> None:
    """Knows nothing of its call, and notes that it was ended all the same."""
    note(f"{mark} began")
    try:
        while True:
            time.sleep(0.005)
    finally:
        note(f"{mark} was interrupted")


# ---- in threads ----------------------------------------------------------------------------------


@app.function(executor="threads")
def Block(seconds: float) -> None:
    """Blocks a thread."""
    time.sleep(seconds)


@app.function(executor="threads", concurrency=2, queue=2)
def LimitedBlock(mark: str, seconds: float) -> str:
    note(mark)
    time.sleep(seconds)
    return mark


@app.function(executor="inline", concurrency=None)
def Inline() -> int:
    return os.getpid()


@app.function(concurrency=2, queue=2)
def LimitedHold(mark: str, seconds: float) -> str:
    note(mark)
    time.sleep(seconds)
    return mark


@app.function(executor="threads", concurrency=8, queue=8)
def Rest(seconds: float) -> None:
    """Rests, as only so many may at once."""
    time.sleep(seconds)


@app.function(concurrency=2, queue=2)
async def LimitedWait(mark: str, seconds: float) -> str:
    note(mark)
    await asyncio.sleep(seconds)
    return mark


if __name__ == "__main__":
    app.run()
