"""The example of everything: all that it offers a model works, on stdin and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.server import Server, serving
from tests.mcp.official import REVISIONS, STATELESS, problems
from tests.mcp.speaking import Client, FailedError, speaking

APP = Path(__file__).parents[2] / "examples" / "everything" / "app.py"


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Answer as somebody would who agrees to everything."""
    if method == "roots/list":
        return {"roots": [{"uri": "file:///home/ann", "name": "home"}]}
    if method == "sampling/createMessage":
        text = {"type": "text", "text": "Paris"}
        return {"role": "assistant", "content": text, "model": "m", "stopReason": "endTurn"}
    fields = params["requestedSchema"]["properties"]
    samples = {"string": "Ann", "integer": 5, "number": 0.5, "boolean": True, "array": []}
    content = {name: field.get("default", samples[field["type"]]) for name, field in fields.items()}
    return {"action": "accept", "content": content}


def arguments_for(tool: dict[str, Any]) -> dict[str, Any]:
    samples = {"string": "hello", "integer": 2, "number": 0.1}
    schema = tool["inputSchema"]
    return {
        name: samples[schema["properties"][name]["type"]] for name in schema.get("required", ())
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_tool_answers_in_every_revision(revision: str) -> None:
    with speaking(APP, revision=revision, answer=answer) as client:
        failed = {
            tool["name"]
            for tool in client.request("tools/list")["tools"]
            if client.call(tool["name"], **arguments_for(tool))["isError"]
        }
    expected = {"test_error_handling"}
    if revision < "2025-06-18":  # nobody can be asked for a name there
        expected |= {name for name in failed if "elicit" in name or "input_required" in name}
        expected |= {"test_ask"}
    assert failed == expected


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_resource_and_prompt_is_there_in_every_revision(revision: str) -> None:
    with speaking(APP, revision=revision, answer=answer) as client:
        for resource in client.request("resources/list")["resources"]:
            assert client.request("resources/read", uri=resource["uri"])["contents"]
        read = client.request("resources/read", uri="test://template/7/data")
        assert json.loads(read["contents"][0]["text"])["id"] == "7"
        for prompt in client.request("prompts/list")["prompts"]:
            given = {argument["name"]: "test://x" for argument in prompt["arguments"]}
            asks = prompt["name"] == "test_input_required_result_prompt"
            if asks and revision < "2025-06-18":
                with pytest.raises(FailedError):
                    client.request("prompts/get", name=prompt["name"], arguments=given)
                continue
            assert client.request("prompts/get", name=prompt["name"], arguments=given)["messages"]


def test_the_answers_are_those_it_is_known_for() -> None:
    with speaking(APP, answer=answer) as client:
        assert _text(client, "test_simple_text") == "This is a simple text response for testing."
        assert client.call("add", a=2, b="3")["structuredContent"] == {"result": 5}
        assert "Ann" in _text(client, "test_elicitation", message="Who?")
        assert _text(client, "test_sampling", prompt="Capital?") == "LLM response: Paris"
        assert _text(client, "test_input_required_result_list_roots") == "file:///home/ann"
        assert _text(client, "test_input_required_result_multi_round") == "Ann likes Ann"


def _text(client: Client, name: str, **arguments: Any) -> str:
    return str(client.call(name, **arguments)["content"][0]["text"])


@pytest.fixture(scope="module")
def server() -> Any:
    with serving(APP) as server:
        yield server


@pytest.mark.parametrize("revision", REVISIONS)
def test_over_http_a_call_is_one_request(server: Server, revision: str) -> None:
    params: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": revision}
    if revision == STATELESS:
        prefix = "io.modelcontextprotocol/"
        params["_meta"] = {
            f"{prefix}protocolVersion": revision,
            f"{prefix}clientCapabilities": {},
        }
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "add"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = server.request("POST", "/mcp", json.dumps(request).encode(), headers)
    assert reply.status == 200
    assert problems(reply.body, revision, answers=request) == []
    assert reply.json["result"]["content"][0]["text"] == '{"result":3}'


def test_as_functions_of_http_its_tools_are_the_same(server: Server) -> None:
    assert server.call("add", {"a": 1, "b": 2}).json == {"result": 3}
    picture = server.call(
        "image_content", {}, {"Content-Type": "application/json", "Accept": "image/png"}
    )
    assert (picture.status, picture.headers["content-type"]) == (200, "image/png")
