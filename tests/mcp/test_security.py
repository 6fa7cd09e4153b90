"""Who may speak to the endpoint, under which name, and how much: over real sockets, on real pipes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kuniumi import App, DefinitionError
from kuniumi.serve.mcp.guard import Guard
from tests.http.server import CALCULATOR, ROOT, Reply, Server, serving, serving_on_uvicorn
from tests.mcp.speaking import FailedError, speaking

LISTING = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
LEGACY = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-06-18"}


def listing(server: Server, headers: Mapping[str, str]) -> Reply:
    return server.request("POST", "/mcp", LISTING, {**LEGACY, **headers})


def refused(reply: Reply) -> str:
    """Give the reason of a refusal, which is told in the form of the protocol."""
    assert reply.json["error"]["code"] == -32600
    assert "id" not in reply.json  # the revisions know no null
    return str(reply.json["error"]["message"])


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    """Serve as everybody does at first: on loopback, without a word about names."""
    with serving(CALCULATOR) as server:
        yield server


@pytest.fixture(scope="module")
def proxied() -> Iterator[Server]:
    """Serve behind a proxy, with the one flag that this needs."""
    with serving(CALCULATOR, "--allow-host", "api.example.com") as server:
        yield server


# ---- on loopback -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:{port}", "127.0.0.1:{port}", "127.0.0.2", "[::1]:{port}"]
)
def test_the_names_of_this_machine_are_known(plain: Server, host: str) -> None:
    assert listing(plain, {"Host": host.format(port=plain.port)}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.example:{port}",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
        ),
        *("127.evil.example", "0.0.0.0:{port}", "[::2]", "evil.example@localhost", "192.168.0.1"),
    ],
)
def test_a_foreign_name_is_misdirected(plain: Server, host: str) -> None:
    """A page can give its own name to this machine's address (DNS rebinding)."""
    shown = host.format(port=plain.port)
    reply = listing(plain, {"Host": shown})
    assert reply.status == 421
    assert f"this server is not {shown}: --allow-host" in refused(reply)
    # The page that did so is of the same origin as its request.
    assert listing(plain, {"Host": shown, "Origin": f"http://{shown}"}).status == 421


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "https://evil.example:{port}", "null", "file://", "evil.example"),
        *("http://localhost.evil.example", "http://127.0.0.1.evil.example", "http://"),
        *("chrome-extension://abcdef", "http://evil.example/http://localhost", "data:", ""),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
def test_a_page_of_elsewhere_is_forbidden(plain: Server, method: str, origin: str) -> None:
    shown = origin.format(port=plain.port)
    reply = plain.request(method, "/mcp", LISTING, {**LEGACY, "Origin": shown})
    assert reply.status == 403
    assert f"pages of {shown} are not trusted: --allow-origin {shown}" in refused(reply)
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:1"])
def test_a_page_of_this_machine_may_use_it_and_read_the_answer(plain: Server, origin: str) -> None:
    reply = listing(plain, {"Origin": origin})
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == origin
    asked = {"Origin": origin, "Access-Control-Request-Headers": "mcp-method,content-type"}
    reply = plain.request("OPTIONS", "/mcp", headers=asked)
    assert reply.status == 204
    assert reply.headers["access-control-allow-headers"] == "mcp-method,content-type"


def test_a_form_of_a_page_cannot_be_taken_for_a_call(plain: Server) -> None:
    """A browser sends these types without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        reply = plain.request("POST", "/mcp", LISTING, {"Content-Type": kind})
        assert reply.status == 415
        assert "send application/json" in refused(reply)


def test_who_is_refused_leaves_the_connection_usable(plain: Server) -> None:
    with plain.connect() as connection:
        for headers in ({"Host": "evil.example"}, {"Origin": "null"}, {"Content-Type": "a/b"}):
            connection.request("POST", "/mcp", LISTING, {**LEGACY, **headers})
            response = connection.getresponse()
            assert response.status in {403, 415, 421}
            response.read()
        connection.request("POST", "/mcp", LISTING, LEGACY)
        assert connection.getresponse().status == 200


# ---- behind a proxy ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "api.example.com"}, 200),
        ({"Host": "API.example.com:443"}, 200),
        ({"Host": "api.example.com", "Origin": "https://api.example.com"}, 200),
        ({"Host": "127.0.0.1:8080"}, 200),  # health checks, and proxies that change the name
        ({"Host": "other.example.com"}, 421),
        ({"Host": "api.example.com", "Origin": "https://evil.example"}, 403),
        ({"Host": "api.example.com", "Origin": "null"}, 403),
    ],
)
def test_one_flag_is_all_a_proxy_needs(
    proxied: Server, headers: dict[str, str], status: int
) -> None:
    assert listing(proxied, headers).status == status


def test_pages_are_let_in_by_name() -> None:
    flags = ("--allow-origin", "https://chat.example", "--allow-origin", "null")
    with serving(CALCULATOR, *flags) as server:
        assert listing(server, {"Origin": "https://chat.example"}).status == 200
        assert listing(server, {"Origin": "HTTPS://CHAT.example"}).status == 200
        assert listing(server, {"Origin": "null"}).status == 200
        assert listing(server, {"Origin": "https://chat.example:8443"}).status == 403
        assert listing(server, {"Origin": "http://chat.example"}).status == 403


def test_everybody_is_let_in_by_a_star() -> None:
    with serving(CALCULATOR, "--allow-host", "*", "--allow-origin", "*") as server:
        headers = {"Host": "any.example", "Origin": "https://other.example"}
        assert listing(server, headers).status == 200


def test_for_all_the_world_a_page_still_needs_a_name_that_is_known() -> None:
    with serving(CALCULATOR, "--host", "0.0.0.0") as server:  # noqa: S104 - that is the case
        assert listing(server, {"Host": "any.example"}).status == 200  # programs do no harm
        here = f"127.0.0.1:{server.port}"
        assert listing(server, {"Host": here, "Origin": f"http://{here}"}).status == 200
        rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert listing(server, rebound).status == 403


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--allow-host", "https://api.example.com", "no name of a host"),
        ("--allow-host", "", "no name of a host"),
        ("--allow-host", "*.example.com", "no name of a host"),
        ("--allow-origin", "example.com", "no origin: write it like https://example.com"),
        ("--allow-origin", "https://example.com/chat", "no origin"),
    ],
)
def test_a_flag_that_would_let_nobody_in_is_refused(flag: str, value: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, CALCULATOR, "serve", flag, value],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("allow_hosts", "api.example.com"),
        ("allow_hosts", ["https://api.example.com"]),
        ("allow_hosts", [1]),
        ("allow_origins", ["example.com"]),
        ("allow_origins", None),
    ],
)
def test_an_app_is_told_at_once_what_would_let_nobody_in(option: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=f"the app: {option}="):
        App(**{option: value})


MOUNTED = """
from kuniumi import App

