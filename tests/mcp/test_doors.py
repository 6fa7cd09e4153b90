"""The testing door for MCP: what an author of functions sees of each way in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from kuniumi import App, Context, Text, ToolResult
from kuniumi.testing import SURFACES, connect

MCP = [surface for surface in SURFACES if surface.startswith("mcp")]
everywhere = pytest.mark.parametrize("surface", MCP)


def adding() -> App:
    app = App(name="Calculator", version="1.0.0")

    @app.function
    def Add(x: int, y: int) -> int:
        return x + y

    return app


def test_both_transports_are_there_in_both_ways_of_speaking() -> None:
    assert MCP == ["mcp-http", "mcp-stdio", "mcp-http-handshake", "mcp-stdio-handshake"]


@everywhere
def test_a_result_is_0_a_failure_is_1_and_an_error_is_its_code(surface: str) -> None:
    with connect(adding(), surface) as door:
        assert door.call("Add", x=7, y=3).status == 0
        assert door.call("functions.Add", x=7, y=3).body == b'{"result":10}'
        assert door.call("Add", x="seven", y=3).status == 1
        assert door.call("Sub", x=7, y=3).status == -32602
        assert door.call("Sub").envelope == {"error": "Function not found: Sub"}
        assert door.call("Add", b"[7,3]").status == -32602


@everywhere
@pytest.mark.parametrize(
    "raw", [b"{", b"]", b"{},", b'{},"name":"x"', b'{}},"id":2,"x":{"y":{}', b"\xff", b" ", b"\n"]
)
def test_what_is_no_json_stays_no_json_whatever_stands_around_it(surface: str, raw: bytes) -> None:
    with connect(adding(), surface) as door:
        assert door.call("Add", raw).status == -32700
        assert door.call("Add", x=7, y=3).status == 0


@everywhere
def test_json_may_have_lines(surface: str) -> None:
    with connect(adding(), surface) as door:
        assert door.call("Add", b'{\n"x": 7,\r\n"y": 3\n}').body == b'{"result":10}'
        assert door.call("Add", b'{"x": "7\n", "y": 3}').status == -32700


@everywhere
def test_content_is_the_body_where_there_is_no_envelope(surface: str) -> None:
    app = App()

    @app.function
    def Say() -> Text:
        return Text("Hello")

    @app.function
    def Count() -> ToolResult[int]:
        return ToolResult(3, "three of them")

    with connect(app, surface) as door:
        assert door.call("Say").envelope == {"content": [{"type": "text", "text": "Hello"}]}
        assert door.call("Count").envelope == {"result": 3}
        assert b"three of them" in door.call("Count").message


@everywhere
def test_what_a_function_tells_on_the_way_is_not_the_answer(surface: str) -> None:
    app = App()

    @app.function
    async def Work(ctx: Context) -> int:
        ctx.log.info("at work")
        ctx.progress(1, 2, "half of it")
        return 2

    with connect(app, surface) as door:
        assert door.call("Work").body == b'{"result":2}'


@everywhere
def test_a_parameter_that_headers_repeat_is_repeated(surface: str) -> None:
    app = App()

    @app.function(headers={"region": "Region", "number": "Number"})
    def Where(region: str, number: int = 0) -> str:
        return f"{region} {number}"

    with connect(app, surface) as door:
        assert door.call("Where", region="Zürich").body == '{"result":"Zürich 0"}'.encode()
        assert door.call("Where", region=" x", number=7).body == b'{"result":" x 7"}'


@everywhere
def test_many_threads_may_use_one_door(surface: str) -> None:
    with connect(adding(), surface) as door, ThreadPoolExecutor(8) as callers:
        replies = callers.map(lambda x: door.call("Add", x=x, y=x).envelope["result"], range(200))
        assert list(replies) == [2 * x for x in range(200)]


def test_headers_of_the_request_reach_the_endpoint() -> None:
    with connect(adding(), "mcp-http") as door:
        reply = door.call("Add", x=1, y=2, headers={"mcp-name": "functions.Sub"})
    assert reply.status == -32020
    assert msgspec.json.decode(reply.message)["error"]["code"] == -32020


@pytest.mark.parametrize("surface", [name for name in MCP if "handshake" in name])
def test_an_app_with_resources_gives_old_clients_a_session(surface: str) -> None:
    app = adding()
    app.resource("notes://all", name="notes")(lambda: "nothing")
    with connect(app, surface) as door:
        assert [door.call("Add", x=x, y=1).envelope["result"] for x in range(3)] == [1, 2, 3]
