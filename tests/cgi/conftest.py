"""Start CGI programs as a web server does, and take their answers apart."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"
CALCULATOR = ROOT / "examples" / "calculator" / "app.py"
WEATHER = ROOT / "examples" / "weather" / "app.py"


@dataclass(frozen=True)
class Answer:
    """What one CGI process wrote, and how it ended."""

    raw: bytes
    stderr: bytes
    exit: int

    @property
    def lines(self) -> list[bytes]:
        return self.raw.partition(b"\r\n\r\n")[0].split(b"\r\n")

    @property
    def headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self.lines:
            name, colon, value = line.decode("ascii").partition(": ")
            assert colon, f"{line!r} is no header"
            assert name not in found, f"{name} stands there twice"
            found[name] = value
        return found

    @property
    def status(self) -> str:
        return self.headers["Status"]

    @property
    def body(self) -> bytes:
        _, end, body = self.raw.partition(b"\r\n\r\n")
        assert end, f"{self.raw!r} has no end of its headers"
        return body

    @property
    def envelope(self) -> Any:
        return msgspec.json.decode(self.body)


Cgi = Callable[..., Answer]


def variables_for(path: str, body: bytes, changed: Mapping[str, str | None]) -> dict[str, str]:
    """Give what a web server sets for a POST; None leaves a variable out."""
    told: dict[str, str | None] = {
        "PATH": os.environ["PATH"],
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "tests",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "REMOTE_ADDR": "127.0.0.1",
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "/cgi-bin/app.py",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        **changed,
    }
    return {name: value for name, value in told.items() if value is not None}


@pytest.fixture
def cgi() -> Cgi:
    """Answer one request by one process: `cgi("/Add", b"{}", CONTENT_LENGTH="7")`."""

    def ask(
        path: str,
        body: bytes = b"",
        /,
        *words: str,
        app: Path = CALCULATOR,
        keep_open: bool = False,
        **changed: str | None,
    ) -> Answer:
        variables = variables_for(path, body, changed)
        reading, writing = os.pipe()
        with subprocess.Popen(
            [sys.executable, str(app), *words],
            env=variables,
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            os.close(reading)
            with suppress(BrokenPipeError):  # it may end without reading
                os.write(writing, body)
            if not keep_open:
                os.close(writing)
            try:
                raw, stderr = process.communicate(timeout=20)
            finally:
                process.kill()
                if keep_open:
                    os.close(writing)
        return Answer(raw, stderr, process.returncode)

    return ask
