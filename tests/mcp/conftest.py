"""What tests of MCP share: servers to speak to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.server import Server, serving
from tests.mcp.senders import EVERYTHING, MISCHIEF


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
