"""What the answers of a run were like: kinds, errors, sizes, times, by tool and by server.

In: answers, as they come. Out: numbers, a table, and one line at debug level per answer. It holds
counters only, so it grows with the number of tools and no further.
"""

from __future__ import annotations

import logging
from itertools import accumulate
from math import ceil, log2
from typing import TYPE_CHECKING, Any

from kuniumi.agent.answer import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kuniumi.agent.answer import Answer

_log = logging.getLogger("kuniumi.agent")
_SHORTEST = 1e-6
_BUCKETS = 128  # of a quarter of an octave each: from a microsecond to more than an hour
_PER_OCTAVE = 4
_HEADS = ("tool", "server", "answers", "errors", "suspected", "bytes", "p50 ms", "p95 ms", "max ms")


class Tally:
    """The counters of one tool of one server, or of all together."""

    __slots__ = (
        "answers",
        "bytes",
        "codes",
        "kinds",
        "longest",
        "seconds",
        "suspected",
        "timed",
        "times",
    )

    def __init__(self) -> None:
        self.answers = self.suspected = self.bytes = self.timed = 0
        self.kinds = dict.fromkeys(KINDS, 0)
        self.codes: dict[int | None, int] = {}
        self.seconds = self.longest = 0.0
        self.times = [0] * _BUCKETS

    @property
    def errors(self) -> int:
        """How many answers were declared errors."""
        return self.kinds["error"]

    def add(self, answer: Answer, size: int, seconds: float | None) -> None:
        """Count one answer."""
        self.answers += 1
        self.bytes += size
        self.kinds[answer.kind] += 1
        self.suspected += answer.suspected_error
        if answer.error is not None:
            code = answer.error.code
            self.codes[code] = self.codes.get(code, 0) + 1
        if seconds is not None:
            self.timed += 1
            self.seconds += seconds
            self.longest = max(self.longest, seconds)
            self.times[_bucket(seconds)] += 1

    def merge(self, other: Tally) -> None:
        """Add what another has counted."""
        self.answers += other.answers
        self.suspected += other.suspected
        self.bytes += other.bytes
        self.timed += other.timed
        self.seconds += other.seconds
        self.longest = max(self.longest, other.longest)
        for kind, count in other.kinds.items():
            self.kinds[kind] += count
        for code, count in other.codes.items():
            self.codes[code] = self.codes.get(code, 0) + count
        self.times = [one + two for one, two in zip(self.times, other.times, strict=True)]

    def quantile(self, share: float) -> float | None:
        """Give the time within which this share of the answers came, to a fifth of it."""
        if not self.timed:
            return None
        wanted = ceil(share * self.timed)
        reached = next(i for i, seen in enumerate(accumulate(self.times)) if seen >= wanted)
        return min(_SHORTEST * 2 ** ((reached + 1) / _PER_OCTAVE), self.longest)

    def as_dict(self) -> dict[str, Any]:
        """Give the counters as plain data."""
        return {
            "answers": self.answers,
            "errors": self.errors,
            "suspected": self.suspected,
            "bytes": self.bytes,
            "kinds": {kind: count for kind, count in self.kinds.items() if count},
            "codes": {"none" if code is None else str(code): n for code, n in self.codes.items()},
            "seconds": {
                "sum": self.seconds,
                "p50": self.quantile(0.5),
                "p95": self.quantile(0.95),
                "max": self.longest if self.timed else None,
            },
        }


class Stats:
    """Counts answers.

    stats = agent.Stats()
    stats.add(answer, tool="Add", server="calculator", seconds=0.012)
    print(stats)
    """

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str], Tally] = {}

    def add(
        self,
        answer: Answer,
        *,
        tool: str = "",
        server: str = "",
        seconds: float | None = None,
        size: int | None = None,
    ) -> None:
        """Count one answer; `size` is its size on the wire, if that is known."""
        if size is None:
            size = _bytes(answer.text) + sum(len(block.data) for block in answer.blocks)
        self._of(server, tool).add(answer, size, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            facts = describe(answer, tool=tool, server=server, seconds=seconds, size=size)
            _log.debug("answer %s", facts, extra={"answer": facts})

    def merge(self, other: Stats) -> None:
        """Add what another has counted, as of another process."""
        for (server, tool), tally in other._tallies.items():
            self._of(server, tool).merge(tally)

    @property
    def total(self) -> Tally:
        """All answers together."""
        return _sum(self._tallies.values())

    @property
    def tools(self) -> dict[tuple[str, str], Tally]:
        """The counters of each tool, by server and name."""
        return dict(self._tallies)

    @property
    def servers(self) -> dict[str, Tally]:
        """The counters of each server."""
        named = dict.fromkeys(server for server, _ in self._tallies)
        return {
            name: _sum(tally for (server, _), tally in self._tallies.items() if server == name)
            for name in named
        }

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain data."""
        tools = [
            {"server": server, "tool": tool, **tally.as_dict()}
            for (server, tool), tally in self._tallies.items()
        ]
        return {**self.total.as_dict(), "tools": tools}

    def __str__(self) -> str:
        """Show a table: a line a tool, and all together."""
        rows = [
            _row(tool or "-", server or "-", tally)
            for (server, tool), tally in sorted(self._tallies.items())
        ]
        table = [_HEADS, *rows, _row("all", "", self.total)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(
                cell.ljust(width) if index < 2 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )
        return "\n".join(lines)

    def _of(self, server: str, tool: str) -> Tally:
        return self._tallies.setdefault((server, tool), Tally())


def describe(
    answer: Answer,
    *,
    tool: str = "",
    server: str = "",
    seconds: float | None = None,
    size: int | None = None,
) -> dict[str, Any]:
    """Give the facts about one answer that are worth a line in a log; nothing that it says."""
    facts = {
        "tool": tool,
        "server": server,
        "kind": answer.kind,
        "suspected": answer.suspected_error or None,
        "code": answer.error.code if answer.error else None,
        "blocks": len(answer.blocks),
        "bytes": size,
        "seconds": seconds,
        "warnings": len(answer.warnings) or None,
    }
    return {name: fact for name, fact in facts.items() if fact not in (None, "")}


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.merge(tally)
    return total


def _bucket(seconds: float) -> int:
    if seconds <= _SHORTEST:
        return 0
    return min(int(log2(seconds / _SHORTEST) * _PER_OCTAVE), _BUCKETS - 1)


def _row(tool: str, server: str, tally: Tally) -> tuple[str, ...]:
    times = (tally.quantile(0.5), tally.quantile(0.95), tally.longest if tally.timed else None)
    return (
        tool,
        server,
        f"{tally.answers:,}",
        f"{tally.errors:,}",
        f"{tally.suspected:,}",
        f"{tally.bytes:,}",
        *("-" if time is None else f"{time * 1000:.1f}" for time in times),
    )
