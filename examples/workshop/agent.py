"""An agent that finds its tools at run time, and does not care whose model it speaks to.

    python agent.py "How is the weather in Oslo, Kyoto and Atlantis?" --provider anthropic
    python agent.py --look Oslo Atlantis            # without any model
    python agent.py "…" --provider openai --base-url http://127.0.0.1:9000   # with standin.py
    python agent.py "…" --stream                    # each word as it comes

The tools are those of the weather example, started as a process; name other servers with --server.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from kuniumi import agent

WEATHER = Path(__file__).parents[1] / "weather" / "app.py"
MODELS = {
    "openai": "gpt-5",
    "openai-chat": "gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro-preview",
}


async def look(tools: agent.Toolbox, city: str) -> str:
    """Call a tool by hand: see whether it failed first, then prefer data to words."""
    answer = await tools.call("Weather", {"location": city})
    if answer.declared_error:
        return f"{city}: {answer.error.message if answer.error else answer.text}"
    if answer.has_value:
        return f"{city}: {answer.value['temperature']} °C, {answer.value['conditions']}"
    return f"{city}: {answer.text}"


async def converse(given: argparse.Namespace, servers: list[Any]) -> str:
    """Let a model answer, with as many rounds of tools as it wants."""
    client = connect(given.provider, given.base_url)
    model, chat = MODELS[given.provider], given.provider == "openai-chat"
    on_piece = show if given.stream else None
    async with agent.Toolbox(*servers) as tools:
        run = await agent.run(
            client, model, given.question, tools, rounds=10, chat=chat, on_piece=on_piece
        )
        print(tools.stats, file=sys.stderr)
    text = "" if given.stream else run.text  # it was shown as it came
    return f"{text}\n({run.rounds} rounds, {run.stopped})"


def show(piece: agent.Piece) -> None:
    """Show what the model says, and on the side what it thinks and calls."""
    if piece.kind == "content":
        print(piece.text, end="", flush=True)
    elif piece.name:
        print(f"\n[{piece.name}]", file=sys.stderr)
    elif piece.kind == "thinking":
        print(piece.text, end="", file=sys.stderr, flush=True)


def connect(provider: str, base_url: str | None) -> Any:
    """Make the client of a provider's own package, as its documentation says."""
    if provider == "anthropic":
        from anthropic import (  # type: ignore[import-not-found]  # noqa: PLC0415 - whose you have
            AsyncAnthropic,
        )

        return AsyncAnthropic(**({"base_url": base_url} if base_url else {}))
    if provider == "gemini":
        from google import genai  # type: ignore[import-not-found]  # noqa: PLC0415

        options = {"http_options": {"base_url": base_url}} if base_url else {}
        return genai.Client(**options).aio
    from openai import AsyncOpenAI  # type: ignore[import-not-found]  # noqa: PLC0415

    return AsyncOpenAI(**({"base_url": f"{base_url}/v1"} if base_url else {}))


async def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", nargs="?", default="How is the weather in Oslo and Kyoto?")
    parser.add_argument("--provider", choices=MODELS, default="openai")
    parser.add_argument("--base-url")
    parser.add_argument("--server", action="append", help="an address, or a command")
    parser.add_argument("--stream", action="store_true", help="show each word as it comes")
    parser.add_argument("--look", nargs="+", metavar="CITY")
    given = parser.parse_args()
    servers = given.server or [[sys.executable, str(WEATHER), "mcp"]]
    if given.look:
        async with agent.Toolbox(*servers) as tools:
            for city in given.look:
                print(await look(tools, city))
        return
    print(await converse(given, servers))


if __name__ == "__main__":
    asyncio.run(main())
