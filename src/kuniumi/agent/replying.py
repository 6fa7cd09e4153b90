"""The loop's one step: a model's calls, run side by side, become the messages to append.

In: a toolbox and a response, or a stream of one. Out: messages, in the words of the provider that the
response is of.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from kuniumi.agent.reading import read
from kuniumi.agent.turns import read_turn, respond
from kuniumi.errors import StreamError

if TYPE_CHECKING:
    from kuniumi.agent.answer import Answer
    from kuniumi.agent.client import Toolbox, Unset
    from kuniumi.agent.providers.rendering import Rendering
    from kuniumi.agent.stream import Stream
    from kuniumi.agent.turns import Turn, Wanted


async def reply(
    toolbox: Toolbox, response: Any, limit: float | Unset | None, how: Rendering
) -> list[dict[str, Any]]:
    """Run every tool call in a response, and give the messages to append."""
    return await reply_turn(toolbox, read_turn(await whole_of(response)), limit, how)


async def whole_of(response: Any) -> Any:
    """Give the response itself, where there is a stream of it; `StreamError` if that broke off."""
    if isinstance(response, (dict, str, bytes)) or response is None:
        return response
    from kuniumi.agent.stream import Stream  # noqa: PLC0415 - few stream

    if isinstance(response, Stream):
        return _whole_stream(response)
    final = next((name for name in _FINALS if hasattr(response, name)), None)
    if final is None and not hasattr(response, "__next__") and not hasattr(response, "__anext__"):
        return response
    from kuniumi.agent.following import ask, follow  # noqa: PLC0415

    if final is not None:
        try:
            found = (await ask(getattr(response, final), {})).found
        except Exception as error:
            raise StreamError(str(error) or type(error).__name__) from error
        return _whole_final(found)
    stream, begun = Stream(), False
    async with aclosing(follow(response)) as chunks:
        try:
            async for chunk in chunks:
                stream.feed(chunk)
                begun = True
        except Exception as error:
            if not begun:
                raise  # it was refused, rather than broken off
            raise StreamError(str(error) or type(error).__name__) from error
    stream.end()
    return _whole_stream(stream)


_FINALS = ("get_final_message", "get_final_response", "get_final_completion")
"""What the packages' helpers call what they have put together themselves."""

_BROKEN = "the stream ended before the model was done: ask it again"


def _whole_stream(stream: Stream) -> dict[str, Any]:
    found = stream.response
    if found is None:
        raise broken(stream)
    return found


def broken(stream: Stream) -> StreamError:
    """Say why a stream has no whole response."""
    return StreamError(stream.trouble or _BROKEN)


def _whole_final(found: Any) -> Any:
    """Give what a helper has put together, unless the model had more to say."""
    choices = getattr(found, "choices", None)
    reasons = [
        getattr(each, name)
        for each in [found, *(choices if isinstance(choices, list) else ())]
        for name in ("stop_reason", "finish_reason")
        if hasattr(each, name)
    ]
    if reasons and not all(reasons):
        raise StreamError(_BROKEN)
    return found


async def reply_turn(
    toolbox: Toolbox, turn: Turn, limit: float | Unset | None, how: Rendering
) -> list[dict[str, Any]]:
    """Run the calls of a turn that was read already."""
    if not turn.calls:
        return turn.messages if turn.paused else []
    await toolbox.freshen()
    answers = await asyncio.gather(*(_call(toolbox, call, limit) for call in turn.calls))
    answered = [
        (call.id or None, call.name, answer)
        for call, answer in zip(turn.calls, answers, strict=True)
    ]
    return [*turn.messages, *respond(turn, answered, how)]


async def _call(toolbox: Toolbox, call: Wanted, limit: float | Unset | None) -> Answer:
    if call.arguments is None:
        said = f"The arguments of {call.name} are no JSON object: send one"
        return read({"content": [{"type": "text", "text": said}], "isError": True})
    restored = toolbox.tools.restore(call.name, call.arguments)
    name, arguments = (
        (call.name, call.arguments)
        if restored is None
        else (
            restored[0].name,
            restored[1],
        )
    )
    return await toolbox.call(name, arguments, timeout=limit, call_id=call.id)
