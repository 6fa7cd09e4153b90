"""Calling an example in a process of its own, on each surface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Answer = tuple[int, Any]
Call = Callable[[str, Any], Answer]


def post(url: str, path: str, body: Any) -> Answer:
    """POST data; give the status and the data that came back."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def cgi(app_file: Path, path: str, body: Any) -> Answer:
    """Run a script the way a web server does."""
    raw = json.dumps(body).encode()
    variables = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(raw)),
    }
    done = subprocess.run(
        [sys.executable, app_file],
        input=raw,
        env={**os.environ, **variables},
        capture_output=True,
        check=True,
    )
    head, _, answer = done.stdout.partition(b"\r\n\r\n")
    status = next(line for line in head.split(b"\r\n") if line.startswith(b"Status: "))
    return int(status.split()[1]), json.loads(answer)


def shell(app_file: Path, name: str, body: Any, *flags: str) -> Answer:
    """Call a function from a shell; give the exit code and the data that was printed."""
    done = subprocess.run(
        [sys.executable, app_file, *flags, "call", name, json.dumps(body)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    printed, silent = (done.stderr, done.stdout) if done.returncode else (done.stdout, done.stderr)
    assert silent == b""
    return done.returncode, json.loads(printed)
