"""Arbitrary and mutated input to the parsers of MCP: no crash, no hang, nothing that grows.

A short run is part of every test run; `./dev fuzz` runs the same for long.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kuniumi import App, Context
from kuniumi.serve.mcp import stdio
from kuniumi.serve.mcp.pipes import Inlet
from kuniumi.serve.mcp.sessions import MOST
from tests.http.server import Server, eventually, serving
from tests.mcp.official import STATELESS, examples
from tests.mcp.senders import (
    BOTH,
    HANDSHAKE,
    MISCHIEF,
    Message,
    Pipe,
    Poster,
    lines_in,
    meta,
    piped,
)

SHORT, LONG = 120, 5_000
LIMIT = 20_000
PATIENCE = 10.0

long_run = pytest.mark.fuzz


def examined(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


# ---- what is sent ------------------------------------------------------------------------------------


def _asked(method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


_INFO = {"name": "x", "version": "1"}
_GREETING = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _INFO}
_CALLS: list[Message] = [
    _asked("tools/call", name="functions.Add", arguments={"x": 7, "y": 3}),
    _asked("tools/call", name="functions.Work", arguments={"steps": 3}),
    _asked("tools/call", name="functions.Ask", arguments={}),
    _asked("tools/call", name="functions.Wait", arguments={"seconds": 0.01}),
    _asked("tools/list"),
    _asked("resources/list"),
    _asked("resources/templates/list", cursor="0"),
    _asked("resources/read", uri="notes://7"),
    _asked("prompts/list"),
    _asked("prompts/get", name="Begin", arguments={"topic": "x"}),
    _asked("server/discover"),
    _asked("subscriptions/listen", notifications={"toolsListChanged": True}),
    _asked("resources/subscribe", uri="notes://7"),
    _asked("logging/setLevel", level="debug"),
    _asked("ping"),
    _asked("initialize", **_GREETING),
    _asked(
        "completion/complete",
        ref={"type": "ref/prompt", "name": "Begin"},
        argument={"name": "topic", "value": "x"},
    ),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    {"jsonrpc": "2.0", "id": "ask-1", "result": {"action": "accept", "content": {}}},
    {"jsonrpc": "2.0", "id": "ask-1", "error": {"code": -1, "message": "no"}},
]
_ABLE: Message = {"elicitation": {}, "sampling": {}, "roots": {}}
_STATED = meta(**{"io.modelcontextprotocol/clientCapabilities": _ABLE, "progressToken": 1})
SEEDS: list[Message] = [
    *_CALLS,
    *(
        {**message, "params": {**message.get("params", {}), "_meta": _STATED}}
        for message in _CALLS
        if "method" in message
    ),
    *(
        example
        for name, named in examples().items()
        if name.endswith(("Request", "Notification"))
        for example in named.values()
    ),
]

_numbers = st.integers() | st.floats() | st.sampled_from([2**63, 2**64, -(2**63) - 1, 1e308])
_values = st.recursive(
    st.none() | st.booleans() | _numbers | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@st.composite
def mutated(draw: st.DrawFn) -> Message:
    """Draw a right message, with some of its parts replaced, left out, or moved."""
    message: Message = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    for _ in range(draw(st.integers(0, 3))):
        holder: Any = message
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(holder[key], (dict, list)) and holder[key] and draw(st.booleans()):
                holder = holder[key]
                continue
            if draw(st.booleans()):
                holder[key] = draw(_values)
            else:
                del holder[key]
            break
    return message


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Draw the bytes of one message, or of something like it."""
    message = draw(mutated())
    if "id" in message and draw(st.booleans()):
        message["id"] = draw(st.integers(0, 5) | st.text(max_size=3))
    line = json.dumps(message, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        at = draw(st.integers(0, len(line)))
        until = at + draw(st.integers(0, 5))
        line = line[:at] + draw(st.binary(max_size=5)) + line[until:]
    return draw(st.sampled_from([line, line, line, line * 2, line.replace(b"{", b"[{", 1)]))


streams = st.one_of(
    st.lists(lines(), max_size=8).map(b"\n".join),
    st.lists(lines() | st.binary(), max_size=8).map(b"\n".join),
    st.binary(max_size=200),
    st.integers(1, 2 * LIMIT).map(lambda size: b"[" * size),
    st.integers(1, 2 * LIMIT).map(lambda size: b'{"jsonrpc":"2.0","x":"' + b"a" * size),
)


# ---- who gets it -------------------------------------------------------------------------------------


def fuzzed() -> App:
    """Make an app that has a little of everything, and starts no thread."""
    app = App(name="Fuzzed", version="1.0.0", timeout=5)

    @app.function(inline=True)
    def Add(x: int, y: int) -> int:
        return x + y

    @app.function
    async def Work(steps: int, ctx: Context) -> int:
        for step in range(min(steps, 100)):
            ctx.progress(step, steps, "at work")
            ctx.log.info("at work")
        return steps

    @app.function
    async def Wait(seconds: float) -> float:
        await asyncio.sleep(min(max(seconds, 0), 0.02))
        return seconds

    @app.function
    async def Ask(ctx: Context) -> str:
        return str(await asyncio.wait_for(ctx.ask("Who?"), 0.05))

    @app.resource("notes://{id}", name="note")
    async def note(id: str) -> str:  # noqa: A002 - it is the address's word
        return id

    @app.prompt(complete={"topic": ["x", "y"]})
    async def Begin(topic: str) -> str:
        return f"Let us talk about {topic}"

    return app


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(autouse=True)
def _nothing_grows(runner: asyncio.Runner) -> Iterator[None]:
    gc.collect()  # what other tests left open must not close meanwhile
    before = _descriptors()
    yield
    runner.run(_settled())
    gc.collect()
    assert _descriptors() <= before


async def _settled() -> None:
    """Wait until no task is left but this one."""
    async with asyncio.timeout(PATIENCE):
        while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - they are of many kinds
            await asyncio.sleep(0.01)


def _descriptors() -> int:
    own = ("socket:", "pipe:")
    links = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return sum(str(link).startswith(own) for link in links)


# ---- stdio -------------------------------------------------------------------------------------------

_END: Message = {"jsonrpc": "2.0", "id": "this is the end", "method": "ping"}


async def told(app: App, stream: bytes, cut: int) -> list[bytes]:
    """Send a stream in pieces, and a last request; give what is said until that is answered."""
    ends = [*os.pipe(), *os.pipe()]
    connection, inlet, _ = stdio.connect(app.service, ends[0], ends[3], LIMIT)
    said: list[bytes] = []
    done = asyncio.Event()

    def hear(line: bytes | None) -> None:
        assert line is not None
        said.append(line)
        if b'"this is the end"' in line and b'"result":{}' in line:
            done.set()

    outlet = Inlet(ends[2], 1 << 30, hear)
    outlet.resume()
    inlet.resume()
    whole = stream + b"\n" + json.dumps(_END).encode() + b"\n"
    try:
        async with asyncio.timeout(PATIENCE):
            for at in range(0, len(whole), cut):
                os.write(ends[1], whole[at : at + cut])
                await asyncio.sleep(0)
            await done.wait()
    finally:
        inlet.pause()
        await connection.finish(0)
        await asyncio.sleep(0)
        outlet.pause()
        for end in ends:
            os.close(end)
    return said


def check_stdio(runner: asyncio.Runner, app: App, stream: bytes, cut: int) -> None:
    for line in runner.run(told(app, stream, max(1, cut))):
        message = msgspec.json.decode(line)
        assert message["jsonrpc"] == "2.0"
        assert len({"result", "error", "method"} & set(message)) == 1


APP = fuzzed()


@examined(SHORT)
@given(streams, st.integers(1, 4096))
def test_stdio_outlives_what_it_is_fed(runner: asyncio.Runner, stream: bytes, cut: int) -> None:
    check_stdio(runner, APP, stream, cut)


@long_run
@examined(LONG)
@given(streams, st.integers(1, 4096))
def test_stdio_outlives_what_it_is_fed_for_long(
    runner: asyncio.Runner, stream: bytes, cut: int
) -> None:
    check_stdio(runner, APP, stream, cut)


# ---- HTTP --------------------------------------------------------------------------------------------

_header_values = st.one_of(
    st.sampled_from([STATELESS, HANDSHAKE, "2024-11-05", "tools/call", "functions.Add", "1", ""]),
    st.binary(max_size=20).map(lambda raw: raw.translate(None, b"\r\n\0").decode("latin-1")),
)
_header_names = st.sampled_from(
    [
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
        "last-event-id",
        "accept",
        "content-type",
        "origin",
        "host",
        "content-length",
    ]
)


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[str, dict[str, str], bytes]:
    """Draw a method, headers that fit or don't, and a body."""
    body = draw(lines() | lines() | streams)
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        message = json.loads(body)
        headers["mcp-method"] = str(message["method"])
        headers["mcp-name"] = str(message["params"].get("name") or message["params"]["uri"])
        version = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
        headers["mcp-protocol-version"] = str(version)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass  # then its headers are what they are
    headers |= draw(st.dictionaries(_header_names, _header_values, max_size=2))
    method = draw(st.sampled_from(["POST"] * 8 + ["GET", "DELETE", "OPTIONS", "HEAD", "PUT"]))
    return method, headers, body


async def answered(app: App, method: str, headers: dict[str, str], body: bytes) -> list[Any]:
    """Send one request through ASGI, and go away after a moment."""
    fields = [(name.encode(), value.encode("utf-8", "replace")) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": "/mcp", "headers": fields}
    scope |= {"raw_path": b"/mcp", "query_string": b"", "server": ("127.0.0.1", 80)}
    sent: list[Any] = []
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]

    async def receive() -> Any:
        if parts:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
        await asyncio.sleep(0.1)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async with asyncio.timeout(PATIENCE):
        await app.asgi(scope, receive, send)
    return sent


def check_http(
    runner: asyncio.Runner, app: App, exchange: tuple[str, dict[str, str], bytes]
) -> None:
    sent = runner.run(answered(app, *exchange))
    starts = [message for message in sent if message["type"] == "http.response.start"]
    assert len(starts) <= 1
    if starts:
        assert starts[0]["status"] < 500, (exchange, sent)
        for name, value in starts[0]["headers"]:
            assert not set(name + value) & set(b"\r\n\0")
    assert len(app.asgi.mcp.endpoint._attendant.sessions) <= MOST


@examined(SHORT)
@given(exchanges())
def test_http_outlives_what_it_is_sent(
    runner: asyncio.Runner, exchange: tuple[str, dict[str, str], bytes]
) -> None:
    check_http(runner, APP, exchange)


@long_run
@examined(LONG)
@given(exchanges())
def test_http_outlives_what_it_is_sent_for_long(
    runner: asyncio.Runner, exchange: tuple[str, dict[str, str], bytes]
) -> None:
    check_http(runner, APP, exchange)


# ---- real servers ------------------------------------------------------------------------------------


def sizes(ask: Callable[[Message], Message], message: Message) -> dict[str, int]:
    """Ask a server for its memory, its files and its threads."""
    found: dict[str, int] = ask(message)["result"]["structuredContent"]["result"]
    return found


def check_growth(before: dict[str, int], after: dict[str, int], megabytes: int) -> None:
    assert after["pid"] == before["pid"]
    assert after["files"] <= before["files"] + 2
    assert after["rss"] < before["rss"] + megabytes * 1024 * 1024


@st.composite
def tcp(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a request over HTTP, and cut or change them somewhere."""
    method, headers, body = draw(exchanges())
    headers = {"host": "localhost", "content-length": str(len(body)), **headers}
    if draw(st.booleans()):
        headers["connection"] = "close"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    raw = f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode("utf-8", "replace") + body
    if draw(st.booleans()):
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(st.binary(max_size=9)) + raw[at + draw(st.integers(0, 9)) :]
    return raw


def send_and_leave(server: Server, data: bytes) -> None:
    """Send bytes, read what comes at once, and hang up."""
    with server.open() as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(0.02)
            connection.recv(65536)
        except (OSError, TimeoutError):
            return


@pytest.fixture(scope="module")
def target() -> Iterator[Server]:
    with serving(MISCHIEF) as server:
        yield server


def check_target(server: Server, sent: list[bytes]) -> None:
    poster = Poster(server)
    assert poster.is_well()
    before = sizes(poster.ask, poster.call_of("Process"))
    for data in sent:
        send_and_leave(server, data)
    assert poster.is_well()

    def is_back() -> bool:
        return sizes(poster.ask, poster.call_of("Process"))["files"] <= before["files"] + 2

    eventually(is_back, "the end of every connection")
    check_growth(before, sizes(poster.ask, poster.call_of("Process")), 32)


def feed(pipe: Pipe, stream: bytes) -> None:
    """Feed a stream to a server, and read until it has answered a last request."""
    assert pipe.process.stdin is not None
    pipe.process.stdin.write(stream + b"\n" + json.dumps(_END).encode() + b"\n")
    pipe.process.stdin.flush()
    while b'"this is the end"' not in (line := pipe.lines.get(timeout=PATIENCE)):
        assert line, "it ended"
        assert msgspec.json.decode(line)["jsonrpc"] == "2.0"


@examined(5)
@given(st.lists(tcp(), min_size=5, max_size=10))
def test_a_real_server_over_http_outlives_it(target: Server, sent: list[bytes]) -> None:
    check_target(target, sent)


@long_run
@examined(50)
@given(st.lists(tcp(), min_size=20, max_size=50))
def test_a_real_server_over_http_outlives_it_for_long(target: Server, sent: list[bytes]) -> None:
    check_target(target, sent)


def check_real_stdio(count: int) -> None:
    with piped(MISCHIEF, "--max-message", "20K") as pipe:

        @examined(count)
        @given(streams)
        def fed(stream: bytes) -> None:
            feed(pipe, stream)

        feed(pipe, b"[" * LIMIT * 2)
        before = sizes(pipe.ask, pipe.call_of("Process"))
        fed()
        check_growth(before, sizes(pipe.ask, pipe.call_of("Process", "again")), 32)
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        assert pipe.process.wait(PATIENCE) == 0


def test_a_real_server_on_stdio_outlives_it() -> None:
    check_real_stdio(60)


@long_run
def test_a_real_server_on_stdio_outlives_it_for_long() -> None:
    check_real_stdio(LONG)


def test_a_client_that_does_not_read_makes_a_server_wait_not_grow() -> None:
    """What waits to be read is bounded: a server stops to read before it holds too much."""
    count, big = 400, "x" * 200_000
    with piped(MISCHIEF) as pipe:
        assert pipe.is_well()
        sent: list[int] = []
        before = resident(pipe.process.pid)
        pipe.listening.clear()

        def send() -> None:
            for number in range(count):
                pipe.send(pipe.call_of("Same", number, value=big))
                sent.append(number)

        sending = threading.Thread(target=send)
        sending.start()
        looks = [-1]

        def is_stuck() -> bool:
            time.sleep(0.2)  # it is the standstill that is waited for
            looks.append(len(sent))
            return looks[-1] == looks[-2] > 0

        eventually(is_stuck, "the server's pause")
        assert len(sent) < count
        assert resident(pipe.process.pid) < before + 64 * 1024 * 1024
        pipe.listening.set()
        assert {pipe.hear()["id"] for _ in range(count)} == set(range(count))
        sending.join()


@pytest.mark.parametrize("revision", BOTH)
def test_a_function_that_reports_more_than_is_read_makes_nothing_grow(
    tmp_path: Path, revision: str
) -> None:
    count, notes = 100_000, tmp_path / "notes"
    with piped(MISCHIEF, revision=revision, notes=notes) as pipe:
        assert pipe.is_well()
        before = resident(pipe.process.pid)
        pipe.listening.clear()
        asked = pipe.call_of("Pour", 1, count=count)
        asked["params"].setdefault("_meta", {})["progressToken"] = "t"
        pipe.send(asked)
        eventually(lambda: "poured" in lines_in(notes), "the end of its reports")
        assert resident(pipe.process.pid) < before + 64 * 1024 * 1024
        pipe.listening.set()
        assert pipe.answer_to(1)["result"]["structuredContent"] == {"result": count}
        steps = [
            told["params"]["progress"]
            for told in pipe.told
            if told["method"] == "notifications/progress"
        ]
        assert 0 < len(steps) < count
        assert steps == sorted(set(steps))


def resident(pid: int) -> int:
    """Give the bytes of memory that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
