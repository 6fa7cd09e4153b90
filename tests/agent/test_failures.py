"""What the words of an error say, and which words only look like one."""

from __future__ import annotations

import time

import pytest

from kuniumi import agent
from tests.agent.cases import text

# text, code, outer code, message, tool
SAID = [
    ("Error: x", None, None, "x", None),
    ("error: x", None, None, "x", None),
    ("MCP error -32602: x", -32602, None, "x", None),
    ("Mcp error: -32602: x", -32602, None, "x", None),
    ("McpError: MCP error -32000: Connection closed", -32000, None, "Connection closed", None),
    ("MCP error -32000: MCP error -32602: x", -32602, -32000, "x", None),
    ("MCP error -32602: MCP error -32602: x", -32602, None, "x", None),
    ("Error: Mcp error: -32602: x (Code: -32603)", -32602, -32603, "x", None),
    ("Error: x (Code: -32603)", -32603, None, "x", None),
    ("Error: x (Code: 404)", None, None, "x (Code: 404)", None),
    ("MCP error 404: x", None, None, "MCP error 404: x", None),
    ("JSON-RPC error -32601: x", -32601, None, "x", None),
    ("Error (code -32601): x", -32601, None, "x", None),
    ("MCP error: code -32601: x", -32601, None, "x", None),
    ("Tool call failed: MCP error -32001: Request timed out", -32001, None, "Request timed out", None),
    ("Error: Request failed with status code 500", None, None, "Request failed with status code 500", None),
    ("MCP error -32602: [\n  {}\n]", -32602, None, "[\n  {}\n]", None),
    ("Error executing tool Add: boom", None, None, "Error executing tool Add: boom", "Add"),
    ("Error calling tool 'a.b': Error: MCP error -32603: x", -32603, None, "x", "a.b"),
    ("MCP error -32602: Tool X not found", -32602, None, "Tool X not found", "X"),
    ("MCP error -32602: Unknown tool: x", -32602, None, "Unknown tool: x", "x"),
    ("MCP error -32602: Invalid arguments for tool get.it: []", -32602, None, "Invalid arguments for tool get.it: []", "get.it"),
    (
        'Error POSTing to endpoint (HTTP 400): {"jsonrpc":"2.0","error":{"code":-32000,"message":"x"}}',
        -32000,
        None,
        "x",
        None,
    ),
    ('{"error":"MCP error -32603: MCP error -32602: x"}', -32602, -32603, "x", None),
    ('{"error":{"code":-32602,"message":"x"}}', -32602, None, "x", None),
    ('{"error":{"code":404,"message":"x"}}', None, None, "x", None),
    ('{"error":"invalid_grant","error_description":"it is too old"}', None, None, "it is too old", None),
    ("ValueError: x", None, None, "ValueError: x", None),
    ("Traceback (most recent call last):\n  File\nKeyError: 'a'", None, None, "KeyError: 'a'", None),
    ("**Error:** x", None, None, "x", None),
    ("❌ Error: x", None, None, "x", None),
    ("Error [ERR_X]: x", None, None, "Error [ERR_X]: x", None),
    ("MCP error [-32602]: x", -32602, None, "x", None),
    ("MCP error -32602 x", -32602, None, "x", None),
    ("Server error: -32000 Connection closed", -32000, None, "Connection closed", None),
    ("Internal error (-32603): x", -32603, None, "x", None),
    ("mcp.shared.exceptions.McpError: x", None, None, "x", None),
    ("rpc error: code = NotFound", None, None, "code = NotFound", None),
    ("Internal server error: x", None, None, "Internal server error: x", None),
    ("Input validation error: x", None, None, "Input validation error: x", None),
    ("HTTP Error 404: Not Found", None, None, "HTTP Error 404: Not Found", None),
    ("An error occurred: x", None, None, "An error occurred: x", None),
    ("Exception: x", None, None, "Exception: x", None),
    ("Error\uff1ax", None, None, "x", None),
    ("Error: None of the servers answered", None, None, "None of the servers answered", None),
    ('{"errors":[{"message":"x"},"y"],"data":null}', None, None, "x; y", None),
    ('{"status":"error","message":"x"}', None, None, "x", None),
    ('{"statusCode":404,"message":"x"}', None, None, "x", None),
    ('{"error":true,"message":"x"}', None, None, "x", None),
    ('{"isError":true,"message":"x"}', None, None, "x", None),
    ('{"code":-32602,"message":"x"}', -32602, None, "x", None),
    ('{"error":{"type":"overloaded"}}', None, None, '{"type":"overloaded"}', None),
    ('{"error":{"code":"-32601","message":"x"},"at":"y"}', -32601, None, "x", None),
]  # fmt: skip


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("said", "code", "outer", "message", "tool"), SAID)
def test_what_an_error_says(
    said: str, code: int | None, outer: int | None, message: str, tool: str | None, declared: bool
) -> None:
    answer = agent.read(text(said, isError=declared))
    assert answer.error is not None
    found = answer.error
    assert (found.code, found.outer_code, found.message, found.tool) == (code, outer, message, tool)
    assert (answer.declared_error, answer.suspected_error) == (declared, not declared)


@pytest.mark.parametrize(
    "said",
    [
        "0 rows had error: none. All good",
        "Error: none",
        "error: 0",
        "Errors: 0",
        "Error: no errors found",
        "Error",
        "No error: all is well",
        "The error: it was me",
        "error: 0.05 mm",
        "Error rate: 5%",
        "errors.py: 12 lines",
        "I fixed the MCP error -32602 in v2",
        "Terror: a film",
        '{"errors": []}',
        '{"error": false}',
        '{"error": ""}',
        '{"error": "none"}',
        '{"error": "x", "rows": [1]}',
        '{"code": -32602}',
        '{"code": 200, "message": "x"}',
        '{"status": "ok", "message": "x"}',
        '{"errors": ["x"], "data": {"a": 1}}',
        '{"success": false}',
        '{"mean": 1, "error": "0.1 mm"}',
        '{"detail": "x"}',
        "[]",
    ],
)
def test_what_only_sounds_like_an_error_is_none(said: str) -> None:
    answer = agent.read(text(said))
    assert (answer.suspected_error, answer.error) == (False, None)


def test_what_a_declared_error_says_in_plain_words_is_its_message() -> None:
    answer = agent.read(text("No such city.", "Try another.", isError=True))
    assert answer.error is not None
    assert answer.error.message == "No such city.\nTry another."


@pytest.mark.parametrize("said", ['{"error": true}', '{"error": {}}', '{"Error": "x"}'])
def test_json_that_says_little_is_its_own_message(said: str) -> None:
    answer = agent.read(text(said, isError=True))
    assert answer.error is not None
    assert answer.error.message == said


def test_what_came_with_an_error_is_kept() -> None:
    answer = agent.read(
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "x", "data": {"at": "y"}}}
    )
    assert answer.error is not None
    assert answer.error.data == {"at": "y"}
    assert answer.text == 'MCP error -32602: x\n{"at":"y"}'


@pytest.mark.parametrize(
    "piece",
    [
        "Error: ",
        "MCP error -32602: ",
        "error ",
        "(Code: -1)",
        "[-32602] ",
        "a: ",
        "Error calling tool ",
    ],
)
def test_long_errors_take_no_long_time(piece: str) -> None:
    started = time.process_time()
    agent.read(text(piece * 50_000))
    agent.read(text(piece * 50_000, isError=True))
    assert time.process_time() - started < 1
