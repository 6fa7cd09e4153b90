"""Run where the providers' packages are: holds conversations through their own clients.

In: lines of JSON, each a conversation to hold: `provider`, the `url` of a service, whether the client
is `sync`, `how` its answers are read, `options` of `agent.run`, and where to ask whether the service was
`left`. Out: a line each, with how it went.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import warnings
from contextlib import ExitStack, suppress
from typing import Any
from urllib.request import urlopen

sys.path.append(os.environ["MSGSPEC_FOLDER"])
warnings.simplefilter("ignore")  # what the packages say of themselves

import anthropic  # type: ignore[import-not-found]  # noqa: E402 - msgspec has to be found first
import openai  # type: ignore[import-not-found]  # noqa: E402
from google import genai  # type: ignore[import-not-found]  # noqa: E402

from kuniumi import App, FunctionError, Image, Text, agent  # noqa: E402

QUESTION = "How is the weather in Oslo, Atlantis, Nairobi and Kyoto?"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cf"
    "c0000003010100c9fe92ef0000000049454e44ae426082"
)
# What makes each model think, and send back what it thought.
THINKING: dict[str, Any] = {
    "openai": {"include": ["reasoning.encrypted_content"], "store": False},
    "openai-chat": {},
    "anthropic": {"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}},
    "gemini": {"config": {"thinking_config": {"include_thoughts": True}}},
}

app = App(name="Weather", version="1.0.0")


@app.function
async def Weather(location: str) -> list[Text | Image]:
    """Tells the weather: in words, as an error, or as a picture."""
    if location == "Atlantis":
        raise FunctionError("Location not found: Atlantis")
    return [Image(PIXEL) if location == "Nairobi" else Text(f"5 degrees in {location}")]


def connect(provider: str, url: str, *, sync: bool) -> Any:
    """Make the client of a provider's package."""
    if provider == "anthropic":
        made = anthropic.Anthropic if sync else anthropic.AsyncAnthropic
        return made(api_key="none", base_url=url, max_retries=0)
    if provider == "gemini":
        once = {"base_url": url, "retry_options": {"attempts": 1}}
        client = genai.Client(api_key="none", http_options=once)
        return client if sync else client.aio
    made = openai.OpenAI if sync else openai.AsyncOpenAI
    return made(api_key="none", base_url=f"{url}/v1", max_retries=0)


def hold(asked: dict[str, Any]) -> dict[str, Any]:
    """Hold one conversation."""
    client = connect(asked["provider"], asked["url"], sync=asked["sync"])
    started = time.monotonic()
    with ExitStack() as stack:
        try:
            if asked["how"] in {"at once", "streaming"}:
                found = run(client, asked, stack)
            elif asked["sync"]:
                found = by_hand(client, asked, stack.enter_context(agent.Toolbox(app)))
            else:
                found = asyncio.run(by_hand_later(client, asked))
        except Exception as error:  # noqa: BLE001 - which one is what is asked
            found = {"raised": type(error).__name__, "said": str(error)}
    seconds = time.monotonic() - started
    if "left" in asked:
        with urlopen(asked["left"], timeout=60) as answer:  # noqa: S310 - the test's own service
            found["left"] = answer.read() == b"true"
    return {**found, "seconds": seconds}


