"""stdout carries messages and nothing else, whatever functions print; stdin is the protocol's, too."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.speaking import speaking

NOISE = Path(__file__).parent / "apps" / "noise.py"

BUFFERED = {"PYTHONUNBUFFERED": ""}
"""What a file prints at once while it is loaded is beyond our reach: nobody has called us yet."""

WAYS = {
    "Print": ["noise of print", "noise without an end"],
    "Write": ["noise of os.write", "noise of bytes", "noise of a stream of its own"],
    "Library": ["noise of puts"],
    "Child": ["noise of a child", "noise of a grandchild", "noise of a shell"],
    "Fork": ["noise of a fork"],
    "Thread": [f"noise {number}" for number in range(20)],
    "Log": ["noise of a log"],
    "Loop": ["noise of a coroutine", "noise beneath it"],
}


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_whatever_functions_write_every_line_is_a_message(revision: str) -> None:
    with speaking(NOISE, revision=revision, variables=BUFFERED) as client:
        for name in WAYS:
            result = client.call(f"functions.{name}")
            assert result["isError"] is False, result
            assert result["structuredContent"]["result"].startswith("done")
        shown = client.errors()
        for name, noises in WAYS.items():
            for noise in noises:
                assert noise in shown, f"what {name} writes is for stderr"
        assert "noise while it is loaded" in shown


def test_who_reads_stdin_takes_nothing_from_the_protocol() -> None:
    with speaking(NOISE, variables=BUFFERED) as client:
        assert client.call("functions.Ask")["structuredContent"] == {"result": "''"}
        assert client.call("functions.Child")["isError"] is False  # its `cat` ended at once
        assert client.call("functions.Print")["isError"] is False


@pytest.mark.parametrize("name", ["Close", "Swap"])
def test_who_closes_stdout_closes_nothing_of_ours(name: str) -> None:
    with speaking(NOISE, variables=BUFFERED) as client:
        client.call(f"functions.{name}")
        assert client.call("functions.Loop")["isError"] is True  # it prints, and can't any more
        assert len(client.request("tools/list")["tools"]) > 5


def test_without_stderr_noise_goes_nowhere() -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "functions.Write", "arguments": {}},
    }
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {NOISE} mcp 2>&-"],
        input=json.dumps(call).encode() + b"\n",
        stdout=subprocess.PIPE,
        env={**os.environ, **BUFFERED},
        timeout=30,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["structuredContent"] == {"result": "done"}


def test_a_person_at_a_terminal_is_told_what_this_is() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, NOISE, "mcp"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **BUFFERED},
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        assert b"waits for a client of MCP" in process.stderr.readline()
        os.write(ours, b"\x04")
        out, _ = process.communicate(timeout=30)
    os.close(ours)
    assert (process.returncode, out) == (0, b"")


def test_the_program_for_any_file_keeps_stdout_free_while_the_file_is_loaded() -> None:
    words = ["-m", "kuniumi", "mcp", str(NOISE)]
    with speaking(NOISE, words=words, variables={"PYTHONUNBUFFERED": "1"}) as client:
        assert client.call("functions.Print")["isError"] is False
        assert "noise while it is loaded" in client.errors()
