"""The calculator example, as a person would use it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.examples.surfaces import Call, cgi, post, shell
from tests.openapi.running import APPS, output_of

APP = APPS["calculator"]


@pytest.mark.parametrize(
    ("name", "arguments", "envelope"),
    [
        ("Add", {"x": 5, "y": 5}, {"result": 10}),
        ("Add", {"x": "10", "y": "20"}, {"result": 30}),
        ("Add", {"x": 2**70, "y": 1}, {"result": 2**70 + 1}),
        ("Divide", {"x": 7, "y": 2}, {"result": 3.5}),
        ("DivMod", {"x": 7, "y": 2}, {"result0": 3, "result1": 1}),
        (
            "Midpoint",
            {"a": {"x": 0, "y": 0, "label": "a"}, "b": {"x": 2, "y": 4, "label": "b"}},
            {"result": {"x": 1.0, "y": 2.0, "label": "a-b"}},
        ),
        ("Countdown", {"start": 2}, {"result": [2, 1, 0]}),
        ("Countdown", {}, {"result": [3, 2, 1, 0]}),
        ("SlowSum", {"numbers": [1, 2, 3], "delay": 0.001}, {"result": 6}),
    ],
)
def test_a_call_gives_the_same_on_every_surface(
    call: Call, name: str, arguments: Any, envelope: Any
) -> None:
    status, answer = call(name, arguments)
    assert status in {0, 200}
    assert answer == envelope


@pytest.mark.parametrize(
    ("name", "arguments", "status", "exit_code", "words"),
    [
        ("Divide", {"x": 1, "y": 0}, 422, 1, "Division by zero"),
        ("Divide", {"x": 1e308, "y": 1e-10}, 422, 1, "The quotient is too large"),
        ("DivMod", {"x": 1, "y": 0}, 422, 1, "Division by zero"),
        ("NonExistent", {}, 404, 2, "Function not found: NonExistent"),
    ],
)
def test_a_failure_says_the_same_on_every_surface(
    url: str, name: str, arguments: Any, status: int, exit_code: int, words: str
) -> None:
    envelope = {"error": words}
    assert post(url, f"/functions/{name}", arguments) == (status, envelope)
    assert cgi(APP, f"/{name}", arguments) == (status, envelope)
    assert shell(APP, name, arguments) == (exit_code, envelope)


@pytest.mark.parametrize(
    ("name", "arguments", "culprit"),
    [
        ("Add", {"x": "abc", "y": 1}, "x"),
        ("Add", {"x": 1}, "y"),
        ("Midpoint", {"a": {"x": 0, "y": 0}, "b": {"x": 1}}, "b.y"),
        ("Countdown", {"start": 1001}, "start"),
        ("SlowSum", {"numbers": [1, "two"]}, "numbers[1]"),
    ],
)
def test_a_wrong_argument_is_named(call: Call, name: str, arguments: Any, culprit: str) -> None:
    status, answer = call(name, arguments)
    assert status in {2, 400}
    assert f"'{culprit}'" in answer["error"]


def test_it_tells_what_its_author_said() -> None:
    listed = json.loads(output_of(APP, "list", "--json"))
    assert (listed["name"], listed["version"]) == ("Calculator", "1.0.0")
    add = listed["functions"][0]
    assert add["description"] == "Adds two integers together"
    properties = add["inputSchema"]["properties"]
    assert properties["x"] == {"type": "integer", "description": "First integer to add"}
    assert properties["y"] == {"type": "integer", "description": "Second integer to add"}
    result = add["outputSchema"]["properties"]["result"]
    assert result == {"type": "integer", "description": "Sum of x and y"}


def test_its_help_names_it_and_what_it_is_based_on() -> None:
    help_text = output_of(APP, "--help").decode()
    assert "Calculator v1.0.0" in help_text
    assert "based on kuniumi" in help_text


def test_every_function_is_described() -> None:
    for function in json.loads(output_of(APP, "list", "--json"))["functions"]:
        assert function["summary"]
        for schema in function["inputSchema"]["properties"].values():
            assert schema["description"], function["name"]


def test_countdown_streams_one_event_a_number(url: str) -> None:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    connection.request("POST", "/functions/Countdown", '{"start": 2}', headers)
    response = connection.getresponse()
    assert response.headers["Content-Type"].startswith("text/event-stream")
    said = [line[6:] for line in response.read().decode().splitlines() if line[:6] == "data: "]
    connection.close()
    assert [json.loads(data) for data in said] == [2, 1, 0, {"result": [2, 1, 0]}]


def test_add_logs_when_it_is_told_to() -> None:
    command = [
        sys.executable,
        str(APP),
        "--env",
        "DEBUG=true",
        "call",
        "Add",
        "--x",
        "7",
        "--y",
        "3",
    ]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == b'{"result":10}\n'
    assert b"Adding 7 + 3" in done.stderr


def test_slow_sum_shows_its_progress_on_a_terminal_only() -> None:
    command = [sys.executable, str(APP), "call", "SlowSum", '{"numbers": [1, 2], "delay": 0.05}']
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    out, _ = process.communicate(timeout=60)
    shown = _read_all(reader)
    assert (process.returncode, out) == (0, b'{"result":3}\n')
    assert b"added" in shown


def _read_all(reader: int) -> bytes:
    said = b""
    while select.select([reader], [], [], 5)[0]:
        try:
            part = os.read(reader, 65536)
        except OSError:  # a terminal's end, on Linux
            break
        if not part:
            break
        said += part
    os.close(reader)
    return said
