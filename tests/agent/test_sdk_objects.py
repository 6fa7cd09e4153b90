"""Objects of the MCP SDKs, first and second edition, and FastMCP: read as the JSON they stand for."""

from __future__ import annotations

from typing import Any

from kuniumi import agent
from tests.agent.cases import PDF, PNG, WAV, blocks, image, text
from tests.agent.conftest import ReadThere

RESULTS: list[dict[str, Any]] = [
    text("hi"),
    text("a", "b", isError=False),
    text('{"a":1}', structuredContent={"a": 1}),
    text("hello", structuredContent={"result": "hello"}),
    text("MCP error -32602: no", isError=True),
    text("no", isError=True, structuredContent={"count": 0}),
    blocks(),
    blocks(structuredContent={}),
    blocks(image(), {"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    blocks({"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 0.5}}),
    blocks({"type": "resource", "resource": {"uri": "file:///a.md", "text": "# hi"}}),
    blocks({"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": PDF}}),
    blocks({"type": "resource_link", "uri": "https://example.org/a", "name": "a", "size": 3}),
    blocks(image("not base64")),
    text("with facts about it", _meta={"a": 1}),
    blocks(image(PNG), structuredContent={"result": [{"data": PNG}]}),
]


def test_objects_are_read_as_the_json_they_stand_for(read_there: ReadThere) -> None:
    for result, found in zip(RESULTS, read_there(RESULTS), strict=True):
        answer = agent.read(result)
        assert found
        for name, read in found.items():
            assert read == {
                "kind": answer.kind,
                "declared": answer.declared_error,
                "value": answer.value,
                "has_value": answer.has_value,
                "text": answer.text,
                "blocks": len(answer.blocks),
                "warnings": list(answer.warnings),
            }, (name, result)
