"""Content blocks, of all five kinds, in every revision; values with words of their own beside them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kuniumi import Annotations, App, DefinitionError, Image, Text, ToolResult
from tests.http.server import Server, serving
from tests.mcp.apps.content import PNG, WAV
from tests.mcp.official import REVISIONS, STATELESS
from tests.mcp.speaking import Client, speaking

CONTENT = Path(__file__).parent / "apps" / "content.py"
PICTURE = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
SOUND = {"type": "audio", "data": base64.b64encode(WAV).decode(), "mimeType": "audio/wav"}


@pytest.fixture(scope="module", params=REVISIONS)
def client(request: pytest.FixtureRequest) -> Any:
    """Speak every revision; each answer is held to its schema."""
    with speaking(CONTENT, revision=request.param) as client:
        yield client


@pytest.fixture(scope="module")
def server() -> Any:
    with serving(CONTENT) as server:
        yield server


def error_of(result: dict[str, Any]) -> str:
    assert result["isError"] is True
    assert "structuredContent" not in result
    (block,) = result["content"]
    return str(json.loads(block["text"])["error"])


def test_all_five_kinds_are_told_as_the_revision_knows_them(client: Client) -> None:
    result = client.call("functions.AllKinds")
    assert result["isError"] is False
    assert "structuredContent" not in result
    notes: dict[str, Any] = {"audience": ["user", "assistant"], "priority": 1}
    beside: dict[str, Any] = {"annotations": notes}
    if client.revision >= "2025-06-18":
        notes["lastModified"] = "2026-01-01"
        beside["_meta"] = {"example.com/n": 1}
    meta = {key: value for key, value in beside.items() if key == "_meta"}
    sound: dict[str, Any] = {**SOUND, **beside}
    if client.revision < "2025-03-26":  # where there is no sound, it is a resource in place
        contents = {
            "uri": f"data:audio/wav;base64,{SOUND['data']}",
            "blob": SOUND["data"],
            "mimeType": "audio/wav",
        }
        sound = {"type": "resource", "resource": contents, "annotations": notes}
    link: dict[str, Any] = {
        "type": "resource_link",
        "uri": "notes://1",
        "name": "one",
        "title": "The First",
        "description": "A note",
        "mimeType": "text/plain",
        "size": 5,
        "icons": [{"src": "https://example.com/i.png"}],
        **beside,
    }
    if client.revision < "2025-11-25":
        del link["icons"]
    if client.revision < "2025-06-18":
        text = "The First: notes://1 (A note)"
        link = {"type": "text", "text": text, "annotations": notes}
    assert result["content"] == [
        {"type": "text", "text": "words", **beside},
        {**PICTURE, **beside},
        sound,
        link,
        {
            "type": "resource",
            "resource": {"uri": "notes://2", "text": "text", **meta},
            **beside,
        },
        {
            "type": "resource",
            "resource": {"uri": "notes://3", "blob": "AA==", "mimeType": "x/y"},
        },
    ]


def test_a_value_goes_out_beside_its_words(client: Client) -> None:
    result = client.call("functions.Weather", days=2)
    assert result["content"] == [{"type": "text", "text": "It stays warm."}, PICTURE]
    value = {"result": [{"degrees": 20.5}, {"degrees": 20.5}]}
    assert result.get("structuredContent") == (value if client.revision >= "2025-06-18" else None)
    assert result["_meta"]["example.com/model"] == "m1"
    if client.revision == STATELESS:
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "Content"


def test_the_schema_promises_the_value(client: Client) -> None:
    tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
    if client.revision >= "2025-06-18":
        items = tools["functions.Weather"]["outputSchema"]["properties"]["result"]["items"]
        assert items["properties"]["degrees"]["type"] == "number"
    assert "outputSchema" not in tools["functions.AllKinds"]


def test_a_value_without_words_is_told_as_any_other(client: Client) -> None:
    result = client.call("functions.Plain")
    assert result["content"] == [{"type": "text", "text": '{"result":5}'}]


def test_words_without_a_value(client: Client) -> None:
    result = client.call("functions.Nothing")
    assert result["content"] == [{"type": "text", "text": "All is done."}]
    assert result.get("structuredContent") == ({} if client.revision >= "2025-06-18" else None)


def test_a_failure_has_no_words_but_its_own(client: Client) -> None:
    assert error_of(client.call("functions.Weather", days=0)) == "Nobody knows the past"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("WrongValue", {}, "expected"),
        ("NoResult", {}, "where a ToolResult was promised"),
        ("WrongBlock", {"kind": "text"}, "content that is none: "),
        ("WrongBlock", {"kind": "priority"}, "at content[0].annotations.priority"),
        ("WrongBlock", {"kind": "audience"}, "at content[0].annotations.audience[0]"),
        ("WrongBlock", {"kind": "uri"}, "at content[0].uri"),
        ("WrongBlock", {"kind": "object"}, "content holds a value of type object: give text"),
        ("WrongBlock", {"kind": "number"}, "content holds a value of type int: give text"),
        ("WrongMeta", {"kind": "keys"}, "meta that is no dict with texts as keys"),
        ("WrongMeta", {"kind": "value"}, "JSON can't carry"),
        ("WrongMeta", {"kind": "list"}, "meta that is no dict"),
        ("WrongMeta", {"kind": "reserved"}, "which is for the protocol itself"),
        ("WrongMeta", {"kind": "no key"}, "meta with '-cost', which is no key like 'example.com/"),
        ("WrongImage", {}, "Image(str): give the bytes themselves"),
        ("NoBlock", {}, "expected"),
    ],
)
def test_what_is_no_content_is_told(
    client: Client, name: str, arguments: dict[str, str], said: str
) -> None:
    assert said in error_of(client.call(f"functions.{name}", **arguments))
    assert client.call("functions.Plain")["isError"] is False


@pytest.mark.parametrize(
    ("kind", "block", "mime_type"),
    [
        ("png", "image", "image/png"),
        ("jpeg", "image", "image/jpeg"),
        ("gif", "image", "image/gif"),
        ("webp", "image", "image/webp"),
        ("other", "image", "image/png"),
        ("wav", "audio", "audio/wav"),
        ("mp3", "audio", "audio/mpeg"),
        ("mpeg", "audio", "audio/mpeg"),
        ("ogg", "audio", "audio/ogg"),
        ("flac", "audio", "audio/flac"),
        ("noise", "audio", "audio/wav"),
    ],
)
def test_the_type_of_raw_bytes_is_read_off_them(
    server: Server, kind: str, block: str, mime_type: str
) -> None:
    (found,) = [server.call("Bytes", {"kind": kind}).json["result"]]
    assert (found["type"], found["mimeType"]) == (block, mime_type)


def test_over_http_the_tool_protocol_has_the_same_words(server: Server) -> None:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/vnd.mcp.tool-result+json",
    }
    answer = server.call("Weather", {}, headers).json
    assert answer == {
        "content": [{"type": "text", "text": "It stays warm."}, PICTURE],
        "structuredContent": {"result": [{"degrees": 20.5}]},
        "isError": False,
        "_meta": {"example.com/model": "m1"},
    }
    assert server.call("Weather").json == {"result": [{"degrees": 20.5}]}


@pytest.mark.parametrize("given", [5, [5], [b"x"], {"a": "b"}, None, object()], ids=str)
def test_what_is_no_content_is_refused_where_it_is_made(given: Any) -> None:
    with pytest.raises(TypeError, match=r"content .* give text, (or )?a block"):
        ToolResult(1, given)


def test_one_block_or_text_is_a_list_of_one() -> None:
    assert ToolResult(1, "words").content == (Text("words"),)
    assert ToolResult(1, Image(PNG)).content == (Image(PNG),)


def test_blocks_are_no_value_of_a_tool_result() -> None:
    def Wrong() -> ToolResult[Text]:
        raise NotImplementedError

    with pytest.raises(DefinitionError, match="can't be the value of a ToolResult: give data"):
        App().register(Wrong)


def test_blocks_compare_and_hash_as_data() -> None:
    assert Text("a", Annotations(priority=0.5)) == Text("a", Annotations(priority=0.5))
    assert len({Text("a"), Text("a"), Image(PNG)}) == 2
