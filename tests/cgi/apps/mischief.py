"""Functions that do what functions should not, for a web server to start."""

# ruff: noqa: T201 - functions that print

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator

from kuniumi import App, Context, FunctionError

print("printed while the file was loaded")

app = App(name="Mischief", version="1.0.0", env={"KNOWN": "yes"})
left_open = open(os.environ["LEFT_OPEN"], "w") if "LEFT_OPEN" in os.environ else None  # noqa: PTH123, SIM115


@app.function
def Print() -> int:
    print("Status: 500 Printed\r\n\r\n")
    sys.stdout.flush()
    print("and not flushed", end="")
    return 1


@app.function
def WriteDescriptor() -> int:
    os.write(1, b"Status: 500 Written\r\n\r\n")
    return 1


@app.function
def StartProgram() -> int:
    subprocess.run(["echo", "echoed by a child"], check=True)
    subprocess.run("sleep 0.3; echo echoed late &", shell=True, check=True)  # noqa: S602
    return 1


@app.function
def Leave(code: int = 3) -> int:
    sys.exit(code)


@app.function
def Interrupt() -> int:
    raise KeyboardInterrupt


@app.function
def EndGenerator() -> int:
    raise GeneratorExit


@app.function
def Crash() -> int:
    raise ValueError("first\r\nX-Injected: yes\r\n\r\nbody")


@app.function
def Fail(message: str, status: int = 500) -> int:
    raise FunctionError(message, status=status)


@app.function(timeout=0.2)
def Loop() -> int:
    while True:
        pass


@app.function(timeout=0.2)
async def SleepLong() -> int:
    await asyncio.sleep(60)
    return 1


@app.function
async def Later(x: int) -> int:
    await asyncio.sleep(0)
    return x


@app.function
def Items(count: int) -> Iterator[int]:
    yield from range(count)


@app.function
async def AsyncItems(count: int) -> AsyncIterator[int]:
    for number in range(count):
        yield number


@app.function
def Proxy() -> list[str]:
    return [name for name in os.environ if name.upper() == "HTTP_PROXY"]


@app.function
def Env(ctx: Context) -> dict[str, str]:
    return ctx.env.list_env()


@app.function
def Size(text: str) -> int:
    return len(text)


@app.function
def LeaveOpen() -> int:
    assert left_open is not None
    return left_open.write("not flushed by anybody")


@app.function
def StartThread(path: str) -> int:
    def write() -> None:
        time.sleep(0.2)
        with open(path, "w") as file:  # noqa: PTH123
            file.write("a thread was waited for")

    threading.Thread(target=write).start()
    return 1


if __name__ == "__main__":
    try:
        app.run()
    finally:
        print("finally", file=sys.stderr)
