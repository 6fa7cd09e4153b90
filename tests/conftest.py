"""What all tests share: every server of MCP that any of them starts is overheard.

Whatever such a server says, to whatever client, is held to the official schema of its revision when
the test ends.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp import interpreter, overhear
from tests.mcp.overheard import Overheard

_FOLDER = Path(tempfile.mkdtemp(prefix="kuniumi-tests-"))
# Before any test is read: many note at once what they start programs with.
sys.executable = str(interpreter.make(_FOLDER))
overhear.begin(str(_FOLDER / interpreter.HEARD))
_OVERHEARD = Overheard(_FOLDER / interpreter.HEARD)


@pytest.fixture
def overheard() -> Overheard:
    """Give what servers have said."""
    return _OVERHEARD


@pytest.fixture(scope="session", autouse=True)
def _what_servers_say_at_their_end_is_as_its_revision_wants_it() -> Iterator[None]:
    yield
    assert _OVERHEARD.wrong() == []


@pytest.fixture(autouse=True)
def _what_servers_say_is_as_its_revision_wants_it() -> Iterator[None]:
    yield
    assert _OVERHEARD.wrong() == []


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