app = App(name="Mounted", allow_hosts=["api.example.com"], allow_origins=["https://chat.example"])


@app.function
def Add(x: int, y: int) -> int:
    return x + y


asgi = app.asgi
"""


def test_an_app_on_another_server_says_itself_who_may_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounted.py").write_text(MOUNTED)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    with serving_on_uvicorn("mounted:asgi") as server:
        assert listing(server, {"Host": "api.example.com"}).status == 200
        assert listing(server, {"Host": "evil.example"}).status == 421
        assert listing(server, {"Origin": "https://chat.example"}).status == 200
        assert listing(server, {"Origin": "https://evil.example"}).status == 403


def test_what_the_guard_remembers_is_bounded() -> None:
    guard = Guard()
    for number in range(10_000):
        assert guard.check({b"host": b"evil%d.example" % number}, ("127.0.0.1", 80)) is not None
    assert len(guard._found) <= 256


# ---- how much ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    """Serve with little room for bodies."""
    with serving(CALCULATOR, "--max-body", "1K") as server:
        yield server


def test_a_body_over_the_limit_is_refused(small: Server) -> None:
    reply = small.request("POST", "/mcp", LISTING.ljust(1024), LEGACY)
    assert reply.status == 200
    reply = small.request("POST", "/mcp", LISTING.ljust(1025), LEGACY)
    assert reply.status == 413
    assert "1024" in refused(reply)


def test_a_body_without_a_length_is_read_up_to_the_limit(small: Server) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with small.open(head + b"Transfer-Encoding: chunked\r\n\r\n") as connection:
        connection.sendall(b"400\r\n" + b" " * 1024 + b"\r\n1\r\n \r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
    assert listing(small, {}).status == 200


def test_a_huge_length_is_refused_before_anything_is_sent(small: Server) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with small.open(head + b"Content-Length: 1000000000000\r\n\r\n") as connection:
        connection.settimeout(10)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
        connection.shutdown(socket.SHUT_RDWR)


def test_a_line_over_the_limit_is_refused_and_the_next_is_answered() -> None:
    with speaking(CALCULATOR, "--max-message", "2K") as client:
        for size in (2049, 100_000, 5_000_000):
            client.send(b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * (size - 36) + b'"}')
            message = client.hear()
            assert message["error"]["code"] == -32600
            assert "2048 bytes" in message["error"]["message"]
            assert message.get("id") is None
            result = client.call("functions.Add", x=7, y=3)
            assert result["structuredContent"] == {"result": 10}


def test_a_line_without_an_end_takes_no_memory() -> None:
    with speaking(CALCULATOR, "--max-message", "1K") as client:
        assert client.process.stdin is not None
        client.call("functions.Add", x=7, y=3)
        before = _memory(client.process.pid)
        for _ in range(64):
            client.process.stdin.write(b"x" * 1_000_000)
        client.process.stdin.flush()
        client.send(b"")
        assert client.hear()["error"]["code"] == -32600
        assert _memory(client.process.pid) < before + 16_000_000


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_call_as_long_as_the_limit_is_read(tmp_path: Path) -> None:
    app = tmp_path / "length.py"
    app.write_text(
        "from kuniumi import App\n"
        "app = App(name='Length')\n"
        "@app.function\n"
        "def Length(text: str) -> int: return len(text)\n"
        "app.run()\n"
    )
    with speaking(app) as client:
        result = client.call("functions.Length", text="x" * 4_000_000)
        assert result["structuredContent"] == {"result": 4_000_000}
        with pytest.raises(FailedError, match="-32602"):
            client.call("functions.Lenght", text="")


def test_no_error_shows_a_path_or_a_traceback(plain: Server) -> None:
    for body in (
        b"{",
        b"[]",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}',
    ):
        reply = plain.request("POST", "/mcp", body, LEGACY)
        assert reply.status in {200, 400}
        shown = json.dumps(reply.json)
        assert "Traceback" not in shown
        assert str(ROOT) not in shown
