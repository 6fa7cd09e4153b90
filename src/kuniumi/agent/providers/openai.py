"""OpenAI: the Responses API, and Chat Completions.

In: calls with their answers. Out: messages as the openai package's types describe them, as plain
JSON. Neither API has a flag for errors, so an error says so itself. Media cannot stand in a chat's
tool message: they follow in a message of the user's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.agent.providers.rendering import Carrier, Rendering, render, render_apart, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kuniumi.agent.answer import Block
    from kuniumi.agent.providers.rendering import Turn

__all__ = ["Rendering", "respond", "respond_chat"]

_MAX_BYTES = 20_000_000
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_PDF = "application/pdf"
_RESPONSES = Carrier(_IMAGES | {_PDF}, _MAX_BYTES)
_CHAT = Carrier(_IMAGES | {_PDF} | _SOUNDS.keys(), _MAX_BYTES)


def respond(turns: Sequence[Turn], how: Rendering) -> list[dict[str, Any]]:
    """Give the input items for the Responses API, one a call."""
    return [
        {
            "type": "function_call_output",
            "call_id": call_id or "",
            "output": _output(render(answer, how, _RESPONSES.carries, mark=True)),
        }
        for call_id, _name, answer in turns
    ]


def respond_chat(turns: Sequence[Turn], how: Rendering) -> list[dict[str, Any]]:
    """Give the messages for Chat Completions: one a call, then one with all their media."""
    messages: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for call_id, _name, answer in turns:
        content, media = render_apart(answer, how, _CHAT.carries, mark=True)
        messages.append({"role": "tool", "tool_call_id": call_id or "", "content": content})
        if media:
            shown.append({"type": "text", "text": f"From the tool call {call_id}:"})
            shown.extend(map(_chat_part, media))
    return [*messages, {"role": "user", "content": shown}] if shown else messages


def _output(parts: list[str | Block]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in parts):
        return text_of(parts)
    return [
        {"type": "input_text", "text": part} if isinstance(part, str) else _item(part)
        for part in parts
    ]


def _item(block: Block) -> dict[str, Any]:
    if block.mime_type == _PDF:
        return {"type": "input_file", "filename": _file_name(block), "file_data": _url(block)}
    return {"type": "input_image", "image_url": _url(block), "detail": "auto"}


def _chat_part(block: Block) -> dict[str, Any]:
    if block.mime_type in _SOUNDS:
        sound = {"data": block.data, "format": _SOUNDS[block.mime_type]}
        return {"type": "input_audio", "input_audio": sound}
    if block.mime_type == _PDF:
        file = {"filename": _file_name(block), "file_data": _url(block)}
        return {"type": "file", "file": file}
    return {"type": "image_url", "image_url": {"url": _url(block)}}


def _url(block: Block) -> str:
    return f"data:{block.mime_type};base64,{block.data}"


def _file_name(block: Block) -> str:
    name = (block.name or block.uri).rstrip("/").rpartition("/")[2]
    return name if name.lower().endswith(".pdf") else f"{name or 'document'}.pdf"
