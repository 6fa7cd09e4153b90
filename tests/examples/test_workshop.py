"""The workshop, offline: an agent speaks to a stand-in for models, through the providers' own packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

WORKSHOP = Path(__file__).parents[2] / "examples" / "workshop"
SOURCE = Path(__file__).parents[2] / "src"
QUESTION = "How is the weather in Oslo, Atlantis and Kyoto?"
PROVIDERS = ["openai", "openai-chat", "anthropic", "gemini"]

# The environment of the providers' packages holds no part of the project, and what it needs last.
START = (
    "import runpy, sys; folder, program, *words = sys.argv[1:]; sys.path.append(folder);"
    "sys.argv = [program, *words]; runpy.run_path(program, run_name='__main__')"
)


@pytest.fixture(scope="module")
def standin() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, WORKSHOP / "standin.py"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def run_agent(python: str, *words: str) -> str:
    ended = subprocess.run(
        [
            python,
            "-c",
            START,
            str(Path(msgspec.__file__).parents[1]),
            WORKSHOP / "agent.py",
            *words,
        ],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
            "GEMINI_API_KEY": "none",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def weather() -> list[str]:
    return ["--server", f"{sys.executable} {WORKSHOP.parent / 'weather' / 'app.py'} mcp"]


@pytest.mark.parametrize("how", [[], ["--stream"]], ids=["at once", "streaming"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_conversation_with_tools_through_the_real_packages(
    provider: str, how: list[str], standin: str
) -> None:
    folder = os.environ.get("KUNIUMI_MODELS")
    if not folder:
        pytest.skip("KUNIUMI_MODELS is not set: ./dev test sets it")
    words = [QUESTION, "--provider", provider, "--base-url", standin, *how, *weather()]
    oslo, atlantis, rest = run_agent(f"{folder}/python", *words).split(" | ")
    kyoto, ending = rest.splitlines()
    assert '"temperature":5.0' in oslo
    assert "Location not found: Atlantis" in atlantis
    assert '"temperature":18.5' in kyoto
    assert ending == "(3 rounds, done)"


def test_failures_come_first_and_data_before_words() -> None:
    shown = run_agent(sys.executable, "--look", "Oslo", "Atlantis")
    assert shown.splitlines() == ["Oslo: 5.0 °C, Cloudy", "Atlantis: Location not found: Atlantis"]
