"""The toolbox, from outside: servers of ours and of others, however they are named and spoken to."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from kuniumi import App, Context, FunctionError, UsageError
from kuniumi.agent import Question, Server, ServerError, Stats, Toolbox
from tests.http.server import (
    CALCULATOR,
    serving,
    serving_on_uvicorn,
)
from tests.http.server import (
    Server as Running,
)

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def calculator() -> Iterator[Running]:
    with serving(CALCULATOR) as server:
        yield server


@pytest.fixture(scope="module")
def shop() -> Iterator[Running]:
    with serving_on_uvicorn("tests.agent.servers.api:app") as server:
        yield server


def url_of(server: Running, path: str = "/mcp") -> str:
    return f"http://{server.host}:{server.port}{path}"


def make_app(name: str = "Bench") -> App:
    app = App(name=name, version="1.0.0")

    @app.function
    async def Add(x: int, y: int = 1) -> int:
        """Adds two integers."""
        return x + y

    @app.function
    async def Climb(ctx: Context, steps: int = 3) -> str:
        """Climbs, and tells how far it is."""
        for step in range(steps):
            ctx.progress(step, steps, f"step {step}")
            await asyncio.sleep(0)
        return "up"

    @app.function
    async def Fail() -> str:
        """Fails."""
        raise FunctionError("Disk is full", status=507)

    @app.function
    async def Sleep(ctx: Context) -> str:
        """Sleeps until it is cancelled."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            woken.append(name)
            raise
        return "slept"

    return app


woken: list[str] = []


# ---- every way to name a server --------------------------------------------------------------------


def ways(calculator: Running) -> dict[str, Any]:
    return {
        "app": make_app(),
        "command": f"{sys.executable} {CALCULATOR} mcp",
        "words": [sys.executable, CALCULATOR, "mcp"],
        "mcp": url_of(calculator),
        "openapi": url_of(calculator, "/openapi.json"),
        "yaml": url_of(calculator, "/openapi.yaml"),
        "functions": url_of(calculator, "/functions"),
        "root": url_of(calculator, ""),
        "said": Server(where=url_of(calculator, "/functions"), kind="rest"),
    }


@pytest.mark.parametrize(
    "way", ["app", "command", "words", "mcp", "openapi", "yaml", "functions", "root", "said"]
)
def test_every_way_to_name_a_server_leads_to_its_tools(way: str, calculator: Running) -> None:
    async def main() -> None:
        async with Toolbox(ways(calculator)[way]) as tools:
            answer = await tools.call("Add", {"x": 2, "y": 3})
            assert answer.value == {"result": 5}
            wrong = await tools.call("Add", {"x": "two", "y": 3})
            assert wrong.declared_error
            assert "x" in wrong.text

    asyncio.run(main())


def test_the_same_without_await() -> None:
    before = set(threading.enumerate())
    with Toolbox(make_app()) as tools:
        assert tools.call("Add", {"x": 2}).value == {"result": 3}
        assert next(tool.name for tool in tools) == "functions.Add"
        assert len(tools) == 4
        assert "functions.Add" in tools
        assert tools.for_anthropic()[0]["name"] == "functions_Add"
        tools.refresh()
        heard: list[Any] = []
        tools.call("Climb", on_progress=lambda *said: heard.append(said))
        assert heard == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]
    assert set(threading.enumerate()) <= before


def test_without_await_it_is_opened_once_and_says_when_it_is_closed() -> None:
    with Toolbox(make_app()) as tools:
        with pytest.raises(UsageError, match="open already"), tools._toolbox:
            pass
        assert tools.call("Add", {"x": 2}).value == {"result": 3}
    with pytest.raises(UsageError, match="is closed"):
        tools.call("Add", {"x": 2})


