"""Hooks around every call: what they see, what they may do, and what they can't break."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from kuniumi import (
    App,
    Around,
    AsyncAround,
    Calling,
    Context,
    DefinitionError,
    Envelope,
    FunctionError,
    Provide,
)
from kuniumi.testing import SURFACES, _http_call, connect
from tests.weave.ways import WAYS, Way

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ["plain", "async"]


def _app(**options: Any) -> App:
    app = App(**options)

    @app.function
    def Add(x: int, y: int = 2) -> int:
        return x + y

    @app.function
    async def AddAsync(x: int, y: int = 2) -> int:
        await asyncio.sleep(0)
        return x + y

    @app.function
    def AddInContext(x: int, ctx: Context, y: int = 2) -> int:
        ctx.progress(1)
        return x + y

    @app.function
    def Count(to: int) -> Iterator[int]:
        yield from range(to)

    @app.function
    def Fail() -> None:
        msg = "it can't be done"
        raise FunctionError(msg, status=409)

    return app


def _hook(
    kind: str, before: Callable[[Calling], object], after: Callable[[Envelope], object]
) -> Any:
    def plain(call: Calling) -> Around:
        before(call)
        after((yield None))

    async def awaiting(call: Calling) -> AsyncAround:
        await asyncio.sleep(0)
        before(call)
        answer = yield None
        await asyncio.sleep(0)
        after(answer)

    return plain if kind == "plain" else awaiting


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_sees_every_call_and_its_answer_by_every_way(way: str, kind: str) -> None:
    app = _app(env={"STAGE": "test"})
    seen: list[Any] = []

    def before(call: Calling) -> None:
        seen.append((call.name, call.operation.operation_id, call.context.env.getenv("STAGE")))

    def after(answer: Envelope) -> None:
        seen.append((answer.body, answer.fault and answer.fault.message))

    app.around(_hook(kind, before, after))
    with Way(app, way) as open_way:
        for name in ("Add", "AddAsync", "AddInContext"):
            seen.clear()
            assert open_way.call(name, {"x": "1"}) == {"result": 3}
            assert seen == [(name, f"functions.{name}", "test"), (b'{"result":3}', None)]
        seen.clear()
        assert open_way.call("Count", {"to": 2}) == {"result": [0, 1]}
        assert seen == [("Count", "functions.Count", "test"), (b'{"result":[0,1]}', None)]
        seen.clear()
        assert open_way.call("Fail") == {"error": "it can't be done"}
        assert seen[1] == (b'{"error":"it can\'t be done"}', "it can't be done")
        seen.clear()
        told = open_way.call("Add", {"x": "one"})["error"]
        assert seen == [("Add", "functions.Add", "test"), (seen[1][0], told)]


@pytest.mark.parametrize("way", WAYS)
def test_the_first_hook_is_the_outermost(way: str) -> None:
    app = _app()
    seen: list[str] = []

    def make(name: str, kind: str) -> Any:
        return _hook(
            kind,
            lambda _call: seen.append(f"+{name}"),
            lambda answer: seen.append(f"-{name} {answer.body.decode()}"),
        )

    for name, kind in (("a", "plain"), ("b", "async"), ("c", "plain")):
        app.around(make(name, kind))
    with Way(app, way) as open_way:
        assert open_way.call("Add", {"x": 1}) == {"result": 3}
    said = '{"result":3}'
    assert seen == ["+a", "+b", "+c", f"-c {said}", f"-b {said}", f"-a {said}"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_refuses_a_call(way: str, kind: str) -> None:
    app = _app()
    seen: list[str] = []

    def outer(_call: Calling) -> Around:
        answer = yield None
        seen.append(answer.body.decode())

    def refuse(call: Calling) -> None:
        if call.arguments.get("x") == 13:
            msg = "13 brings bad luck"
            raise FunctionError(msg, status=403)

    app.around(outer)
    app.around(_hook(kind, refuse, lambda _answer: seen.append("inside")))
    with Way(app, way) as open_way:
        assert open_way.call("Add", {"x": "13"}) == {"error": "13 brings bad luck"}
        assert seen == ['{"error":"13 brings bad luck"}']
        assert open_way.call("Add", {"x": 1}) == {"result": 3}


def test_a_refusal_has_its_status_and_says_when_to_come_back() -> None:
    app = _app()

    def refuse(_call: Calling) -> Around:
        msg = "not now"
        raise FunctionError(msg, status=429, retry_after=2.1)
        yield None

    app.around(refuse)
    for surface in ("http", "cgi"):
        with connect(app, surface) as door:
            reply = door.call("Add", x=1)
            assert (reply.status, reply.headers["retry-after"]) == (429, "3")
    with connect(app, "http") as door:  # before there is a stream
        reply = door.call("Add", x=1, headers={"accept": "text/event-stream"})
        assert (reply.status, reply.headers["retry-after"]) == (429, "3")
    with connect(app, "shell") as door:
        assert door.call("Add", x=1).status == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_hook_gives_an_answer_of_its_own(way: str, kind: str) -> None:
    app = _app()
    calls: list[int] = []

    @app.function
    def Note(x: int) -> int:
        calls.append(x)
        return x

    def instead(call: Calling) -> Around:
        if call.arguments["x"] == 1:
            yield call.answer(100)
        else:
            answer = yield None
            if answer.body == b'{"result":2}':
                yield call.answer(200)

    async def instead_async(call: Calling) -> AsyncAround:
        await asyncio.sleep(0)
        if call.arguments["x"] == 1:
            yield call.answer(100)
        else:
            answer = yield None
            await asyncio.sleep(0)
            if answer.body == b'{"result":2}':
                yield call.answer(200)

    app.around(instead if kind == "plain" else instead_async)
    with Way(app, way) as open_way:
        given = [open_way.call("Note", {"x": x})["result"] for x in (1, 2, 3)]
    assert given == [100, 200, 3]
    assert calls == [2, 3]


def test_an_answer_of_its_own_is_held_to_the_function_s_promise() -> None:
    app = _app()

    def wrong(call: Calling) -> Around:
        yield call.answer("no number")

    app.around(wrong)
    answer = app.call("Add", {"x": 1})
    assert answer.fault is not None
    assert b"Add returned what it must not" in answer.body


def test_arguments_are_seen_as_the_function_gets_them_and_are_a_copy() -> None:
    app = App()
    seen: list[Any] = []

    @app.function
    def Sum(numbers: list[int], start: int = 10, *, ctx: Context) -> int:
        return sum(numbers, start)

    def look(call: Calling) -> Around:
        seen.append((call.raw, dict(call.arguments)))
        call.arguments["numbers"].append(1000)
        yield None

    without_hooks = App()
    without_hooks.register(Sum)
    app.around(look)
    assert app.call("Sum", {"numbers": ["1"]}).body == b'{"result":11}'
    assert seen == [(b'{"numbers":["1"]}', {"numbers": [1, 1000], "start": 10})]
    wrong = {"numbers": 1}
    assert app.call("Sum", wrong).body == without_hooks.call("Sum", wrong).body


def test_what_a_hook_sets_for_its_call_is_seen_there_and_nowhere_else() -> None:
    app = App()
    who = contextvars.ContextVar("who", default="nobody")

    @app.function
    def Who() -> str:
        return who.get()

    @app.function
    async def WhoAsync() -> str:
        await asyncio.sleep(0)
        return who.get()

    for kind in KINDS:
        other = App()
        other.register(Who)
        other.register(WhoAsync)
        other.around(_hook(kind, lambda _call: who.set("somebody"), lambda _answer: None))
        for surface in SURFACES:
            with connect(other, surface) as door:
                for name in ("Who", "WhoAsync"):
                    assert door.call(name).envelope == {"result": "somebody"}
            assert who.get() == "nobody"


def test_a_hook_finds_the_state_and_providers_come_inside() -> None:
    app = App()
    seen: list[str] = []

    @app.lifespan
    def open_it() -> Iterator[list[str]]:
        yield seen

    def provider() -> Iterator[int]:
        seen.append("+provider")
        yield 1
        seen.append("-provider")

    @app.function
    def Use(x: Annotated[int, Provide(provider)]) -> int:
        return x

    def note(call: Calling) -> Around:
        call.context.state.append("+hook")
        yield None
        seen.append("-hook")

    app.around(note)
    for surface in SURFACES:
        seen.clear()
        with connect(app, surface) as door:
            assert door.call("Use").envelope == {"result": 1}
        assert seen == ["+hook", "+provider", "-provider", "-hook"]


@pytest.mark.parametrize("name", ["Add", "AddInContext"])
def test_a_hook_sees_what_came_beside_the_arguments(name: str) -> None:
    app = _app()
    seen: list[str] = []
    app.around(_hook("plain", lambda c: seen.append(c.context.traceparent), lambda _answer: None))
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for surface in ("http", "cgi"):
        with connect(app, surface) as door:
            door.call(name, {"x": 1}, headers={"traceparent": trace})
    with Way(app, "mcp-2025") as way:
        way.ask_tool(name, {"x": 1}, _meta={"traceparent": trace})
    assert seen == [trace] * 3


def test_hooks_are_around_resources_and_prompts_too() -> None:
    app = App()
    seen: list[str] = []

    @app.resource("notes://{name}")
    def Note(name: str) -> str:
        return name

    app.around(_hook("plain", lambda call: seen.append(call.name), lambda _answer: None))

    async def read() -> Any:
        request = (
            b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"notes://mine"}}'
        )
        headers = {
            "accept": "application/json, text/event-stream",
            "host": "127.0.0.1",
            "mcp-protocol-version": "2025-06-18",
        }
        return await _http_call(app.asgi, "/mcp", request, headers)

    assert asyncio.run(read()).envelope["result"]["contents"][0]["text"] == "mine"
    assert seen == ["Note"]


# ---- one call, one answer ----------------------------------------------------------------------------


def _crashes_before(_call: Calling) -> Around:
    raise KeyError("before")
    yield None


def _crashes_after(_call: Calling) -> Around:
    yield None
    raise KeyError("after")


def _never_yields(_call: Calling) -> Around:
    if _call is None:
        yield None


def _yields_twice(_call: Calling) -> Around:
    yield None
    yield None


def _yields_for_ever(_call: Calling) -> Around:
    while True:
        try:
            yield None
        except GeneratorExit:
            yield None


def _answers_thrice(call: Calling) -> Around:
    yield call.answer(1)
    yield call.answer(2)
    yield call.answer(3)


def _yields_a_value(_call: Calling) -> Around:
    yield 5  # type: ignore[misc]


def _exits(_call: Calling) -> Around:
    raise SystemExit(3)
    yield None


MISUSES = [
    (_crashes_before, "KeyError: 'before'"),
    (_crashes_after, "KeyError: 'after'"),
    (_never_yields, "ended without a yield: the call was not made"),
    (_yields_twice, "yielded once more: a call is made, and answered, once"),
    (_yields_for_ever, "yielded once more: a call is made, and answered, once"),
    (_answers_thrice, "yielded once more: a call is made, and answered, once"),
    (_yields_a_value, "has to yield nothing, or an answer, as call.answer(…) makes it, not int"),
    (_exits, "SystemExit: 3"),
]


def _as_async(hook: Any) -> Any:
    async def awaiting(call: Calling) -> AsyncAround:
        steps = hook(call)
        sent: Any = None
        while True:
            try:
                said = steps.send(sent)
            except StopIteration:
                return
            await asyncio.sleep(0)
            sent = yield said

    awaiting.__name__ = str(hook.__name__)
    return awaiting


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("hook", "said"), MISUSES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of the stubborn one
def test_whatever_a_hook_does_there_is_one_answer_and_the_next_call_is_well(
    way: str, hook: Any, said: str, kind: str
) -> None:
    app = _app()
    faulty = [True]
    seen: list[bytes] = []
    inner = hook if kind == "plain" else _as_async(hook)

    def outer(_call: Calling) -> Around:
        answer = yield None
        seen.append(answer.body)

    def sometimes(call: Calling) -> Around:
        if faulty:
            yield from inner(call)
        else:
            yield None

    async def sometimes_async(call: Calling) -> AsyncAround:
        steps = inner(call) if faulty else None
        sent: Any = None
        if steps is None:
            yield None
            return
        while True:
            try:
                said = await steps.asend(sent)
            except StopAsyncIteration:
                return
            sent = yield said

    app.around(outer)
    app.around(sometimes if kind == "plain" else sometimes_async)
    with Way(app, way) as open_way:
        failure = open_way.call("Add", {"x": 1})
        assert said in failure["error"]
        assert len(seen) == 1
        assert said.encode() in seen[0]
        faulty.clear()
        assert open_way.call("Add", {"x": 1}) == {"result": 3}


def test_a_crash_of_a_hook_is_logged_and_masked_like_any_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = _app(mask_errors=True)
    app.around(_crashes_before)
    for surface in SURFACES:
        caplog.clear()
        with connect(app, surface) as door:
            reply = door.call("Add", x=1)
        assert reply.envelope["error"].startswith("Internal error (incident ")
        assert "KeyError: 'before'" in caplog.text


# ---- time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", SURFACES)
def test_a_hook_that_waits_is_held_to_the_call_s_limit(surface: str) -> None:
    app = _app(timeout=0.1)
    ended: list[str] = []

    async def slow(_call: Calling) -> AsyncAround:
        try:
            await asyncio.sleep(30)
            yield None
        finally:
            ended.append("ended")

    app.around(slow)
    begun = time.monotonic()
    with connect(app, surface) as door:
        assert door.call("Add", x=1).envelope == {"error": "Timed out after 0.1 seconds"}
    assert time.monotonic() - begun < 5
    assert ended == ["ended"]


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_are_ended_when_the_server_breaks_a_call_off(kind: str) -> None:
    app = App()
    seen: list[str] = []

    @app.function
    async def Wait() -> None:
        await asyncio.sleep(30)

    begun = asyncio.Event()

    def plain(_call: Calling) -> Around:
        try:
            begun.set()
            seen.append("begun")
            yield None
            seen.append("answered")
        finally:
            seen.append("ended")

    app.around(plain if kind == "plain" else _as_async(plain))

    async def run() -> None:
        calling = asyncio.create_task(_http_call(app.asgi, "/functions/Wait", b"", {}))
        await begun.wait()
        calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled()

    asyncio.run(run())
    if kind == "plain":
        assert seen == ["begun", "ended"]


def test_the_time_of_a_call_is_the_function_s_and_hooks_see_it_run_out() -> None:
    app = App(timeout=0.1)
    seen: list[bytes] = []

    @app.function
    async def Wait() -> None:
        await asyncio.sleep(30)

    app.around(_hook("plain", lambda _call: None, lambda answer: seen.append(answer.body)))
    for surface in SURFACES:
        with connect(app, surface) as door:
            assert door.call("Wait").failed
    assert set(seen) == {b'{"error":"Timed out after 0.1 seconds"}'}


def test_many_calls_at_once_have_each_its_own_hooks() -> None:
    app = _app()
    wrong: list[str] = []

    async def check(call: Calling) -> AsyncAround:
        x = call.arguments["x"]
        await asyncio.sleep(0)
        answer = yield None
        if answer.body != b'{"result":%d}' % (x + 2):
            wrong.append(f"{x}: {answer.body!r}")

    app.around(check)

    async def call_all() -> list[Any]:
        names = ("Add", "AddAsync", "AddInContext")
        return await asyncio.gather(
            *(
                _http_call(app.asgi, f"/functions/{names[x % 3]}", b'{"x":%d}' % x, {})
                for x in range(600)
            )
        )

    replies = asyncio.run(call_all())
    assert [reply.envelope for reply in replies] == [{"result": x + 2} for x in range(600)]
    assert wrong == []


def test_a_call_that_asks_first_begins_anew_and_so_do_its_hooks_and_providers() -> None:
    app = App()
    seen: list[str] = []

    def given() -> Iterator[str]:
        try:
            yield "given"
        finally:
            seen.append("-provider")

    @app.function
    async def Greet(ctx: Context, given: Annotated[str, Provide(given)]) -> str:
        return f"{await ctx.ask('Who?', str)}, {given}"

    def plain(_call: Calling) -> Around:
        seen.append("+hook")
        try:
            answer = yield None
            seen.append(answer.body.decode())
        finally:
            seen.append("-hook")

    app.around(plain)
    app.around(_as_async(lambda _call: iter_once()))
    with Way(app, "mcp") as way:
        asked = way.ask_tool("Greet", {})
        assert asked["resultType"] == "input_required"
        assert seen == ["+hook", "-provider", "-hook"]
        seen.clear()
        (key,) = asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {"value": "Ada"}}}
        told = way.ask_tool("Greet", {}, inputResponses=answers, requestState=asked["requestState"])
    assert told["structuredContent"] == {"result": "Ada, given"}
    assert seen == ["+hook", "-provider", '{"result":"Ada, given"}', "-hook"]


def iter_once() -> Around:
    """Let a call go on, and do nothing."""
    yield None


# ---- definitions -------------------------------------------------------------------------------------


def test_a_hook_says_where_the_call_goes_on() -> None:
    def forgets(call: Calling) -> None:
        return None

    async def awaits(call: Calling) -> None:
        return None

    for wrong in (forgets, awaits, 5):
        with pytest.raises(DefinitionError, match="write `answer = yield` there"):
            App().around(wrong)  # type: ignore[type-var]


def test_a_hook_takes_the_call_and_nothing_else() -> None:
    def greedy(call: Calling, proceed: object) -> Around:
        yield None

    with pytest.raises(DefinitionError, match=r"'greedy' takes 2 parameters.*def greedy\(call\)"):
        App().around(greedy)


def test_an_object_with_a_call_is_a_hook_as_well() -> None:
    class Counter:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, _call: Calling) -> Around:
            self.calls += 1
            yield None

        def method(self, _call: Calling) -> Around:
            self.calls += 10
            yield None

    app = _app()
    counter = Counter()
    app.around(counter)
    app.around(counter.method)
    app.call("Add", {"x": 1})
    assert counter.calls == 11
