"""Functions that give every kind of block, rightly and wrongly."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from kuniumi import (
    Annotations,
    App,
    Audio,
    Contents,
    EmbeddedResource,
    FunctionError,
    Icon,
    Image,
    ResourceLink,
    Text,
    ToolResult,
)

app = App(name="Content", version="1.0.0")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
NOTES = Annotations(audience=("user", "assistant"), priority=1, last_modified="2026-01-01")
META: dict[str, Any] = {"example.com/n": 1}


@dataclass
class Forecast:
    """What is to come."""

    degrees: float


@app.function
async def AllKinds() -> list[Text | Image | Audio | ResourceLink | EmbeddedResource]:
    """Gives all five."""
    return [
        Text("words", NOTES, META),
        Image(PNG, annotations=NOTES, meta=META),
        Audio(WAV, annotations=NOTES, meta=META),
        ResourceLink(
            "notes://1",
            "one",
            "The First",
            "A note",
            "text/plain",
            5,
            (Icon("https://example.com/i.png"),),
            NOTES,
            META,
        ),
        EmbeddedResource(Contents("notes://2", "text", meta=META), NOTES, META),
        EmbeddedResource(Contents("notes://3", blob=b"\x00", mime_type="x/y")),
    ]


@app.function
def Weather(days: int = 1) -> ToolResult[list[Forecast]]:
    """Gives words for people beside data."""
    if days < 1:
        raise FunctionError("Nobody knows the past", status=422)
    found = [Forecast(20.5) for _ in range(days)]
    return ToolResult(found, ["It stays warm.", Image(PNG)], meta={"example.com/model": "m1"})


@app.function
def Plain() -> ToolResult[int]:
    """Gives a value, and no words."""
    return ToolResult(5)


@app.function
def Nothing() -> ToolResult[None]:
    """Gives words, and no value."""
    return ToolResult(content="All is done.")


@app.function
def WrongValue() -> ToolResult[int]:
    """Promises a number."""
    return ToolResult("five", "words")  # type: ignore[arg-type]


@app.function
def NoResult() -> ToolResult[int]:
    """Forgets to wrap it."""
    return 5  # type: ignore[return-value]


@app.function
def WrongBlock(kind: str) -> ToolResult[int]:
    """Gives blocks whose fields hold what they must not."""
    blocks: dict[str, Any] = {
        "text": Text(5),  # type: ignore[arg-type]
        "priority": Text("a", Annotations(priority=5)),
        "audience": Text("a", Annotations(audience=("everybody",))),  # type: ignore[arg-type]
        "uri": ResourceLink(None, "a"),  # type: ignore[arg-type]
        "object": object(),
        "number": 5,
    }
    return ToolResult(1, [blocks[kind]])


@app.function
def WrongMeta(kind: str) -> ToolResult[int]:
    """Says what can't be said beside a value."""
    metas: dict[str, Any] = {
        "keys": {1: 2},
        "value": {"a": object()},
        "list": [1],
        "reserved": {"io.modelcontextprotocol/serverInfo": {}},
        "no key": {"-cost": 3},
    }
    return ToolResult(1, meta=metas[kind])


@app.function
def WrongImage() -> Image:
    """Takes text for a picture."""
    return Image("picture.png")  # type: ignore[arg-type]


@app.function
def NoBlock() -> Text:
    """Promises a block."""
    return "words"  # type: ignore[return-value]


@app.function
def Bytes(kind: str) -> Image | Audio:
    """Gives bytes whose type is to be read off them."""
    beginnings = {
        "png": PNG,
        "jpeg": b"\xff\xd8\xff\xe0",
        "gif": b"GIF89a",
        "webp": b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        "other": b"nobody knows",
    }
    if kind in beginnings:
        return Image(bytearray(beginnings[kind]))  # type: ignore[arg-type]
    sounds = {
        "wav": WAV,
        "mp3": b"ID3\x04",
        "mpeg": b"\xff\xfb\x90",
        "ogg": b"OggS\x00",
        "flac": b"fLaC\x00",
        "noise": b"nobody knows",
    }
    return Audio(memoryview(sounds[kind]))  # type: ignore[arg-type]


if __name__ == "__main__":
    app.run()
