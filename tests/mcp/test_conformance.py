"""The official conformance suite, run against the example that has one of everything.

It speaks HTTP only, and judges every message by the schema of its revision besides. What it calls
scored is what a revision requires; the rest it can't demand of anyone, and this app does it too,
but for the extension of tasks, which it doesn't offer.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct

from tests.http.server import ROOT, Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERYTHING = ROOT / "examples" / "everything" / "app.py"
_TASKS = "tasks-"


class Demand(Struct, frozen=True):
    """What the suite asks of one revision."""

    words: tuple[str, ...]  # how it is told to ask for all of it
    scored: int
    beyond: frozenset[str] = frozenset()  # run, and not scored


def _all_of(revision: str) -> tuple[str, ...]:
    return ("--suite", "all", "--spec-version", revision)


DEMANDS = {
    "2026-07-28": Demand(
        ("--requirements", "2026-07-28"),
        37,
        frozenset(
            {
                "json-schema-2020-12",
                "http-header-validation",
                "http-custom-header-server-validation",
            }
        ),
    ),
    "2025-11-25": Demand(
        ("--requirements", "2025-11-25"),
        30,
        frozenset({"json-schema-2020-12", "server-session-lifecycle", "server-sse-polling"}),
    ),
    "2025-06-18": Demand(_all_of("2025-06-18"), 27),
    "2025-03-26": Demand(_all_of("2025-03-26"), 1),
}


@pytest.fixture(scope="module", params=["1", "4"], ids=["one worker", "four workers"])
def everything(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serving(EVERYTHING, "--workers", request.param, "--log-level", "error") as server:
        yield server
        assert server.stop() == 0
        assert server.errors() == ""


@pytest.fixture
def suite() -> list[str]:
    """Give the words that run the suite."""
    if not (foreign := os.environ.get("KUNIUMI_FOREIGN")):
        pytest.skip("KUNIUMI_FOREIGN is not set: ./dev test sets it")
    if not (packages := os.environ.get("KUNIUMI_NPM")):
        pytest.skip("KUNIUMI_NPM is not set: ./dev test sets it")
    package = Path(packages) / "@modelcontextprotocol" / "conformance"
    program = json.loads((package / "package.json").read_text())["bin"]["conformance"]
    return [f"{foreign}/node", str(package / program)]


@pytest.mark.parametrize("revision", DEMANDS)
def test_every_scenario_of_a_revision_passes(
    suite: list[str], everything: Server, revision: str, tmp_path: Path
) -> None:
    demand = DEMANDS[revision]
    url = f"http://{everything.host}:{everything.port}/mcp"
    words = [*suite, "server", "--url", url, "--output-dir", str(tmp_path), *demand.words]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = _results(tmp_path)
    assert {name: checks for name, checks in results.items() if not _is_passed(checks)} == {}
    assert results.keys() == _listed(suite, revision)
    assert results.keys() >= demand.beyond
    assert len(results.keys() - demand.beyond) == demand.scored


def _results(folder: Path) -> dict[str, Counter[str]]:
    """Count, for each scenario but those of tasks, the verdicts of its checks."""
    results = {}
    for file in folder.glob("*/checks.json"):
        named = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT[0-9-]+Z", file.parent.name)
        assert named, f"not a scenario's folder: {file.parent.name}"
        if not named[1].startswith(_TASKS):
            checks = json.loads(file.read_text())
            results[named[1]] = Counter(str(check["status"]) for check in checks)
    return results


def _is_passed(checks: Counter[str]) -> bool:
    """Whether something was checked, and nothing failed, warned or was left out."""
    return checks["SUCCESS"] > 0 and checks.keys() <= {"SUCCESS", "INFO"}


def _listed(suite: list[str], revision: str) -> set[str]:
    """Ask the suite itself which scenarios it has for a revision."""
    words = [*suite, "list", "--server", "--spec-version", revision]
    listed = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    return set(re.findall(r"^  - (\S+) \[", listed, re.MULTILINE))
