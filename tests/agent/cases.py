"""The vendored cases, and how one is held against an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kuniumi.agent import Answer

FILE = Path(__file__).parent / "cases" / "tool_results.jsonl"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PDF = "JVBERi0xLjQKJSVFT0YKJVBERi0xLjQKJSVFT0YK"


def load() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text().splitlines()]


def text(*texts: Any, **more: Any) -> dict[str, Any]:
    """A tool result of texts."""
    return {"content": [{"type": "text", "text": each} for each in texts], **more}


def blocks(*sent: Any, **more: Any) -> dict[str, Any]:
    """A tool result of blocks."""
    return {"content": list(sent), **more}


def image(data: str = PNG, mime_type: str = "image/png", **more: Any) -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": mime_type, **more}


def misread(answer: Answer, expected: dict[str, Any]) -> Iterator[str]:
    """Give what an answer says otherwise than was expected of it."""
    found: dict[str, Any] = {
        "kind": answer.kind,
        "declared": answer.declared_error,
        "suspected": answer.suspected_error,
        "value": answer.value,
        "has_value": answer.has_value,
        "text": answer.text,
        "warned": bool(answer.warnings),
        "blocks": len(answer.blocks),
    }
    for name in ("code", "outer_code", "message"):
        found[name] = getattr(answer.error, name, None)
    for key, wanted in expected.items():
        match key:
            case "text_contains":
                yield from (f"lacks {each}" for each in wanted if each not in answer.text)
            case "text_excludes":
                yield from (f"has {each}" for each in wanted if each in answer.text)
            case "text_once":
                if answer.text.count(wanted) != 1:
                    yield f"has {wanted} {answer.text.count(wanted)} times"
            case "text_encodable":
                answer.text.encode()
            case _:
                same = found[key] == wanted and type(found[key]) is type(wanted)
                if not same:
                    yield f"{key} is {found[key]!r}, not {wanted!r}"
