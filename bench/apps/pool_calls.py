"""One small call after another in a pool of processes, and many at once: `pool_calls.py POOL SECONDS`.

POOL is kuniumi, standard, loky or pebble. Prints microseconds, and calls a second, as JSON.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

WORKERS = 4
AT_ONCE = 16

Call = Callable[[], Awaitable[None]]


def add(x: int, y: int) -> int:
    """What a plain pool runs."""
    return x + y


def kuniumi() -> Call:
    """Arguments and result as JSON, validated."""
    from kuniumi import App  # noqa: PLC0415 - the others' environments don't have it
    from kuniumi.execute.loop import answer  # noqa: PLC0415

    app = App(executor="processes", processes=WORKERS)
    operation = app.register(add)
    app.service.open()

    async def call() -> None:
        made = app.service.call(operation, b'{"x":5,"y":5}')
        expect((await answer(operation, made, None)).body, b'{"result":10}')

    return call


def standard() -> Call:
    """The standard library's."""
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - one pool a process

    return of_executor(ProcessPoolExecutor(WORKERS))


def loky() -> Call:
    """The one of scikit-learn."""
    return of_executor(import_module("loky").get_reusable_executor(WORKERS))


def pebble() -> Call:
    """The one whose workers can be killed."""
    pool = import_module("pebble").ProcessPool(WORKERS)

    async def call() -> None:
        expect(await asyncio.wrap_future(pool.schedule(add, args=(5, 5))), 10)

    return call


def of_executor(pool: Any) -> Call:
    """Whatever speaks as `concurrent.futures` does."""

    async def call() -> None:
        expect(await asyncio.get_running_loop().run_in_executor(pool, add, 5, 5), 10)

    return call


def expect(found: object, right: object) -> None:
    """End, if a pool answers wrongly."""
    if found != right:
        sys.exit(f"{found!r} instead of {right!r}")


async def measure(call: Call, seconds: float) -> dict[str, float]:
    """Call one by one for a while, then many at once for as long."""
    await asyncio.gather(*(call() for _ in range(AT_ONCE)))  # all workers are up
    took = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        await call()
        took.append(time.perf_counter() - began)
    took.sort()
    until = time.perf_counter() + seconds

    async def repeat() -> int:
        done = 0
        while time.perf_counter() < until:
            await call()
            done += 1
        return done

    done = await asyncio.gather(*(repeat() for _ in range(AT_ONCE)))
    p50, p99 = (took[int(len(took) * part)] * 1e6 for part in (0.5, 0.99))
    return {"p50": p50, "p99": p99, "rate": sum(done) / seconds}


if __name__ == "__main__":
    pools = {"kuniumi": kuniumi, "standard": standard, "loky": loky, "pebble": pebble}
    print(json.dumps(asyncio.run(measure(pools[sys.argv[1]](), float(sys.argv[2])))), flush=True)
