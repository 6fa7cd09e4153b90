"""What OpenTelemetry is told of calls, held against its own SDK."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kuniumi import App, FunctionError, UsageError, agent
from kuniumi.agent import Server, Telemetry, Toolbox
from kuniumi.agent.telemetry import span_attributes
from tests.agent.cases import blocks, image, text
from tests.agent.foreign import PYTHON_SDKS, SERVERS, python, python_server
from tests.agent.test_toolbox import url_of
from tests.http.server import Server as Running
from tests.http.server import serving_on_uvicorn

CHAOS = SERVERS / "chaos.py"


class Told:
    """What was told, kept in memory."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._metrics])

    def telemetry(self, **options: Any) -> Telemetry:
        return Telemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @property
    def span(self) -> ReadableSpan:
        (span,) = self._spans.get_finished_spans()
        return span

    @property
    def attributes(self) -> dict[str, Any]:
        return dict(self.span.attributes or {})

    def metric(self, name: str) -> list[Any]:
        data = self._metrics.get_metrics_data()
        assert data is not None
        found = data.resource_metrics[0].scope_metrics[0].metrics
        return [
            point for metric in found if metric.name == name for point in metric.data.data_points
        ]


@pytest.fixture
def told() -> Iterator[Told]:
    found = Told()
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()


@pytest.fixture(scope="module")
def shop() -> Iterator[Running]:
    with serving_on_uvicorn("tests.agent.servers.api:app") as server:
        yield server


def make_app() -> App:
    app = App(name="Told", version="1.0.0")

    @app.function
    async def Add(x: int, y: int = 1) -> int:
        """Adds two integers."""
        return x + y

    @app.function
    async def Fail() -> str:
        """Fails."""
        raise FunctionError("The secret is out", status=507)

    @app.function
    async def Sleep() -> str:
        """Sleeps."""
        await asyncio.sleep(60)
        return ""

    return app


def call(where: Any, name: str, arguments: Any, telemetry: Telemetry, **options: Any) -> Any:
    async def main() -> Any:
        async with Toolbox(where, telemetry=telemetry) as tools:
            return await tools.call(name, arguments, **options)

    return asyncio.run(main())


def test_a_call_is_a_span_named_by_the_conventions(told: Told) -> None:
    call(make_app(), "Add", {"x": 1}, told.telemetry(), call_id="call_7")
    assert told.span.name == "execute_tool functions.Add"
    assert told.span.kind is trace.SpanKind.INTERNAL
    assert told.span.status.is_unset
    attributes = told.attributes
    assert attributes.pop("jsonrpc.request.id").isdigit()
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "functions.Add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Adds two integers.",
        "gen_ai.tool.call.id": "call_7",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "kuniumi.server": "Told",
        "kuniumi.answer.kind": "json",
    }


def test_how_long_it_took_is_a_metric_of_the_tool_and_of_the_request(told: Told) -> None:
    call(make_app(), "Add", {"x": 1}, told.telemetry())
    (whole,) = told.metric("gen_ai.execute_tool.duration")
    (request,) = told.metric("mcp.client.operation.duration")
    assert whole.count == request.count == 1
    assert 0 < request.sum <= whole.sum < 5
    assert whole.explicit_bounds[:3] == (0.01, 0.02, 0.04)
    assert request.explicit_bounds[-1] == 300
    assert dict(whole.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "functions.Add",
        "gen_ai.tool.type": "function",
    }
    assert dict(request.attributes) == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "functions.Add",
    }


