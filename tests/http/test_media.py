"""Pictures and sounds over HTTP: as data, or as what they are for a client that prefers it."""

from __future__ import annotations

import msgspec
import pytest

from kuniumi import App, Audio, Image, Text, ToolResult
from kuniumi.testing import connect

PNG = b"\x89PNG\r\n\x1a\n and so on"
WAV = b"RIFF\x00\x00\x00\x00WAVE and so on"

app = App(name="Media", version="1.0.0")


@app.function
def Draw() -> Image:
    return Image(PNG)


@app.function
def Sing() -> Audio:
    return Audio(WAV)


@app.function
def Both() -> list[Text | Image]:
    return [Text("Look"), Image(PNG)]


@app.function
def Fail() -> Image:
    raise ValueError("no paint")


@app.function
def Count() -> ToolResult[int]:
    return ToolResult(5, "five", meta={"k": 1})


@pytest.mark.parametrize(
    ("accept", "name", "content_type"),
    [
        ("image/png", "Draw", "image/png"),
        ("image/*", "Draw", "image/png"),
        ("audio/wav, application/json;q=0.5", "Sing", "audio/wav"),
        ("application/json;q=0.5, image/png", "Draw", "image/png"),
        ("image/jpeg", "Draw", "application/json"),
        ("audio/*", "Draw", "application/json"),
        ("application/json, image/png;q=0.5", "Draw", "application/json"),
        ("*/*", "Draw", "application/json"),
        ("image/png", "Both", "application/json"),
        ("image/png", "Fail", "application/json"),
        ("image/png", "Count", "application/json"),
    ],
)
def test_a_picture_is_sent_as_what_it_is_where_that_is_preferred(
    accept: str, name: str, content_type: str
) -> None:
    with connect(app, "http") as door:
        reply = door.call(name, headers={"accept": accept})
    assert reply.headers["content-type"] == content_type
    if content_type != "application/json":
        assert reply.body == (PNG if name == "Draw" else WAV)
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_elsewhere_a_picture_is_a_block_of_json() -> None:
    for surface in ("in-process", "http", "cgi", "shell"):
        with connect(app, surface) as door:
            block = door.call("Draw").envelope["result"]
        assert block["type"] == "image"
        assert block["mimeType"] == "image/png"
        assert msgspec.convert(block["data"], bytes) == PNG


def test_the_value_of_a_tool_result_is_what_data_is_wanted_for() -> None:
    for surface in ("in-process", "http", "cgi", "shell"):
        with connect(app, surface) as door:
            assert door.call("Count").envelope == {"result": 5}


def test_the_plain_tool_protocol_carries_words_and_pictures() -> None:
    headers = {"accept": "application/vnd.mcp.tool-result+json"}
    with connect(app, "http") as door:
        counted = door.call("Count", headers=headers).envelope
        drawn = door.call("Draw", headers=headers).envelope
    assert counted["content"] == [{"type": "text", "text": "five"}]
    assert counted["structuredContent"] == {"result": 5}
    assert drawn["content"][0]["type"] == "image"
    assert "structuredContent" not in drawn
