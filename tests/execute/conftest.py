"""A server whose functions run in processes, shared by the tests that leave it in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.server import Server, serving

LABOUR = Path(__file__).parent / "apps" / "labour.py"


@pytest.fixture(scope="module")
def labour() -> Iterator[Server]:
    """Serve functions that run in processes."""
    with serving(LABOUR, "--log-level", "critical") as server:
        yield server
        assert server.stop() == 0
