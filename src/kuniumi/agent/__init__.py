"""The agent's side: read any tool's answer correctly, and hand it to any model.

    from kuniumi import agent

    answer = agent.read(result)          # a dict, an SDK's object, a message, text, nothing at all
    messages += answer.for_anthropic(call.id)

Names are loaded when they are used. No provider's SDK is imported, ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.agent.answer import Answer, Block, Failure
    from kuniumi.agent.checking import Problem
    from kuniumi.agent.reading import read
    from kuniumi.agent.stats import Stats
    from kuniumi.agent.stream import Piece, Stream, ToolCall
    from kuniumi.agent.tools import Tool, Tools
    from kuniumi.errors import AnswerError

__all__ = [
    "Answer",
    "AnswerError",
    "Block",
    "Failure",
    "Piece",
    "Problem",
    "Stats",
    "Stream",
    "Tool",
    "ToolCall",
    "Tools",
    "read",
]
"""
- `read` makes an `Answer` out of whatever a tool sent; it has `Block`s, and a `Failure` if it is one.
- `AnswerError` is raised by `answer.as_type`; `Problem`s come from `answer.check`.
- `Tools` holds every `Tool` a model may call, in the form each provider wants.
- `Stream` puts together what a model says in pieces: `Piece`s of text, and `ToolCall`s.
- `Stats` counts answers.
"""

_HOMES = {
    "Answer": "kuniumi.agent.answer",
    "AnswerError": "kuniumi.errors",
    "Block": "kuniumi.agent.answer",
    "Failure": "kuniumi.agent.answer",
    "Piece": "kuniumi.agent.stream",
    "Problem": "kuniumi.agent.checking",
    "Stats": "kuniumi.agent.stats",
    "Stream": "kuniumi.agent.stream",
    "Tool": "kuniumi.agent.tools",
    "ToolCall": "kuniumi.agent.stream",
    "Tools": "kuniumi.agent.tools",
    "read": "kuniumi.agent.reading",
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
