"""The agent's side: read any tool's answer correctly, and hand it to any model.

    from kuniumi import agent

    answer = agent.read(result)          # a dict, an SDK's object, a message, text, nothing at all
    messages += answer.for_anthropic(call.id)

    async with agent.Toolbox(app, "python server.py mcp", "http://host/mcp") as tools:
        messages += await tools.reply(response)    # runs the calls in a model's response

Names are loaded when they are used. No provider's SDK is imported, ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.agent.answer import Answer, Block, Failure
    from kuniumi.agent.blocking import BlockingToolbox
    from kuniumi.agent.checking import Problem
    from kuniumi.agent.client import Toolbox
    from kuniumi.agent.reading import read
    from kuniumi.agent.running import Run, run
    from kuniumi.agent.servers.source import Question, Server
    from kuniumi.agent.stats import Stats
    from kuniumi.agent.stream import Piece, Stream, ToolCall
    from kuniumi.agent.telemetry import Telemetry
    from kuniumi.agent.tools import Tool, Tools
    from kuniumi.errors import AnswerError, ServerError, StreamError

__all__ = [
    "Answer",
    "AnswerError",
    "Block",
    "BlockingToolbox",
    "Failure",
    "Piece",
    "Problem",
    "Question",
    "Run",
    "Server",
    "ServerError",
    "Stats",
    "Stream",
    "StreamError",
    "Telemetry",
    "Tool",
    "ToolCall",
    "Toolbox",
    "Tools",
    "read",
    "run",
]
"""
- `read` makes an `Answer` out of whatever a tool sent; it has `Block`s, and a `Failure` if it is one.
- `AnswerError` is raised by `answer.as_type`; `Problem`s come from `answer.check`.
- `Tools` holds every `Tool` a model may call, in the form each provider wants.
- `Stream` puts together what a model says in pieces: `Piece`s of text, and `ToolCall`s; one that broke
  off is a `StreamError` to who would answer it.
- `Stats` counts answers; `Telemetry` tells OpenTelemetry of calls.
- `Toolbox` finds the tools of servers and calls them; a `Server` says more of one than its address,
  a `Question` is what one asks a person, `ServerError` what opening one may raise. `with` gives a
  `BlockingToolbox`.
- `run` holds a whole conversation, which is then a `Run`.
"""

_HOMES = {
    "Answer": "kuniumi.agent.answer",
    "AnswerError": "kuniumi.errors",
    "Block": "kuniumi.agent.answer",
    "BlockingToolbox": "kuniumi.agent.blocking",
    "Failure": "kuniumi.agent.answer",
    "Piece": "kuniumi.agent.stream",
    "Problem": "kuniumi.agent.checking",
    "Question": "kuniumi.agent.servers.source",
    "Run": "kuniumi.agent.running",
    "Server": "kuniumi.agent.servers.source",
    "ServerError": "kuniumi.errors",
    "Stats": "kuniumi.agent.stats",
    "Stream": "kuniumi.agent.stream",
    "StreamError": "kuniumi.errors",
    "Telemetry": "kuniumi.agent.telemetry",
    "Tool": "kuniumi.agent.tools",
    "ToolCall": "kuniumi.agent.stream",
    "Toolbox": "kuniumi.agent.client",
    "Tools": "kuniumi.agent.tools",
    "read": "kuniumi.agent.reading",
    "run": "kuniumi.agent.running",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    home = _HOMES.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415 - this is the loading itself

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return __all__
