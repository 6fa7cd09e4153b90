"""Behind lighttpd, from a cgi-bin, the same requests get the same bytes as over HTTP."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIGHTTPD = shutil.which("lighttpd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
HIDDEN = {"date", "server", "connection", "transfer-encoding", "keep-alive", "accept-ranges"}
"""Headers that are the web server's own affair, not the app's."""

PAGE = ROOT / "docs" / "cgi.md"
CONFIGURATION = """
server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{root}/error.log"
{advised}
"""

Reply = tuple[int, dict[str, str], bytes]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(port: int, *command: str | Path) -> Iterator[None]:
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert process.poll() is None, f"{command} ended with {process.returncode}"
                    assert time.monotonic() < deadline, f"{command} does not listen"
                    time.sleep(0.05)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _advised() -> str:
    """Give the lines of configuration that the documentation advises."""
    _, _, after = PAGE.read_text().partition("**lighttpd**\n\n")
    return after.partition("\n\n")[0].replace("    ", "")


@pytest.fixture(scope="module")
def lighttpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Serve copies of the examples from a cgi-bin; give the port."""
    if LIGHTTPD is None:
        pytest.skip("lighttpd is not installed: ./dev test installs it")
    root = tmp_path_factory.mktemp("www")
    scripts = root / "cgi-bin"
    scripts.mkdir()
    for name in ("calculator", "weather"):
        script = scripts / f"{name}.py"
        source = (ROOT / "examples" / name / "app.py").read_text()
        script.write_text(f"#!{sys.executable}\n{source}")
        script.chmod(0o755)
    port = _free_port()
    configuration = root / "lighttpd.conf"
    configuration.write_text(
        CONFIGURATION.format(
            root=root, port=port, advised=_advised().replace("/srv/kuniumi", str(root))
        )
    )
    with _running(port, LIGHTTPD, "-D", "-f", configuration):
        yield port


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, int]]:
    """Serve the examples over HTTP, under the paths they have in the cgi-bin; give the ports."""
    ports = {name: _free_port() for name in ("calculator", "weather")}
    commands = {
        name: (
            *(sys.executable, ROOT / "examples" / name / "app.py", "serve"),
            *("--port", str(port), "--root-path", f"/cgi-bin/{name}.py"),
        )
        for name, port in ports.items()
    }
    with (
        _running(ports["calculator"], *commands["calculator"]),
        _running(ports["weather"], *commands["weather"]),
    ):
        yield ports


def _ask(
    port: int,
    method: str,
    path: str,
    body: bytes | list[bytes] | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        chunked = isinstance(body, list)
        connection.request(
            method,
            path,
            iter(body) if isinstance(body, list) else body,
            {"Content-Type": "application/json", **(headers or {})},
            encode_chunked=chunked,
        )
        answer = connection.getresponse()
        data = answer.read()
        shown = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, {k: v for k, v in shown.items() if k not in HIDDEN}, data
    finally:
        connection.close()


BIG = b'{"text":"%b"}' % (b"a" * (4 * 1024 * 1024))
REQUESTS = [
    ("calculator", "POST", "/functions/Add", b'{"x":5,"y":5}', {}),
    ("calculator", "POST", "/functions/Add", b'{"x":"10","y":"20"}', {}),
    ("calculator", "POST", "/functions/Add", [b'{"x":', b'5,"y"', b":5}"], {}),
    ("calculator", "POST", "/functions/Add", b'{"x":"abc","y":1}', {}),
    ("calculator", "POST", "/functions/Add", b'{"x":1}', {}),
    ("calculator", "POST", "/functions/Add", b"not json", {}),
    ("calculator", "POST", "/functions/Add", b"", {}),
    ("calculator", "POST", "/functions/Add", b"\x00\xff", {}),
    ("calculator", "POST", "/functions/Add", b"{}", {"Content-Type": "text/plain"}),
    ("calculator", "POST", "/functions/Add", BIG, {}),
    ("calculator", "POST", "/functions/NonExistent", b"{}", {}),
    ("calculator", "POST", "/functions/Divide", b'{"x":1,"y":0}', {}),
    ("calculator", "POST", "/functions/DivMod", b'{"x":7,"y":2}', {}),
    ("calculator", "POST", "/functions/Midpoint", b'{"a":{"x":0,"y":0},"b":{"x":1,"y":1}}', {}),
    ("calculator", "POST", "/functions/Countdown", b"{}", {}),
    ("calculator", "POST", "/functions/SlowSum", b'{"numbers":[1,2],"delay":0}', {}),
    ("calculator", "DELETE", "/functions/Add", None, {}),
    ("calculator", "OPTIONS", "/functions/Add", None, {}),
    ("calculator", "GET", "/functions/Add", None, {}),
    ("calculator", "HEAD", "/functions/Add", None, {}),
    ("calculator", "GET", "/functions", None, {}),
    ("calculator", "GET", "/functions?serve", None, {}),
    ("calculator", "GET", "/openapi.json", None, {}),
    ("calculator", "GET", "/openapi.yaml", None, {}),
    ("calculator", "GET", "/health", None, {}),
    ("calculator", "GET", "/", None, {}),
    ("calculator", "POST", "/", b"{}", {}),
    ("weather", "POST", "/weather", b'{"location":"Oslo"}', {}),
    ("weather", "POST", "/weather", b'{"location":"Atlantis"}', {}),
    ("weather", "POST", "/weather", b'{"place":"Oslo"}', {}),
    ("weather", "POST", "/weather", b"not json", {}),
    ("weather", "HEAD", "/weather", None, {}),
    (
        *("calculator", "POST", "/functions/Add", b'{"x":5,"y":5}'),
        {"Accept": "application/vnd.mcp.tool-result+json"},
    ),
    (
        *("calculator", "POST", "/functions/Add", b'{"x":5,"y":5}'),
        {"Origin": "https://evil.example", "Content-Type": "text/plain"},
    ),
]


@pytest.mark.parametrize(
    ("app", "method", "path", "body", "headers"),
    REQUESTS,
    ids=[
        f"{app} {method} {path} {str(body)[:24]} {''.join(headers.values())}"
        for app, method, path, body, headers in REQUESTS
    ],
)
def test_the_answer_is_the_same_as_over_http(
    lighttpd: int,
    servers: dict[str, int],
    app: str,
    method: str,
    path: str,
    body: bytes | list[bytes] | None,
    headers: dict[str, str],
) -> None:
    by_cgi = _ask(lighttpd, method, f"/cgi-bin/{app}.py{path}", body, headers)
    by_http = _ask(servers[app], method, path, body, headers)
    if by_http[0] == 204:
        for _, shown, _ in (by_cgi, by_http):
            shown.pop("content-length", None)
            shown.pop("content-type", None)
    assert by_cgi == by_http


def test_a_function_has_a_short_name_in_a_cgi_bin(lighttpd: int) -> None:
    status, _, body = _ask(lighttpd, "POST", "/cgi-bin/calculator.py/Add", b'{"x":7,"y":3}')
    assert (status, body) == (200, b'{"result":10}')


def test_a_hidden_slash_is_no_separator(lighttpd: int) -> None:
    status, _, _ = _ask(
        lighttpd, "POST", "/cgi-bin/calculator.py/functions%2FAdd", b'{"x":7,"y":3}'
    )
    assert status in {400, 404}
