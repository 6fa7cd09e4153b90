"""A server of MCP, of any revision, over any link.

In: a link. Out: a `Source`. It begins by asking for what the latest revision offers, and shakes hands
where a server does not know that; it begins anew when the server was restarted. Questions of the
server are put where they come: in its requests, or in results that say what is missing.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any

from kuniumi.agent.servers.link import LinkLostError, RefusedError, error_of, plain
from kuniumi.agent.servers.questions import CAPABILITIES, put, read_question, read_visits
from kuniumi.agent.servers.source import MAX_TOOLS, Found
from kuniumi.agent.tools import read_tool
from kuniumi.core.codec import dumps
from kuniumi.errors import ServerError
from kuniumi.wire import jsonrpc
from kuniumi.wire.jsonrpc import Request, Response, RpcError
from kuniumi.wire.mcp import asking
from kuniumi.wire.mcp.headers import NO_SUCH_REVISION, read_mirrors
from kuniumi.wire.mcp.revisions import LATEST, LATEST_WITH_HANDSHAKE

if TYPE_CHECKING:
    from kuniumi.agent.servers.link import Link
    from kuniumi.agent.servers.source import Hearer, OnProgress, Trace
    from kuniumi.agent.tools import Tool
    from kuniumi.wire.jsonrpc import Notification
    from kuniumi.wire.mcp.asking import Greeting
    from kuniumi.wire.mcp.headers import Mirror
    from kuniumi.wire.mcp.revisions import Revision

_log = logging.getLogger("kuniumi.agent")

_PROBE = 5.0  # seconds in which a server that knows of discovery will have answered
_MOST_ROUNDS = 20
_MOST_PAGES = 10_000
_MOST_QUESTIONS = 32
_LIST_CHANGED = "notifications/tools/list_changed"
_PROGRESS = "notifications/progress"
_ENDED_BY_ITSELF = 1.0
_LONGEST_PAUSE = 60.0
_UNTIL_HEARD = 0.5
_MUST_VISIT = -32042
_OF_A_FAILURE = ("error.type", "rpc.response.status_code")


class McpSource:
    """One server, and the conversation with it."""

    def __init__(
        self,
        link: Link,
        hearer: Hearer,
        version: str,
        name: str = "",
        *,
        restarts: bool = False,
        revision: Revision | None = None,
    ) -> None:
        self._link = link
        self._hearer = hearer
        self._name = name
        self._restarts = restarts  # whether a probe may confuse it, so that it is started anew
        self._speaker = asking.Speaker("kuniumi", version, CAPABILITIES if hearer.ask else {})
        self._greeting: Greeting | None = None
        self._numbers = count(1)
        self._progress: dict[int, OnProgress] = {}
        self._mirrors: dict[str, tuple[Mirror, ...]] = {}
        self._opening = asyncio.Lock()
        self._answering: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._wanted = revision
        self._shakes_hands = False
        link.hear = self._hear

    @property
    def name(self) -> str:
        """What the server calls itself."""
        return self._name or (self._greeting.name if self._greeting else "")

    @property
    def greeting(self) -> Greeting | None:
        """What the server said when the conversation began."""
        return self._greeting

    # ---- beginning ---------------------------------------------------------------------------------

    async def open(self) -> None:
        """Begin a conversation in the latest revision that both know."""
        self._greeting = None  # until there is one, whoever asks begins anew
        await self._link.open()
        self._greeting = greeting = await self._begin()
        asks = self._hearer.ask is not None and not greeting.revision.stateless
        if asks or greeting.tells_of_changes:
            await self._start_watching(greeting)

    async def _begin(self) -> Greeting:
        if self._wanted is not None and not self._wanted.stateless:
            return await self._shake_hands(self._wanted)
        if self._shakes_hands:
            return await self._shake_hands(LATEST_WITH_HANDSHAKE)
        found = await self._discover()
        if isinstance(found, asking.Greeting):
            return found
        self._shakes_hands = True
        return await self._shake_hands(found or LATEST_WITH_HANDSHAKE)

    async def _discover(self) -> Greeting | Revision | None:
        """Ask what the latest revision offers: a greeting, or the revision to shake hands in."""
        try:
            async with asyncio.timeout(_PROBE):
                reply = await self._ask("server/discover", {}, LATEST)
        except RefusedError as error:
            if error.status in {400, 404, 405, 406, 415, 422, 500, 501}:
                return None
            raise
        except (TimeoutError, LinkLostError):
            if not self._restarts:
                raise ServerError("the server does not answer") from None
            await self._link.open()
            return None
        if not isinstance(reply, RpcError):
            return asking.read_discovery(reply)
        if reply.code == NO_SUCH_REVISION:
            revision = asking.supported_by(reply)
            if revision is not None and revision.stateless:
                said = "the server refuses a revision that it says it knows"
                raise ServerError(said)
            return revision
        return None

    async def _shake_hands(self, wanted: Revision) -> Greeting:
        reply = await self._ask(
            "initialize", asking.initialize_params(self._speaker, wanted), wanted
        )
        if isinstance(reply, RpcError):
            raise ServerError(f"the server refuses the handshake: {reply.message} ({reply.code})")
        greeting = asking.read_handshake(reply)
        if greeting is None:
            said = reply.get("protocolVersion") if isinstance(reply, dict) else None
            raise ServerError(f"the server speaks {said!r}, which is no known revision of MCP")
        await self._link.tell(
            jsonrpc.write_notification("notifications/initialized", b"{}"),
            asking.headers_of(greeting.revision, "notifications/initialized", {}),
        )
        return greeting

    async def _reopen(self, lost: Greeting | None) -> None:
        """Begin anew, once for all calls that met the same end."""
        async with self._opening:
            if self._greeting is not lost and self._link.is_open:
                return
            await self._stop_watching()
            await self.open()
        self._hearer.changed()

    # ---- the tools ---------------------------------------------------------------------------------

    async def list_tools(self) -> Found:
        """Give all tools, page by page; those that may not be called are left out."""
        tools: list[Tool] = []
        mirrors: dict[str, tuple[Mirror, ...]] = {}
        lifetimes: list[float] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            reply = await self._ask_again("tools/list", {"cursor": cursor} if cursor else {})
            if isinstance(reply, RpcError):
                if reply.code == jsonrpc.NO_METHOD:
                    return Found([])
                raise ServerError(f"the server lists no tools: {reply.message} ({reply.code})")
            page = asking.read_page(reply)
            if page is None:
                raise ServerError("the server lists its tools in no form that is known")
            self._take(page.tools, tools, mirrors)
            if page.ttl is not None:
                lifetimes.append(page.ttl)
            cursor = page.cursor
            if not cursor or cursor in seen:
                break
            seen.add(cursor)
            if len(tools) > MAX_TOOLS:
                raise ServerError(f"the server lists more than {MAX_TOOLS:,} tools")
        self._mirrors = mirrors
        return Found(tools, min(lifetimes, default=None))

    def _take(
        self, listed: list[Any], tools: list[Tool], mirrors: dict[str, tuple[Mirror, ...]]
    ) -> None:
        for sent in listed:
            tool = read_tool(sent)
            if tool is None:
                continue
            marked = read_mirrors(tool.input_schema)
            if isinstance(marked, str):
                _log.warning("the tool %r of %s is left out: %s", tool.name, self.name, marked)
                continue
            if marked:
                mirrors[tool.name] = marked
            tools.append(tool)

    async def call(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        on_progress: OnProgress | None,
        trace: Trace | None = None,
    ) -> Any:
        """Call a tool, and answer what the server wants to know before it has a result."""
        fields: dict[str, Any] = {"name": tool.name, "arguments": arguments}
        if _wants_a_task(tool):
            fields["task"] = {}
        mirrors = self._mirrors.get(tool.name, ())
        for _ in range(_MOST_ROUNDS):
            reply = await self._ask_again("tools/call", fields, mirrors, on_progress, trace)
            if isinstance(reply, RpcError):
                if reply.code == _MUST_VISIT and await self._visit(reply.data):
                    continue
                return _told(reply)
            if (task := _task_in(reply)) is not None:
                return await self._result_of(task, on_progress, trace)
            answers = await self._answer_within(reply)
            if answers is None:
                return reply
            fields = {"name": tool.name, "arguments": arguments, "inputResponses": answers}
            state = reply.get("requestState")
            if state is not None:
                fields["requestState"] = state
        raise ServerError(f"the server asked for more {_MOST_ROUNDS} times, and gave no result")

    async def _result_of(
        self, task: str, on_progress: OnProgress | None, trace: Trace | None
    ) -> Any:
        """Wait for what a task comes to; one that nobody waits for any more is told to stop."""
        fields = {"taskId": task}
        try:
            reply = await self._ask_again("tasks/result", fields, (), on_progress, trace)
        except asyncio.CancelledError:
            self._in_background(self._stop_task(fields))
            raise
        return _told(reply) if isinstance(reply, RpcError) else reply

    async def _stop_task(self, fields: dict[str, Any]) -> None:
        with suppress(ServerError, TimeoutError):
            async with asyncio.timeout(_PROBE):
                await self._ask_again("tasks/cancel", fields)

    async def close(self) -> None:
        """End the conversation."""
        await self._stop_watching()
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        await self._link.close()

    # ---- asking ------------------------------------------------------------------------------------

    async def _ask_again(
        self,
        method: str,
        fields: dict[str, Any],
        mirrors: tuple[Mirror, ...] = (),
        on_progress: OnProgress | None = None,
        trace: Trace | None = None,
    ) -> Any:
        """Ask; where the server had forgotten us before it did anything, begin anew and ask again."""
        for turn in range(2):
            greeting = self._greeting
            if greeting is None or not self._link.is_open:
                await self._reopen(greeting)
                greeting = self._greeting
            assert greeting is not None  # noqa: S101 - a conversation that began has one
            try:
                reply = await self._ask(
                    method, fields, greeting.revision, mirrors, on_progress, trace
                )
            except LinkLostError as error:
                if turn or error.may_have_run:
                    raise
                continue
            refused = isinstance(reply, RpcError) and reply.code == NO_SUCH_REVISION
            if refused and not turn:
                self._greeting, self._shakes_hands = None, False
                continue
            return reply
        return reply

    async def _ask(
        self,
        method: str,
        fields: dict[str, Any],
        revision: Revision,
        mirrors: tuple[Mirror, ...] = (),
        on_progress: OnProgress | None = None,
        trace: Trace | None = None,
    ) -> Any:
        """Send one request; give its result as plain data, or the error."""
        number = next(self._numbers)
        token = number if on_progress is not None else None
        handshake = method == "initialize"
        params = fields if handshake else asking.params_of(self._speaker, revision, fields, token)
        if trace is not None:
            params = self._note(trace, number, method, params, revision)
        body = jsonrpc.write_request(b"%d" % number, method, dumps(params))
        headers = asking.headers_of(revision, method, params, mirrors)
        if on_progress is not None:
            self._progress[number] = on_progress
        begun = 0.0 if trace is None else perf_counter()
        try:
            reply = await self._link.ask(number, body, headers, cancels=not handshake)
        finally:
            self._progress.pop(number, None)
            if trace is not None:
                trace.seconds.append(perf_counter() - begun)
        if isinstance(reply, Response):
            reply = error_of(reply.error) if bytes(reply.error) else plain(reply.result)
        if trace is not None and isinstance(reply, RpcError):
            trace.facts |= dict.fromkeys(_OF_A_FAILURE, str(reply.code))
        return reply

    def _note(
        self, trace: Trace, number: int, method: str, params: dict[str, Any], revision: Revision
    ) -> dict[str, Any]:
        """Tell what is asked, and give the parameters with what the server is to be told."""
        for stale in _OF_A_FAILURE:
            trace.facts.pop(stale, None)
        trace.facts |= self._link.facts
        trace.facts["mcp.method.name"] = method
        trace.facts["mcp.protocol.version"] = revision.name
        trace.facts["jsonrpc.request.id"] = str(number)
        if not trace.carrier:
            return params
        return {**params, "_meta": {**trace.carrier, **params.get("_meta", {})}}

    # ---- questions ---------------------------------------------------------------------------------

    async def _visit(self, data: Any) -> bool:
        """Have the pages visited that a server wants visited first; whether they all were."""
        questions = read_visits(self.name, data)[:_MOST_QUESTIONS]
        if self._hearer.ask is None or not questions:
            return False
        answers = [await put(each, self._hearer.ask) for each in questions]
        return all(answer["action"] == "accept" for answer in answers)

    async def _answer_within(self, reply: Any) -> dict[str, Any] | None:
        """Answer what a result says is missing; nothing if none is, or nobody can be asked."""
        if not isinstance(reply, dict) or reply.get("resultType") != "input_required":
            return None
        requests = reply.get("inputRequests")
        if requests is None and reply.get("requestState") is not None:
            return {}
        if self._hearer.ask is None or not isinstance(requests, dict):
            return None
        questions = {}
        for key, asked in list(requests.items())[:_MOST_QUESTIONS]:
            said = asked if isinstance(asked, dict) else {}
            question = read_question(self.name, said.get("method"), said.get("params"))
            if question is None:
                return None
            questions[key] = question
        return {key: await put(each, self._hearer.ask) for key, each in questions.items()}

    def _hear(self, message: Request | Notification) -> None:
        """Take what the server says by itself."""
        if isinstance(message, Request):
            if len(self._answering) < _MOST_QUESTIONS:
                self._in_background(self._answer(message))
        elif message.method == _PROGRESS:
            self._hear_progress(plain(message.params))
        elif message.method == _LIST_CHANGED:
            self._hearer.changed()

    def _hear_progress(self, said: Any) -> None:
        token = said.get("progressToken") if isinstance(said, dict) else None
        on_progress = self._progress.get(token) if isinstance(token, int) else None
        done = said.get("progress") if on_progress is not None else None
        if on_progress is None or not isinstance(done, (int, float)):
            return
        total, message = said.get("total"), said.get("message")
        try:
            on_progress(
                done,
                total if isinstance(total, (int, float)) else None,
                message if isinstance(message, str) else "",
            )
        except Exception:  # noqa: BLE001 - somebody else's code, which may raise anything
            _log.warning("the callback for progress failed", exc_info=True)

    async def _answer(self, request: Request) -> None:
        """Answer a request of the server's."""
        question = read_question(self.name, request.method, plain(request.params))
        if request.method == "ping":
            body = jsonrpc.write_result(request.id, b"{}")
        elif question is not None and self._hearer.ask is not None:
            body = jsonrpc.write_result(request.id, dumps(await put(question, self._hearer.ask)))
        else:
            error = RpcError(jsonrpc.NO_METHOD, f"Method not found: {request.method}"[:200])
            body = jsonrpc.write_error(request.id, error)
        revision = self._greeting.revision if self._greeting else LATEST_WITH_HANDSHAKE
        with suppress(ServerError):
            await self._link.tell(body, asking.headers_of(revision, "", {}))

    # ---- changes -----------------------------------------------------------------------------------

    async def _start_watching(self, greeting: Greeting) -> None:
        """Listen, from now on, to what the server says unasked, which may be questions."""
        begun = asyncio.Event()
        task = self._watching = asyncio.create_task(self._watch(greeting, begun))
        if not greeting.revision.stateless:
            task.add_done_callback(lambda _task: begun.set())
            with suppress(TimeoutError):
                async with asyncio.timeout(_UNTIL_HEARD):
                    await begun.wait()

    async def _watch(self, greeting: Greeting, begun: asyncio.Event) -> None:
        """Hear of changes for as long as the conversation lasts."""
        revision = greeting.revision
        headers = asking.headers_of(revision, "", {})
        pause = _ENDED_BY_ITSELF
        loop = asyncio.get_running_loop()
        while True:
            since = loop.time()
            with suppress(ServerError):
                if revision.stateless:
                    goes_on = await self._subscribe(revision)
                else:
                    goes_on = await self._link.watch(headers, begun.set)
                if not goes_on:
                    return
                if greeting.tells_of_changes:
                    self._hearer.changed()  # what happens while nobody listens is not known
            pause = _ENDED_BY_ITSELF if loop.time() - since > 60 else min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _subscribe(self, revision: Revision) -> bool:
        fields = {"notifications": {"toolsListChanged": True}}
        reply = await self._ask("subscriptions/listen", fields, revision)
        return not isinstance(reply, RpcError)

    async def _stop_watching(self) -> None:
        task, self._watching = self._watching, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _in_background(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


def _wants_a_task(tool: Tool) -> bool:
    """Whether the tool can be called in no other way, as some can in 2025-11-25."""
    execution = tool.raw.get("execution") if isinstance(tool.raw, dict) else None
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _task_in(reply: Any) -> str | None:
    """Give the task that a call has become, of that revision's kind."""
    task = reply.get("task") if isinstance(reply, dict) and "content" not in reply else None
    number = task.get("taskId") if isinstance(task, dict) else None
    return number if isinstance(number, str) else None


def _told(error: RpcError) -> dict[str, Any]:
    """Give an error as the message that it came in."""
    said: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        said["data"] = error.data
    return {"jsonrpc": "2.0", "error": said}
