"""Counting answers."""

from __future__ import annotations

import logging

import pytest

from kuniumi import agent
from tests.agent.cases import text


def counted() -> agent.Stats:
    stats = agent.Stats()
    stats.add(agent.read(text("hi")), tool="Say", server="a", seconds=0.010)
    stats.add(agent.read(text('{"x":1}')), tool="Add", server="a", seconds=0.020)
    stats.add(agent.read(text("MCP error -32602: no", isError=True)), tool="Add", server="b")
    stats.add(agent.read(text("Error: gone")), tool="Add", server="b", seconds=1, size=1000)
    return stats


def test_kinds_errors_codes_and_sizes_are_counted() -> None:
    found = counted().as_dict()
    assert found["answers"] == 4
    assert found["kinds"] == {"json": 1, "text": 2, "error": 1}
    assert (found["errors"], found["suspected"]) == (1, 1)
    assert found["codes"] == {"-32602": 1, "none": 1}
    assert found["bytes"] == 2 + 7 + 20 + 1000
    assert [(each["server"], each["tool"]) for each in found["tools"]] == [
        ("a", "Say"),
        ("a", "Add"),
        ("b", "Add"),
    ]
    assert counted().servers["b"].answers == 2


def test_sizes_are_bytes() -> None:
    stats = agent.Stats()
    stats.add(agent.read(text("5 °C")))
    assert stats.total.bytes == 5


def test_times_are_told_within_a_fifth() -> None:
    stats = agent.Stats()
    for milliseconds in range(1, 1001):
        stats.add(agent.read(text("x")), seconds=milliseconds / 1000)
    total = stats.total
    assert total.quantile(0.5) == pytest.approx(0.5, rel=0.2)
    assert total.quantile(0.95) == pytest.approx(0.95, rel=0.2)
    assert total.longest == 1.0
    assert agent.Stats().total.quantile(0.5) is None


def test_two_counts_are_added() -> None:
    both = counted()
    both.merge(counted())
    assert both.total.answers == 8
    assert both.total.codes == {-32602: 2, None: 2}


def test_they_print_as_a_table() -> None:
    lines = str(counted()).splitlines()
    assert lines[0].split()[:4] == ["tool", "server", "answers", "errors"]
    assert [line.split()[:2] for line in lines[1:4]] == [["Add", "a"], ["Say", "a"], ["Add", "b"]]
    assert lines[-1].split()[:2] == ["all", "4"]


def test_every_answer_is_one_line_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="kuniumi.agent"):
        counted()
    assert [record.levelname for record in caplog.records] == ["DEBUG"] * 4
    facts = caplog.records[2].__dict__["answer"]
    assert facts == {
        "tool": "Add",
        "server": "b",
        "kind": "error",
        "code": -32602,
        "blocks": 1,
        "bytes": 20,
    }
