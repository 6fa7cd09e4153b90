"""Servers that answer late, twice, half, never, too much: the loop goes on, and memory is bounded."""

from __future__ import annotations

import asyncio
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kuniumi.agent import Answer, Server, ServerError, Toolbox

CHAOS = Path(__file__).parent / "servers" / "chaos.py"


def chaos(folder: Path, **options: Any) -> Server:
    where = [sys.executable, str(CHAOS)]
    return Server(where=where, env={"NOTES": str(folder / "notes")}, **options)


def call_once(server: Any, name: str, arguments: Any = None, **options: Any) -> Answer:
    async def main() -> Answer:
        async with Toolbox(server, **options) as tools:
            answer = await tools.call(name, arguments)
            fine = await tools.call("fine")
            assert fine.text == "fine is done", "the loop goes on"
            return answer

    return asyncio.run(main())


@pytest.mark.parametrize("name", ["fine", "twice", "drip", "noise"])
def test_what_can_be_read_is_read(name: str, tmp_path: Path) -> None:
    assert call_once(chaos(tmp_path), name).text == f"{name} is done"


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    assert call_once(chaos(tmp_path), "garbled").text == "caf\ufffd \ufffd"


def test_a_server_that_never_answers_is_told_that_nobody_waits(tmp_path: Path) -> None:
    started = time.monotonic()
    answer = call_once(chaos(tmp_path), "never", timeout=0.3)
    assert answer.declared_error
    assert answer.text == "chaos: never gave no answer within 0.3 s"
    assert time.monotonic() - started < 10
    assert (tmp_path / "notes").read_text() == "cancelled\n"


def test_a_task_that_nobody_waits_for_any_more_is_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        async with Toolbox(chaos(tmp_path)) as tools:
            answer = await tools.call("task", timeout=0.3)
            assert "no answer within 0.3 s" in answer.text
            notes = tmp_path / "notes"
            async with asyncio.timeout(10):
                while "stopped t7" not in notes.read_text():  # noqa: ASYNC110 - a file tells nobody
                    await asyncio.sleep(0.01)
            assert "waited for" in notes.read_text()

    asyncio.run(main())


def test_an_answer_that_comes_too_late_is_nobodys(tmp_path: Path) -> None:
    answer = call_once(chaos(tmp_path), "late", {"seconds": 0.5}, timeout=2)
    assert answer.text == "late is done"

    async def main() -> None:
        async with Toolbox(chaos(tmp_path)) as tools:
            late = await tools.call("late", {"seconds": 0.5}, timeout=0.1)
            assert late.declared_error
            assert (await tools.call("fine")).text == "fine is done"

    asyncio.run(main())


@pytest.mark.parametrize("name", ["half", "die"])
def test_a_server_that_dies_is_told_of_and_started_again(name: str, tmp_path: Path) -> None:
    answer = call_once(chaos(tmp_path), name)
    assert answer.declared_error
    assert "ended with exit code" in answer.text


def test_what_it_said_on_stderr_is_told(tmp_path: Path) -> None:
    assert call_once(chaos(tmp_path), "die").text.endswith("exit code 9: out of luck")


def test_only_what_may_be_done_twice_is_done_again(tmp_path: Path) -> None:
    assert call_once(chaos(tmp_path), "die_safely").text == "fine is done"
    assert (tmp_path / "notes").read_text().count("died") == 1
    (tmp_path / "notes").unlink()
    assert call_once(chaos(tmp_path), "die").declared_error
    assert (tmp_path / "notes").read_text().count("died") == 1


def test_a_flood_costs_that_one_answer_and_no_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        server = chaos(tmp_path, max_bytes=1_000_000)
        answer = call_once(server, "flood", {"megabytes": 100})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.declared_error
    assert "longer than 1,000,000 bytes" in answer.text
    assert peak < 20_000_000


@pytest.mark.parametrize("result", [None, 1, "x", [], {}, {"content": 3}, {"isError": "maybe"}])
def test_results_of_any_shape_are_answers(result: Any, tmp_path: Path) -> None:
    assert isinstance(call_once(chaos(tmp_path), "odd", {"result": result}), Answer)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (["/no/such/program"], "cannot be started"),
        ([sys.executable, "-c", "raise SystemExit('bad day')"], "exit code 1: bad day"),
        ([sys.executable, "-c", "print('hello')"], "ended with exit code 0"),
        ("http://127.0.0.1:9/mcp", "cannot be reached"),
    ],
)
def test_a_server_that_is_none_is_told_when_the_toolbox_opens(where: Any, said: str) -> None:
    async def main() -> None:
        with pytest.raises(ServerError, match=said):
            async with Toolbox(Server(where=where, start_timeout=20)):
                pass
        optional = Server(where=where, start_timeout=20, optional=True)
        async with Toolbox(optional) as tools:
            assert len(tools) == 0
            (trouble,) = tools.servers.values()
            assert said in trouble

    asyncio.run(main())


