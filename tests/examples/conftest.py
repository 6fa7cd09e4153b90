"""Fixtures for the tests of the examples: each example in real processes, on every surface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.surfaces import Call, cgi, post, shell
from tests.openapi.running import serving


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Serve the example the test module is about."""
    with serving(request.module.APP) as url:
        yield url


@pytest.fixture(params=["http", "cgi", "shell"])
def call(request: pytest.FixtureRequest) -> Call:
    """Call the example on each surface; a failure's status is told as HTTP tells it."""
    app_file: Path = request.module.APP
    if request.param == "shell":
        return lambda name, body: shell(app_file, name, body)
    if request.param == "cgi":
        return lambda name, body: cgi(app_file, f"/{name}", body)
    url: str = request.getfixturevalue("url")
    return lambda name, body: post(url, f"/functions/{name}", body)
