"""Anthropic: the Messages API.

In: calls with their answers. Out: one message of the user's, as the anthropic package's types
describe it, as plain JSON. An error may hold no media, a text block may not be empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.agent.providers.rendering import Carrier, Rendering, render, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kuniumi.agent.answer import Block
    from kuniumi.agent.providers.rendering import Turn

__all__ = ["Rendering", "respond"]

_PDF = "application/pdf"
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_IMAGE = Carrier(_IMAGES, 3_750_000)  # 5 MB of base64
_DOCUMENT = Carrier(frozenset({_PDF}), 20_000_000)


def respond(turns: Sequence[Turn], how: Rendering) -> list[dict[str, Any]]:
    """Give the one message that answers these calls; none if there were none."""
    results = []
    for tool_use_id, _name, answer in turns:
        failed = answer.declared_error
        parts = render(answer, how._replace(media=how.media and not failed), _carries)
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": tool_use_id or "",
            "content": _content(parts),
        }
        if failed:
            result["is_error"] = True
        results.append(result)
    return [{"role": "user", "content": results}] if results else []


def _carries(block: Block) -> bool:
    return _IMAGE.carries(block) or _DOCUMENT.carries(block)


def _content(parts: list[str | Block]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in parts):
        return text_of(parts)
    return [
        {"type": "text", "text": part} if isinstance(part, str) else _media(part) for part in parts
    ]


def _media(block: Block) -> dict[str, Any]:
    source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
    if block.mime_type != _PDF:
        return {"type": "image", "source": source}
    title = (block.name or block.uri)[:500]
    return {"type": "document", "source": source, **({"title": title} if title else {})}