def run(client: Any, asked: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """Let `agent.run` hold it."""
    pieces: list[agent.Piece] = []
    question, provider = asked.get("question", QUESTION), asked["provider"]
    options = {**THINKING[provider], "chat": provider == "openai-chat", **asked.get("options", {})}
    if asked["how"] == "streaming":
        options["on_piece"] = pieces.append
    if asked["sync"]:
        tools = stack.enter_context(agent.Toolbox(app))
        went = tools.run(client, "model", question, **options)
    else:
        went = asyncio.run(run_later(client, question, options))
    return {
        "text": went.text,
        "stopped": went.stopped,
        "rounds": went.rounds,
        "messages": went.messages,
        "error": went.error and f"{type(went.error).__name__}: {went.error}",
        "pieces": [[piece.kind, piece.text, piece.name, piece.index] for piece in pieces],
        "response": type(went.response).__name__,
    }


async def run_later(client: Any, question: str, options: dict[str, Any]) -> agent.Run:
    """Let it hold one with a client that awaits."""
    async with agent.Toolbox(app) as tools:
        return await agent.run(client, "model", question, tools, **options)


# ---- by hand, as people write it -------------------------------------------------------------------


def request(provider: str, tools: Any, messages: list[Any]) -> dict[str, Any]:
    """Give what a client's method is called with."""
    thinking = THINKING[provider]
    if provider == "gemini":
        config = {**thinking["config"], "tools": tools.for_gemini()}
        config["automatic_function_calling"] = {"disable": True}
        return {"model": "model", "contents": messages, "config": config}
    told = {
        "openai": tools.for_openai,
        "openai-chat": tools.for_openai_chat,
        "anthropic": tools.for_anthropic,
    }[provider]()
    key = "input" if provider == "openai" else "messages"
    return {"model": "model", key: messages, "tools": told, **thinking}


def stream_of(client: Any, provider: str, asked: dict[str, Any]) -> Any:
    """Ask for a stream of events."""
    if provider == "openai":
        return client.responses.create(**asked, stream=True)
    if provider == "openai-chat":
        return client.chat.completions.create(**asked, stream=True)
    if provider == "anthropic":
        return client.messages.create(**asked, stream=True)
    return client.models.generate_content_stream(**asked)


def helper_of(client: Any, provider: str, asked: dict[str, Any]) -> Any:
    """Ask by the package's helper for streams."""
    if provider == "openai":
        return client.responses.stream(**asked)
    if provider == "openai-chat":
        return client.chat.completions.stream(**asked)
    return client.messages.stream(**asked)


def first_messages(provider: str) -> list[Any]:
    """Give the question as each provider wants it."""
    if provider == "gemini":
        return [{"role": "user", "parts": [{"text": QUESTION}]}]
    return [{"role": "user", "content": QUESTION}]


def by_hand(client: Any, asked: dict[str, Any], tools: agent.BlockingToolbox) -> dict[str, Any]:
    """Hold it with a client that does not await."""
    provider, how = asked["provider"], asked["how"]
    messages = first_messages(provider)
    text, new = "", [*messages]
    while new:
        sent = request(provider, tools, messages)
        stream = agent.Stream()
        if how == "helper":
            with helper_of(client, provider, sent) as events:
                new = tools.reply(events)
        elif how == "helper, read":
            with helper_of(client, provider, sent) as events:
                list(stream.read(events))
                new = tools.reply(stream)
        elif how == "helper, drained":
            with helper_of(client, provider, sent) as events:
                for _ in events:
                    pass
                new = tools.reply(events)
        elif how == "iterator":
            new = tools.reply(stream_of(client, provider, sent))
        else:
            list(stream.read(stream_of(client, provider, sent)))
            new = tools.reply(stream)
        text = stream.content
        messages += new
    return {"messages": messages, "text": text}


async def by_hand_later(client: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Hold it with a client that awaits."""
    provider, how = asked["provider"], asked["how"]
    messages = first_messages(provider)
    text, new = "", [*messages]
    async with agent.Toolbox(app) as tools:
        while new:
            sent = request(provider, tools, messages)
            stream = agent.Stream()
            if how == "helper":
                async with helper_of(client, provider, sent) as events:
                    new = await tools.reply(events)
            elif how == "helper, read":
                async with helper_of(client, provider, sent) as events:
                    async for _ in stream.read(events):
                        pass
                    new = await tools.reply(stream)
            elif how == "helper, drained":
                async with helper_of(client, provider, sent) as events:
                    async for _ in events:
                        pass
                    new = await tools.reply(events)
            elif how == "iterator":
                new = await tools.reply(await stream_of(client, provider, sent))
            else:
                async for _ in stream.read(await stream_of(client, provider, sent)):
                    pass
                new = await tools.reply(stream)
            text = stream.content
            messages += new
    return {"messages": messages, "text": text}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(f"{json.dumps(hold(json.loads(line)))}\n")
        with suppress(BrokenPipeError):
            sys.stdout.flush()
