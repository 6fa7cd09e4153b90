"""Functions for every kind of word a shell can give."""

# ruff: noqa: T201 - functions that print

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from kuniumi import App, Context, FunctionError

app = App(name="Words", version="2.0.0")
strict = App(name="Strict", version="2.0.0", strict=True)


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Point:
    x: int
    y: int = 0


@app.function
def Text(text: str) -> str:
    return text


@app.function
def Flags(dry_run: bool = False, loud: bool = True, maybe: bool | None = None) -> list[Any]:
    return [dry_run, loud, maybe]


@app.function
def Tags(tag: list[str], number: list[int] | None = None) -> list[Any]:
    return [tag, number]


@app.function
def Points(points: list[Point], origin: Point | None = None) -> list[Any]:
    return [points, origin]


@app.function
def Corner(a: Point, b: Point) -> list[int]:
    return [a.x, b.x]


@app.function
def Mixed(either: int | str, anything: Any = None, one: Literal["a", 1] = "a") -> list[Any]:
    return [either, anything, one]


@app.function
def Day(day: datetime.date, size: Size = Size.SMALL) -> list[Any]:
    return [day, size]


@app.function
def Choose(
    size: Size,
    other: Size | None = None,
    mode: Literal["fast", "slow"] | None = None,
    several: list[Size] | None = None,
    count: int = 1,
    loud: bool | None = None,
) -> list[Any]:
    return [size, other, mode, several, count, loud]


@app.function
def Env(ctx: Context) -> dict[str, str]:
    return ctx.env.list_env()


@app.function
def OwnEnv(env: str, ctx: Context) -> list[Any]:
    return [env, ctx.env.list_env()]


@app.function
def OwnHelp(help: str) -> str:  # noqa: A002
    return help


@app.function
def Speak() -> int:
    print("said in passing")
    subprocess.run(["echo", "echoed"], check=True)
    return 1


@app.function
def Nothing() -> None:
    return


@app.function
def Fail(status: int = 500) -> None:
    raise FunctionError("as expected", status=status)


@app.function
def Crash() -> None:
    raise ValueError("unexpected")


@app.function(mask_errors=True)
def Masked() -> None:
    raise ValueError("secret")


@app.function
def Leave() -> None:
    sys.exit(5)


@app.function
def Interrupted() -> None:
    raise KeyboardInterrupt


@app.function(timeout=0.2)
def Overstay() -> None:
    time.sleep(20)


@app.function
def Wait(seconds: float = 20) -> str:
    print("waiting", flush=True)
    time.sleep(seconds)
    return "waited"


@app.function
async def WaitAsync() -> str:
    import asyncio

    print("waiting", flush=True)
    await asyncio.sleep(20)
    return "waited"


@app.function
def Careful() -> str:
    try:
        print("waiting", flush=True)
        time.sleep(20)
    except KeyboardInterrupt:
        return "what there was so far"
    return "all of it"


@app.function
def Stubborn() -> str:
    said = "waiting"
    while True:
        try:
            print(said, flush=True)
            time.sleep(20)
        except KeyboardInterrupt:
            said = "waiting on"


@strict.function
def Typed(count: int, ratio: float, on: bool, point: Point) -> list[Any]:
    return [count, ratio, on, point]


if __name__ == "__main__":
    app.run()
