"""A model's turn: what it said, and the tools that it calls, whichever provider's words it is in.

In: a response of the openai, anthropic or google-genai package, or the same as plain data. Out: a
`Turn`: the messages that keep what the model said, as plain data, and its calls. It is pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.agent.json_text import parse
from kuniumi.agent.plain import make_plain
from kuniumi.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kuniumi.agent.providers.rendering import Rendering
    from kuniumi.agent.providers.rendering import Turn as Answered

Wire = Literal["openai", "openai_chat", "anthropic", "gemini"]

_LEFT_OUT = frozenset({"parsed", "parsed_arguments"})
"""What the packages add to what was sent."""


class Wanted(Struct, frozen=True):
    """One call that a model makes; `arguments` are nothing where they are no object."""

    id: str
    name: str
    arguments: dict[str, Any] | None


class Turn(Struct, frozen=True):
    """What a model said in one response."""

    wire: Wire
    messages: list[dict[str, Any]]
    calls: list[Wanted]
    text: str = ""


def read_turn(response: Any) -> Turn:
    """Read a response; `UsageError` if it is none of a provider that is known."""
    plain = _plain(response)
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
    items = _objects(plain["output"])
    calls = [
        _wanted(item.get("call_id"), item.get("name"), item.get("arguments"))
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
    return Turn("openai", items, calls, "".join(said))


def _read_chat(plain: dict[str, Any]) -> Turn:
    choices = _objects(plain["choices"])
    message = choices[0].get("message") if choices else None
    if not isinstance(message, dict):
        return Turn("openai_chat", [], [])
    calls = [
        _wanted(call.get("id"), call["function"].get("name"), call["function"].get("arguments"))
        for call in _objects(message.get("tool_calls"))
        if isinstance(call.get("function"), dict)
    ]
    content = message.get("content")
    kept = {"role": "assistant", "content": content, **message}
    text = content if isinstance(content, str) else ""
    return Turn("openai_chat", [kept], calls, text)


def _read_anthropic(plain: dict[str, Any]) -> Turn:
    blocks = _objects(plain["content"])
    calls = [
        _wanted(block.get("id"), block.get("name"), block.get("input"))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    said = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    kept = [{"role": "assistant", "content": blocks}] if blocks else []
    return Turn("anthropic", kept, calls, "".join(said))


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


def _wanted(call_id: Any, name: Any, arguments: Any) -> Wanted:
    if isinstance(arguments, str):
        arguments = parse(arguments) if arguments.strip() else {}
    elif arguments is None:
        arguments = {}
    return Wanted(
        call_id if isinstance(call_id, str) else "",
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, dict) else None,
    )


def _plain(response: Any) -> Any:
    """Give a response as plain data, without what was never sent."""
    dump = getattr(response, "model_dump", None)
    if dump is None or isinstance(response, dict):
        return make_plain(response, [])
    return _without(dump(mode="json", exclude_none=True, warnings=False))


def _without(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _without(item) for key, item in found.items() if key not in _LEFT_OUT}
    return [_without(item) for item in found] if isinstance(found, list) else found


def _objects(found: Any) -> list[dict[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
