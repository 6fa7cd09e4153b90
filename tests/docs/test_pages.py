"""The README and the pages under docs/ are run as they stand: code, commands and their output."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in _BLOCK.findall(page.read_text()) if kind == language]


def _ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_ids)
def test_python_in_the_pages_runs(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "page"}
    for block in _blocks(page, "python"):
        exec(compile(block, str(page), "exec", dont_inherit=True), namespace)  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=_ids)
def test_commands_in_the_pages_give_the_output_shown(page: Path, folder: Folder) -> None:
    for block in _blocks(page, "python"):
        if block.startswith("# app.py"):
            (folder.path / "app.py").write_text(block)
    for block in _blocks(page, "console"):
        for command, expected in _commands(block):
            folder.run(command, expected)


def _commands(block: str) -> Iterator[tuple[str, str]]:
    """Give each command (a line after `$ `) with the lines that follow it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = f"{command[:-1]}{more}"
        yield command, output.rstrip("\n")


class Folder:
    """A folder with a page's `app.py`, and the server the page starts in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.port = _free_port()
        self.servers: list[subprocess.Popen[bytes]] = []
        binaries = Path(sys.executable).parent
        self.environ = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}

    def run(self, command: str, expected: str) -> None:
        command = command.replace(":8080", f":{self.port}")
        command = command.replace("--port 8080", f"--port {self.port}")
        if command.endswith("&"):
            self.serve(command.removesuffix("&"))
            return
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.path,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        shown = (done.stdout + done.stderr).replace("\r\n", "\n").replace(f":{self.port}", ":8080")
        assert shown.rstrip("\n") == expected, command

    def serve(self, command: str) -> None:
        server = subprocess.Popen(shlex.split(command), cwd=self.path, env=self.environ)
        self.servers.append(server)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            assert server.poll() is None, f"{command} ended"
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5):
                    return
            except (URLError, OSError):
                time.sleep(0.02)
        pytest.fail(f"{command} never answered")

    def stop(self) -> None:
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=30)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path)
    yield folder
    folder.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
