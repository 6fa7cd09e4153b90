"""The agent's side: a tool's answer read and made into what a model is sent, beside the peers.

Every contender gets the answer as it has it in its hands: an SDK's object for the peers, which the
parsing of is not counted; for Kuniumi both that and the dict off the wire.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.contenders import APPS
from bench.report import Budget, Row, Section
from bench.servers import BenchError

SMALL, DATA, PICTURE = "small µs", "100 kB of JSON µs", "100 kB picture µs"
READ = "kuniumi read"

# A small answer is read within ten microseconds, whatever others need.
BUDGETS = (Budget(READ, READ, times=0, plus=10),)

SIZES = ("1 kB", "10 kB", "100 kB", "1 MB")
KINDS = ("data and its text µs", "text µs", "bytes of JSON µs")
# Ten times the size is ten times the work, and a fifth more where the caches end.
SIZE_BUDGETS = tuple(
    Budget(larger, smaller, times=12) for smaller, larger in itertools.pairwise(SIZES)
)


def conversions(rounds: int, wanted: Callable[[str], bool]) -> Section:
    """One answer of each kind, over and over, in one process a contender."""
    samples = dict(_run(sys.executable, "agent_kuniumi.py", rounds))
    notes = [f"note: CPU time; best of many runs in each of {rounds} rounds."]
    if folder := os.environ.get("KUNIUMI_PEERS_AGENT"):
        samples |= _run(str(Path(folder) / "python"), "agent_peers.py", rounds)
    else:
        notes.append("note: KUNIUMI_PEERS_AGENT is not set, so no peers.")
    rows = tuple(Row(name, found) for name, found in samples.items() if wanted(name))
    title = "A tool's answer, made into what a model is sent"
    return Section(title, (SMALL, DATA, PICTURE), READ, rows, BUDGETS, tuple(notes))


def sizes(rounds: int, wanted: Callable[[str], bool]) -> Section:
    """Answers of growing size, read and not rendered."""
    found = _measured(sys.executable, "agent_sizes.py", rounds)
    rows = tuple(
        Row(size, dict(zip(KINDS, found[size].values(), strict=True)))
        for size in SIZES
        if wanted(size)
    )
    return Section("A tool's answer, read", KINDS, SIZES[0], rows, SIZE_BUDGETS)


def _run(python: str, script: str, rounds: int) -> Mapping[str, Mapping[str, Sequence[float]]]:
    return {
        name: dict(zip((SMALL, DATA, PICTURE), measured.values(), strict=True))
        for name, measured in _measured(python, script, rounds).items()
    }


def _measured(python: str, script: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    source = str(Path(__file__).parents[1] / "src")
    ended = subprocess.run(
        [python, str(APPS / script), str(rounds)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise BenchError(f"{script} failed: {ended.stderr[-500:]}")
    found: dict[str, dict[str, list[float]]] = json.loads(ended.stdout)
    return found
