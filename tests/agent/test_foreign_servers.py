"""Servers that nobody here wrote, and servers written with others' libraries, through the toolbox."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kuniumi.agent import Question, Server, Toolbox
from tests.agent.foreign import (
    PYTHON_SDKS,
    SERVERS,
    example,
    free_port,
    node,
    node_server,
    program_of,
    python,
    python_server,
    variable,
)

HERE = Path(__file__).parent
STEPS = [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]
Use = Callable[["Used"], Awaitable[None]]


class Used:
    """A toolbox, and what its servers said beside their answers."""

    def __init__(self, tools: Toolbox, heard: list[Any], asked: list[Question]) -> None:
        self.tools = tools
        self.heard = heard
        self.asked = asked

    async def text(self, name: str, /, **arguments: Any) -> str:
        answer = await self.tools.call(name, arguments)
        assert not answer.declared_error, answer.text
        return answer.text

    async def error(self, name: str, /, **arguments: Any) -> str:
        answer = await self.tools.call(name, arguments)
        assert answer.declared_error
        return answer.text


@asynccontextmanager
async def using(where: Any, answer: Any = None, **options: Any) -> AsyncIterator[Used]:
    heard: list[Any] = []
    asked: list[Question] = []

    def ask(question: Question) -> Any:
        asked.append(question)
        return answer

    server = where if isinstance(where, Server) else Server(where=where, **options)
    async with Toolbox(
        server, on_question=ask, on_progress=lambda *said: heard.append(said), timeout=30
    ) as tools:
        yield Used(tools, heard, asked)


def run(where: Any, use: Use, answer: Any = None, **options: Any) -> None:
    async def main() -> None:
        async with using(where, answer, **options) as used:
            await use(used)

    asyncio.run(main())


# ---- the official Python SDK, and FastMCP ----------------------------------------------------------


@pytest.mark.parametrize("link", ["stdio", "http"])
@pytest.mark.parametrize(("environment", "script"), PYTHON_SDKS, ids=["mcp 2", "mcp 1"])
def test_servers_of_the_python_sdk_work(environment: str, script: str, link: str) -> None:
    async def use(used: Used) -> None:
        assert await used.text("add", x=1, y=2) == "3"
        assert "Error executing tool fail" in await used.error("fail")
        assert "x" in await used.error("add", y=2)
        assert await used.text("count") == "counted"
        assert used.heard == STEPS
        asking = "ask" if script == "sdk1.py" else "choose"
        assert "Rome" in await used.text(asking)
        assert [question.message for question in used.asked] == ["Which city?"]

    program = python(environment)
    if link == "stdio":
        run([program, str(SERVERS / script)], use, {"city": "Rome"})
    else:
        with python_server(program, script) as url:
            run(url, use, {"city": "Rome"})


def test_a_server_that_was_restarted_has_forgotten_its_session_and_is_greeted_anew() -> None:
    environment, script = PYTHON_SDKS[1]
    program, port = python(environment), free_port()

    async def main() -> None:
        with ExitStack() as stack:
            url = stack.enter_context(python_server(program, script, port))
            async with using(url, {"city": "Rome"}) as used:
                assert await used.text("add", x=1, y=2) == "3"
                await asyncio.to_thread(stack.close)
                assert "cannot be reached" in await used.error("add", x=1, y=2)
                again = python_server(program, script, port)
                await asyncio.to_thread(stack.enter_context, again)
                assert await used.text("add", x=1, y=2) == "3"
                assert "Rome" in await used.text("ask"), "it is heard again, too"

    asyncio.run(main())


@pytest.mark.parametrize("link", ["stdio", "http"])
def test_a_server_of_fastmcp_works(link: str) -> None:
    async def use(used: Used) -> None:
        tools = used.tools
        assert list(tools.servers) == ["fast"]
        added = await tools.call("add", {"x": 1, "y": 2})
        assert (added.text, added.value) == ("3", {"result": 3})
        assert "valid integer" in await used.error("add", x="one", y=2)
        assert await used.error("fail") == "no such luck"
        located = await tools.call("locate", {"city": "Oslo"})
        assert located.value == {"city": "Oslo", "height": 23.5}
        found = tools.find("locate")
        assert found is not None
        assert located.check(found.output_schema or {}) == ()
        drawn = await tools.call("draw")
        assert [block.type for block in drawn.blocks] == ["text", "image"]
        assert drawn.text == "a dot\n[image: image/png, 70 bytes]"
        assert await used.text("link") == "[link: page <https://example.com/page>]"
        assert (await tools.call("nothing")).kind == "empty"
        assert await used.text("count") == "counted"
        assert used.heard == STEPS

    program = python("KUNIUMI_CLIENTS")
    if link == "stdio":
        run([program, str(SERVERS / "fast.py")], use)
    else:
        with python_server(program, "fast.py") as url:
            run(url, use)


@pytest.mark.parametrize("script", ["fast.py", "sdk2.py"])
def test_a_tool_that_can_only_ask_in_the_old_way_is_spoken_to_in_it(script: str) -> None:
    async def use(used: Used) -> None:
        assert await used.text("ask") == "accept Rome"

    async def cannot(used: Used) -> None:
        await used.error("ask")
        assert used.asked == []

    with python_server(python("KUNIUMI_CLIENTS"), script) as url:
        run(url, use, {"city": "Rome", "height": 1}, revision="2025-11-25")
        run(url, cannot, {"city": "Rome", "height": 1})


# ---- the official TypeScript SDK -------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["", "2025-11-25", "2025-06-18"])
def test_a_server_of_the_second_typescript_sdk_works(revision: str) -> None:
    async def use(used: Used) -> None:
        assert (await used.tools.call("add", {"x": 1, "y": 2})).value == {"sum": 3}
        assert "expected number" in await used.error("add", x=1)
        assert await used.error("fail") == "no such luck"
        assert await used.text("ask") == "to Rome"
        assert [question.message for question in used.asked] == ["Which city?"]

    env = {"KUNIUMI_NPM": variable("KUNIUMI_NPM")}
    where = node(str(SERVERS / "ts2.mjs"))
    run(where, use, {"city": "Rome"}, env=env, revision=revision)


def test_an_example_that_asks_and_links_over_http_works() -> None:
    async def use(used: Used) -> None:
        tools = used.tools
        assert {"greet", "multi-greet", "collect-user-info", "list-files"} <= set(tools.tools.names)
        assert await used.text("greet", name="Ada") == "Hello, Ada!"
        assert "expected string" in await used.error("greet")
        listed = await tools.call("list-files")
        assert [block.type for block in listed.blocks].count("resource_link") == 3
        assert "<https://example.com/greetings/default>" in listed.text
        assert "ada@example.com" in await used.text("collect-user-info", infoType="contact")
        (question,) = used.asked
        assert "email" in question.schema["properties"]

    said = {"name": "Ada", "email": "ada@example.com"}
    with node_server(example("simpleStreamableHttp.js")) as origin:
        run(f"{origin}/mcp", use, said)


@pytest.mark.parametrize(
    ("script", "tool", "arguments", "said"),
    [
        ("jsonResponseStreamableHttp.js", "greet", {"name": "Ada"}, "Hello, Ada!"),
        ("honoWebStandardStreamableHttp.js", "greet", {"name": "Ada"}, "Hello, Ada!"),
        (
            "simpleStatelessStreamableHttp.js",
            "start-notification-stream",
            {"interval": 1, "count": 2},
            "Started sending",
        ),
        (
            "sseAndStreamableHttpCompatibleServer.js",
            "start-notification-stream",
            {"interval": 1, "count": 2},
            "Started sending",
        ),
        (
            "simpleSseServer.js",
            "start-notification-stream",
            {"interval": 1, "count": 2},
            "Completed sending 2",
        ),
        ("ssePollingExample.js", "long-task", {}, "completed successfully"),
    ],
)
def test_examples_in_every_form_of_http_work(
    script: str, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def use(used: Used) -> None:
        assert tool in used.tools
        assert said in await used.text(tool, **arguments)

    with node_server(example(script)) as origin:
        run(f"{origin}/mcp", use)


def test_an_example_that_asks_in_steps_works() -> None:
    async def use(used: Used) -> None:
        assert "Event created" in await used.text("create_event")
        assert len(used.asked) == 2

    event = {"title": "a", "description": "b", "date": "2026-01-01", "startTime": "10:00"}
    with node_server(example("elicitationFormExample.js")) as origin:
        run(f"{origin}/mcp", use, {**event, "duration": 30})


def test_an_example_whose_tools_can_only_be_tasks_works() -> None:
    async def use(used: Used) -> None:
        assert await used.text("confirm_delete", filename="a.txt") == "Deleted 'a.txt'"
        (question,) = used.asked
        assert "delete 'a.txt'" in question.message
        # This one wants a model of us, in the middle of its task.
        assert "-32601" in (await used.tools.call("write_haiku", {"topic": "x"})).text

    with node_server(example("simpleTaskInteractive.js")) as origin:
        run(f"{origin}/mcp", use, {"confirm": True})


def test_examples_on_stdio_work() -> None:
    async def weather(used: Used) -> None:
        answer = await used.tools.call("get_weather", {"city": "Oslo", "country": "NO"})
        found = used.tools.find("get_weather")
        assert found is not None
        assert answer.kind == "json"
        assert answer.check(found.output_schema or {}) == ()

    async def count(used: Used) -> None:
        assert await used.text("count", n=2) == "Counted to 2"
        assert used.heard == [(1, 2, "Counting: 1/2"), (2, 2, "Counting: 2/2")]

    async def summarize(used: Used) -> None:
        # It wants a model of us, which nobody has: it is told so, and does not wait for one.
        assert "-32601" in await used.error("summarize", text="long")

    run(node(example("mcpServerOutputSchema.js")), weather)
    run(node(example("progressExample.js")), count)
    run(node(example("toolWithSampleServer.js")), summarize)


# ---- the reference servers -------------------------------------------------------------------------


async def everything(used: Used) -> None:
    tools = used.tools
    assert "hi" in await used.text("echo", message="hi")
    assert await used.text("get-sum", a=1, b=2) == "The sum of 1 and 2 is 3."
    assert "expected number" in await used.error("get-sum", a="x")
    picture = await tools.call("get-tiny-image")
    assert [block.type for block in picture.blocks] == ["text", "image", "text"]
    assert "[image: image/png, 4,033 bytes]" in picture.text
    links = await tools.call("get-resource-links", {"count": 3})
    assert [block.uri for block in links.blocks if block.uri] == [
        "demo://resource/dynamic/blob/1",
        "demo://resource/dynamic/text/2",
        "demo://resource/dynamic/blob/3",
    ]
    embedded = await tools.call("get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    assert "This is a plaintext resource" in embedded.text
    data = await tools.call("get-structured-content", {"location": "New York"})
    assert data.value == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
    marked = await tools.call("get-annotated-message", {"messageType": "error"})
    assert marked.text == "Error: Operation failed"
    assert marked.suspected_error
    assert not marked.declared_error
    done = await used.text("trigger-long-running-operation", duration=0.1, steps=2)
    assert "completed" in done
    assert used.heard == [(1, 2, ""), (2, 2, "")]
    assert "Ada" in await used.text("trigger-elicitation-request")
    (question,) = used.asked
    assert question.schema["required"] == ["name"]
    page = {"url": "https://example.com/page", "elicitationId": "e1"}
    for error_path in (False, True):
        used.asked.clear()
        said = await used.text("trigger-url-elicitation", **page, errorPath=error_path)
        assert "accept" in said
        assert {question.mode for question in used.asked} == {"url"}
        assert used.asked[-1].url == page["url"]
        assert len(used.asked) == 1 + error_path, "what an error asks for comes first"


def test_the_server_of_everything_works_on_stdio() -> None:
    run(program_of("server-everything"), everything, {"name": "Ada"})


@pytest.mark.parametrize(("mode", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
def test_the_server_of_everything_works_over_http(mode: str, path: str) -> None:
    (_, program) = program_of("server-everything")
    with node_server(program, mode) as origin:
        run(f"{origin}{path}", everything, {"name": "Ada"})


def test_the_servers_of_files_and_of_memory_work_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("héllo")

    async def main() -> None:
        memory = Server(
            where=program_of("server-memory"),
            env={"MEMORY_FILE_PATH": str(tmp_path / "memory.json")},
        )
        files = [*program_of("server-filesystem"), str(tmp_path)]
        async with Toolbox(memory, files, timeout=30) as tools:
            read = await tools.call("read_text_file", {"path": str(tmp_path / "a.txt")})
            assert read.text.startswith("héllo")
            target = str(tmp_path / "b.txt")
            await tools.call("write_file", {"path": target, "content": "wörld"})
            assert (tmp_path / "b.txt").read_text() == "wörld"
            listed = await tools.call("list_directory", {"path": str(tmp_path)})
            assert {"[FILE] a.txt", "[FILE] b.txt"} <= set(str(listed.text).split("\n"))
            outside = await tools.call("read_text_file", {"path": "/etc/passwd"})
            assert outside.declared_error
            assert "denied" in outside.text
            entity = {"name": "x", "entityType": "t", "observations": ["o"]}
            made = await tools.call("create_entities", {"entities": [entity]})
            assert not made.declared_error, made.text
            graph = await tools.call("read_graph")
            assert graph.value["entities"][0]["observations"] == ["o"]

    asyncio.run(main())


# ---- clients of others -----------------------------------------------------------------------------


def test_clients_of_others_are_servers_too() -> None:
    ended = subprocess.run(
        [python("KUNIUMI_CLIENTS"), HERE / "use_clients.py", SERVERS / "sdk2.py"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(HERE.parents[1] / "src"),
            "MSGSPEC_FOLDER": str(Path(msgspec.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.split() == ["3", "counted", "3", "counted", "3", "counted"]
