"""A client of MCP cancels calls that run in processes, and in threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.execute.conftest import LABOUR
from tests.http.server import eventually
from tests.mcp.official import problems


class Client:
    """A client on the stdin and stdout of an app."""

    def __init__(self, notes: Path) -> None:
        self.notes_file = notes
        self.asked: dict[int | None, dict[str, Any]] = {}
        self.process = subprocess.Popen(
            [sys.executable, str(LABOUR), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "MISCHIEF_NOTES": str(notes)},
        )
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.say("initialize", params, 0)
        assert self.hear()["id"] == 0
        self.say("notifications/initialized", {})

    def say(self, method: str, params: dict[str, Any], id_: int | None = None) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        numbered = message if id_ is None else {**message, "id": id_}
        self.asked[id_] = numbered
        self.process.stdin.write(json.dumps(numbered).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        heard: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert problems(heard, "2025-06-18", answers=self.asked.get(heard.get("id"))) == []
        return heard

    def call(self, id_: int, name: str, arguments: dict[str, Any]) -> None:
        self.say("tools/call", {"name": f"functions.{name}", "arguments": arguments}, id_)

    def notes(self) -> list[str]:
        return self.notes_file.read_text().splitlines() if self.notes_file.exists() else []


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "notes")
    yield client
    assert client.process.stdin is not None
    assert client.process.stdout is not None
    client.process.stdin.close()
    assert client.process.wait(10) == 0
    client.process.stdout.close()


@pytest.mark.parametrize("name", ["NoteCancellation", "NoteCancelled", "NoteClosing"])
def test_a_cancelled_call_is_told_and_not_answered(client: Client, name: str) -> None:
    client.call(1, name, {"mark": "m"})
    eventually(lambda: "m began" in client.notes())
    client.say("notifications/cancelled", {"requestId": 1})
    eventually(lambda: "m was cancelled" in client.notes(), seconds=5)
    client.call(2, "Square", {"x": 3})
    assert client.hear()["id"] == 2


def test_a_cancelled_call_that_can_t_be_told_ends_with_its_process(client: Client) -> None:
    client.call(1, "Hold", {"mark": "m"})
    pid = int(str(eventually(client.notes)[0]).split()[1])
    client.say("notifications/cancelled", {"requestId": 1})
    eventually(lambda: not Path(f"/proc/{pid}").exists(), seconds=5)
    client.call(2, "Square", {"x": 3})
    assert client.hear()["result"]["structuredContent"] == {"result": 9}


def test_the_end_of_input_ends_the_processes_too(client: Client) -> None:
    client.call(1, "Hold", {"mark": "m"})
    pid = int(str(eventually(client.notes)[0]).split()[1])
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(5) == 0
    eventually(lambda: not Path(f"/proc/{pid}").exists(), seconds=5)


def test_what_a_function_in_a_process_prints_is_no_message(client: Client) -> None:
    client.call(1, "Repeat", {"text": "a", "times": 3})
    assert client.hear()["result"]["structuredContent"] == {"result": "aaa"}
    client.call(2, "Shout", {})
    assert client.hear()["result"]["structuredContent"] == {"result": 1}