# ---- what is left behind: nothing -----------------------------------------------------------------

HANGS = [sys.executable, "-c", "import time; time.sleep(60)"]


def children() -> set[str]:
    """Give the processes that this one has started, and that have not ended."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


def test_a_toolbox_that_cannot_open_leaves_no_process(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(ServerError, match="cannot be started"):
            async with Toolbox(chaos(tmp_path), ["/no/such/program"], HANGS, chaos(tmp_path)):
                pass
        assert children() <= before

    before = children()
    asyncio.run(main())


def test_who_stops_waiting_for_a_toolbox_leaves_no_process(tmp_path: Path) -> None:
    async def main() -> None:
        async def use() -> None:
            async with Toolbox(chaos(tmp_path), HANGS):
                pass

        using = asyncio.create_task(use())
        async with asyncio.timeout(10):
            while len(children() - before) < 2:  # noqa: ASYNC110 - nobody tells of processes
                await asyncio.sleep(0.01)
        using.cancel()
        with pytest.raises(asyncio.CancelledError):
            await using
        assert children() <= before

    before = children()
    asyncio.run(main())


def test_a_server_that_starts_too_slowly_for_a_call_is_begun_anew_by_the_next(
    tmp_path: Path,
) -> None:
    slow = tmp_path / "slow"

    async def main() -> None:
        program = (
            "import os, runpy, sys, time\n"
            f"time.sleep(60 if os.path.exists({str(slow)!r}) else 0)\n"
            f"runpy.run_path({str(CHAOS)!r}, run_name='__main__')\n"
        )
        server = Server(
            where=[sys.executable, "-c", program], env={"NOTES": str(tmp_path / "notes")}
        )
        async with Toolbox(server) as tools:
            slow.touch()
            assert (await tools.call("die")).declared_error
            late = await tools.call("fine", timeout=0.5)
            assert "no answer within 0.5 s" in late.text
            slow.unlink()
            assert (await tools.call("fine", timeout=10)).text == "fine is done"
        assert children() <= before

    before = children()
    asyncio.run(main())


# ---- over HTTP -------------------------------------------------------------------------------------

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]

LISTED = (
    b'{"jsonrpc":"2.0","id":%b,"result":{"resultType":"complete","tools":'
    b'[{"name":"fine","inputSchema":{}},{"name":"odd","inputSchema":{}}]}}'
)
GREETED = (
    b'{"jsonrpc":"2.0","id":%b,"result":{"resultType":"complete",'
    b'"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}'
)
DONE = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"fine is done"}]}}'


def response(body: bytes, media: bytes = b"application/json") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
    return head % (media, len(body)) + body


@asynccontextmanager
async def server_that(answers: Answering) -> AsyncIterator[str]:
    """Serve MCP by hand; the tool `odd` is answered by whoever tests."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                body = await reader.readexactly(length)
                number = body.partition(b'"id":')[2].partition(b",")[0]
                if b'"odd"' in body:
                    await answers(reader, writer, number)
                    continue
                known = {b"server/discover": GREETED, b"tools/list": LISTED}
                said = next((each for name, each in known.items() if name in body), DONE)
                writer.write(response(said % number))
        except (EOFError, OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def call_odd(answers: Answering, **options: Any) -> Answer:
    async def main() -> Answer:
        async with server_that(answers) as url, Toolbox(url, **options) as tools:
            answer = await tools.call("odd")
            assert (await tools.call("fine")).text == "fine is done", "the loop goes on"
            return answer

    return asyncio.run(main())


def saying(data: bytes, *, closes: bool = True) -> Answering:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter, number: bytes) -> None:
        writer.write(data.replace(b"ID", number))
        await writer.drain()
        if closes:
            raise EOFError

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENTS = CHUNKED.replace(b"application/json", b"text/event-stream")
RESULT = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"odd"}]}}'
EVENT = b": hello\r\n\r\nid: 1\r\ndata: " + RESULT + b"\n\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}1",
        b"HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
        CHUNKED + b"zz\r\n{}",
        CHUNKED + b"2\r\n{}more",
        CHUNKED + b"5\r\n{}",
        EVENTS + b"5\r\ndata:\r\n",
    ],
)
def test_http_that_is_none_is_an_error_answer(data: bytes) -> None:
    answer = call_odd(saying(data), timeout=5)
    assert answer.declared_error
    assert answer.text


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 500 Oh\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>!",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>!",
        b"HTTP/1.1 307 Go\r\nLocation: http://example.com/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 308 Go\r\nLocation: /mcp\r\nContent-Length: 0\r\n\r\n",
        EVENTS + b"8\r\ndata: {}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\xff\xfe\x00",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_answers_of_something_else_are_error_answers(data: bytes) -> None:
    answer = call_odd(saying(data, closes=False), timeout=5)
    assert answer.declared_error
    assert answer.text


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + RESULT,
        b"HTTP/1.0 200\r\n\r\n" + RESULT,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + RESULT,
        EVENTS + b"%x\r\n%b\r\n" % (len(EVENT), EVENT),
    ],
    ids=["until it closes", "1.0", "continued", "event"],
)
def test_every_form_of_http_is_read(data: bytes) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter, number: bytes) -> None:
        # In the event's chunk, the id is as long as its placeholder.
        writer.write(data.replace(b"ID", number.rjust(2)))
        raise EOFError

    assert call_odd(answer, timeout=5).text == "odd"


