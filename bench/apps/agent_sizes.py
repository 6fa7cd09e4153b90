"""Kuniumi: answers of growing size, read; microseconds of CPU as JSON."""

# mypy: ignore-errors
# Runs by its path, in the environment of what it measures.

import json
import sys

from agent_work import cost

from kuniumi import agent

SIZES = {"1 kB": 1_000, "10 kB": 10_000, "100 kB": 100_000, "1 MB": 1_000_000}
_ROW = {"id": 12345, "name": "row 12345", "score": 0.1234567}


def rows(size):
    """Data and the text that repeats it, as servers send both."""
    value = {"rows": [_ROW] * (size // len(json.dumps(_ROW)))}
    text = json.dumps(value)
    return {"content": [{"type": "text", "text": text}], "structuredContent": value}


def words(size):
    """Text that is nothing else."""
    return {"content": [{"type": "text", "text": "word " * (size // 5)}]}


def numbers(size):
    """A body of HTTP: bytes of JSON."""
    return json.dumps([1.5] * (size // 5)).encode()


found = {}
for _ in range(int(sys.argv[1])):
    for name, size in SIZES.items():
        for kind in (rows, words, numbers):
            sent = kind(size)
            samples = found.setdefault(name, {}).setdefault(kind.__name__, [])
            samples.append(cost(lambda sent=sent: agent.read(sent)))
print(json.dumps(found))
