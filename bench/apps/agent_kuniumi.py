"""Kuniumi: an answer read, and rendered for a provider."""

# mypy: ignore-errors
# Runs by its path, in the environment of those it measures.

import dataclasses
from typing import Any

from agent_work import RESULTS, measure

from kuniumi import agent


@dataclasses.dataclass
class Result:
    """As an SDK's client hands it over."""

    content: list[Any]
    structured_content: Any = None
    is_error: bool = False


@dataclasses.dataclass
class Block:
    """A block of it."""

    type: str
    text: Any = None
    data: Any = None
    mimeType: Any = None  # noqa: N815 - the SDK's name


def as_object(sent):
    """Give a result as an object."""
    content = [Block(**block) for block in sent["content"]]
    return Result(content, sent.get("structuredContent"))


def each(act, make=lambda sent: sent):
    """Give one thing to do for each kind of answer."""
    given = {kind: make(sent) for kind, sent in RESULTS.items()}
    return {kind: lambda sent=sent: act(sent) for kind, sent in given.items()}


def full(sent):
    """Read it, and render it."""
    return agent.read(sent).for_openai("call_1")


measure(
    {
        "kuniumi read": each(agent.read),
        "kuniumi read, for OpenAI": each(full),
        "kuniumi of an object, for OpenAI": each(full, as_object),
    }
)
