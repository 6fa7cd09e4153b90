"""How the toolbox speaks with servers of MCP: pages, lifetimes, changes, ids, cookies, credentials.

The servers here are a few lines over a socket, so that each says just what its test is about.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest

from kuniumi.agent import Server, ServerError, Toolbox

Said = dict[str, Any]
Answering = Callable[[str, Said, dict[str, str]], Any]

GREETING = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
}


class Raw(msgspec.Struct):
    """A response as it is to be sent."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = {}


def tool(name: str, **more: Any) -> Said:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def text(said: str) -> Said:
    return {"resultType": "complete", "content": [{"type": "text", "text": said}]}


@asynccontextmanager
async def server(answers: Answering, path: str = "/mcp") -> AsyncIterator[str]:
    """Serve: what `answers` gives for a method and its parameters is the result of a request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *fields = head.strip().split("\r\n")
                headers = {
                    name.lower(): value
                    for name, _, value in (field.partition(": ") for field in fields)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                writer.write(_respond(answers, line, headers, body))
        except (EOFError, OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}{path}"


def _respond(answers: Answering, line: str, headers: dict[str, str], body: bytes) -> bytes:
    message: Said = {"method": line.split(" ")[1], "id": None}
    if body:
        message = msgspec.json.decode(body)
    method = message["method"]
    found = answers(method, {**(message.get("params") or {}), "id": message.get("id")}, headers)
    if found is None and method == "server/discover":
        found = GREETING
    if not isinstance(found, Raw):
        said = found if found is not None and "jsonrpc" in found else {"result": found}
        said = {"jsonrpc": "2.0", "id": message.get("id"), **said}
        found = Raw(msgspec.json.encode(said), headers={"Content-Type": "application/json"})
    fields = {"Content-Length": str(len(found.body)), **found.headers}
    written = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {found.status} X\r\n{written}\r\n".encode() + found.body


async def until(holds: Callable[[], bool], step: Callable[[], Any] | None = None) -> None:
    async with asyncio.timeout(10):
        while not holds():
            if step is not None:
                await step()
            await asyncio.sleep(0.02)


def run(answers: Answering, use: Callable[[Toolbox], Any], **options: Any) -> None:
    async def main() -> None:
        async with (
            server(answers) as url,
            Toolbox(Server(where=url, **options), timeout=5) as tools,
        ):
            await use(tools)

    asyncio.run(main())


# ---- lists -----------------------------------------------------------------------------------------


def test_a_list_in_pages_is_read_to_its_end() -> None:
    def answers(method: str, params: Said, _: Said) -> Any:
        if method == "tools/list":
            page = int(params.get("cursor", "0"))
            more = {"nextCursor": str(page + 1)} if page < 3 else {}
            return {"tools": [tool(f"t{page}")], **more}
        return None

    async def use(tools: Toolbox) -> None:
        assert [each.name for each in tools] == ["t0", "t1", "t2", "t3"]

    run(answers, use)


def test_pages_that_lead_in_a_circle_end() -> None:
    def answers(method: str, _: Said, __: Said) -> Any:
        return {"tools": [tool("t")], "nextCursor": "again"} if method == "tools/list" else None

    async def use(tools: Toolbox) -> None:
        assert [each.name for each in tools] == ["t"]

    run(answers, use)


def test_pages_without_end_are_refused() -> None:
    def answers(method: str, params: Said, _: Said) -> Any:
        if method == "tools/list":
            page = int(params.get("cursor", "0"))
            names = (f"t{page}_{n}" for n in range(20_000))
            return {"tools": [tool(name) for name in names], "nextCursor": str(page + 1)}
        return None

    async def use(_: Toolbox) -> None:
        raise AssertionError

    with pytest.raises(ServerError, match="more than 100,000 tools"):
        run(answers, use)


def test_a_list_is_asked_for_again_when_its_time_is_over() -> None:
    asked = 0

    def answers(method: str, params: Said, _: Said) -> Any:
        nonlocal asked
        if method == "tools/list":
            asked += 1
            return {"tools": [tool(f"t{asked}")], "ttlMs": 2000 if asked == 1 else 3_600_000}
        return text(params["name"]) if method == "tools/call" else None

    async def use(tools: Toolbox) -> None:
        await tools.freshen()
        assert (asked, list(tools.tools.names)) == (1, ["t1"])
        await until(lambda: asked == 2, tools.freshen)
        assert "t2" in tools
        await tools.freshen()
        assert asked == 2
        assert (await tools.call("t1")).text == "t1", "what a model was told goes on to be found"

    run(answers, use)


def test_a_server_that_calls_every_list_changed_is_not_asked_without_pause() -> None:
    asked = 0
    changed = msgspec.json.encode({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def answers(method: str, params: Said, _: Said) -> Any:
        nonlocal asked
        if method == "tools/list":
            asked += 1
            return {"tools": [tool(f"t{asked}")]}
        if method != "tools/call":
            return None
        said = msgspec.json.encode({"jsonrpc": "2.0", "id": params["id"], "result": text("done")})
        stream = b"data: %b\n\n" % changed * 50 + b"data: %b\n\n" % said
        return Raw(stream, headers={"Content-Type": "text/event-stream"})

    async def use(tools: Toolbox) -> None:
        began = time.monotonic()
        for _ in range(3):
            assert (await tools.call("t1")).text == "done"
        await until(lambda: "t2" in tools)
        # At most two of them in a second, and one at the beginning.
        assert asked <= 2 + 2 * (time.monotonic() - began)

    run(answers, use)


def test_tools_of_several_servers_keep_names_of_their_own_whatever_those_are() -> None:
    def named(*names: str) -> Answering:
        def answers(method: str, params: Said, _: Said) -> Any:
            if method == "tools/list":
                return {"tools": [tool(name) for name in names]}
            return text(params["name"]) if method == "tools/call" else None

        return answers

    async def main() -> None:
        async with (
            server(named("x", "x", "y")) as one,
            server(named("x", "a_b_x")) as two,
            server(named("x")) as three,
            Toolbox(
                Server(where=one, name="a b"),
                Server(where=two, name="a.b"),
                Server(where=three, name="a_b"),
            ) as tools,
        ):
            names = [each.name for each in tools]
            assert len(names) == len(set(names)) == 5, names
            assert {"y", "a_b_x"} <= set(names)
            for name in names:
                own = (await tools.call(name)).text
                assert own == {"y": "y", "a_b_x": "a_b_x"}.get(name, "x")

    asyncio.run(main())


# ---- messages --------------------------------------------------------------------------------------


def test_an_id_that_came_back_as_text_is_the_same() -> None:
    def answers(method: str, _: Said, headers: dict[str, str]) -> Any:
        del headers
        return {"tools": [tool("t")]} if method == "tools/list" else text("hi")

    def with_text(method: str, params: Said, headers: dict[str, str]) -> Any:
        found = answers(method, params, headers)
        numbers = {"server/discover": "1", "tools/list": "2", "tools/call": "3"}
        result = GREETING if method == "server/discover" else found
        return {"jsonrpc": "2.0", "id": numbers[method], "result": result}

    async def use(tools: Toolbox) -> None:
        assert (await tools.call("t")).text == "hi"

    run(with_text, use)


# ---- what goes with requests -----------------------------------------------------------------------


def recording(seen: list[dict[str, str]], then: Answering | None = None) -> Answering:
    def answers(method: str, params: Said, headers: dict[str, str]) -> Any:
        seen.append(headers)
        if then is not None and (found := then(method, params, headers)) is not None:
            return found
        if method == "tools/list":
            return {"tools": [tool("t")]}
        return text("hi") if method == "tools/call" else None

    return answers


def test_a_cookie_that_was_set_comes_back() -> None:
    seen: list[dict[str, str]] = []

    def then(method: str, _: Said, __: Said) -> Any:
        if method != "tools/list":
            return None
        said = {"jsonrpc": "2.0", "id": 2, "result": {"tools": [tool("t")]}}
        cookie = {"Content-Type": "application/json", "Set-Cookie": "sticky=7; Path=/"}
        return Raw(msgspec.json.encode(said), headers=cookie)

    async def use(tools: Toolbox) -> None:
        assert (await tools.call("t")).text == "hi"

    run(recording(seen, then), use)
    assert [headers.get("cookie") for headers in seen] == [None, None, "sticky=7"]


class Token(httpx.Auth):
    """Asks for a new token when the old one is refused."""

    def __init__(self) -> None:
        self.token = "old"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self.token}"
        response = yield request
        if response.status_code == 401:
            self.token = "new"
            request.headers["Authorization"] = f"Bearer {self.token}"
            yield request


def test_credentials_that_are_renewed_are_used() -> None:
    seen: list[dict[str, str]] = []

    def then(_: str, __: Said, headers: dict[str, str]) -> Any:
        return None if headers["authorization"] == "Bearer new" else Raw(status=401)

    async def use(tools: Toolbox) -> None:
        assert (await tools.call("t")).text == "hi"

    run(recording(seen, then), use, auth=Token())
    assert [headers["authorization"] for headers in seen] == ["Bearer old"] + ["Bearer new"] * 3


def test_credentials_in_an_address_are_sent() -> None:
    seen: list[dict[str, str]] = []

    async def main() -> None:
        async with server(recording(seen)) as url:
            where = url.replace("http://", "http://me:secret@")
            async with Toolbox(where) as tools:
                assert (await tools.call("t")).text == "hi"
                assert "secret" not in str(tools.servers)

    asyncio.run(main())
    assert {headers.get("authorization") for headers in seen} == {"Basic bWU6c2VjcmV0"}


def test_a_client_of_ones_own_is_used_with_all_that_it_brings() -> None:
    seen: list[dict[str, str]] = []
    hooked: list[str] = []

    async def hook(request: httpx.Request) -> None:
        hooked.append(request.method)

    async def main() -> None:
        async with (
            server(recording(seen)) as url,
            httpx.AsyncClient(headers={"X-Own": "1"}, event_hooks={"request": [hook]}) as client,
            Toolbox(Server(where=url, http=client, headers={"X-More": "2"})) as tools,
        ):
            assert (await tools.call("t")).text == "hi"

    asyncio.run(main())
    assert hooked == ["POST"] * 3
    for headers in seen:
        assert (headers["x-own"], headers["x-more"]) == ("1", "2")
        assert headers["accept-encoding"] == "identity", "what is packed could unpack to any size"


def test_a_connection_that_was_closed_while_the_loop_was_held_up_is_not_used_again() -> None:
    closed = threading.Semaphore(0)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        """Answer each request on a connection of its own; only the first answer says so.

        A second request follows the first at once, and might be on its way before the end is known.
        """
        for says_so in (b"Connection: close\r\n", b"", b"", b""):
            try:
                connection, _address = listening.accept()
            except OSError:  # the test has failed, and says why
                return
            with connection, connection.makefile("rb") as sent:
                line = sent.readline().decode()
                fields = dict(
                    field.decode().strip().lower().split(": ", 1)
                    for field in iter(sent.readline, b"\r\n")
                )
                body = sent.read(int(fields["content-length"]))
                head, end, rest = _respond(recording([]), line, fields, body).partition(b"\r\n")
                connection.sendall(head + end + says_so + rest)
            closed.release()

    async def main() -> None:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        async with Toolbox(url, retries=0) as tools:
            for ended in (2, 1):  # since it was last asked
                for _ in range(ended):
                    assert closed.acquire(timeout=10), "the loop is held up on purpose"
                assert (await tools.call("t")).text == "hi"

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    with listening:
        asyncio.run(main())
    serving.join(10)


# ---- descriptions of web servers -------------------------------------------------------------------

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Web"},
    "servers": [{"url": "/v1"}],
    "paths": {
        "/one": {
            "get": {
                "operationId": "one",
                "parameters": [{"name": "X-Key", "in": "header", "required": True}],
            }
        },
        "/two": {"servers": [{"url": "/v2"}], "get": {"operationId": "two"}},
        "/three": {"get": {"operationId": "three", "servers": [{"url": "http://example.com/"}]}},
    },
}


def web(seen: list[str], then: Answering | None = None) -> Answering:
    def answers(target: str, params: Said, headers: dict[str, str]) -> Any:
        seen.append(target)
        if then is not None and (found := then(target, params, headers)) is not None:
            return found
        json = {"Content-Type": "application/json"}
        if target == "/openapi.json":
            return Raw(msgspec.json.encode(DOCUMENT), headers=json)
        return Raw(msgspec.json.encode(headers.get("x-key", "")), headers=json)

    return answers


def run_web(answers: Answering, use: Callable[[Toolbox], Any], **options: Any) -> None:
    async def main() -> None:
        async with (
            server(answers, "/openapi.json") as url,
            Toolbox(Server(where=url, **options), timeout=5) as tools,
        ):
            await use(tools)

    asyncio.run(main())


def test_operations_are_called_where_they_are_said_to_be() -> None:
    seen: list[str] = []

    async def use(tools: Toolbox) -> None:
        assert (await tools.call("one", {"X-Key": "k"})).text.strip('"') == "k"
        assert not (await tools.call("two")).declared_error
        elsewhere = await tools.call("three")
        assert elsewhere.declared_error
        assert "http://example.com" in elsewhere.text

    run_web(web(seen), use)
    assert seen == ["/openapi.json", "/v1/one", "/v2/two"]


def test_a_header_of_the_servers_own_is_not_asked_of_models() -> None:
    async def use(tools: Toolbox) -> None:
        found = tools.find("one")
        assert found is not None
        assert found.input_schema["properties"] == {}
        assert (await tools.call("one")).text.strip('"') == "secret"

    run_web(web([]), use, headers={"x-key": "secret"})


def test_a_document_that_has_moved_is_followed_where_the_server_is_the_same() -> None:
    seen: list[str] = []

    def then(target: str, _: Said, __: Said) -> Any:
        if target == "/openapi.json" and len(seen) == 1:
            return Raw(status=302, headers={"Location": "/openapi.json?moved"})
        if target == "/openapi.json?moved":
            return Raw(msgspec.json.encode(DOCUMENT))
        return None

    async def use(tools: Toolbox) -> None:
        assert len(tools) == 3

    run_web(web(seen, then), use)
    assert seen == ["/openapi.json", "/openapi.json?moved"]


def test_a_busy_web_server_is_asked_again_when_it_said() -> None:
    seen: list[str] = []

    def then(target: str, _: Said, __: Said) -> Any:
        busy = target == "/v2/two" and seen.count(target) == 1
        return Raw(b"{}", 503, {"Retry-After": "1"}) if busy else None

    async def use(tools: Toolbox) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        assert not (await tools.call("two")).declared_error
        assert loop.time() - started >= 0.9

    run_web(web(seen, then), use)
    assert seen.count("/v2/two") == 2


def test_an_answer_that_is_packed_unasked_is_an_error_that_says_so() -> None:
    def then(target: str, _: Said, __: Said) -> Any:
        packed = {"Content-Encoding": "gzip"}
        return Raw(gzip.compress(b"{}"), headers=packed) if target == "/v2/two" else None

    async def use(tools: Toolbox) -> None:
        answer = await tools.call("two")
        assert answer.declared_error
        assert "compressed" in answer.text

    run_web(web([], then), use)