def test_without_await_several_threads_may_call_at_once() -> None:
    found: list[Any] = []

    def work() -> None:
        found.extend(tools.call("Add", {"x": number}).value for number in range(20))

    with Toolbox(make_app()) as tools:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(each["result"] for each in found) == sorted([*range(1, 21)] * 4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (5, "an object of type int is no server"),
        ("", "named by nothing"),
        ("'", "no command"),
        ("http://host:port/", "no address"),
        (Server(where="x", revision="2024"), "there are 2024-11-05, 2025-03-26"),
    ],
)
def test_what_is_no_server_is_told_at_once(wrong: Any, said: str) -> None:
    async def main() -> None:
        async with Toolbox(wrong):
            pass

    with pytest.raises(UsageError, match=said):
        asyncio.run(main())


def test_a_toolbox_that_is_not_open_says_so() -> None:
    with pytest.raises(UsageError, match="async with Toolbox"):
        asyncio.run(Toolbox(make_app()).call("Add"))


# ---- what calls are like ---------------------------------------------------------------------------


def test_tools_are_found_by_each_of_their_names() -> None:
    async def main() -> None:
        async with Toolbox(make_app()) as tools:
            for name in ("functions.Add", "functions_Add", "Add"):
                assert (await tools.call(name, {"x": 1})).value == {"result": 2}
            unknown = await tools.call("Ad")
            assert unknown.declared_error
            assert unknown.text == "Unknown tool: Ad. Did you mean 'Add'?"

    asyncio.run(main())


def test_names_that_collide_get_their_servers_name() -> None:
    async def main() -> None:
        one, two = make_app("One"), make_app("Two")

        @two.function
        def Only() -> int:
            """Has no namesake."""
            return 2

        async with Toolbox(one, two, make_app("Two")) as tools:
            names = {tool.name for tool in tools}
            assert {"One_functions.Add", "Two_functions.Add", "Two_2_functions.Add"} <= names
            assert "functions.Only" in names
            assert "functions.Add" not in names
            assert (await tools.call("Two_functions.Add", {"x": 1})).value == {"result": 2}
            assert (await tools.call("Add", {"x": 1})).declared_error
            assert set(tools.servers) == {"One", "Two", "Two_2"}

    asyncio.run(main())


def test_an_expected_failure_is_an_error_answer() -> None:
    async def main() -> None:
        async with Toolbox(make_app()) as tools:
            answer = await tools.call("Fail")
            assert answer.declared_error
            assert answer.error is not None
            assert answer.error.message == "Disk is full"

    asyncio.run(main())


@pytest.mark.parametrize("way", ["app", "command"])
def test_a_call_that_takes_too_long_is_cancelled_where_it_runs(way: str, tmp_path: Path) -> None:
    program = tmp_path / "sleeper.py"
    program.write_text(
        "import asyncio\nfrom pathlib import Path\nfrom kuniumi import App\napp = App(name='S')\n"
        "@app.function\nasync def Sleep() -> str:\n    try:\n        await asyncio.sleep(60)\n"
        f"    except asyncio.CancelledError:\n        Path({str(tmp_path / 'woken')!r}).touch()\n"
        "        raise\n    return ''\nif __name__ == '__main__':\n    app.run()\n"
    )
    woken.clear()
    where: Any = make_app("S") if way == "app" else [sys.executable, program, "mcp"]

    async def main() -> None:
        async with Toolbox(where) as tools:
            answer = await tools.call("Sleep", timeout=0.2)
            assert answer.text == "S: functions.Sleep gave no answer within 0.2 s"
            until = time.monotonic() + 10
            while not (woken or (tmp_path / "woken").exists()):
                assert time.monotonic() < until
                await asyncio.sleep(0.01)

    asyncio.run(main())


