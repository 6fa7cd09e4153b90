"""What OpenTelemetry is told of a tool's call: a span, how long it took, and who was called in turn.

In: calls, as they begin and end. Out: spans and metrics named by the conventions for generative AI and
for MCP, to whichever providers the program has set up; words for servers, so that their spans become
children of ours. Loaded where somebody makes a `Telemetry`; nobody else needs the library or waits.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

from kuniumi import __version__
from kuniumi.agent.servers.source import Trace
from kuniumi.core.codec import dumps
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kuniumi.agent.answer import Answer
    from kuniumi.agent.tools import Tool

    Attributes = dict[str, str | int | float | bool]

_SCOPE = "kuniumi.agent"
_LONGEST = 1000  # characters of a description
_MOST_CONTENT = 16_000  # characters of what was said, if it is told at all
_TOOL_TIMES = [0.01 * 2**step for step in range(14)]
_MCP_TIMES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
_OF_TOOL = ("gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type", "error.type")
_OF_REQUEST = (
    "mcp.method.name",
    "mcp.protocol.version",
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "network.protocol.name",
    "network.transport",
    "server.address",
    "server.port",
)
_OF_FAILED_REQUEST = ("error.type", "rpc.response.status_code")


class Watch:
    """One call that is told of: what goes to the server with it, and the answer, once it is there."""

    __slots__ = ("answer", "trace")

    def __init__(self) -> None:
        self.trace = Trace()
        self.answer: Answer | None = None


class Telemetry:
    """Tells OpenTelemetry of every call of a toolbox: `Toolbox(…, telemetry=Telemetry())`.

    The global providers are told, unless others are given. What calls and answers say is left out,
    unless `content` is asked for: it may be private.
    """

    def __init__(
        self, *, tracer_provider: Any = None, meter_provider: Any = None, content: bool = False
    ) -> None:
        try:
            self._api = import_module("opentelemetry.trace")
            metrics = import_module("opentelemetry.metrics")
            self._inject = import_module("opentelemetry.propagate").inject
        except ImportError:
            raise UsageError(
                "Telemetry() needs opentelemetry-api: pip install kuniumi[otel]"
            ) from None
        self._content = content
        self._tracer = self._api.get_tracer(_SCOPE, __version__, tracer_provider)
        meter = metrics.get_meter(_SCOPE, __version__, meter_provider)
        self._times = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            "s",
            "The duration of a tool's execution.",
            explicit_bucket_boundaries_advisory=_TOOL_TIMES,
        )
        self._request_times = meter.create_histogram(
            "mcp.client.operation.duration",
            "s",
            "The duration of a request of MCP, as its sender sees it.",
            explicit_bucket_boundaries_advisory=_MCP_TIMES,
        )

    @contextmanager
    def watch(
        self, tool: Tool, *, server: str, call_id: str, arguments: Mapping[str, Any]
    ) -> Iterator[Watch]:
        """Tell of one call, from here to the end of the block; what begins within is its child."""
        watch = Watch()
        known = _known_before(tool, server, call_id)
        span = self._tracer.start_span(
            f"execute_tool {tool.name}", kind=self._api.SpanKind.INTERNAL, attributes=known
        )
        if self._content and span.is_recording():
            span.set_attribute("gen_ai.tool.call.arguments", _written(arguments))
        begun = perf_counter()
        try:
            with self._api.use_span(
                span, end_on_exit=False, record_exception=False, set_status_on_exception=False
            ):
                self._inject(watch.trace.carrier)
                yield watch
        except BaseException as error:
            watch.trace.facts["error.type"] = type(error).__qualname__
            raise
        finally:
            self._end(span, known, watch, perf_counter() - begun)

    def _end(self, span: Any, known: Attributes, watch: Watch, seconds: float) -> None:
        answer, trace = watch.answer, watch.trace
        found = {**known, **trace.facts}
        if answer is not None:
            found |= span_attributes(answer, tool=str(known["gen_ai.tool.name"])) | trace.facts
        if span.is_recording():
            span.set_attributes(found)
            if "error.type" in found:
                self._tell_failure(span, watch)
            elif self._content and answer is not None:
                span.set_attribute("gen_ai.tool.call.result", answer.text[:_MOST_CONTENT])
        span.end()
        self._times.record(seconds, _only(found, _OF_TOOL))
        for turn, one in enumerate(trace.seconds, 1):
            last = _OF_FAILED_REQUEST if turn == len(trace.seconds) else ()
            self._request_times.record(one, _only(found, (*_OF_REQUEST, *last)))

    def _tell_failure(self, span: Any, watch: Watch) -> None:
        """Mark the span; in a tool's own words only where those may be told, or are the protocol's."""
        answer = watch.answer
        failure = answer.error if answer is not None else None
        may_be_told = self._content or "rpc.response.status_code" in watch.trace.facts
        said = failure.message[:_LONGEST] if failure is not None and may_be_told else None
        span.set_status(self._api.StatusCode.ERROR, said)


def span_attributes(
    answer: Answer, *, tool: str, server: str = "", call_id: str = ""
) -> Attributes:
    """Give the attributes of a span about one answer, as the conventions name them."""
    found: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "kuniumi.answer.kind": answer.kind,
    }
    if call_id:
        found["gen_ai.tool.call.id"] = call_id
    if server:
        found["kuniumi.server"] = server
    if answer.declared_error:
        code = _protocol_code(answer)
        found["error.type"] = "tool_error" if code is None else str(code)
        if code is not None:
            found["rpc.response.status_code"] = str(code)
    elif answer.suspected_error:
        found["kuniumi.answer.suspected_error"] = True
    return found


def _known_before(tool: Tool, server: str, call_id: str) -> Attributes:
    known: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "function",
        "kuniumi.server": server,
    }
    if tool.description:
        known["gen_ai.tool.description"] = tool.description[:_LONGEST]
    if call_id:
        known["gen_ai.tool.call.id"] = call_id
    return known


def _protocol_code(answer: Answer) -> int | None:
    """Give the code of an answer that is an error of JSON-RPC; a tool's own error has none."""
    raw = answer.raw
    error = raw.get("error") if isinstance(raw, dict) and "jsonrpc" in raw else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _only(found: Mapping[str, Any], names: tuple[str, ...]) -> Attributes:
    return {name: found[name] for name in names if name in found}


def _written(arguments: Mapping[str, Any]) -> str:
    try:
        return dumps(dict(arguments)).decode()[:_MOST_CONTENT]
    except (TypeError, ValueError, RecursionError):
        return ""