def test_what_a_call_says_is_told_only_where_that_is_asked_for(told: Told) -> None:
    call(make_app(), "Add", {"x": 41}, told.telemetry())
    assert not {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"} & told.attributes.keys()
    other = Told()
    call(make_app(), "Add", {"x": 41}, other.telemetry(content=True))
    assert other.attributes["gen_ai.tool.call.arguments"] == '{"x":41}'
    assert other.attributes["gen_ai.tool.call.result"] == '{"result":42}'


@pytest.mark.parametrize(("content", "said"), [(False, None), (True, "The secret is out")])
def test_a_tools_error_is_one_in_words_only_where_they_may_be_told(
    content: bool, said: str | None, told: Told
) -> None:
    call(make_app(), "Fail", {}, told.telemetry(content=content))
    assert told.attributes["error.type"] == "tool_error"
    assert told.span.status.status_code is trace.StatusCode.ERROR
    assert told.span.status.description == said
    assert not told.span.events
    (whole,) = told.metric("gen_ai.execute_tool.duration")
    assert whole.attributes["error.type"] == "tool_error"


def chaos(folder: Path) -> Server:
    return Server(where=[sys.executable, str(CHAOS)], env={"NOTES": str(folder / "notes")})


def test_an_error_of_the_protocol_is_told_by_its_code(told: Told, tmp_path: Path) -> None:
    call(chaos(tmp_path), "refuse", {}, told.telemetry())
    attributes = told.attributes
    assert attributes["error.type"] == attributes["rpc.response.status_code"] == "-32602"
    assert attributes["network.transport"] == "pipe"
    assert attributes["mcp.protocol.version"] == "2025-06-18"
    assert told.span.status.description == "Nothing like that here"
    (request,) = told.metric("mcp.client.operation.duration")
    assert request.attributes["rpc.response.status_code"] == "-32602"


@pytest.mark.parametrize(
    ("name", "error"), [("never", "timeout"), ("die", "LinkLostError"), ("half", "LinkLostError")]
)
def test_a_call_without_an_answer_is_told_by_what_went_wrong(
    name: str, error: str, told: Told, tmp_path: Path
) -> None:
    call(chaos(tmp_path), name, {}, told.telemetry(), timeout=2)
    assert told.attributes["error.type"] == error


def test_a_call_that_went_well_in_the_end_is_no_error(told: Told, tmp_path: Path) -> None:
    assert call(chaos(tmp_path), "die_safely", {}, told.telemetry()).text == "fine is done"
    assert told.attributes["kuniumi.retries"] == 1
    assert "error.type" not in told.attributes
    (request,) = told.metric("mcp.client.operation.duration")
    assert request.count == 2


def test_a_call_that_nobody_waits_for_any_more_is_told_as_such(told: Told) -> None:
    async def main() -> None:
        async with Toolbox(make_app(), telemetry=told.telemetry()) as tools:
            waiting = asyncio.create_task(tools.call("Sleep"))
            await asyncio.sleep(0.05)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(main())
    assert told.attributes["error.type"] == "CancelledError"


def test_a_web_server_gets_the_trace_in_its_headers(told: Told, shop: Running) -> None:
    where = url_of(shop, "/openapi.json")
    answer = call(where, "seen", {"header": "traceparent"}, told.telemetry())
    context = told.span.get_span_context()
    assert context is not None
    assert f"-{context.trace_id:032x}-{context.span_id:016x}-" in answer.text
    attributes = told.attributes
    assert attributes["http.request.method"] == "GET"
    assert attributes["http.response.status_code"] == 200
    assert (attributes["server.address"], attributes["server.port"]) == (shop.host, shop.port)


def test_a_status_that_is_no_success_is_the_error(told: Told, shop: Running) -> None:
    call(url_of(shop, "/openapi.json"), "cancel", {"number": 3}, told.telemetry())
    assert told.attributes["error.type"] == "404"


@pytest.mark.parametrize("link", ["stdio", "http"])
def test_a_server_of_mcp_gets_the_trace_beside_the_arguments(link: str, told: Told) -> None:
    script = "sdk2.py"
    program = python("KUNIUMI_CLIENTS")
    if link == "stdio":
        answer = call([program, SERVERS / script], "trace", {}, told.telemetry())
    else:
        with python_server(program, script) as url:
            answer = call(url, "trace", {}, told.telemetry())
        assert told.attributes["network.protocol.name"] == "http"
        assert told.attributes["server.address"] == "127.0.0.1"
    context = told.span.get_span_context()
    assert context is not None
    assert answer.text == f"{context.trace_id:032x}"


def test_a_session_is_told_where_there_is_one(told: Told) -> None:
    environment, script = PYTHON_SDKS[1]
    with python_server(python(environment), script) as url:
        call(url, "add", {"x": 1, "y": 2}, told.telemetry())
    assert len(told.attributes["mcp.session.id"]) == 32


@pytest.mark.parametrize("blocking", [False, True])
def test_a_call_is_part_of_what_called_it(blocking: bool, told: Told) -> None:
    response = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "functions_Add", "input": {"x": 1}}],
    }
    tracer = told.tracers.get_tracer("test")
    toolbox = Toolbox(make_app(), telemetry=told.telemetry())

    async def main() -> None:
        async with toolbox as tools:
            await tools.reply(response)

    # The outer span is of other providers, so that it is not among those that were told.
    with trace.use_span(tracer.start_span("outer")) as outer:
        if blocking:
            with toolbox as tools:
                tools.reply(response)
        else:
            asyncio.run(main())
    assert told.span.parent == outer.get_span_context()
    assert told.attributes["gen_ai.tool.call.id"] == "t1"


def test_the_attributes_of_an_answer_can_be_had_for_spans_of_ones_own() -> None:
    failed = agent.read({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}})
    assert span_attributes(failed, tool="Add", call_id="c", server="s") == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c",
        "error.type": "-32602",
        "rpc.response.status_code": "-32602",
        "kuniumi.server": "s",
        "kuniumi.answer.kind": "error",
    }
    said = span_attributes(agent.read(text("MCP error -32602: no", isError=True)), tool="Add")
    assert said["error.type"] == "tool_error"
    suspected = span_attributes(agent.read(text("Error: gone")), tool="Add")
    assert suspected["kuniumi.answer.suspected_error"] is True
    assert "error.type" not in span_attributes(agent.read(blocks(image())), tool="Draw")


def test_who_asks_for_no_telemetry_loads_none_of_it() -> None:
    program = (
        "import sys\nfrom kuniumi import App, agent\napp = App(name='A')\n"
        "@app.function\ndef One() -> int:\n    return 1\n"
        "with agent.Toolbox(app) as tools:\n    assert tools.call('One').value == {'result': 1}\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'yaml'))])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "[]\n"


def test_without_the_library_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(UsageError, match=r"pip install kuniumi\[otel\]"):
        Telemetry()
