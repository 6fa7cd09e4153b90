"""The whole loop: a model is asked, its calls are run, it is told the answers, until it is done.

In: a client of the openai, anthropic or google-genai package, for code that awaits or that does not;
messages, tools, and limits. Out: a `Run`. The packages are known by their names and never imported.
"""

from __future__ import annotations

import asyncio
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.agent.client import UNSET
from kuniumi.agent.providers.rendering import Rendering
from kuniumi.agent.replying import reply_turn
from kuniumi.agent.turns import read_turn
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kuniumi.agent.client import Toolbox
    from kuniumi.agent.turns import Wire

ROUNDS = 20
TIMEOUT = 600.0
MAX_CHARS = 100_000
MAX_TOKENS = 4096

Stopped = Literal["done", "rounds", "timeout", "size"]


class Run(Struct, frozen=True):
    """How a conversation went: all messages, the last words, and why it ended there."""

    messages: list[Any]
    text: str
    response: Any
    rounds: int
    stopped: Stopped


class Asking(Struct, frozen=True):
    """How one provider is asked: its method, its tools, and where the messages go."""

    wire: Wire
    ask: Callable[..., Any]
    tools: Callable[[Toolbox], list[dict[str, Any]]]


async def run(
    client: Any,
    model: str,
    messages: Sequence[Any] | str,
    tools: Toolbox,
    *,
    rounds: int = ROUNDS,
    timeout: float | None = TIMEOUT,  # noqa: ASYNC109 - the conversation so far comes back
    max_chars: int | None = MAX_CHARS,
    max_size: int = 10_000_000,
    chat: bool = False,
    **options: Any,
) -> Run:
    """Hold a conversation until the model calls no more tools, or a limit is met.

    `rounds` are requests to the model, `timeout` seconds of it all, `max_chars` what one answer may
    take of the context, `max_size` the characters of all answers. `chat=True` speaks OpenAI's Chat
    Completions, as servers do that imitate it. Options go to the SDK as they are.
    """
    asking = _find_way(client, chat=chat)
    said = _as_messages(messages, asking.wire)
    response: Any = None
    text, done, size = "", 0, 0
    stopped: Stopped = "rounds"
    try:
        async with asyncio.timeout(timeout) as clock:
            while done < rounds:
                request = _request(asking, model, said, tools, options)
                response = await _ask(asking.ask, request)
                done += 1
                turn = read_turn(response)
                text = turn.text
                if not turn.calls:
                    said += turn.messages
                    stopped = "done"
                    break
                limit = min(max_chars or max_size, max(max_size - size, 1))
                new = await reply_turn(tools, turn, UNSET, Rendering(max_chars=limit))
                said += new
                size += sum(len(str(message)) for message in new[len(turn.messages) :])
                if size >= max_size:
                    stopped = "size"
                    break
    except TimeoutError:
        if not clock.expired():
            raise
        stopped = "timeout"
    return Run(said, text, response, done, stopped)


def _find_way(client: Any, *, chat: bool) -> Asking:
    """Find out whose client it is, by the name of its package."""
    package = type(client).__module__.partition(".")[0]
    if package == "openai" and chat:
        return Asking("openai_chat", client.chat.completions.create, _tools_for_chat)
    if package == "openai":
        return Asking("openai", client.responses.create, _tools_for_openai)
    if package == "anthropic":
        return Asking("anthropic", client.messages.create, _tools_for_anthropic)
    if package == "google" and hasattr(client, "models"):
        return Asking("gemini", client.models.generate_content, _tools_for_gemini)
    raise UsageError(
        f"an object of type {type(client).__name__} is no client of openai, anthropic or "
        "google-genai (of the last, both `client` and `client.aio` will do)"
    )


def _request(
    asking: Asking, model: str, said: list[Any], tools: Toolbox, options: dict[str, Any]
) -> dict[str, Any]:
    told = asking.tools(tools)
    if asking.wire == "gemini":
        config = dict(options.get("config") or {})
        if told:
            config["tools"] = [*config.get("tools", ()), *told]
            config.setdefault("automatic_function_calling", {"disable": True})
        return {**options, "model": model, "contents": said, "config": config}
    key = "input" if asking.wire == "openai" else "messages"
    usual = {"max_tokens": MAX_TOKENS} if asking.wire == "anthropic" else {}
    given = {"tools": told} if told else {}
    return {**usual, **given, **options, "model": model, key: said}


async def _ask(ask: Callable[..., Any], request: dict[str, Any]) -> Any:
    if iscoroutinefunction(ask):
        return await ask(**request)
    found = await asyncio.to_thread(lambda: ask(**request))
    return await found if hasattr(found, "__await__") else found


def _as_messages(messages: Sequence[Any] | str, wire: Wire) -> list[Any]:
    if not isinstance(messages, str):
        return list(messages)
    if wire == "gemini":
        return [{"role": "user", "parts": [{"text": messages}]}]
    return [{"role": "user", "content": messages}]


def _tools_for_openai(tools: Toolbox) -> list[dict[str, Any]]:
    return tools.for_openai()


def _tools_for_chat(tools: Toolbox) -> list[dict[str, Any]]:
    return tools.for_openai_chat()


def _tools_for_anthropic(tools: Toolbox) -> list[dict[str, Any]]:
    return tools.for_anthropic()


def _tools_for_gemini(tools: Toolbox) -> list[dict[str, Any]]:
    return tools.for_gemini()
