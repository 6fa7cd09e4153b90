"""`kuniumi read`: an answer on stdin, what it is and what models would be sent, on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.cases import PNG, blocks, image, text

KUNIUMI = Path(sys.executable).with_name("kuniumi")


def run(sent: bytes | str, *words: str) -> tuple[int, str, str]:
    given = sent.encode() if isinstance(sent, str) else sent
    ended = subprocess.run(
        [KUNIUMI, "read", *words], input=given, capture_output=True, timeout=60, check=False
    )
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def test_it_shows_what_an_answer_is_and_every_rendering() -> None:
    code, out, err = run(json.dumps(blocks({"type": "text", "text": "chart"}, image())))
    assert (code, err) == (0, "")
    assert out.startswith(
        "kind: mixed\nblocks: 2\n\n== text ==\nchart\n[image: image/png, 70 bytes]\n"
    )
    for provider in ("openai", "openai-chat", "anthropic", "gemini"):
        assert f"== {provider} ==\n[" in out
    assert PNG not in out


def test_a_declared_error_is_told_and_is_the_exit_code() -> None:
    said = "Error: Mcp error: -32602: MCP error -32602: Invalid arguments for tool x: [] (Code: -32603)"
    code, out, _ = run(json.dumps(text(said, isError=True)))
    assert code == 1
    assert out.startswith(
        "kind: error\nerror: declared\nmessage: Invalid arguments for tool x: []\n"
        "code: -32602\nouter code: -32603\ntool: x\nblocks: 1\n"
    )
    assert run(said)[0] == 0


def test_one_provider_s_messages_are_json() -> None:
    code, out, _ = run("hi", "--for", "anthropic")
    assert code == 0
    assert json.loads(out)[0]["content"][0]["content"] == "hi"
    assert json.loads(run(json.dumps(blocks(image())), "--for", "openai")[1])[0]["output"][0][
        "image_url"
    ].endswith(PNG)


@pytest.mark.parametrize(
    ("sent", "words", "shown"),
    [
        (b"hi", ["--text"], "hi\n"),
        (b'{"a":1}', ["--json"], '{\n  "a": 1\n}\n'),
        (b"", ["--json"], '{\n  "type": "text",\n  "text": ""\n}\n'),
        (b"caf\xe9", ["--text"], "caf\ufffd\n"),
        (b"x" * 1000, ["--text", "--max-chars", "3"], "xx…\n"),
        (b"a\x1bb", ["--text", "--neutralise"], "a\\u001bb\n"),
        ("\u202e".encode(), ["--for", "openai-chat", "--neutralise"], None),
    ],
)
def test_one_thing_alone(sent: bytes, words: list[str], shown: str | None) -> None:
    code, out, err = run(sent, *words)
    assert (code, err) == (0, "")
    assert shown is None or out == shown


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    given = json.dumps(text("x\n" * 2_000_000)).encode()
    process = subprocess.Popen(
        [KUNIUMI, "read"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(given)
    process.stdin.close()
    assert process.stdout.read(5) == b"kind:"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(timeout=60)


def test_no_input_at_all_is_an_answer_of_nothing() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f"exec {KUNIUMI} read <&-"], capture_output=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.startswith(b"kind: empty\n")


def test_a_mistake_is_explained() -> None:
    code, out, err = run("", "--for", "nobody")
    assert (code, out) == (2, "")
    assert "invalid choice: 'nobody'" in err


def test_the_program_s_help_names_it() -> None:
    shown = subprocess.run([KUNIUMI, "--help"], capture_output=True, text=True, check=True).stdout
    assert "kuniumi read < answer.json" in shown
