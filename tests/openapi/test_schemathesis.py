"""schemathesis, with all of its checks and phases, finds nothing to complain of.

Strict apps promise that exactly what the document allows is accepted; lenient ones take more than
it says, so there only a server error is a fault.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.openapi.running import APPS, HERE, Foreign, serving

STRICTLY, BRISKLY = HERE / "apps/strictly.py", HERE / "apps/briskly.py"


def attack(
    foreign: Foreign, url: str, folder: Path, *flags: str, settings: Path | None = None
) -> dict[str, Any]:
    """Let it loose on a server; give its report."""
    done = foreign.run(
        "schemathesis",
        *(("--config-file", settings) if settings else ()),
        *("run", f"{url}/openapi.json", "--report", "json", "--report-json-path", "report.json"),
        *("--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"),
        *("--no-color", "--workers", "2", "--request-timeout", "30", *flags),
        cwd=folder,
        SCHEMATHESIS_HOOKS=str(HERE / "foreign/hooks.py"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert report["complete"]
    assert (report["failures"], report["errors"]) == ([], [])
    assert report["operations"]["tested"] == report["operations"]["total"] > 0
    phases = {name: phase["status"] for name, phase in report["phases"].items()}
    stateful = phases.pop("stateful")
    assert set(phases.values()) == {"success"}
    assert stateful == "skip"  # there are no links from one operation to another
    return report


def attack_strictly(foreign: Foreign, folder: Path, example: str, *flags: str) -> int:
    """Let it loose on a strict example with all checks; give the number of cases."""
    with serving(STRICTLY, APPS[example]) as url:
        settings = HERE / f"foreign/{example}.toml"
        report = attack(foreign, url, folder, "--checks", "all", *flags, settings=settings)
    generated: int = report["test_cases"]["generated"]
    return generated


@pytest.mark.parametrize(
    ("example", "examples", "at_least"), [("calculator", 850, 5000), ("weather", 400, 400)]
)
def test_strict_apps_keep_every_promise(
    foreign: Foreign, tmp_path: Path, example: str, examples: int, at_least: int
) -> None:
    flags = ("--max-examples", str(examples), "--seed", "2026")
    assert attack_strictly(foreign, tmp_path, example, *flags) >= at_least


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("example", "examples", "at_least"), [("calculator", 8500, 50_000), ("weather", 5000, 5000)]
)
def test_strict_apps_keep_every_promise_for_long(
    foreign: Foreign, tmp_path: Path, example: str, examples: int, at_least: int
) -> None:
    flags = ("--max-examples", str(examples))
    assert attack_strictly(foreign, tmp_path, example, *flags) >= at_least


@pytest.mark.parametrize("example", ["calculator", "weather"])
def test_lenient_apps_never_fail_by_themselves(
    foreign: Foreign, tmp_path: Path, example: str
) -> None:
    with serving(BRISKLY, APPS[example]) as url:
        flags = ("--checks", "not_a_server_error", "--max-examples", "100", "--seed", "2026")
        report = attack(foreign, url, tmp_path, *flags)
    assert report["test_cases"]["generated"] >= 100
