"""Fixtures for the tests of the document."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.openapi.running import APPS, Foreign


@pytest.fixture(scope="session")
def foreign() -> Foreign:
    folder = os.environ.get("KUNIUMI_FOREIGN")
    if not folder:
        pytest.skip("KUNIUMI_FOREIGN is not set: ./dev test sets it")
    return Foreign(Path(folder))


@pytest.fixture(params=APPS)
def app_file(request: pytest.FixtureRequest) -> Path:
    return APPS[request.param]
