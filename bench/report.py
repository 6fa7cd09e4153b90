"""Samples, comparisons and budgets, and their tables in plain text and JSON.

In: rows of samples taken in the same rounds. Out: text, or plain data for JSON. Knows
nothing of how a sample was taken, so every benchmark ends here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One contender's samples: one list for each measure, one sample for each round."""

    name: str
    samples: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Budget:
    """`row` may cost at most `times` what `over` costs, and `plus` more."""

    row: str
    over: str
    times: float = 1.0
    plus: float = 0.0

    def limit(self, cost_of_over: float) -> float:
        """The most `row` may cost."""
        return self.times * cost_of_over + self.plus


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's results. Costs and budgets read the first of the `measures`."""

    title: str
    measures: tuple[str, ...]
    baseline: str
    rows: tuple[Row, ...]
    budgets: tuple[Budget, ...] = ()
    notes: tuple[str, ...] = ()

    def cost(self, name: str, pick: Callable[[Sequence[float]], float] = median) -> float | None:
        """Median (or what `pick` picks) of the first measure; None for a row that did not take part."""
        found = [row for row in self.rows if row.name == name]
        return pick(found[0].samples[self.measures[0]]) if found else None


def render(section: Section) -> str:
    """The section as plain text: a table, then its budgets, then its notes."""
    lines = _aligned([_header(section), *(_cells(section, row) for row in section.rows)])
    lines += _aligned([_verdict_cells(verdict) for verdict in verdicts(section)])
    return "\n".join([*lines, *section.notes]) + "\n"


def verdicts(section: Section) -> list[dict[str, Any]]:
    """Each budget with its cost, its limit and whether it was kept; absent rows are left out."""
    found = []
    for budget in section.budgets:
        cost, over = section.cost(budget.row), section.cost(budget.over)
        if cost is None or over is None:
            continue
        limit = budget.limit(over)
        found.append(
            {
                "row": budget.row,
                "over": budget.over,
                "times": budget.times,
                "plus": budget.plus,
                "cost": cost,
                "limit": limit,
                "ratio": cost / over,
                "difference": cost - over,
                "ok": cost <= limit,
            }
        )
    return found


def as_data(section: Section) -> dict[str, Any]:
    """The section as plain data: every sample, and the verdicts."""
    return {
        "title": section.title,
        "measures": section.measures,
        "baseline": section.baseline,
        "rows": [{"name": row.name, "samples": dict(row.samples)} for row in section.rows],
        "budgets": verdicts(section),
        "notes": section.notes,
    }


def _header(section: Section) -> list[str]:
    cells = [section.title, *section.measures]
    if _repeated(section):
        cells += [f"× {section.baseline}", "spread", f"min {section.measures[0]}", "× min"]
    return cells


def _cells(section: Section, row: Row) -> list[str]:
    cells = [row.name, *(_number(median(row.samples[measure])) for measure in section.measures)]
    if _repeated(section):
        costs = row.samples[section.measures[0]]
        typical, best = (
            _ratio(pick(costs), section.cost(section.baseline, pick)) for pick in (median, min)
        )
        spread = f"±{(max(costs) - min(costs)) / median(costs) * 50:.0f}%"
        cells += [typical, spread, _number(min(costs)), best]
    return cells


def _repeated(section: Section) -> bool:
    """Whether there are samples enough to compare; a thing done once only has its figures."""
    return any(len(costs) > 1 for row in section.rows for costs in row.samples.values())


def _ratio(cost: float, base: float | None) -> str:
    return f"{cost / base:.2f}" if base else "-"


def _verdict_cells(verdict: Mapping[str, Any]) -> list[str]:
    if not verdict["times"]:  # a limit that hangs on no other row
        allowed = f"≤ {verdict['plus']:g}"
        measured = _number(verdict["cost"])
    elif verdict["plus"]:
        allowed = f"≤ {verdict['over']} + {verdict['plus']:g}"
        measured = f"{verdict['difference']:+.1f}"
    else:
        allowed = f"≤ {verdict['times']:g} × {verdict['over']}"
        measured = f"{verdict['ratio']:.2f} ×"
    return [f"budget: {verdict['row']} {allowed}", measured, "ok" if verdict["ok"] else "MISSED"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    if not table:
        return []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.rjust(w) if i else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    ]
