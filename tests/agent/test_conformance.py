"""The official conformance suite's scenarios for clients, those that concern tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BOTH = ("tools_call", "json-schema-2020-12-preservation")
SCENARIOS = {
    "2025-11-25": (*BOTH, "initialize", "elicitation-sep1034-client-defaults", "sse-retry"),
    "2026-07-28": (
        *BOTH,
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    ),
}


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(revision, each) for revision, names in SCENARIOS.items() for each in names],
)
def test_a_scenario_passes(revision: str, scenario: str, tmp_path: Path) -> None:
    if not (foreign := os.environ.get("KUNIUMI_FOREIGN")):
        pytest.skip("KUNIUMI_FOREIGN is not set: ./dev test sets it")
    if not (packages := os.environ.get("KUNIUMI_NPM")):
        pytest.skip("KUNIUMI_NPM is not set: ./dev test sets it")
    package = Path(packages) / "@modelcontextprotocol" / "conformance"
    program = json.loads((package / "package.json").read_text())["bin"]["conformance"]
    client = f"{sys.executable} {Path(__file__).with_name('conforming.py')}"
    words = ["client", "--command", client, "--scenario", scenario, "--spec-version", revision]
    ended = subprocess.run(
        [f"{foreign}/node", package / program, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert "OVERALL: PASSED" in said
    assert "0 failed, 0 warnings" in said
