"""What the tests of the document run: apps as processes of their own, and programs by others."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
APPS = {
    "calculator": ROOT / "examples/calculator/app.py",
    "weather": ROOT / "examples/weather/app.py",
    "rich": HERE / "apps/rich.py",
}
_PATIENCE = 30


class Foreign:
    """The environment that holds programs by others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self, *command: str | Path, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its programs to its end."""
        program, *rest = map(str, command)
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [f"{self.folder}/{program}", *rest],
            cwd=cwd,
            env={**os.environ, "PATH": path, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


def output_of(*command: str | Path, **variables: str) -> bytes:
    """Run a script of ours, and give what it printed."""
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    ).stdout


def fetch(url: str) -> tuple[str, bytes]:
    """GET a page; give its content type and its body."""
    with urlopen(url, timeout=_PATIENCE) as response:  # noqa: S310 - a URL of our own
        return response.headers["Content-Type"], response.read()


def document_of(app_file: Path) -> dict[str, Any]:
    """Give the document that an app prints."""
    document: dict[str, Any] = json.loads(output_of(app_file, "openapi"))
    return document


@contextmanager
def serving(*command: str | Path) -> Iterator[str]:
    """Serve an app in a process of its own; give its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([sys.executable, *map(str, command), "serve", "--port", str(port)])
    try:
        _wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fetch(f"{url}/health")
        except URLError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)
        else:
            return
