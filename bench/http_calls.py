"""HTTP: CPU time of one call, beside the bare server and the peers; few and many operations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench import contenders
from bench.contenders import Contender
from bench.load import CONNECTIONS, Load, ask, drive
from bench.report import Budget, Row, Section
from bench.servers import BenchError, Running, running

CPU, RATE, P50, P99 = "CPU µs/request", "requests/s", "p50 µs", "p99 µs"
WARM_UP_SECONDS = 1

# The server as everybody starts it; and, the stricter, one with our own choice of scheduling.
FLOORS = (contenders.CONSTANT, contenders.ALIKE)
BUDGETS = (
    *(Budget(contenders.ASYNC, floor, times=1.5) for floor in FLOORS),
    *(Budget(contenders.INLINE, floor, times=1.5) for floor in FLOORS),
    Budget(contenders.THREAD, contenders.INLINE, plus=40),
)
# "Unchanged": the best of runs on a quiet machine differ by a few per cent anyway.
CROWD_BUDGETS = (Budget(contenders.MANY, contenders.TEN, times=1.1),)


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure, and on which cores the servers and the load run, if on any of their own."""

    rounds: int = 5
    seconds: int = 2
    server_core: int | None = None
    load_core: int | None = None

    @property
    def told(self) -> str:
        """The same in words."""
        cores = f"servers on core {self.server_core}, load on core {self.load_core}"
        where = "not pinned" if self.server_core is None else cores
        return f"note: median of {self.rounds} rounds of {self.seconds} s; {where}; {CONNECTIONS} connections."


def calls(effort: Effort, wanted: Callable[[str], bool]) -> Section:
    """Every wanted contender doing the same work."""
    field = [*contenders.floor(), *contenders.kuniumi()]
    notes = [effort.told]
    if python := contenders.peers_python():
        field += contenders.peers(python)
    else:
        notes.append("note: KUNIUMI_PEERS is not set, so no peers.")
    rows = measure([each for each in field if wanted(each.name)], effort)
    return Section(
        "POST Add over HTTP",
        (CPU, RATE, P50, P99),
        contenders.CONSTANT,
        rows,
        BUDGETS,
        tuple(notes),
    )


def crowded_calls(effort: Effort) -> Section:
    """One call in an app of 10 operations and in one of 10,000."""
    rows = measure(contenders.crowds(), effort)
    return Section(
        "10 and 10,000 operations", (CPU, RATE, P50, P99), contenders.TEN, rows, CROWD_BUDGETS
    )


def measure(field: Sequence[Contender], effort: Effort) -> tuple[Row, ...]:
    """Load each contender once a round, in an order that rotates, all servers running."""
    samples: dict[str, dict[str, list[float]]] = {
        each.name: {CPU: [], RATE: [], P50: [], P99: []} for each in field
    }
    with ExitStack() as stack:
        started = {
            server: stack.enter_context(running(server, effort.server_core))
            for server in {each.server for each in field}
        }
        for each in field:
            verify(each, started[each.server])
            load(each, started[each.server], WARM_UP_SECONDS, effort)
        for turn in range(effort.rounds):
            start = turn * len(field) // effort.rounds
            for each in [*field[start:], *field[:start]]:
                for measure_name, value in _sample(each, started[each.server], effort).items():
                    samples[each.name][measure_name].append(value)
    return tuple(Row(name, found) for name, found in samples.items())


def verify(contender: Contender, on: Running) -> None:
    """Raise unless the contender answers one call as it must."""
    answer = ask(on.port, "POST", contender.path, contender.body, contender.headers)
    if answer.status == 200:
        found = json.loads(answer.body)
        for step in contender.where:
            found = found.get(step, {})
        if found == contenders.ANSWER:
            return
    raise BenchError(f"{contender.name}: answered {answer.status} {answer.body!r}\n{on.log_tail()}")


def descriptions() -> Section:
    """What starting a crowded app costs, and describing it for the first and a later time."""
    titles = ("start", "list", "list again", "openapi", "openapi again")
    paths = ("/functions", "/functions", "/openapi.json", "/openapi.json")
    rows = []
    for each in contenders.crowds():
        with running(each.server) as on:
            verify(each, on)
            costs = [on.cpu_seconds() * 1e3]
            costs += [_cpu_milliseconds_of_get(on, path) for path in paths]
        rows.append(
            Row(each.name, {title: [cost] for title, cost in zip(titles, costs, strict=True)})
        )
    return Section("CPU ms", titles, contenders.TEN, tuple(rows))


def _cpu_milliseconds_of_get(on: Running, path: str) -> float:
    before = on.cpu_seconds()
    answer = ask(on.port, "GET", path)
    time.sleep(0.05)  # let the server finish what it does after the answer
    if answer.status != 200:
        raise BenchError(f"GET {path}: {answer.status} {answer.body[:300]!r}")
    return (on.cpu_seconds() - before) * 1e3


def _sample(contender: Contender, on: Running, effort: Effort) -> dict[str, float]:
    before = on.cpu_seconds()
    seen = load(contender, on, effort.seconds, effort)
    used = on.cpu_seconds() - before
    return {CPU: used / seen.requests * 1e6, RATE: seen.per_second, P50: seen.p50, P99: seen.p99}


def load(contender: Contender, on: Running, seconds: int, effort: Effort) -> Load:
    """Load one contender."""
    path, body, headers = contender.path, contender.body, contender.headers
    return drive(on.port, path, body, seconds, effort.load_core, headers)
