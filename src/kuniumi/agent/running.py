"""The whole loop: a model is asked, its calls are run, it is told the answers, until it is done.

In: a client of the openai, anthropic or google-genai package, for code that awaits or that does not;
messages, tools, and limits. Out: a `Run`. The packages are known by their names and never imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.agent.client import UNSET
from kuniumi.agent.following import ask, follow
from kuniumi.agent.providers.rendering import Rendering
from kuniumi.agent.replying import broken, reply_turn
from kuniumi.agent.stream import Piece, Stream
from kuniumi.agent.turns import read_turn
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kuniumi.agent.client import Toolbox
    from kuniumi.agent.turns import Wire

ROUNDS = 20
TIMEOUT = 600.0
MAX_CHARS = 100_000
MAX_TOKENS = 4096

_END = object()

Stopped = Literal["done", "rounds", "timeout", "size", "broken"]

OnPiece = Callable[[Piece], Any]
"""Hears of each piece of what the model says, as it comes; a coroutine's function is awaited."""


class Run(Struct, frozen=True):
    """How a conversation went: all messages, the last words, and why it ended there.

    `messages` hold whole turns only, so that another run can go on with them; `text` may be of a turn
    that broke off. `error` is what broke it.
    """

    messages: list[Any]
    text: str
    response: Any
    rounds: int
    stopped: Stopped
    error: Exception | None = None


class Asking(Struct, frozen=True):
    """How one provider is asked: its method, its tools, and whether it answers in pieces."""

    wire: Wire
    ask: Callable[..., Any]
    tools: Callable[[Toolbox], list[dict[str, Any]]]
    streams: bool = False


class _Heard:
    """What came of one request to the model, so far."""

    __slots__ = ("error", "response", "stream")

    def __init__(self) -> None:
        self.stream = Stream()
        self.response: Any = None
        self.error: Exception | None = None


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
    stream: bool = False,
    on_piece: OnPiece | None = None,
    **options: Any,
) -> Run:
    """Hold a conversation until the model calls no more tools, or a limit is met.

    `rounds` are requests to the model, `timeout` seconds of it all, `max_chars` what one answer may
    take of the context, `max_size` the characters of all answers, and of one stream. `chat=True`
    speaks OpenAI's Chat Completions, as servers do that imitate it. With `on_piece=` the model
    streams, and each piece is told as it comes; `stream=True` streams without telling anybody.
    Options go to the SDK as they are.

    What the SDK raises is raised here, too, until the first piece of a stream has come: a stream that
    breaks off later ends the conversation, and its `error` says why.
    """
    asking = _find_way(client, chat=chat, streams=stream or on_piece is not None)
    said = _as_messages(messages, asking.wire)
    heard, response = _Heard(), None
    text, done, size = "", 0, 0
    stopped: Stopped = "rounds"
    try:
        async with asyncio.timeout(timeout) as clock:
            while done < rounds:
                heard = _Heard()
                request = _request(asking, model, said, tools, options)
                await _hear(asking, request, heard, on_piece, max_size)
                done += 1
                if heard.response is None:
                    stopped = "size" if heard.error is None else "broken"
                    text = heard.stream.content
                    break
                response = heard.response
                turn = read_turn(response)
                text = turn.text or heard.stream.content
                if not turn.calls and not turn.paused:
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
        text = heard.stream.content or text
    return Run(said, text, response, done, stopped, heard.error)


async def _hear(
    asking: Asking,
    request: dict[str, Any],
    heard: _Heard,
    on_piece: OnPiece | None,
    max_size: int,
) -> None:
    """Ask once, and hear what is said to its end, or as far as it comes."""
    found, awaits = await ask(asking.ask, request)
    if not asking.streams:
        heard.response = found
        return
    stream, size, chunk = heard.stream, 0, None
    async with aclosing(follow(found, awaits=awaits)) as chunks:
        while chunk is not _END:
            try:
                following = await anext(chunks, _END)
            except Exception as error:
                if chunk is None:
                    raise
                heard.error = error
                return
            chunk = following
            for piece in stream.end() if chunk is _END else stream.feed(chunk):
                size += len(piece.text)
                told = on_piece(piece) if on_piece is not None else None
                if isawaitable(told):
                    await told
            if size > max_size:
                return
    heard.response = stream.response
    heard.error = broken(stream) if heard.response is None else None


def _find_way(client: Any, *, chat: bool, streams: bool) -> Asking:
    """Find out whose client it is, by the name of its package."""
    package = type(client).__module__.partition(".")[0]
    if package == "openai" and chat:
        return Asking("openai_chat", client.chat.completions.create, _tools_for_chat, streams)
    if package == "openai":
        return Asking("openai", client.responses.create, _tools_for_openai, streams)
    if package == "anthropic":
        return Asking("anthropic", client.messages.create, _tools_for_anthropic, streams)
    if package == "google" and hasattr(client, "models"):
        models = client.models
        method = models.generate_content_stream if streams else models.generate_content
        return Asking("gemini", method, _tools_for_gemini, streams)
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
    streams = {"stream": True} if asking.streams else {}
    return {**usual, **given, **options, **streams, "model": model, key: said}


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
