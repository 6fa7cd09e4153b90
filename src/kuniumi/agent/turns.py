"""A model's turn: what it said, and the tools that it calls, whichever provider's words it is in.

In: a response of the openai, anthropic or google-genai package, or the same as plain data. Out: a
`Turn`: the messages that keep what the model said, as plain data, and its calls. It is pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.agent.json_text import parse
from kuniumi.agent.sdk_objects import dump
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kuniumi.agent.providers.rendering import Rendering
    from kuniumi.agent.providers.rendering import Turn as Answered

Wire = Literal["openai", "openai_chat", "anthropic", "gemini"]

_ADDED = frozenset({"parsed", "parsed_arguments", "parsed_output"})
"""What the packages' helpers add to what was sent."""


class Wanted(Struct, frozen=True):
    """One call that a model makes; `arguments` are nothing where they are no object."""

    id: str
    name: str
    arguments: dict[str, Any] | None


class Turn(Struct, frozen=True):
    """What a model said in one response; one that is `paused` goes on once it is sent back."""

    wire: Wire
    messages: list[dict[str, Any]]
    calls: list[Wanted]
    text: str = ""
    paused: bool = False


def read_turn(response: Any) -> Turn:
    """Read a response; `UsageError` if it is none of a provider that is known."""
    plain = dump(response)
    if isinstance(plain, dict):
        for key, reader in _READERS.items():
            if isinstance(plain.get(key), list):
                return reader(plain)
        if plain.get("candidates", "") is None or "usage_metadata" in plain:
            return Turn("gemini", [], [])
    raise UsageError(
        f"an object of type {type(response).__name__} is no response of a model: "
        "give what openai, anthropic or google-genai returned, or its dict"
    )


def respond(turn: Turn, answered: Sequence[Answered], how: Rendering) -> list[dict[str, Any]]:
    """Give the messages that answer a turn's calls, in its provider's words."""
    from kuniumi.agent.providers import anthropic, gemini, openai  # noqa: PLC0415 - who replies pays

    responders: dict[Wire, Callable[..., list[dict[str, Any]]]] = {
        "openai": openai.respond,
        "openai_chat": openai.respond_chat,
        "anthropic": anthropic.respond,
        "gemini": gemini.respond,
    }
    return responders[turn.wire](answered, how)


def _read_responses(plain: dict[str, Any]) -> Turn:
    items = [_sent(item) for item in _objects(plain["output"])]
    calls = [
        _wanted(
            item.get("call_id"),
            item.get("name"),
            item.get("arguments"),
            is_cut=item.get("status") == "incomplete",
        )
        for item in items
        if item.get("type") == "function_call"
    ]
    said = [
        part["text"]
        for item in items
        if item.get("type") == "message"
        for part in _objects(item.get("content"))
        if isinstance(part.get("text"), str)
    ]
    for item in items:
        if item.get("type") == "message":
            item["content"] = [_sent(part) for part in _objects(item.get("content"))]
    return Turn("openai", items, calls, "".join(said))


def _read_chat(plain: dict[str, Any]) -> Turn:
    choices = _objects(plain["choices"])
    message = choices[0].get("message") if choices else None
    if not isinstance(message, dict):
        return Turn("openai_chat", [], [])
    content = message.get("content")
    kept = {"role": "assistant", "content": content, **_sent(message)}
    kept.pop("annotations", None)  # for who reads: no model is told them again
    made = [_read_made(call) for call in _objects(kept.pop("tool_calls", None))]
    if made:
        kept["tool_calls"] = made
    is_cut = choices[0].get("finish_reason") == "length"
    calls = [
        _wanted(
            call.get("id"),
            call["function"].get("name"),
            call["function"].get("arguments"),
            is_cut=is_cut and call is made[-1],
        )
        for call in made
        if isinstance(call.get("function"), dict)
    ]
    text = content if isinstance(content, str) else ""
    return Turn("openai_chat", [kept], calls, text)


def _read_made(call: dict[str, Any]) -> dict[str, Any]:
    """Give a call of a chat as it was sent: its place in the stream is a helper's."""
    function = call.get("function")
    named = {"function": _sent(function)} if isinstance(function, dict) else {}
    return {key: item for key, item in {**_sent(call), **named}.items() if key != "index"}


def _read_anthropic(plain: dict[str, Any]) -> Turn:
    blocks = [_sent(block) for block in _objects(plain["content"])]
    is_cut = plain.get("stop_reason") == "max_tokens"
    calls = [
        _wanted(
            block.get("id"),
            block.get("name"),
            block.get("input"),
            is_cut=is_cut and block is blocks[-1],
        )
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    for block in blocks:
        if "input" in block and not isinstance(block["input"], dict):
            block["input"] = {}  # it has to be an object, even where the model sent none
    said = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    kept = [{"role": "assistant", "content": blocks}] if blocks else []
    paused = plain.get("stop_reason") == "pause_turn" and bool(kept)
    return Turn("anthropic", kept, calls, "".join(said), paused)


def _read_gemini(plain: dict[str, Any]) -> Turn:
    candidates = _objects(plain["candidates"])
    content = candidates[0].get("content") if candidates else None
    parts = _objects(content.get("parts")) if isinstance(content, dict) else []
    found = [part.get("function_call") or part.get("functionCall") for part in parts]
    calls = [
        _wanted(call.get("id"), call.get("name"), call.get("args")) for call in _objects(found)
    ]
    said = [
        part["text"]
        for part in parts
        if isinstance(part.get("text"), str) and not part.get("thought")
    ]
    kept = [{"role": "model", "parts": parts}] if parts else []
    return Turn("gemini", kept, calls, "".join(said))


_READERS: dict[str, Callable[[dict[str, Any]], Turn]] = {
    "output": _read_responses,
    "choices": _read_chat,
    "content": _read_anthropic,
    "candidates": _read_gemini,
}


def _wanted(call_id: Any, name: Any, arguments: Any, *, is_cut: bool = False) -> Wanted:
    """Read a call; one that was cut off before its arguments is none that can be made."""
    if isinstance(arguments, str):
        arguments = parse(arguments) if arguments.strip() else {}
    elif arguments is None:
        arguments = {}
    usable = isinstance(arguments, dict) and bool(arguments or not is_cut)
    return Wanted(
        call_id if isinstance(call_id, str) else "",
        name if isinstance(name, str) else "",
        arguments if usable else None,
    )


def _sent(found: dict[str, Any]) -> dict[str, Any]:
    """Give an object as it was sent, without nulls and without what a helper added to it."""
    return {key: item for key, item in found.items() if key not in _ADDED and item is not None}


def _objects(found: Any) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
