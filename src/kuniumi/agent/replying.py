"""The loop's one step: a model's calls, run side by side, become the messages to append.

In: a toolbox and a response. Out: messages, in the words of the provider that the response is of.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuniumi.agent.reading import read
from kuniumi.agent.turns import read_turn, respond

if TYPE_CHECKING:
    from kuniumi.agent.answer import Answer
    from kuniumi.agent.client import Toolbox, Unset
    from kuniumi.agent.providers.rendering import Rendering
    from kuniumi.agent.turns import Turn, Wanted


async def reply(
    toolbox: Toolbox, response: Any, limit: float | Unset | None, how: Rendering
) -> list[dict[str, Any]]:
    """Run every tool call in a response, and give the messages to append."""
    return await reply_turn(toolbox, read_turn(response), limit, how)


async def reply_turn(
    toolbox: Toolbox, turn: Turn, limit: float | Unset | None, how: Rendering
) -> list[dict[str, Any]]:
    """Run the calls of a turn that was read already."""
    if not turn.calls:
        return []
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
