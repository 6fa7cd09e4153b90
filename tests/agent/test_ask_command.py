"""`kuniumi tools` and `kuniumi ask`: what servers offer, and a call of one of their tools."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.http.server import CALCULATOR, WEATHER

KUNIUMI = Path(sys.executable).with_name("kuniumi")


def run(*words: str | Path) -> tuple[int, str, str]:
    ended = subprocess.run(
        [KUNIUMI, *words], capture_output=True, text=True, timeout=60, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_tools_of_several_servers_are_listed() -> None:
    code, shown, _ = run("tools", CALCULATOR, f"{sys.executable} {WEATHER} mcp")
    assert code == 0
    assert "functions.Add(x, y)  Adds two integers together" in shown
    assert "functions.Weather(location)  Tells the weather in a city." in shown


@pytest.mark.parametrize("provider", ["openai", "openai-chat", "anthropic", "gemini"])
def test_tools_are_shown_as_a_provider_is_told_of_them(provider: str) -> None:
    code, shown, _ = run("tools", WEATHER, "--for", provider)
    assert code == 0
    assert "functions_Weather" in shown
    assert json.loads(shown)


@pytest.mark.parametrize(
    "words", [["--x", "7", "--y", "3"], ["7", "3"], ['{"x": 7, "y": 3}'], ["--x=7", "3"]]
)
def test_a_tool_is_called_with_words(words: list[str]) -> None:
    assert run("ask", CALCULATOR, "Add", *words) == (0, '{"result":10}\n', "")


def test_an_error_goes_to_stderr_and_ends_with_1() -> None:
    code, shown, said = run("ask", WEATHER, "Weather", "Atlantis")
    assert (code, shown) == (1, "")
    assert "Location not found: Atlantis" in said
    code, shown, said = run("ask", "--json", WEATHER, "Weather", "Atlantis")
    assert (code, json.loads(shown)["error"]) == (1, "Location not found: Atlantis")


def test_a_server_that_is_none_is_told() -> None:
    code, shown, said = run("tools", "http://127.0.0.1:9/mcp")
    assert (code, shown) == (1, "")
    assert "cannot be reached" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [["--header", "bad"], ["--env", "bad"]])
def test_a_mistake_in_a_flag_is_told(words: list[str]) -> None:
    code, _, said = run("tools", *words, CALCULATOR)
    assert code == 2
    assert "write it as NAME" in said
