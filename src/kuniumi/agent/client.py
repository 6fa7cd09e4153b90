"""The toolbox: tools of many servers, found, called, and read, whatever their servers do.

In: servers, however they are named. Out: tools for models, and an `Answer` to every call. A server
that hangs, floods or dies is an answer that says so; only a mistake in how the toolbox is used raises.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from kuniumi.agent.discover import Visitor, describe, name_of
from kuniumi.agent.reading import read
from kuniumi.agent.servers.questions import waiting_for
from kuniumi.agent.servers.source import Hearer, is_idempotent
from kuniumi.agent.stats import Stats
from kuniumi.agent.tools import Tool, Tools
from kuniumi.errors import ServerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet
    from types import TracebackType

    from kuniumi.agent.answer import Answer
    from kuniumi.agent.blocking import BlockingToolbox
    from kuniumi.agent.servers.source import OnProgress, OnQuestion, Server, Source, Trace
    from kuniumi.agent.telemetry import Telemetry

TIMEOUT = 60.0
PARALLEL = 8
RETRIES = 2

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
_CALM = 0.5  # seconds between two requests for a list that the server says has changed
_AFTER_FAILING = 5.0  # seconds until a server that could not be asked for its tools is asked again


class Unset:
    """The type of `UNSET`."""


UNSET = Unset()


class Toolbox:
    """The tools of any number of servers.

        async with Toolbox(app, "python server.py mcp", "http://host/mcp") as tools:
            answer = await tools.call("Add", {"x": 1, "y": 2})

    With a plain `with`, the same without `await`. Tools whose names collide get their server's name
    before their own. At most `parallel` calls run at once, each for at most `timeout` seconds; a
    call is tried again, up to `retries` times, where it never began, or may be made twice.
    """

    def __init__(
        self,
        *servers: Any,
        on_question: OnQuestion | None = None,
        on_progress: OnProgress | None = None,
        parallel: int = PARALLEL,
        timeout: float | None = TIMEOUT,
        retries: int = RETRIES,
        stats: Stats | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        if parallel < 1:
            raise UsageError(f"parallel={parallel}: at least one call has to be let through")
        self._telemetry = telemetry
        self.stats = Stats() if stats is None else stats
        self._servers = [describe(server) for server in servers]
        self._on_question = on_question
        self._on_progress = on_progress
        self._timeout = timeout
        self._retries = retries
        self._parallel = parallel
        self._gate = asyncio.Semaphore(parallel)
        self._visitor = Visitor()
        self._drawers: list[_Drawer] = []
        self._tools = Tools()
        self._found: dict[str, tuple[_Drawer, Tool]] = {}
        self._before: dict[str, tuple[_Drawer, Tool]] = {}
        self._short: dict[str, tuple[_Drawer, Tool]] = {}
        self._refreshing: set[asyncio.Task[None]] = set()
        self._blocking: BlockingToolbox | None = None
        self._is_open = False

    # ---- opening and closing -----------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open every server, side by side, and find its tools."""
        if self._is_open:
            raise UsageError("the toolbox is open already")
        self._gate = asyncio.Semaphore(self._parallel)
        self._visitor = Visitor()
        self._is_open = True
        ask = None if self._on_question is None else waiting_for(self._on_question)
        for server in self._servers:
            drawer = _Drawer(server, self._visitor)
            drawer.hearer = Hearer(partial(self._hear_change, drawer), ask)
            self._drawers.append(drawer)
        fills = [asyncio.create_task(drawer.fill()) for drawer in self._drawers]
        try:
            await asyncio.gather(*fills)
        except BaseException:
            for fill in fills:
                if not fill.cancelling():  # else it cleans up already
                    fill.cancel()
            await asyncio.gather(*fills, return_exceptions=True)
            await self.close()
            raise
        self._sort()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Close every server."""
        await self.close()

    async def close(self) -> None:
        """Close every server; processes that were started end."""
        self._is_open = False
        for task in self._refreshing:
            task.cancel()
        await asyncio.gather(*self._refreshing, return_exceptions=True)
        drawers, self._drawers = self._drawers, []
        await asyncio.gather(*(drawer.close() for drawer in drawers), return_exceptions=True)
        await self._visitor.close()

    def __enter__(self) -> BlockingToolbox:
        """Open the same toolbox for code that does not await."""
        from kuniumi.agent.blocking import BlockingToolbox  # noqa: PLC0415 - few need it

        if self._is_open:
            raise UsageError("the toolbox is open already")
        self._blocking = BlockingToolbox(self)
        return self._blocking.open()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Close it."""
        blocking, self._blocking = self._blocking, None
        if blocking is not None:
            blocking.close()

    # ---- the tools ---------------------------------------------------------------------------------

    @property
    def tools(self) -> Tools:
        """The tools as they were found last, under the names that `call` takes."""
        return self._tools

    @property
    def servers(self) -> Mapping[str, str]:
        """The servers by name, and what is wrong with each: nothing, as a rule."""
        return {drawer.name: drawer.trouble for drawer in self._drawers}

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools."""
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def find(self, name: str) -> Tool | None:
        """Give the tool that `call` would call by this name."""
        found = self._look_up(name)
        return None if found is None else found[1]

    def for_openai(self, *, strict: bool = True) -> list[dict[str, Any]]:
        """Give the tools for OpenAI's Responses API."""
        return self._tools.for_openai(strict=strict)

    def for_openai_chat(self, *, strict: bool = True) -> list[dict[str, Any]]:
        """Give the tools for OpenAI's Chat Completions API."""
        return self._tools.for_openai_chat(strict=strict)

    def for_anthropic(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """Give the tools for Anthropic's Messages API."""
        return self._tools.for_anthropic(strict=strict)

    def for_gemini(self) -> list[dict[str, Any]]:
        """Give the tools for the Gemini API."""
        return self._tools.for_gemini()

    async def refresh(self) -> None:
        """Ask every server for its tools again; one that gives none keeps those it had."""
        await asyncio.gather(*(drawer.refill() for drawer in self._drawers))
        self._sort()

    async def freshen(self) -> None:
        """Ask those servers again whose lists are too old by what they said themselves."""
        stale = [drawer for drawer in self._drawers if drawer.is_stale]
        if stale:
            await asyncio.gather(*(drawer.refill() for drawer in stale))
            self._sort()

    # ---- calling -----------------------------------------------------------------------------------

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | Unset | None = UNSET,  # noqa: ASYNC109 - it becomes an answer, not an error
        on_progress: OnProgress | None = None,
        call_id: str = "",
    ) -> Answer:
        """Call a tool; whatever happens, there is an answer.

        `call_id` is what a model calls the call; only telemetry is told.
        """
        found = await self._find(name)
        if found is None:
            answer = _failed(self._tell_unknown(name))
            self.stats.add(answer, tool="?", server="")
            return answer
        drawer, tool = found
        limit = self._limit_of(drawer, timeout)
        given = dict(arguments or {})
        async with self._gate:
            started = perf_counter()
            if self._telemetry is None:
                answer = await self._try(drawer, tool, given, limit, on_progress)
            else:
                with self._telemetry.watch(
                    tool, server=drawer.name, call_id=call_id, arguments=given
                ) as watch:
                    answer = await self._try(drawer, tool, given, limit, on_progress, watch.trace)
                    watch.answer = answer
        self.stats.add(answer, tool=tool.name, server=drawer.name, seconds=perf_counter() - started)
        return answer

    async def reply(
        self,
        response: Any,
        *,
        max_chars: int | None = None,
        media: bool = True,
        neutralise: bool = False,
        timeout: float | Unset | None = UNSET,  # noqa: ASYNC109
    ) -> list[dict[str, Any]]:
        """Run every tool call in a model's response, side by side; give the messages to append.

        The first of them are the model's own, then come the answers. Nothing if it called no tool.
        A `Stream` that is done, and a package's stream or its helper, are answered alike; what broke
        off raises `StreamError`, and none of its calls is run.
        """
        from kuniumi.agent.providers.rendering import Rendering  # noqa: PLC0415
        from kuniumi.agent.replying import reply  # noqa: PLC0415 - who only calls needs none of it

        return await reply(self, response, timeout, Rendering(max_chars, media, neutralise))

    async def _find(self, name: str) -> tuple[_Drawer, Tool] | None:
        if not self._is_open:
            raise UsageError("the toolbox is not open: write `async with Toolbox(…) as tools:`")
        found = self._look_up(name)
        if found is None:
            await self.freshen()
            found = self._look_up(name)
        return found

    def _look_up(self, name: str) -> tuple[_Drawer, Tool] | None:
        """Find a tool by its name, by the one that models are told, or by one it had until now.

        The last part of a dotted name will do, too, where no other tool's is the same.
        """
        found = self._found.get(name)
        if found is None and (tool := self._tools.find(name)) is not None:
            found = self._found.get(tool.name)
        return found or self._before.get(name) or self._short.get(name)

    def _tell_unknown(self, name: str) -> str:
        close = get_close_matches(name, [*self._found, *self._short], n=1)
        hint = f". Did you mean {close[0]!r}?" if close else ""
        return f"Unknown tool: {name}{hint}"

    def _limit_of(self, drawer: _Drawer, timeout: float | Unset | None) -> float | None:
        if not isinstance(timeout, Unset):
            return timeout
        own = drawer.server.timeout
        return self._timeout if own is None else own

    async def _try(
        self,
        drawer: _Drawer,
        tool: Tool,
        arguments: dict[str, Any],
        limit: float | None,
        on_progress: OnProgress | None,
        trace: Trace | None = None,
    ) -> Answer:
        """Call within a time, more than once where that does no harm."""
        on_progress = on_progress or self._on_progress
        try:
            async with asyncio.timeout(limit) as clock:
                for turn in range(self._retries + 1):
                    if trace is not None and turn:
                        trace.facts = {"kuniumi.retries": turn}
                    try:
                        source = await drawer.source()
                        return read(await source.call(tool, arguments, on_progress, trace))
                    except ServerError as error:
                        harmless = not error.may_have_run or is_idempotent(tool)
                        _note(trace, error)
                        if turn == self._retries or not harmless:
                            return _failed(f"{drawer.name}: {error}")
                        await asyncio.sleep(_pause(turn, error.retry_after))
        except TimeoutError as error:
            _note(trace, error)
            if not clock.expired():
                return read(error)
            return _failed(f"{drawer.name}: {tool.name} gave no answer within {limit:g} s")
        except Exception as error:  # noqa: BLE001 - other libraries' clients raise what they like
            _note(trace, error)
            return read(error)
        raise AssertionError  # pragma: no cover - the loop returns

    # ---- keeping the tools -------------------------------------------------------------------------

    def _hear_change(self, drawer: _Drawer) -> None:
        drawer.expires = 0.0
        if not self._is_open or drawer.is_due:
            return
        drawer.is_due = True

        async def refill() -> None:
            await asyncio.sleep(drawer.filled + _CALM - monotonic())
            drawer.is_due = False  # what is heard from here on is another change
            await drawer.refill()
            self._sort()

        task = asyncio.create_task(refill())
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)

    def _sort(self) -> None:
        """Give every tool a name of its own."""
        taken: set[str] = set()
        for drawer in self._drawers:
            drawer.name = _unused(drawer.label, taken)
            taken.add(drawer.name)
        owners: dict[str, int] = {}
        for drawer in self._drawers:
            for name in {tool.name for tool in drawer.tools}:
                owners[name] = owners.get(name, 0) + 1
        found: dict[str, tuple[_Drawer, Tool]] = {}
        seen_already: set[tuple[_Drawer, str]] = set()  # some servers list a tool twice
        shown = []
        for drawer in self._drawers:
            for tool in drawer.tools:
                if (drawer, tool.name) in seen_already:
                    continue
                seen_already.add((drawer, tool.name))
                name = tool.name
                if owners[name] > 1:
                    name = _unused(f"{_slug(drawer.name)}_{name}", found.keys() | owners.keys())
                found[name] = drawer, tool
                shown.append(tool if name == tool.name else replace(tool, name=name))
        self._before, self._found = self._found, found
        self._tools = Tools(shown)
        last = [name.rpartition(".")[2] for name in found]
        seen = Counter(last)
        named = zip(last, found.values(), strict=True)
        self._short = {part: place for part, place in named if seen[part] == 1}


