"""Reading a file through a function's environment, beside the built-in `open`.

In: how many rounds. Out: CPU time of one read, for a small file at the top of a mount and one four
directories down, by the kernel and by a walk. In this process: nothing is served.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import Budget, Row, Section
from kuniumi.env import beneath
from kuniumi.env.environment import Environment

CPU = "CPU µs/read"
PLAIN, READ, OPENED, WALKED = "open()", "read_file", "ctx.env.open()", "read_file by a walk"
# A walk opens every directory on the way, so what it costs depends on the path.
BUDGETS = tuple(Budget(name, PLAIN, times=3) for name in (READ, OPENED))

_READS = 5_000
_SIZE = 4096


def runs(rounds: int, wanted: Callable[[str], bool]) -> list[Section]:
    """Read the same files in every way, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            _section("a file at the top of a mount", Path(folder), "file", rounds, wanted),
            _section("a file four directories down", Path(folder), "a/b/c/d/file", rounds, wanted),
        ]


def _section(
    title: str, folder: Path, name: str, rounds: int, wanted: Callable[[str], bool]
) -> Section:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(_SIZE))
    env = Environment({}, [f"{folder}:/data"])
    virtual = f"/data/{name}"
    ways = {
        PLAIN: lambda: _read_whole(open, str(file)),
        READ: lambda: env.read_file(virtual),
        OPENED: lambda: _read_whole(env.open, virtual),
        WALKED: lambda: env.read_file(virtual),
    }
    ways = {way: read for way, read in ways.items() if way == PLAIN or wanted(way)}
    samples: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, read in ways.items():
            samples[way].append(_measure(read, walks=way == WALKED))
    rows = tuple(Row(way, {CPU: found}) for way, found in samples.items())
    return Section(title, (CPU,), PLAIN, rows, BUDGETS)


def _read_whole(open_it: Callable[..., object], path: str) -> object:
    with open_it(path, "rb") as file:  # type: ignore[attr-defined]
        return file.read()


def _measure(read: Callable[[], object], *, walks: bool) -> float:
    known = beneath._known[:]  # noqa: SLF001 - the switch between the two ways
    if walks:
        beneath._known[:] = [None]  # noqa: SLF001
    try:
        read()
        before = time.process_time()
        for _ in range(_READS):
            read()
        return (time.process_time() - before) / _READS * 1e6
    finally:
        beneath._known[:] = known  # noqa: SLF001
