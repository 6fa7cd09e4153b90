"""Google: the Gemini API.

In: calls with their answers. Out: one content of the user's, as google-genai's types describe it,
as plain JSON: the package reads base64 out of strings. A response is an object that says `output`
or `error`. Its numbers are floats, so data goes in as data only where nothing is lost by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kuniumi.agent.facts import covers
from kuniumi.agent.json_text import ABSENT, parse
from kuniumi.agent.providers.rendering import Carrier, Rendering, render_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kuniumi.agent.answer import Answer
    from kuniumi.agent.providers.rendering import Turn

__all__ = ["Rendering", "respond"]

_CARRIES = Carrier(
    frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"}), 15_000_000
)
_MAX_DEPTH = 30
_EXACT = 2**53


def respond(turns: Sequence[Turn], how: Rendering) -> list[dict[str, Any]]:
    """Give the one content that answers these calls; none if there were none."""
    parts = [{"function_response": _response(*turn, how)} for turn in turns]
    return [{"role": "user", "parts": parts}] if parts else []


def _response(call_id: str | None, name: str, answer: Answer, how: Rendering) -> dict[str, Any]:
    text, media = render_apart(answer, how, _CARRIES.carries)
    response: dict[str, Any] = {"name": name or call_id or "tool"}
    if call_id:
        response["id"] = call_id
    if answer.declared_error:
        response["response"] = {"error": text}
    else:
        response["response"] = {"output": text if how.neutralise else _output(answer, text)}
    if media:
        response["parts"] = [
            {"inline_data": {"mime_type": block.mime_type, "data": block.data}} for block in media
        ]
    return response


def _output(answer: Answer, text: str) -> Any:
    """Give the data itself, if the text says nothing else and the wire does not bend it."""
    if not isinstance(answer.value, dict) or not _is_safe(answer.value, 0):
        return text
    said = parse(text)
    if said is ABSENT or not (covers(said, answer.value) and covers(answer.value, said)):
        return text
    return answer.value


def _is_safe(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return depth < _MAX_DEPTH and all(
            isinstance(key, str) and key != "$ref" and _is_safe(item, depth + 1)
            for key, item in value.items()
        )
    if isinstance(value, list):
        return depth < _MAX_DEPTH and all(_is_safe(item, depth + 1) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return -_EXACT <= value <= _EXACT
    return value is None or isinstance(value, (str, float, bool))
