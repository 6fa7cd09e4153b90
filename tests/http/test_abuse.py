"""What clients do to servers: each abuse has one well-formed answer, and harms nobody else."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.http.server import (
    JSON,
    MISCHIEF,
    ROOT,
    eventually,
    read_all,
    read_replies,
    read_reply,
    serving,
    take_reply,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http.server import Reply, Server

HEAD = b"POST /functions/Echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
INVALID = b'{"error":"Invalid JSON body"}'
_LIMIT = 4 * 1024 * 1024


@pytest.fixture(autouse=True)
def _unharmed(mischief: Server) -> Iterator[None]:
    """After every abuse the next request works, in the same worker, and nothing was told."""
    workers = mischief.workers()
    yield
    assert mischief.call("Add", {"x": 1, "y": 2}).body == b'{"result":3}'
    assert mischief.workers() == workers


def _is_decent(reply: Reply) -> None:
    """No answer tells of the machine it came from."""
    for secret in (b"Traceback", str(ROOT).encode(), b"site-packages", os.environ["PATH"].encode()):
        assert secret not in reply.body


# ---- bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"value":',
        b'{"value":1',
        b'{"value":1}}',
        b'{"value":1} x',
        b'{"value":1}{"value":2}',
        b'{"value":1,}',
        b"{'value':1}",
        b'{"value":NaN}',
        b'{"value":Infinity}',
        b'{"value":-Infinity}',
        b'{"value":01}',
        b'{"value":+1}',
        b'{"value":.5}',
        b'{"value":"\\x"}',
        b'{"value":"\n"}',
        b'{"value":"\xff"}',
        b'{"value":"\xc3"}',
        b'{"value":"\xed\xa0\x80"}',
        b'{"\xff":1}',
        b'\xff\xfe{\x00"\x00',
        b'\xef\xbb\xbf{"value":1}',
        b"\x00",
        b" ",
        b"undefined",
        b'{"value":"\\ud800"}',
        b'{"value":"\\ud800\\u0041"}',
        b'{"value":"\\udc00"}',
        b'{"\\ud800":1}',
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["Echo", "Length", "Add"])
def test_a_body_that_is_no_json_is_named_so(mischief: Server, name: str, body: bytes) -> None:
    reply = mischief.call(name, body.replace(b"value", b"text") if name == "Length" else body)
    assert reply.status == 400
    assert (
        reply.body == INVALID or "value" in reply.json["error"]
    )  # of no use to Add, whatever it is
    if name != "Add":
        assert reply.body == INVALID


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1" + b"0" * 400])
def test_a_number_beyond_all_floats_is_refused(mischief: Server, number: bytes) -> None:
    for body in (b'{"value":%b}', b'{"value":[{"a":%b}]}'):
        reply = mischief.call("Echo", body % number)
        if number.startswith((b"1e", b"-")):
            assert reply.status == 400


@pytest.mark.parametrize("name", ["Echo", "Add", "Length"])
def test_a_number_of_5000_digits_is_no_server_error(mischief: Server, name: str) -> None:
    digits = b"9" * 5000
    key = {"Echo": b"value", "Add": b"x", "Length": b"text"}[name]
    for body in (b'{"%b":%b,"y":1}', b'{"%b":"%b"}', b'{"%b":[%b]}', b'{"%b":1.%b}'):
        reply = mischief.call(name, body % (key, digits))
        assert reply.status < 500, reply.body[:200]
        assert len(reply.body) < 6000
    assert mischief.call("Add", b'{"x":%b,"y":1}' % digits).status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"value":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b',"y":1}',
    ],
    ids=lambda body: f"{body[:10]!r}…",
)
@pytest.mark.parametrize("name", ["Echo", "Add"])
def test_deep_nesting_is_refused_at_once(mischief: Server, name: str, body: bytes) -> None:
    mischief.call(name, b"{")  # what refuses is loaded by now
    took = []
    for _ in range(3):
        began = time.monotonic()
        reply = mischief.call(name, body)
        took.append(time.monotonic() - began)
        assert reply.status == 400
        assert len(reply.body) < 500
    assert min(took) < 0.05


def test_text_with_anything_in_it_comes_through(mischief: Server) -> None:
    body = '{"value":"\\u0000 \\r\\n \\ud83d\\ude00 \u2028 é"}'.encode()
    assert mischief.call("Echo", body).json == {"result": "\0 \r\n 😀 \u2028 é"}


# ---- too large -----------------------------------------------------------------------------------


def test_a_body_of_just_the_limit_is_read(mischief: Server) -> None:
    text = b'{"text":"%b"}' % (b"x" * (_LIMIT - len(b'{"text":""}')))
    assert len(text) == _LIMIT
    assert mischief.call("Length", text).json == {"result": _LIMIT - 11}
    assert mischief.call("Length", text + b" ").status == 413


@pytest.mark.parametrize("size", [_LIMIT + 1, 50 * 1024 * 1024])
@pytest.mark.parametrize("path", ["/functions/Echo", "/functions/Nope", "/health"])
def test_a_client_that_sends_too_much_gets_to_read_the_answer(
    mischief: Server, path: str, size: int
) -> None:
    expected = {"/functions/Echo": 413, "/functions/Nope": 404, "/health": 405}[path]
    reply = mischief.request("POST", path, b"x" * size, JSON)
    assert reply.status == expected
    assert list(reply.json) == ["error"]


def test_what_is_announced_too_large_is_refused_before_it_comes(mischief: Server) -> None:
    for length in (b"%d" % (_LIMIT + 1), b"9" * 18):
        head = HEAD + b"Expect: 100-continue\r\nContent-Length: " + length + b"\r\n\r\n"
        with mischief.open(head) as connection:
            assert read_reply(connection).status == 413


def test_an_announced_body_is_asked_for(mischief: Server) -> None:
    head = HEAD + b"Expect: 100-continue\r\nContent-Length: 11\r\n\r\n"
    with mischief.open(head) as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b'{"value":7}')
        assert read_reply(connection).json == {"result": 7}


def test_a_chunked_flood_is_never_kept(mischief: Server) -> None:
    before = mischief.call("Process").json["result"]["rss"]
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    most = 0
    with mischief.open(CHUNKED) as connection:
        for number in range(60):
            connection.sendall(chunk)
            if number % 10 == 9:
                most = max(most, mischief.call("Process").json["result"]["rss"])
        connection.sendall(b"0\r\n\r\n")
        assert read_reply(connection).status == 413
    assert most - before < 24 * 1024 * 1024


def test_many_floods_at_once_are_bounded(mischief: Server) -> None:
    before = mischief.call("Process").json["result"]["rss"]

    def flood() -> None:
        with mischief.open(HEAD + b"Content-Length: 50000000\r\n\r\n") as connection:
            connection.sendall(b"x" * 50_000_000)
            replies.append(read_reply(connection).status)

    replies: list[int] = []
    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [413] * 8
    assert mischief.call("Process").json["result"]["rss"] - before < 64 * 1024 * 1024


# ---- framing: Granian decides, we bound ----------------------------------------------------------

_BROKEN_FRAMES = {
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "two lengths in one": HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    "signed length": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "negative length": HEAD + b"Content-Length: -2\r\n\r\n{}",
    "no length": HEAD + b"Content-Length: two\r\n\r\n{}",
    "endless length": HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}",
    "unknown coding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "bad chunk size": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "endless chunk": CHUNKED + b"F" * 20 + b"\r\n{}\r\n0\r\n\r\n",
    "no end of chunk": CHUNKED + b"2\r\n{}XX0\r\n\r\n",
    "chunk with bare LF": CHUNKED + b"2\n{}\n0\n\n",
    "bare CR in the first line": b"GET /health\rHTTP/1.1\r\nHost: a\r\n\r\n",
    "bare CR in a header": b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
    "NUL in the path": b"GET /hea\0lth HTTP/1.1\r\nHost: a\r\n\r\n",
    "NUL in a header": b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
    "NUL in a name": b"GET /health HTTP/1.1\r\nHo\0st: a\r\n\r\n",
    "a space before the colon": b"GET /health HTTP/1.1\r\nHost : a\r\n\r\n",
    "a folded header": b"GET /health HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
    "another version": b"GET /health HTTP/9.9\r\nHost: a\r\n\r\n",
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "HTTP/2 by surprise": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("name", _BROKEN_FRAMES)
def test_a_broken_frame_is_refused_and_the_connection_closed(mischief: Server, name: str) -> None:
    with mischief.open(_BROKEN_FRAMES[name]) as connection:
        said = read_all(connection)  # until it closes, by itself
    if not said:
        assert name == "HTTP/2 by surprise"
        return
    reply, rest = take_reply(said)
    assert not rest
    assert reply.status == 400
    _is_decent(reply)


_TOO_MUCH_HEAD = {
    "a huge header": (b"GET /health HTTP/1.1\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n", 431),
    "200 headers": (b"GET /health HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n", 431),
    "a huge path": (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
}


@pytest.mark.parametrize("name", _TOO_MUCH_HEAD)
def test_too_much_before_the_body_is_refused(mischief: Server, name: str) -> None:
    data, status = _TOO_MUCH_HEAD[name]
    with socket.create_connection((mischief.host, mischief.port), timeout=10) as connection:
        with suppress(ConnectionError):  # it does not read to the end
            connection.sendall(data)
        replies = read_replies(connection)
    assert [reply.status for reply in replies] in ([status], [])  # a reset may overtake the answer


def test_a_chunked_body_rules_over_a_length(mischief: Server) -> None:
    body = b'4\r\n{"va\r\n8\r\nlue":12}\r\n0\r\n\r\n'
    for fields in (
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
    ):
        with mischief.open(HEAD + fields + body) as connection:
            (reply,) = read_replies(connection)  # and closes: nothing is taken for a next request
        assert reply.json == {"result": 12}


def test_a_body_that_is_cut_off_calls_nothing(mischief: Server) -> None:
    notes = len(mischief.notes())
    body = b'{"mark":"cut","seconds":0}'
    head = HEAD.replace(b"Echo", b"NotedWait") + b"Content-Length: %d\r\n\r\n" % (len(body) + 1)
    for data in (head + body, CHUNKED.replace(b"Echo", b"NotedWait") + b"18\r\n" + body + b"\r\n"):
        with mischief.open(data) as connection:
            connection.shutdown(socket.SHUT_WR)
            for reply in read_replies(connection):
                assert reply.status == 400
    assert len(mischief.notes()) == notes


def test_requests_sent_ahead_are_answered_in_order(mischief: Server) -> None:
    body = b'{"value":%d}'
    one = HEAD + b"Content-Length: 11\r\n\r\n"
    last = HEAD + b"Connection: close\r\nContent-Length: 11\r\n\r\n" + body % 9
    replies = mischief.raw(b"".join(one + body % number for number in range(9)) + last)
    assert [reply.json["result"] for reply in replies] == list(range(10))


# ---- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/functions%2FAdd",
        "/functions%2fAdd",
        "/functions/%2FAdd",
        "/functions/Add%2F",
        "/functions/x%2F..%2FAdd",
        "/functions/x/%2e%2e/Add",
        "/functions/%2e%2e/functions/Add",
        "/functions/../functions/Add",
        "/./functions/Add",
        "/functions/./Add",
        "//functions/Add",
        "/functions//Add",
        "/functions/Add//",
        "/functions/Add%00",
        "/functions/%00Add",
        "/functions/Add%0d%0aX-Evil:%201",
        "/functions/Add%20",
        "/functions/add",
        "/functions/ADD",
        "/functions/Add;x",
        "/functions/Add.json",
        "/functions\\Add",
        "/functions/%ff",
        "/functions/%C0%AFAdd",
        "/functions/%",
        "/functions/%zz",
        "/functions/%252e",
        "/FUNCTIONS/Add",
        "/functions/functions.Add",
        "*",
    ],
)
def test_no_other_path_leads_to_a_function(mischief: Server, path: str) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    data = head.encode() + b'Connection: close\r\nContent-Length: 13\r\n\r\n{"x":1,"y":2}'
    (reply,) = mischief.raw(data)
    assert reply.status in {400, 404}
    assert "x-evil" not in reply.headers
    _is_decent(reply)


def test_an_encoded_letter_is_that_letter(mischief: Server) -> None:
    reply = mischief.request("POST", "/functions/%41dd", b'{"x":1,"y":2}', JSON)
    assert reply.json == {"result": 3}


# ---- reflected text ------------------------------------------------------------------------------


def test_line_ends_in_reflected_text_split_no_header(mischief: Server) -> None:
    evil = "a\r\nX-Evil: 1\r\n\r\nHTTP/1.1 200 OK"
    replies = [
        mischief.call("Fail", {"message": evil}),
        mischief.call("Echo", {"value": evil}),
        mischief.call("Echo", {evil: 1}),
        mischief.get("/a%0d%0aX-Evil:%201"),
        mischief.request("POST", "/functions/Add", b"{}", {"Content-Type": "a\tb; X-Evil: 1"}),
    ]
    for reply in replies:
        assert "x-evil" not in reply.headers
        assert reply.status < 500 or reply.json == {"error": evil}


@pytest.mark.parametrize("status", [0, 1, 99, 100, 101, 200, 204, 304, 399, 600, 999, -1, 10**9])
def test_no_function_makes_the_server_speak_nonsense(mischief: Server, status: int) -> None:
    reply = mischief.call("Fail", {"message": "x", "status": status})
    assert 400 <= reply.status <= 599
    assert list(reply.json) == ["error"]


def test_a_web_page_cannot_be_made_of_an_error(mischief: Server) -> None:
    for path in ("/%3Cscript%3Ealert(1)%3C/script%3E", "/functions/%3Cscript%3E"):
        reply = mischief.get(path)
        assert "<script>" in reply.json["error"]
        assert reply.headers["content-type"] == "application/json"


# ---- slow clients --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("silent", b"", 0),
        ("slow first line", b"GET /hea", 0),
        ("slow header", b"GET /health HTTP/1.1\r\nHost: a\r\nX: ", 0),
        ("slow body", HEAD + b'Content-Length: 20\r\n\r\n{"va', 408),
        ("slow chunk", CHUNKED + b'14\r\n{"va', 408),
        ("no chunk", CHUNKED, 408),
    ],
)
def test_a_slow_client_is_let_go(mischief: Server, name: str, data: bytes, status: int) -> None:
    began = time.monotonic()
    with mischief.open(data) as connection:
        replies = read_replies(connection)
    took = time.monotonic() - began
    assert [reply.status for reply in replies] == ([status] if status else [])
    assert 0.9 < took < 3


def test_a_trickling_body_is_let_go_all_the_same(mischief: Server) -> None:
    began = time.monotonic()
    with mischief.open(HEAD + b"Content-Length: 1000\r\n\r\n") as connection:
        connection.settimeout(0.05)
        said = b""
        while b"\r\n\r\n" not in said:
            connection.sendall(b" ")
            try:
                said += connection.recv(65536)
            except TimeoutError:
                assert time.monotonic() - began < 5
    assert said.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began < 3


def test_an_idle_connection_is_closed(mischief: Server) -> None:
    with mischief.open(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n") as connection:
        assert read_reply(connection).status == 200
        began = time.monotonic()
        assert read_all(connection) == b""
    assert 0.9 < time.monotonic() - began < 3


def test_slow_clients_do_not_slow_others(mischief: Server) -> None:
    slow = [mischief.open(HEAD + b"Content-Length: 20\r\n\r\n{") for _ in range(100)]
    slow += [mischief.open(b"GET /hea") for _ in range(100)]
    took = []
    for _ in range(50):
        began = time.monotonic()
        assert mischief.call("Add", {"x": 1, "y": 2}).status == 200
        took.append(time.monotonic() - began)
    assert sorted(took)[-2] < 0.1
    for connection in slow:
        connection.close()


def test_slow_clients_give_back_what_they_held(mischief: Server) -> None:
    files = mischief.call("Process").json["result"]["files"]
    slow = [mischief.open(HEAD + b"Content-Length: 20\r\n\r\n{") for _ in range(50)]
    eventually(lambda: mischief.call("Process").json["result"]["files"] >= files + 50)
    for connection in slow:
        read_all(connection)
        connection.close()
    eventually(lambda: mischief.call("Process").json["result"]["files"] <= files + 2)


# ---- WebSocket -----------------------------------------------------------------------------------

_UPGRADE = (
    b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.parametrize("path", [b"/", b"/ws", b"/functions/Add"])
def test_an_upgrade_is_never_made(mischief: Server, path: bytes) -> None:
    with mischief.open(_UPGRADE % path) as connection:
        connection.settimeout(5)
        said = connection.recv(65536)
    assert not said.startswith(b"HTTP/1.1 101")
    assert said.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404"))


def test_a_server_asked_for_upgrades_still_ends() -> None:
    with serving(MISCHIEF) as server:
        connections = [server.open(_UPGRADE % b"/ws") for _ in range(5)]
        for connection in connections:
            assert read_reply(connection).status == 404
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 5
        for connection in connections:
            connection.close()
