"""More than a hundred functions that do harm: each call has its one answer, and the server goes on."""

from __future__ import annotations

import queue
import runpy
import time
from pathlib import Path

import pytest

from tests.http.server import Server
from tests.mcp.senders import BOTH, MISCHIEF, Message, Pipe, Poster, piped

HOSTILE: dict[str, str] = runpy.run_path(str(MISCHIEF))["HOSTILE"]


def check(answer: Message, name: str) -> None:
    """Check that an answer is the result that this function has to have."""
    assert "error" not in answer, (name, answer)
    result = answer["result"]
    block = result["content"][0]
    assert block["type"] == "text"
    text: str = block["text"]
    assert text.startswith(HOSTILE[name]), (name, text[:300])
    assert result["isError"] is text.startswith('{"error":'), name
    assert ("structuredContent" in result) is not result["isError"], name
    assert "Traceback" not in text
    assert str(Path.cwd()) not in text


def test_there_are_a_hundred_of_them() -> None:
    assert len(HOSTILE) >= 100


@pytest.mark.parametrize("revision", BOTH)
def test_on_stdio_each_gets_its_answer_and_the_server_goes_on(revision: str) -> None:
    with piped(revision=revision) as pipe:
        for name in HOSTILE:
            began = time.monotonic()
            check(pipe.ask(pipe.call_of(name, f"call of {name}")), name)
            assert time.monotonic() - began < 5, name
            assert pipe.is_well(), name
        assert pipe.end() == []


@pytest.mark.parametrize("revision", BOTH)
def test_over_http_each_gets_its_answer_and_the_server_goes_on(
    hostile: Server, revision: str
) -> None:
    poster = Poster(hostile, revision)
    before = poster.ask(poster.call_of("Process"))["result"]["structuredContent"]["result"]["pid"]
    for name in HOSTILE:
        check(poster.ask(poster.call_of(name)), name)
        assert poster.is_well(), name
    after = poster.ask(poster.call_of("Process"))["result"]["structuredContent"]["result"]["pid"]
    assert before == after


def test_all_at_once_they_harm_nobody_else() -> None:
    with piped() as pipe:
        pipe.send(*(pipe.call_of(name, name) for name in HOSTILE))
        pipe.send(*(pipe.call_of("Add", number, x=number, y=1) for number in range(200)))
        answers = _answers(pipe, {*HOSTILE, *range(200)})
        for name in HOSTILE:
            check(answers[name], name)
        for number in range(200):
            assert answers[number]["result"]["structuredContent"] == {"result": number + 1}
        assert pipe.is_well()


def _answers(pipe: Pipe, keys: set[str | int]) -> dict[str | int, Message]:
    found: dict[str | int, Message] = {}
    while missing := keys - set(found):
        try:
            message = pipe.hear()
        except queue.Empty:
            pytest.fail(f"there is no answer to {missing}")
        if "method" not in message:
            assert message["id"] not in found
            found[message["id"]] = message
    return found