class _Drawer:
    """One server of a toolbox, and the tools that it had last."""

    def __init__(self, server: Server, visitor: Visitor) -> None:
        self.server = server
        self.name = self.label = name_of(server)
        self.tools: list[Tool] = []
        self.expires: float | None = None
        self.filled = 0.0
        self.is_due = False  # whether a request for a list that changed is on its way
        self.trouble = ""
        self.hearer = Hearer(lambda: None)
        self._visitor = visitor
        self._source: Source | None = None
        self._lock = asyncio.Lock()

    @property
    def is_stale(self) -> bool:
        """Whether its list is too old."""
        return self.expires is not None and self.expires <= monotonic()

    async def source(self) -> Source:
        """Give the open source; one that could not be opened is tried again."""
        if self._source is None:
            async with self._lock:
                await self._open()
        assert self._source is not None  # noqa: S101 - it was opened, or that raised
        return self._source

    async def fill(self) -> None:
        """Get the tools for the first time; only an optional server may fail."""
        async with self._lock:
            try:
                await self._list()
            except ServerError as error:
                self._fail(error)
                if not self.server.optional:
                    raise

    async def refill(self) -> None:
        """Get the tools anew; those it had stay where that fails."""
        async with self._lock:
            try:
                await self._list()
            except ServerError as error:
                self._fail(error)

    async def close(self) -> None:
        """Let go of the server."""
        source, self._source = self._source, None
        if source is not None:
            with suppress(ServerError):
                await source.close()

    async def _open(self) -> None:
        if self._source is None:
            self._source = await self._visitor.open(self.server, self.hearer)
            self.label = self._source.name or self.label

    async def _list(self) -> None:
        await self._open()
        assert self._source is not None  # noqa: S101 - it was opened, or that raised
        self.filled = monotonic()
        self.expires = None
        try:
            async with asyncio.timeout(self.server.start_timeout):
                found = await self._source.list_tools()
        except TimeoutError:
            said = f"{self.name}: no list of tools within {self.server.start_timeout:g} s"
            raise ServerError(said) from None
        except ServerError as error:
            raise ServerError(f"{self.name}: {error}") from error
        except Exception as error:
            raise ServerError(f"{self.name}: {str(error) or type(error).__name__}") from error
        self.tools = found.tools
        if found.ttl is not None:
            self.expires = monotonic() + max(found.ttl, 1.0)
        self.trouble = ""

    def _fail(self, error: ServerError) -> None:
        self.trouble = str(error)
        self.expires = monotonic() + _AFTER_FAILING


def _note(trace: Trace | None, error: Exception) -> None:
    """Note for whoever watches what kind of failure there was."""
    if trace is None:
        return
    status = getattr(error, "status", None)
    kind = "timeout" if isinstance(error, TimeoutError) else type(error).__qualname__
    trace.facts["error.type"] = str(status) if isinstance(status, int) else kind


def _failed(said: str) -> Answer:
    """Give the answer that says what went wrong."""
    return read({"content": [{"type": "text", "text": said}], "isError": True})


def _pause(turn: int, wanted: float | None) -> float:
    """Give the seconds to wait before the next try: longer each time, and not all at once."""
    if wanted is not None:
        return min(wanted, _LONGEST_PAUSE)
    return min(_FIRST_PAUSE * (1 << turn) * (1 + random.random()), _LONGEST_PAUSE)  # noqa: S311 - no secret


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "server"


def _unused(name: str, taken: AbstractSet[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found
