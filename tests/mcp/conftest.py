"""What every test of MCP shares: a witness to all that servers say, and servers to speak to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.server import Server, serving
from tests.mcp.witness import EVERYTHING, MISCHIEF, WITNESS


@pytest.fixture(autouse=True)
def _every_message_is_as_its_revision_wants_it() -> Iterator[None]:
    WITNESS.found.clear()
    yield
    assert WITNESS.found == []


@pytest.fixture(scope="session")
def hostile() -> Iterator[Server]:
    """Serve functions that misbehave."""
    with serving(MISCHIEF) as server:
        yield server
        assert server.stop() == 0, "it did not end well"


@pytest.fixture(scope="session")
def everything() -> Iterator[Server]:
    """Serve one of everything."""
    with serving(EVERYTHING) as server:
        yield server
