"""The servers that many tests share: started once, each on a port of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.http.server import CALCULATOR, MISCHIEF, WEATHER, Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def calculator() -> Iterator[Server]:
    """Serve the calculator example."""
    with serving(CALCULATOR) as server:
        yield server


@pytest.fixture(scope="session")
def weather() -> Iterator[Server]:
    """Serve the weather example."""
    with serving(WEATHER) as server:
        yield server


@pytest.fixture(scope="session")
def mischief() -> Iterator[Server]:
    """Serve functions that misbehave, with short patience for slow clients."""
    with serving(MISCHIEF, "--header-timeout", "1", "--body-timeout", "1") as server:
        yield server
        assert server.stop() == 0, "it did not end well"
        log = server.errors()
        assert "Unexpected exit" not in log, log
        assert "panicked" not in log, log