def test_who_stops_waiting_cancels_the_call() -> None:
    woken.clear()

    async def main() -> None:
        async with Toolbox(make_app()) as tools:
            call = asyncio.create_task(tools.call("Sleep"))
            await asyncio.sleep(0.1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert woken == ["Bench"]

    asyncio.run(main())


def test_only_so_many_calls_run_at_once() -> None:
    app = App(name="Busy", version="1.0.0")
    running: list[int] = []
    most = 0

    @app.function
    async def Work() -> int:
        """Works."""
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        await asyncio.sleep(0.01)
        running.pop()
        return 1

    async def main() -> None:
        async with Toolbox(app, parallel=3) as tools:
            answers = await asyncio.gather(*(tools.call("Work") for _ in range(12)))
            assert all(answer.value == {"result": 1} for answer in answers)
        with pytest.raises(UsageError, match="parallel=0"):
            Toolbox(app, parallel=0)

    asyncio.run(main())
    assert most == 3


def test_calls_are_counted() -> None:
    stats = Stats()

    async def main() -> None:
        async with Toolbox(make_app(), stats=stats) as tools:
            await tools.call("Add", {"x": 1})
            await tools.call("Fail")

    asyncio.run(main())
    assert stats.total.answers == 2
    assert stats.total.errors == 1
    assert stats.tools[("Bench", "functions.Add")].answers == 1


# ---- lists that change, servers that are restarted -------------------------------------------------


def test_a_list_that_changed_is_asked_for_again() -> None:
    app = make_app()

    async def main() -> None:
        async with Toolbox(app) as tools:
            assert "functions.New" not in tools

            @app.function
            def New() -> int:
                """Was not there before."""
                return 1

            until = time.monotonic() + 10
            while "functions.New" not in tools:
                assert time.monotonic() < until
                await asyncio.sleep(0.01)
            assert (await tools.call("New")).value == {"result": 1}

    asyncio.run(main())


def test_a_server_that_was_restarted_is_found_again() -> None:
    words = ["examples.calculator.app:app.asgi", "--timeout-graceful-shutdown", "1"]

    async def main(server: Running) -> None:
        async with Toolbox(url_of(server)) as tools:
            assert (await tools.call("Add", {"x": 1, "y": 1})).value == {"result": 2}
            await asyncio.to_thread(server.stop)
            gone = await tools.call("Add", {"x": 1, "y": 1}, timeout=5)
            assert gone.declared_error
            port = server.port
            with serving_on_uvicorn(*words, "--port", str(port)):
                assert (await tools.call("Add", {"x": 1, "y": 1})).value == {"result": 2}

    with serving_on_uvicorn(*words) as server:
        asyncio.run(main(server))


# ---- questions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True])
def test_questions_of_a_server_reach_the_callback(asynchronous: bool) -> None:
    asked: list[Question] = []

    def answer(question: Question) -> Any:
        asked.append(question)
        return {"value": "Rome"} if "properties" in question.schema else None

    async def answer_later(question: Question) -> Any:
        await asyncio.sleep(0)
        return answer(question)

    async def main() -> None:
        callback = answer_later if asynchronous else answer
        async with Toolbox(_questions(), on_question=callback) as tools:
            assert (await tools.call("Where")).value == {"result": "to Rome"}

    asyncio.run(main())
    (question,) = asked
    assert question.server == "Asking"
    assert question.message == "Where to?"


def test_without_a_callback_the_answer_says_that_nobody_was_asked() -> None:
    async def main() -> None:
        async with Toolbox(_questions()) as tools:
            answer = await tools.call("Where")
            assert answer.declared_error
            assert "nobody can be asked" in answer.text

    asyncio.run(main())


def test_a_callback_that_fails_puts_the_question_away() -> None:
    def fail(_: Question) -> Any:
        raise RuntimeError("no")

    async def main() -> None:
        async with Toolbox(_questions(), on_question=fail) as tools:
            answer = await tools.call("Where")
            assert answer.declared_error
            assert "cancelled" in answer.text

    asyncio.run(main())


def _questions() -> App:
    app = App(name="Asking", version="1.0.0")

    @app.function
    async def Where(ctx: Context) -> str:
        """Asks where to."""
        return f"to {await ctx.ask('Where to?', str)}"

    return app


# ---- identification --------------------------------------------------------------------------------


def test_headers_and_credentials_go_to_their_server_only(shop: Running) -> None:
    async def main() -> None:
        server = Server(
            where=url_of(shop, "/openapi.json"),
            headers={"X-Trace": "t1"},
            auth=httpx.BasicAuth("me", "secret"),
        )
        async with Toolbox(server) as tools:
            answer = await tools.call("findItem", {"name": "a", "owner": "b"})
            assert answer.value["trace"] == "t1"

    asyncio.run(main())


# ---- OpenAPI ---------------------------------------------------------------------------------------


def test_a_fastapi_application_is_a_server_of_tools(shop: Running) -> None:
    async def main() -> None:
        async with Toolbox(url_of(shop, "/openapi.json")) as tools:
            assert [tool.name for tool in tools] == [
                "findItem",
                "order",
                "change",
                "cancel",
                "seen",
            ]
            assert list(tools.servers) == ["Shop"]
            arguments = {"name": "b c?d#%é&;", "owner": "..;x", "tags": ["x&y", "ü"]}
            others = {"x-trace": "t 1", "session": "s"}
            found = await tools.call("findItem", {**arguments, **others})
            assert found.value == {**arguments, "trace": "t 1", "session": "s"}
            ordered = await tools.call("order", {"item": "x", "to": {"street": "s"}})
            assert ordered.value["to"] == {"street": "s", "number": 1}
            assert (await tools.call("change", {"number": 7, "body": [1]})).value == [7, 1]
            missing = await tools.call("cancel", {"number": 3})
            assert missing.declared_error
            assert "There is no order 3" in missing.text
            wrong = await tools.call("order", {"count": "many"})
            assert wrong.declared_error

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/openapi.yaml", "/described", "/raw"])
def test_a_document_in_yaml_gives_the_same_tools(path: str, shop: Running) -> None:
    async def main() -> None:
        async with (
            Toolbox(url_of(shop, path)) as tools,
            Toolbox(url_of(shop, "/openapi.json")) as others,
        ):
            assert list(tools.servers) == ["Shop"]
            assert [(tool.name, tool.input_schema, tool.output_schema) for tool in tools] == [
                (tool.name, tool.input_schema, tool.output_schema) for tool in others
            ]
            ordered = await tools.call("order", {"item": "x"})
            assert ordered.value["count"] == 1

    asyncio.run(main())


def test_a_document_that_stands_for_endless_data_is_refused(shop: Running) -> None:
    async def main() -> None:
        async with Toolbox(url_of(shop, "/bomb.yaml")):
            pass

    with pytest.raises(ServerError, match="more than 2,000,000 values"):
        asyncio.run(main())


@pytest.mark.parametrize("name", [".", "..", ""])
def test_no_argument_leads_to_another_path(name: str, shop: Running) -> None:
    async def main() -> None:
        async with Toolbox(url_of(shop, "/openapi.json")) as tools:
            answer = await tools.call("findItem", {"name": name, "owner": "x"})
            assert answer.declared_error
            assert "in an address" in answer.text

    asyncio.run(main())


def test_schemas_of_operations_stand_by_themselves(shop: Running) -> None:
    async def main() -> None:
        async with Toolbox(url_of(shop, "/openapi.json")) as tools:
            (order,) = [tool for tool in tools if tool.name == "order"]
            written = msgspec.json.encode(order.input_schema).decode()
            assert "#/components" not in written
            assert {"Order-Input", "Address"} <= order.input_schema["$defs"].keys()
            assert order.input_schema["required"] == ["item"]
            (find,) = [tool for tool in tools if tool.name == "findItem"]
            assert find.annotations == {"readOnlyHint": True, "idempotentHint": True}

    asyncio.run(main())
