"""`mcp inspect`: what a client would see, for people and for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.official import REVISIONS, STATELESS
from tests.mcp.speaking import speaking

EVERYTHING = Path(__file__).parents[2] / "examples" / "everything" / "app.py"
CALCULATOR = EVERYTHING.parents[1] / "calculator" / "app.py"
LISTS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}


def inspect(*words: str, app: Path = EVERYTHING) -> str:
    return subprocess.run(
        [sys.executable, app, "mcp", "inspect", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout


@pytest.mark.parametrize("revision", REVISIONS)
def test_it_shows_what_a_client_is_told(revision: str) -> None:
    seen = json.loads(inspect("--revision", revision, "--json"))
    assert seen["revision"] == revision
    told: dict[str, Any] = {}
    with speaking(EVERYTHING, revision=revision) as client:
        for key, method in LISTS.items():
            told[key] = client.request(method)[key]
        if revision == STATELESS:
            greeting = client.request("server/discover")
            server = greeting["_meta"]["io.modelcontextprotocol/serverInfo"]
        else:
            greeting = client.shake_hands()
            server = greeting["serverInfo"]
    assert {key: seen[key] for key in LISTS} == told
    assert (seen["server"], seen["capabilities"]) == (server, greeting["capabilities"])
    assert seen["instructions"] == greeting["instructions"]


def test_people_get_it_line_by_line() -> None:
    shown = inspect()
    assert shown.startswith("Everything v1.0.0, as MCP 2026-07-28 shows it\n")
    assert "Capabilities: tools (listChanged), resources (listChanged, subscribe)" in shown
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert (
        "add a: integer, b: integer result: integer may be repeated, stays inside "
        "Adds two integers."
    ) in lines
    assert any(line.startswith("test_x_mcp_header region?: string content") for line in lines)
    assert "test://static-text static_text text/plain A text that never changes." in lines
    assert "test_prompt_with_arguments arg1, arg2 A beginning with two words filled in." in lines


def test_what_there_is_not_is_not_shown() -> None:
    shown = inspect(app=CALCULATOR)
    assert "Tools (6):" in shown
    assert "Resource" not in shown
    assert "Prompt" not in shown


def test_a_list_of_many_pages_is_shown_whole(tmp_path: Path) -> None:
    app = tmp_path / "many.py"
    app.write_text(
        "from kuniumi import App\n"
        "app = App(name='Many')\n"
        "def Give() -> None: ...\n"
        "for number in range(1001): app.register(Give, name=f'Give{number}')\n"
        "app.run()\n"
    )
    assert len(json.loads(inspect("--json", app=app))["tools"]) == 1001
