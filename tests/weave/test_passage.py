"""Random hooks around a call, compared with a model of what they mean, on both drivers."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kuniumi import App, Around, AsyncAround, Calling, FunctionError
from kuniumi.testing import _http_call

BEHAVIOURS = ["looks on", "refuses", "answers", "replaces", "crashes"]
_HOOKS = st.lists(st.tuples(st.sampled_from(BEHAVIOURS), st.booleans()), max_size=6)


def _expected(behaviours: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Give the answer, and who began and who saw what, by the rules alone."""
    trace: list[str] = []
    answer: dict[str, Any] = {"result": 0}
    open_ones: list[tuple[int, str]] = []
    for number, behaviour in enumerate(behaviours):
        trace.append(f"+{number}")
        if behaviour == "refuses":
            answer = {"error": f"refused {number}"}
            break
        open_ones.append((number, behaviour))
        if behaviour == "answers":
            answer = {"result": 100 + number}
            break
    else:
        trace.append("called")
    for number, behaviour in reversed(open_ones):
        trace.append(f"-{number} {next(iter(answer.values()))}")
        if behaviour == "replaces":
            answer = {"result": 200 + number}
        elif behaviour == "crashes":
            answer = {"error": f"KeyError: {number}"}
    return answer, trace


def _hook(number: int, behaviour: str, trace: list[str]) -> Any:
    def begin() -> None:
        trace.append(f"+{number}")
        if behaviour == "refuses":
            msg = f"refused {number}"
            raise FunctionError(msg)

    def end(body: bytes) -> None:
        trace.append(f"-{number} {body.decode().partition(':')[2].strip('}').strip(chr(34))}")
        if behaviour == "crashes":
            raise KeyError(number)

    def plain(call: Calling) -> Around:
        begin()
        answer = yield call.answer(100 + number) if behaviour == "answers" else None
        end(answer.body)
        if behaviour == "replaces":
            yield call.answer(200 + number)

    async def awaiting(call: Calling) -> AsyncAround:
        begin()
        await asyncio.sleep(0)
        answer = yield call.answer(100 + number) if behaviour == "answers" else None
        await asyncio.sleep(0)
        end(answer.body)
        if behaviour == "replaces":
            yield call.answer(200 + number)

    return plain, awaiting


def _app(hooks: list[tuple[str, bool]], trace: list[str], *, all_plain: bool) -> App:
    app = App()

    @app.function(inline=True)
    def Call() -> int:
        trace.append("called")
        return 0

    for number, (behaviour, is_async) in enumerate(hooks):
        plain, awaiting = _hook(number, behaviour, trace)
        app.around(awaiting if is_async and not all_plain else plain)
    return app


@given(_HOOKS)
@settings(max_examples=150, deadline=None)
def test_with_an_event_loop(hooks: list[tuple[str, bool]]) -> None:
    trace: list[str] = []
    app = _app(hooks, trace, all_plain=False)
    answer, expected = _expected([behaviour for behaviour, _ in hooks])
    assert asyncio.run(_http_call(app.asgi, "/functions/Call", b"", {})).envelope == answer
    assert trace == expected


@given(_HOOKS)
@settings(max_examples=150, deadline=None)
def test_without_one(hooks: list[tuple[str, bool]]) -> None:
    trace: list[str] = []
    app = _app(hooks, trace, all_plain=True)
    answer, expected = _expected([behaviour for behaviour, _ in hooks])
    (text,) = answer.values()
    assert str(text).encode() in app.call("Call").body
    assert trace == expected
