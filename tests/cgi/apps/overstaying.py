"""Functions that don't end when their time is up, or leave something behind that doesn't."""

from __future__ import annotations

import asyncio
import sys
import time

from kuniumi import App

app = App(name="Overstaying", version="1.0.0")
_left: set[asyncio.Task[None]] = set()
LONG = 60


@app.function(timeout=0.2)
def SwallowAll() -> int:
    while True:
        try:
            time.sleep(LONG)
        except BaseException:  # noqa: BLE001, S112 - that is the case
            continue


@app.function(timeout=0.2)
def AnswerTooLate() -> int:
    try:
        time.sleep(LONG)
    except BaseException:  # noqa: BLE001 - that is the case
        return 1
    return 2


@app.function(timeout=0.2)
def CleanUp() -> int:
    try:
        while True:
            pass
    finally:
        time.sleep(0.2)
        sys.stderr.write("cleaned up\n")


@app.function(timeout=0.2)
def CleanUpForEver() -> int:
    try:
        time.sleep(LONG)
    finally:
        time.sleep(LONG)
    return 1


@app.function(timeout=0.2)
async def AwaitThread() -> int:
    await asyncio.to_thread(time.sleep, LONG)
    return 1


@app.function(timeout=0.2)
async def NeverAwait() -> int:
    while True:
        pass


async def _ignore_all() -> None:
    while True:
        try:
            await asyncio.sleep(LONG)
        except BaseException:  # noqa: BLE001, S112 - that is the case
            continue


@app.function
async def LeaveTask() -> int:
    _left.add(asyncio.create_task(_ignore_all()))
    await asyncio.sleep(0)
    return 1


@app.function
async def LeaveThread() -> int:
    asyncio.get_running_loop().run_in_executor(None, time.sleep, LONG)
    return 1


if __name__ == "__main__":
    app.run()