def test_a_flood_over_http_is_left() -> None:
    sent = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter, number: bytes) -> None:
        nonlocal sent
        writer.write(CHUNKED)
        for _turn in range(100):
            writer.write(b"f4240\r\n" + b"x" * 1_000_000 + b"\r\n")
            await writer.drain()
            sent += 1

    async def main() -> Answer:
        async with server_that(flood) as url, Toolbox(bounded(url)) as tools:
            return await tools.call("odd")

    def bounded(url: str) -> Server:
        return Server(where=url, max_bytes=2_000_000)

    answer = asyncio.run(main())
    assert "longer than 2,000,000 bytes" in answer.text
    assert sent < 20


def test_a_server_that_hangs_is_left_in_time() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(EVENTS)
        assert await reader.read() == b"", "the client leaves the stream: that cancels the call"

    answer = call_odd(hang, timeout=0.2)
    assert "no answer within 0.2 s" in answer.text


def test_a_busy_server_is_asked_again_after_a_while() -> None:
    asked = 0

    async def busy(_: asyncio.StreamReader, writer: asyncio.StreamWriter, number: bytes) -> None:
        nonlocal asked
        asked += 1
        if asked < 3:
            writer.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
        else:
            writer.write(response(RESULT.replace(b"ID", number)))

    assert call_odd(busy).text == "odd"
    assert asked == 3


# ---- over one stream, as it was in 2024 ------------------------------------------------------------

SHOOK = (
    b'{"jsonrpc":"2.0","id":%b,"result":{"protocolVersion":"2024-11-05",'
    b'"capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}'
)


@asynccontextmanager
async def old_server(endpoint: bytes = b"/post", odd: bytes = b"") -> AsyncIterator[str]:
    """Serve MCP over one stream; `odd` is said on it, before it ends, when that tool is called."""
    streams: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"GET"):
                    streams.append(writer)
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                    writer.write(b"event: endpoint\ndata: %b\n\n" % endpoint)
                    continue
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                body = await reader.readexactly(length)
                writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                number = body.partition(b'"id":')[2].partition(b",")[0]
                if b'"odd"' in body:
                    streams[-1].write(odd.replace(b"ID", number))
                    streams.pop().close()
                elif b'"id"' in body:
                    known = {b'"initialize"': SHOOK, b'"tools/list"': LISTED}
                    said = next((each for name, each in known.items() if name in body), DONE)
                    streams[-1].write(b"event: message\ndata: %b\n\n" % (said % number))
        except (EOFError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sse"


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (b"", "has ended its stream"),
        (b"data: {\n\n", "has ended its stream"),
        (b"data: " + b"x" * 2_000_000, "longer than 1,000,000 bytes"),
    ],
)
def test_a_stream_that_ends_is_opened_again_by_the_next_call(odd: bytes, said: str) -> None:
    async def main() -> None:
        async with (
            old_server(odd=odd) as url,
            Toolbox(Server(where=url, max_bytes=1_000_000), timeout=5) as tools,
        ):
            assert list(tools.servers) == ["old"]
            answer = await tools.call("odd")
            assert answer.declared_error
            assert said in answer.text
            assert (await tools.call("fine")).text == "fine is done"

    asyncio.run(main())


def test_an_answer_before_the_end_of_a_stream_counts() -> None:
    async def main() -> None:
        odd = b"data: " + RESULT + b"\n\ndata: " + RESULT + b"\n\n"
        async with old_server(odd=odd) as url, Toolbox(url, timeout=5) as tools:
            assert (await tools.call("odd")).text == "odd"

    asyncio.run(main())


@pytest.mark.parametrize("endpoint", [b"http://example.com/post", b"//example.com/post"])
def test_a_stream_cannot_have_requests_posted_elsewhere(endpoint: bytes) -> None:
    async def main() -> None:
        async with old_server(endpoint) as url, Toolbox(Server(where=url, kind="sse")):
            pass

    with pytest.raises(ServerError, match="it may not"):
        asyncio.run(main())
