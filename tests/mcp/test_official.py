"""The judge is judged: it takes the specification's own examples, and refuses what is nearly right."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.official import REVISIONS, definitions, examples, fits, problems

_HERE = "2026-07-28"
_AT_ODDS = {
    "list-roots-request",  # has an id; its definition has none, for it is never a message by itself
    "read-resource-result-response",  # was there before `ttlMs` and `cacheScope` had to be
}
_EXAMPLES = [
    pytest.param(definition, example, id=f"{definition}-{name}")
    for definition, named in examples().items()
    for name, example in named.items()
    if name not in _AT_ODDS
]


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def result(**fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": fields}


def error(code: int, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", **fields}}


def said(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


@pytest.mark.parametrize(("definition", "example"), _EXAMPLES)
def test_the_examples_of_the_specification_are_what_they_are_said_to_be(
    definition: str, example: Any
) -> None:
    assert fits(example, _HERE, definition) == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_revision_has_definitions(revision: str) -> None:
    assert "CallToolResult" in definitions(revision)


TEXT = {"type": "text", "text": "{}"}
CALL = request("tools/call", name="Add")
LIST = request("tools/list")
TOOL = {"name": "Add", "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}}}


@pytest.mark.parametrize(
    ("message", "answered", "revision"),
    [
        (result(content=[TEXT]), CALL, "2024-11-05"),
        (result(content=[TEXT], structuredContent={}, isError=False), CALL, "2025-06-18"),
        (result(content=[TEXT], resultType="complete"), CALL, _HERE),
        (result(resultType="input_required", requestState="x"), CALL, _HERE),
        (result(tools=[TOOL]), LIST, "2024-11-05"),
        (
            result(tools=[TOOL], resultType="complete", ttlMs=0, cacheScope="public"),
            LIST,
            _HERE,
        ),
        (result(), request("ping"), "2025-11-25"),
        (error(-32602), CALL, "2024-11-05"),
        (error(-32002, data={"uri": "x"}), request("resources/read", uri="x"), "2025-11-25"),
        (error(-32022, data={"requested": "x", "supported": []}), CALL, _HERE),
        ({"jsonrpc": "2.0", "error": {"code": -32700, "message": "no"}}, None, "2024-11-05"),
        (said("notifications/progress", progressToken=1, progress=0.5), None, "2024-11-05"),
        (said("notifications/message", level="info", data="x"), None, _HERE),
        (request("roots/list"), None, "2025-06-18"),
    ],
)
def test_what_a_revision_allows_is_taken(message: Any, answered: Any, revision: str) -> None:
    assert problems(message, revision, answers=answered) == []


@pytest.mark.parametrize(
    ("message", "answered", "revision"),
    [
        (b"{", None, _HERE),
        (b"[]", None, _HERE),
        (b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"x":NaN}}', CALL, "2024-11-05"),
        (result(), CALL, "2024-11-05"),  # some result, but not that of a call
        (result(content=[TEXT]), None, "2024-11-05"),
        (result(content=[TEXT]), CALL, _HERE),  # no resultType
        (result(content=[TEXT], resultType="done"), CALL, _HERE),
        (result(content=[TEXT], structuredContent={}), CALL, "2025-03-26"),
        (result(content=[TEXT], structuredContent=[]), CALL, "2025-06-18"),
        (result(content=[{"type": "audio"}]), CALL, "2025-06-18"),
        (result(content=[{**TEXT, "words": 1}]), CALL, "2025-11-25"),
        (
            result(content=[{"type": "image", "data": "?", "mimeType": "image/png"}]),
            CALL,
            "2025-11-25",
        ),
        ({**result(content=[TEXT]), "id": "1"}, CALL, "2024-11-05"),
        ({**result(content=[TEXT]), "id": None}, CALL, "2024-11-05"),
        (result(tools=[TOOL], resultType="complete"), LIST, _HERE),  # for how long?
        (result(tools=[{**TOOL, "title": "Add"}]), LIST, "2025-03-26"),
        (
            result(tools=[{"name": "x", "inputSchema": {"type": "object", "required": "x"}}]),
            LIST,
            "2025-11-25",
        ),
        (result(resultType="complete"), request("ping"), _HERE),
        (result(resultType="input_required"), LIST, _HERE),
        (result(), request("server/discover"), "2025-11-25"),
        (error(-32602), None, _HERE),
        (error(-32021), CALL, _HERE),  # which one?
        (error(-32099), CALL, "2025-11-25"),
        ({"jsonrpc": "2.0", "error": {"code": -32602, "message": "no"}}, CALL, "2024-11-05"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1.5, "message": "no"}}, CALL, _HERE),
        (said("notifications/progress", progress=1), None, "2024-11-05"),
        (said("notifications/progress", progressToken=1, progress=1, message="x"), None, "2024-11-05"),
        (said("notifications/subscriptions/acknowledged", notifications={}), None, "2025-11-25"),
        (said("notifications/resources/updated", uri="no address"), None, "2025-11-25"),
        ({"method": "notifications/tools/list_changed"}, None, "2025-11-25"),
        (request("roots/list"), None, _HERE),
        (request("elicitation/create", message="x", requestedSchema={}), None, "2025-03-26"),
    ],
)  # fmt: skip
def test_what_a_revision_does_not_allow_is_a_problem(
    message: Any, answered: Any, revision: str
) -> None:
    assert problems(message, revision, answers=answered) != []
