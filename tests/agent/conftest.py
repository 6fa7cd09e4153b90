"""Fixtures for the agent's side: programs in the environments of the providers and of the SDKs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"

Wrong = list[tuple[Any, str]]
Validate = Callable[[Iterable[tuple[str, Any]]], Wrong]
StreamThere = Callable[[dict[str, list[Any]]], dict[str, dict[str, Any]]]
ConverseThere = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
ReadThere = Callable[[list[Any]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def wrong_with() -> Validate:
    """Hold messages against the providers' types, in bulk; give those that are wrong, and why."""
    python = _python("KUNIUMI_MODELS")

    def run(sent: Iterable[tuple[str, Any]]) -> Wrong:
        given = [{"as": provider, "what": what} for provider, what in sent]
        said = _lines(python, HERE / "validate.py", given)
        return [(each, told) for each, told in zip(given, said, strict=True) if told]

    return run


@pytest.fixture(scope="session")
def stream_there() -> StreamThere:
    """Read streaming events as the providers' own objects; give what each stream came to."""
    python = _python("KUNIUMI_MODELS")

    def run(streams: dict[str, list[Any]]) -> dict[str, dict[str, Any]]:
        sent = [{"as": provider, "what": events} for provider, events in streams.items()]
        said = _lines(python, HERE / "stream_objects.py", sent)
        return dict(zip(streams, map(json.loads, said), strict=True))

    return run


@pytest.fixture(scope="session")
def converse_there() -> ConverseThere:
    """Hold conversations through the providers' own clients, one after another."""
    python = _python("KUNIUMI_MODELS")

    def run(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [json.loads(line) for line in _lines(python, HERE / "converse.py", asked)]

    return run


@pytest.fixture(scope="session", params=["KUNIUMI_CLIENTS", "KUNIUMI_OLD_CLIENTS"])
def read_there(request: pytest.FixtureRequest) -> ReadThere:
    """Read results as objects of an MCP SDK, where that is installed; give what was read."""
    python = _python(request.param)

    def run(results: list[Any]) -> list[dict[str, Any]]:
        return [json.loads(line) for line in _lines(python, HERE / "read_objects.py", results)]

    return run


def _python(variable: str) -> Path:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set: ./dev test sets it")
    return Path(folder) / "python"


def _lines(python: Path, program: Path, sent: list[Any]) -> list[str]:
    ended = subprocess.run(
        [python, program],
        input="".join(f"{json.dumps(each)}\n" for each in sent),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(SOURCE),
            # These environments hold no part of the project, and it needs this one to read.
            "MSGSPEC_FOLDER": str(Path(msgspec.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout.split("\n")[: len(sent)]
