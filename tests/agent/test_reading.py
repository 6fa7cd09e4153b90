"""What an answer is read as: rows of what servers send, and what a right reading says."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pydantic
import pytest

import kuniumi
from kuniumi import ToolResult, agent
from tests.agent import cases
from tests.agent.cases import PDF, PNG, WAV, blocks, image, misread, text


@pytest.mark.parametrize("case", cases.load(), ids=lambda case: case["id"])
def test_every_case_is_read_right(case: dict[str, Any]) -> None:
    assert list(misread(agent.read(case["raw"]), case["expect"])) == []


@pytest.mark.parametrize("case", cases.load(), ids=lambda case: case["id"])
def test_every_case_is_read_the_same_as_an_http_body(case: dict[str, Any]) -> None:
    raw = case["raw"]
    body = raw.encode() if isinstance(raw, str) else json.dumps(raw).encode()
    assert list(misread(agent.read(body), case["expect"])) == []


ROWS: dict[str, tuple[Any, dict[str, Any]]] = {
    # ---- what there is instead of an answer ----
    "a byte order mark and nothing else": ("\ufeff", {"kind": "empty", "text": ""}),
    "nothing at all": (None, {"kind": "empty", "text": "", "has_value": False, "warned": False}),
    "no bytes": (b"", {"kind": "empty"}),
    "only spaces": (text("  \n"), {"kind": "empty"}),
    "a scalar": (42, {"kind": "json", "value": 42, "text": "42"}),
    "a list of data": ([1, 2], {"kind": "json", "value": [1, 2], "text": "[1,2]"}),
    "an empty list": ([], {"kind": "json", "value": [], "text": "[]"}),
    "plain data": ({"a": 1}, {"kind": "json", "value": {"a": 1}, "text": '{"a":1}', "blocks": 0}),
    # ---- JSON in text ----
    "JSON with space around it": (text('\n {"a": 1} \n'), {"kind": "json", "value": {"a": 1}}),
    "JSON behind a byte order mark": (
        text('\ufeff{"a":1}'),
        {"kind": "json", "value": {"a": 1}, "text": '{"a":1}'},
    ),
    "a string in quotes stays text": (text('"hi"'), {"kind": "text", "text": '"hi"'}),
    "true stays text": (text("true"), {"kind": "text", "has_value": False}),
    "null stays text": (text("null"), {"kind": "text", "has_value": False, "text": "null"}),
    "trailing words stay text": (text('{"a":1} and more'), {"kind": "text"}),
    "two objects stay text": (text('{"a":1}\n{"b":2}'), {"kind": "text"}),
    "a fence stays text": (text('```json\n{"a":1}\n```'), {"kind": "text"}),
    "Infinity is not JSON": (text('{"x":Infinity}'), {"kind": "text", "has_value": False}),
    "a number too large for a float stays text": (text('{"x":1e400}'), {"kind": "text"}),
    "an integer of 30 digits stays exact": (
        text('{"n":123456789012345678901234567890}'),
        {"value": {"n": 123456789012345678901234567890}},
    ),
    "an integer of 5,000 digits stays text": (text('{"n":' + "1" * 5000 + "}"), {"kind": "text"}),
    "100,000 open brackets stay text": (text("[" * 100_000), {"kind": "text"}),
    "100,000 brackets, closed, stay text": (text("[" * 10**5 + "]" * 10**5), {"kind": "text"}),
    "several JSON texts are text": (text('{"a":1}', '{"b":2}'), {"kind": "text", "blocks": 2}),
    "a JSON text beside an empty one": (text('{"a":1}', ""), {"kind": "json", "value": {"a": 1}}),
    "an escaped half of a pair in JSON": (
        text('{"a":"\\ud83d!"}'),
        {"kind": "json", "value": {"a": "\ufffd!"}, "text_encodable": True},
    ),
    # ---- Unicode ----
    "a lone half of a pair": (text("a\ud83d"), {"text": "a\ufffd", "text_encodable": True}),
    "two halves of a pair": (text("\ud83d\ude00"), {"text": "😀"}),
    "a half of a pair in data": (
        {"content": [], "structuredContent": {"a\udc00": "\ud800"}},
        {"value": {"a\ufffd": "\ufffd"}, "text_encodable": True},
    ),
    "bad UTF-8 in a body": (b"caf\xe9", {"kind": "text", "text": "caf\ufffd", "warned": True}),
    "a byte order mark in a body": (b'\xef\xbb\xbf{"a":1}', {"kind": "json", "value": {"a": 1}}),
    "a body in UTF-16": ('{"a":1}'.encode("utf-16"), {"kind": "json", "value": {"a": 1}}),
    # ---- structured content ----
    "false is a value": (blocks(structuredContent=False), {"value": False, "text": "false"}),
    "an empty string is a value": (blocks(structuredContent=""), {"value": "", "text": '""'}),
    "an empty list is a value": (blocks(structuredContent=[]), {"value": [], "kind": "json"}),
    "an empty list beside words is told": (
        text("Searched.", structuredContent=[]),
        {"text": "Searched.\n[]"},
    ),
    "false beside words is told": (
        text("Done.", structuredContent=False),
        {"text": "Done.\nfalse"},
    ),
    "null alone is a value": (blocks(structuredContent=None), {"value": None, "text": "null"}),
    "a wrapped number in the text, bare in the data, sent once": (
        text('{"result":10}', structuredContent=10),
        {"value": 10, "text": '{"result":10}'},
    ),
    "a list of one item as one block, sent once": (
        text("only", structuredContent={"result": ["only"]}),
        {"text": '{"result":["only"]}', "kind": "json"},
    ),
    "JSON cut up into blocks, sent once": (
        text('{"a":1,', '"b":2}', structuredContent={"a": 1, "b": 2}),
        {"text": '{"a":1,"b":2}', "blocks": 2},
    ),
    "the same JSON twice, sent once": (
        text('{"a": 1}', '{"a":1}', "and words", structuredContent={"a": 1}),
        {"text": '{"a": 1}\nand words', "blocks": 3},
    ),
    "a resource that is the data": (
        blocks(
            {"type": "resource", "resource": {"uri": "a:b", "text": '{"a": 1}'}},
            structuredContent={"a": 1},
        ),
        {"text": '[file: <a:b>]\n{"a": 1}', "value": {"a": 1}},
    ),
    "a scalar that the data holds, too, is told": (
        text("7", structuredContent={"a": 7}),
        {"text": '7\n{"a":7}'},
    ),
    "true is not 1": (
        text('{"a":1}', structuredContent={"a": True}),
        {"text": '{"a":1}\n{"a":true}'},
    ),
    "other order of keys, sent once": (
        text('{"b":2,"a":1}', structuredContent={"a": 1, "b": 2}),
        {"text_once": '"a"'},
    ),
    "other spelling of numbers, sent once": (
        text('{"a":1.0,"b":1e2}', structuredContent={"a": 1, "b": 100}),
        {"text_once": '"a"'},
    ),
    "text says more, as JSON: the data is left out": (
        text('{"a":1,"b":2}', structuredContent={"a": 1}),
        {"value": {"a": 1}, "text": '{"a":1,"b":2}'},
    ),
    "text says less, as JSON: the text is left out": (
        text('{"a":1}', structuredContent={"a": 1, "b": 2}),
        {"text": '{"a":1,"b":2}'},
    ),
    "text and data that differ are both told": (
        text('{"a":1}', structuredContent={"a": 2}),
        {"text": '{"a":1}\n{"a":2}'},
    ),
    "a wrapped string, sent once": (
        text("hello", structuredContent={"result": "hello"}),
        {"kind": "json", "value": {"result": "hello"}, "text": "hello"},
    ),
    "a wrapped number, sent once": (
        text("42", structuredContent={"result": 42}),
        {"value": {"result": 42}, "text": "42"},
    ),
    "a list split into blocks, sent once": (
        text("a", "b", structuredContent={"result": ["a", "b"]}),
        {"text": '{"result":["a","b"]}', "blocks": 2},
    ),
    "objects split into blocks, sent once": (
        text('{"id": 1}', '{"id": 2}', structuredContent={"result": [{"id": 1}, {"id": 2}]}),
        {"text_once": "2"},
    ),
    "NaN in data": (
        blocks(structuredContent={"x": float("nan")}),
        {"value": {"x": None}, "warned": True},
    ),
    "data that is no JSON becomes some": (
        blocks(structuredContent={1: (b"\0", {2}, date(2026, 7, 28), 10**5000)}),
        {
            "value": {"1": ["[1 bytes]", [2], "2026-07-28", "[an integer of 16,610 bits]"]},
            "warned": True,
        },
    ),
    "in Python's own spelling of names": (
        {"content": [], "structured_content": {"a": 1}, "is_error": False},
        {"kind": "json", "value": {"a": 1}},
    ),
    "dumped from an object, null is nothing": (
        {"_meta": None, "content": [], "structuredContent": None, "isError": False},
        {"kind": "empty", "has_value": False},
    ),
    # ---- isError ----
    "no isError at all": (text("fine"), {"declared": False}),
    "isError in a string": (text("x", isError="true"), {"declared": True, "warned": True}),
    "no error, in a string": (text("x", isError="False"), {"declared": False, "warned": True}),
    "isError as a number": (text("x", isError=1), {"declared": True, "warned": True}),
    "isError is null": (text("x", isError=None), {"declared": False, "warned": False}),
    "an error that says so in its data only": (
        blocks(isError=True, structuredContent={"error": {"code": -32602, "message": "bad x"}}),
        {"kind": "error", "code": -32602, "message": "bad x", "text_contains": ["bad x"]},
    ),
    "an error's data is told, if it says something": (
        text("Failed", isError=True, structuredContent={"failed": ["a"]}),
        {"message": "Failed", "text": 'Failed\n{"failed":["a"]}'},
    ),
    "zeros beside an error are not told": (
        text("Failed", isError=True, structuredContent={"count": 0, "results": None, "a": [""]}),
        {"text": "Failed", "has_value": True},
    ),
    "an error with a picture": (blocks(image(), isError=True), {"kind": "error", "blocks": 1}),
    "data that says of itself that it is an error": (
        {"isError": True, "message": "boom", "rows": [1]},
        {"kind": "error", "declared": True, "message": "boom"},
    ),
    "data that says of itself that it is none": (
        {"isError": False, "rows": [1]},
        {"kind": "json", "value": {"isError": False, "rows": [1]}},
    ),
    "data with a code beside words that have none": (
        text("no", isError=True, structuredContent={"error": {"code": -32602, "message": "x"}}),
        {"message": "no", "code": -32602},
    ),
    "an error with a list for its only data": (
        blocks(isError=True, structuredContent=["a"]),
        {"message": '["a"]', "text": '["a"]'},
    ),
    # ---- content that is no list of blocks ----
    "content is null, and all there is": ({"content": None}, {"kind": "empty"}),
    "content is a string, and all there is": (
        {"content": "hi", "_meta": {}},
        {"kind": "text", "text": "hi", "warned": True, "blocks": 1},
    ),
    "content is a block, and all there is": (
        {"content": {"type": "text", "text": "hi"}},
        {"kind": "text", "text": "hi", "warned": True, "blocks": 1},
    ),
    "content is a number": (
        {"content": 5, "isError": False},
        {"kind": "text", "text": "5", "warned": True, "blocks": 1},
    ),
    "a block alone": ({"type": "text", "text": "hi"}, {"kind": "text", "text": "hi"}),
    "a picture alone": (image(), {"kind": "media", "text": "[image: image/png, 70 bytes]"}),
    "data that is like a block, and more": (
        {"type": "text", "text": "hi", "likes": 3},
        {"kind": "json", "value": {"type": "text", "text": "hi", "likes": 3}},
    ),
    "a text that is a number": (
        text(42),
        {"kind": "text", "text": "42", "has_value": False, "warned": True},
    ),
    "a text that is an object": (
        text({"a": 1}),
        {"kind": "json", "value": {"a": 1}, "warned": True},
    ),
    "content is a string": (
        {"content": "hi", "isError": False},
        {"kind": "text", "text": "hi", "warned": True},
    ),
    "content is one block": (
        {"content": {"type": "text", "text": "hi"}, "isError": False},
        {"text": "hi", "warned": True, "blocks": 1},
    ),
    "content is null": ({"content": None, "structuredContent": {"a": 1}}, {"value": {"a": 1}}),
    "blocks that are none": (blocks(None, 7, ["x"], "bare"), {"blocks": 4, "warned": True}),
    "content as a field of plain data": (
        {"content": "a page", "title": "t"},
        {"kind": "json", "value": {"content": "a page", "title": "t"}},
    ),
    "items of plain data": (
        {"content": [{"id": 1}], "total": 3},
        {"kind": "json", "value": {"content": [{"id": 1}], "total": 3}},
    ),
    # ---- media ----
    "a sound": (
        blocks({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
        {"kind": "media", "text": "[audio: audio/wav, 44 bytes]"},
    ),
    "a picture of another type than it says": (
        blocks(image(mime_type="image/jpeg")),
        {"kind": "media", "text": "[image: image/png, 70 bytes]", "warned": True},
    ),
    "image/jpg is image/jpeg": (blocks(image("/9j/4AAQ", "image/jpg")), {"warned": False}),
    "a picture without a type": (
        blocks({"type": "image", "data": PNG}),
        {"text": "[image: image/png, 70 bytes]"},
    ),
    "base64 with line breaks": (
        blocks(image(PNG[:40] + "\r\n" + PNG[40:])),
        {"text": "[image: image/png, 70 bytes]", "warned": False},
    ),
    "base64 without its padding": (
        blocks(image(PNG.rstrip("="))),
        {"text": "[image: image/png, 70 bytes]"},
    ),
    "base64 of the kind for addresses": (
        blocks(image(PNG.replace("+", "-").replace("/", "_"))),
        {"text": "[image: image/png, 70 bytes]"},
    ),
    "a data URL as data": (
        blocks(image("data:image/png;base64," + PNG)),
        {"text": "[image: image/png, 70 bytes]"},
    ),
    "invalid base64": (
        blocks(image("!!! not base64 !!!")),
        {"kind": "media", "text": "[image: image/png]", "warned": True, "blocks": 1},
    ),
    "no data": (blocks({"type": "image"}), {"kind": "media", "warned": True, "blocks": 1}),
    "a picture as a body": (
        b"\x89PNG\r\n\x1a\n" + b"\0" * 20,
        {"kind": "media", "text": "[image: image/png, 28 bytes]"},
    ),
    "a file of no known type as a body": (
        b"\x1f\x8b\x08\x00abc",
        {"kind": "media", "text": "[file: application/octet-stream, 7 bytes]", "blocks": 1},
    ),
    "bytes that are no picture": (
        blocks(image("aGVsbG8=")),
        {"kind": "media", "text": "[image: image/png, 5 bytes]", "warned": True},
    ),
    "data that is a picture": (
        blocks(structuredContent={"icon": PNG, "n": 1}),
        {"text": '{"icon":"[base64 left out]","n":1}', "value": {"icon": PNG, "n": 1}},
    ),
    "a picture in JSON whose slashes are escaped": (
        text('{"icon":"' + "\\/9j\\/" + "A\\/b1" * 30 + '"}'),
        {"text": '{"icon":"[base64 left out]"}'},
    ),
    "a picture broken into lines": (
        text(f"here:\n{PNG[:76]}\n{PNG[76:]}\nthere"),
        {"text": "here:\n[base64 left out]\nthere"},
    ),
    "data of any kind that goes on and on": (
        text("file: " + base64.b64encode(bytes(range(256)) * 8).decode() + " end"),
        {"text": "file: [base64 left out] end"},
    ),
    "a long run of letters and digits is text": (
        text("aB1-" * 300 + "xyz" * 700),
        {"text": "aB1-" * 300 + "xyz" * 700},
    ),
    "text that is a picture": (
        text("data:image/png;base64," + PNG),
        {"text_excludes": [PNG[:40]], "text_contains": ["data:image/png;base64,"]},
    ),
    "data that repeats a picture": (
        blocks(image(), structuredContent={"result": [{"data": PNG}]}),
        {"text_excludes": [PNG[:40]], "kind": "mixed"},
    ),
    # ---- resources and links ----
    "a binary resource": (
        blocks({"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": PDF}}),
        {"kind": "media", "text": "[file: <file:///a.pdf>, application/pdf, 30 bytes]"},
    ),
    "a blob that is text": (
        blocks(
            {"type": "resource", "resource": {"uri": "a", "mimeType": "text/csv", "blob": "YSxi"}}
        ),
        {"kind": "text", "text_contains": ["a,b"]},
    ),
    "an empty resource": (
        blocks({"type": "resource", "resource": {}}),
        {"warned": True, "blocks": 1},
    ),
    "a resource of nothing": (blocks({"type": "resource"}), {"warned": True, "blocks": 1}),
    "a link with all there is": (
        blocks(
            {
                "type": "resource_link",
                "uri": "https://example.org/r",
                "name": "r",
                "title": "Report",
                "description": "of\nthe year",
                "size": 1234,
            }
        ),
        {"text": "[link: Report <https://example.org/r>, 1,234 bytes: of the year]"},
    ),
    "a link that is its own data": (
        blocks({"type": "resource_link", "name": "x", "uri": "data:image/png;base64," + PNG}),
        {"text_excludes": [PNG[:40]]},
    ),
    "a resource without the layer between": (
        blocks({"type": "resource", "uri": "a:b", "text": "hi"}),
        {"text": "[file: <a:b>]\nhi"},
    ),
    "an empty file": (
        blocks({"type": "resource", "resource": {"uri": "a:b", "blob": ""}}),
        {"text": "[file: <a:b>]", "warned": False},
    ),
    "a call and its result, as among a model's messages": (
        blocks(
            {"type": "tool_use", "id": "1", "name": "get_weather", "input": {}},
            {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "hi"}]},
            {"type": "tool_result", "toolUseId": "2", "content": [image(), {"type": "x"}, 7]},
        ),
        {
            "text": "[tool_use: get_weather]\n[tool_result]\nhi\n"
            "[tool_result]\n[image: image/png, 70 bytes]",
            "warned": True,
            "blocks": 3,
        },
    ),
    "media as models' messages have them": (
        blocks(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {
                "type": "document",
                "title": "r",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
            },
            {"type": "image", "source": {"type": "url", "url": "https://example.org/p"}},
        ),
        {
            "kind": "media",
            "text": "[image: image/png, 70 bytes]\n[document: r, application/pdf, 30 bytes]\n"
            "[image: <https://example.org/p>]",
            "blocks": 3,
        },
    ),
    "unknown, with words": (
        blocks({"type": "markdown", "text": "**hi**"}),
        {"text_contains": ["markdown", "**hi**"], "warned": True},
    ),
    # ---- audience ----
    "for the user only": (
        blocks(
            {"type": "text", "text": "secret", "annotations": {"audience": ["user"]}},
            {"type": "text", "text": "told"},
        ),
        {"text": "told", "blocks": 2},
    ),
    "for both": (
        blocks({"type": "text", "text": "a", "annotations": {"audience": ["user", "assistant"]}}),
        {"text": "a"},
    ),
    "for nobody known": (
        blocks({"type": "text", "text": "a", "annotations": {"audience": ["robot"]}}),
        {"text": "a"},
    ),
    "an audience that is a string": (
        blocks({"type": "text", "text": "a", "annotations": {"audience": "user"}}),
        {"text": ""},
    ),
    "the user's words don't stand for the data": (
        blocks(
            {"type": "text", "text": '{"a":1}', "annotations": {"audience": ["user"]}},
            structuredContent={"a": 1},
        ),
        {"text": '{"a":1}'},
    ),
    # ---- wrapped once more ----
    "a result in a text": (
        text(json.dumps(text("hi", isError=False))),
        {"kind": "text", "text": "hi", "warned": True, "blocks": 1},
    ),
    "an error in a text is only suspected": (
        text(json.dumps(text("MCP error -32602: bad", isError=True))),
        {"kind": "text", "declared": False, "suspected": True, "code": -32602, "message": "bad"},
    ),
    "a JSON-RPC error in a text is only suspected": (
        text('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'),
        {
            "kind": "json",
            "has_value": True,
            "declared": False,
            "suspected": True,
            "code": -32601,
            "message": "no",
        },
    ),
    "a result in a string": (json.dumps(text("hi", isError=True)), {"kind": "error", "text": "hi"}),
    "a result in a result": ({"result": text('{"a":1}')}, {"kind": "json", "value": {"a": 1}}),
    "a picture in a text": (
        text(json.dumps(blocks(image()))),
        {"kind": "media", "text": "[image: image/png, 70 bytes]"},
    ),
    # ---- JSON-RPC ----
    "a result of null": (
        {"jsonrpc": "2.0", "id": 1, "result": None},
        {"value": None, "has_value": True},
    ),
    "a result that is no tool's": (
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
        {"kind": "json", "value": {"tools": []}},
    ),
    "an error and a result of null": (
        {"jsonrpc": "2.0", "id": 1, "result": None, "error": {"code": -1, "message": "x"}},
        {"kind": "error", "code": -1, "message": "x"},
    ),
    "an error of null and a result": (
        {"jsonrpc": "2.0", "id": 1, "result": text("x"), "error": None},
        {"kind": "text", "text": "x"},
    ),
    "an error's message with a code of its own": (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32603, "message": "MCP error -32602: bad x"},
        },
        {"code": -32602, "outer_code": -32603, "message": "bad x"},
    ),
    "an error's message with the same code": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "MCP error -32602: x"}},
        {"code": -32602, "outer_code": None, "message": "x"},
    ),
    "a status of HTTP is no code": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 404, "message": "Not found"}},
        {"kind": "error", "code": None, "message": "Not found"},
    ),
    "an error that is a string": (
        {"jsonrpc": "2.0", "id": 1, "error": "boom"},
        {"kind": "error", "message": "boom", "warned": True},
    ),
    "an error that is empty beside a result": (
        {"jsonrpc": "2.0", "id": 1, "result": text("x"), "error": ""},
        {"kind": "text", "declared": False, "text": "x"},
    ),
    "an error with words for data": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x", "data": "at y"}},
        {"text": "MCP error -32603: x\nat y"},
    ),
    "an error that says its message twice": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x", "data": "x"}},
        {"text": "MCP error -32603: x"},
    ),
    "an error without a message": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": ""}},
        {"code": -32603, "message": "", "text_contains": ["-32603"]},
    ),
    "a result that says only that it is one": ({"resultType": "complete"}, {"kind": "empty"}),
    "a request is no answer": ({"jsonrpc": "2.0", "id": 1, "method": "x"}, {"warned": True}),
    "a batch of one answer": (
        [{"jsonrpc": "2.0", "method": "n"}, {"jsonrpc": "2.0", "id": 1, "result": text("x")}],
        {"kind": "text", "text": "x"},
    ),
    "a stream of events": (
        (
            b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n'
            b"event: message\r\n"
            b'data: {"jsonrpc":"2.0","id":1,\r\ndata: "result":{"content":[]}}\r\n\r\n'
        ),
        {"kind": "empty"},
    ),
    "a stream of events, as text": (
        'data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}',
        {"kind": "text", "text": "hi"},
    ),
    "a stream of events as Kuniumi's own end": (
        b'event: item\ndata: 1\n\nevent: result\ndata: {"result":[1]}\n\n',
        {"kind": "json", "value": {"result": [1]}},
    ),
    "a stream of events that failed": (
        b'event: item\ndata: 1\n\nevent: error\ndata: {"error":"boom"}\n\n',
        {"kind": "error", "declared": True, "message": "boom"},
    ),
    "a stream of other events is text": (
        'data: {"a":1}\n\n',
        {"kind": "text", "text": 'data: {"a":1}\n\n'},
    ),
    "a batch of one answer, as text": (
        json.dumps([{"jsonrpc": "2.0", "id": 1, "result": text("x")}]),
        {"kind": "text", "text": "x"},
    ),
    "a batch and something else is data": (
        [{"jsonrpc": "2.0", "id": 1, "result": text("x")}, 7],
        {"kind": "json"},
    ),
    "a code in a string": (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "-32601", "message": "x"}},
        {"code": -32601, "message": "x"},
    ),
    "text that starts like a stream of events": (b"data: see below", {"text": "data: see below"}),
    # ---- Kuniumi's own envelopes ----
    "an envelope with a result": ({"result": 10}, {"kind": "json", "value": {"result": 10}}),
    "an envelope with an error": (
        b'{"error":"Function not found: Addd"}',
        {"kind": "error", "declared": True, "message": "Function not found: Addd", "code": None},
    ),
    "an error among other fields is data": (
        {"error": "x", "rows": [1]},
        {"kind": "json", "declared": False, "suspected": False},
    ),
    "an error with facts about it looks like one": (
        text('{"error":"City not found","city":"Atlantis"}'),
        {"kind": "json", "suspected": True, "message": "City not found"},
    ),
    "an envelope that says there is no error": (
        {"error": "none"},
        {"kind": "json", "declared": False, "suspected": False},
    ),
    "an envelope with an error, in a text": (
        text('{"error":"boom"}'),
        {"kind": "json", "declared": False, "suspected": True, "message": "boom"},
    ),
    "an error of null": (text('{"error":null}'), {"kind": "json", "suspected": False}),
    "a success that is false": (
        text('{"success":false,"message":"no such row"}'),
        {"suspected": True, "message": "no such row"},
    ),
    # ---- input required ----
    "a question without questions": ({"resultType": "input_required"}, {"kind": "input_required"}),
    "a question of garbage": (
        {"resultType": "input_required", "inputRequests": 7, "requestState": []},
        {"kind": "input_required", "warned": True},
    ),
    "a result of an unknown type": (text("x", resultType="task"), {"kind": "text", "warned": True}),
    "a result of a type that is none": (text("x", resultType=["a"]), {"text": "x", "warned": True}),
}


@pytest.mark.parametrize(("raw", "expected"), ROWS.values(), ids=ROWS.keys())
def test_an_answer_is_read(raw: Any, expected: dict[str, Any]) -> None:
    answer = agent.read(raw)
    assert list(misread(answer, expected)) == []
    assert answer.raw is raw


def test_questions_are_kept_as_they_were_asked() -> None:
    asked = {"q": {"method": "elicitation/create", "params": {"message": "Which city?"}}}
    answer = agent.read(
        {"resultType": "input_required", "inputRequests": asked, "requestState": "abc"}
    )
    assert (answer.input_requests, answer.request_state) == (asked, "abc")
    assert "Which city?" in answer.text
    assert answer.as_dict() == {
        "type": "input_required",
        "inputRequests": asked,
        "requestState": "abc",
    }


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (text('{"a":1}'), {"a": 1}),
        (text("[1]"), [1]),
        (text("hi"), {"type": "text", "text": "hi"}),
        (None, {"type": "text", "text": ""}),
        (
            "Error: Mcp error: -32602: no x (Code: -32603)",
            {
                "type": "mcp_error",
                "error": "no x",
                "code": -32602,
                "originalText": "Error: Mcp error: -32602: no x (Code: -32603)",
            },
        ),
        (
            text("Error: Location not found"),
            {
                "type": "mcp_error",
                "error": "Location not found",
                "code": None,
                "originalText": "Error: Location not found",
            },
        ),
        (
            blocks({"type": "text", "text": "chart"}, image()),
            {
                "type": "mixed",
                "text": "chart\n[image: image/png, 70 bytes]",
                "media": [{"type": "image", "mimeType": "image/png", "bytes": 70}],
            },
        ),
        (
            blocks(image(), structuredContent=[1]),
            {
                "type": "mixed",
                "text": "[image: image/png, 70 bytes]\n[1]",
                "media": [{"type": "image", "mimeType": "image/png", "bytes": 70}],
                "value": [1],
            },
        ),
    ],
)
def test_the_plain_form(raw: Any, plain: Any) -> None:
    assert agent.read(raw).as_dict() == plain


# ---- objects ---------------------------------------------------------------------------------------


class Text(pydantic.BaseModel):
    type: str = "text"
    text: str
    annotations: dict[str, Any] | None = None


class Result(pydantic.BaseModel):
    """As the first edition of the Python SDK has it."""

    meta: dict[str, Any] | None = pydantic.Field(alias="_meta", default=None)
    content: list[Text]
    structuredContent: dict[str, Any] | None = None  # noqa: N815 - the SDK's name
    isError: bool = False  # noqa: N815


@dataclass
class Parsed:
    """As FastMCP's client has it."""

    content: list[Any]
    structured_content: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    data: Any = None
    is_error: bool = False


class Plain:
    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


@dataclass
class Node:
    name: str
    below: list[Any] = field(default_factory=list)


def _cycle() -> Any:
    node = Node("a")
    node.below.append(node)
    return node


def _deep() -> Any:
    value: Any = 1
    for _ in range(5000):
        value = {"a": value}
    return value


class RefusingError(Exception):
    pass


class Evil:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RefusingError

    def __str__(self) -> str:
        raise RefusingError


class RpcError(Exception):
    def __init__(self, **error: Any) -> None:
        super().__init__(error["message"])
        self.error = Plain(**error)


@dataclass
class Response:
    status_code: int
    content: bytes


OBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a model": (
        Result(content=[Text(text="hi")]),
        {"kind": "text", "text": "hi", "has_value": False, "blocks": 1, "warned": False},
    ),
    "a model that says it has no data": (
        Result(content=[], structuredContent=None),
        {"kind": "empty", "has_value": False},
    ),
    "a model with data": (
        Result(content=[Text(text='{"a":1}')], structuredContent={"a": 1}, isError=False),
        {"kind": "json", "value": {"a": 1}, "text": '{"a":1}'},
    ),
    "a model, dumped": (
        Result(content=[Text(text="hi")]).model_dump(),
        {"kind": "text", "has_value": False},
    ),
    "a model, dumped by alias": (
        Result(content=[Text(text="hi")]).model_dump(by_alias=True),
        {"kind": "text", "has_value": False},
    ),
    "a dataclass": (
        Parsed([Text(text="no")], None, is_error=True),
        {"kind": "error", "message": "no", "has_value": False},
    ),
    "a dataclass with data": (
        Parsed([], {"result": 3}, data=3),
        {"kind": "json", "value": {"result": 3}},
    ),
    "an object": (Plain(content=[Text(text="x")], isError=False), {"kind": "text", "text": "x"}),
    "a block": (Text(text="x"), {"kind": "text", "text": "x", "blocks": 1}),
    "a list of blocks": ([Text(text="x"), Text(text="y")], {"text": "x\ny", "blocks": 2}),
    "blocks and data in a pair": (([Text(text="x")], {"result": "x"}), {"value": {"result": "x"}}),
    "objects in a dict": (blocks(Text(text="x")), {"kind": "text", "text": "x", "blocks": 1}),
    "kuniumi's own result": (
        ToolResult({"a": 1}, content=[kuniumi.Image(b"\x89PNG\r\n\x1a\n")]),
        {"kind": "mixed", "value": {"a": 1}, "text": '[image: image/png, 8 bytes]\n{"a":1}'},
    ),
    "kuniumi's own blocks": (
        [kuniumi.Text("hi"), kuniumi.ResourceLink("a:b", "n")],
        {"text": "hi\n[link: n <a:b>]", "blocks": 2},
    ),
    "a cycle": (_cycle(), {"kind": "json", "warned": True, "text_contains": ["a cycle"]}),
    "data 5,000 deep": (_deep(), {"kind": "json", "warned": True}),
    "bytes in data": (Plain(a=b"\0" * 9), {"value": {"a": "[9 bytes]"}}),
    "an object without fields": (object(), {"text": "[an object of type object]", "warned": True}),
    "an object that refuses": (Evil(), {"kind": "text", "warned": True}),
    "a function": (len, {"kind": "text", "warned": True}),
    "a function of no fixed place": (
        _cycle,
        {"text": "<function _cycle>", "warned": True},
    ),
    "an integer of 5,000 digits": (10**5000, {"kind": "json", "warned": True}),
    "an exception": (TimeoutError("too late"), {"kind": "error", "message": "too late"}),
    "an exception without words": (KeyError(), {"kind": "error", "message": "KeyError"}),
    "an SDK's exception": (
        RpcError(code=-32602, message="Unknown tool: x", data=None),
        {"kind": "error", "code": -32602, "message": "Unknown tool: x"},
    ),
    "a response": (Response(200, b'{"result":3}'), {"kind": "json", "value": {"result": 3}}),
    "a failed response": (
        Response(500, b'{"error":"boom"}'),
        {"kind": "error", "declared": True, "message": "boom", "code": None},
    ),
    "a response that failed in words": (
        Response(404, b"Not Found"),
        {"kind": "error", "message": "Not Found", "text": "Not Found"},
    ),
    "a failed response without a body": (Response(502, b""), {"kind": "error", "text": "HTTP 502"}),
    "a failed response with details": (
        Response(422, b'{"detail":"x is missing"}'),
        {"kind": "error", "message": "x is missing"},
    ),
}


@pytest.mark.parametrize(("raw", "expected"), OBJECTS.values(), ids=OBJECTS.keys())
def test_an_object_is_read(raw: Any, expected: dict[str, Any]) -> None:
    answer = agent.read(raw)
    assert list(misread(answer, expected)) == []
    assert answer.raw is raw


def test_reading_loads_neither_asyncio_nor_any_client() -> None:
    code = (
        "import sys\nfrom kuniumi import agent\n"
        "agent.read({'content': [{'type': 'text', 'text': 'Error: x'}]}).for_openai('c')\n"
        "print(sorted({'asyncio', 'httpx', 'pydantic', 'mcp', 'openai', 'logging',"
        " 'email', 'json', 'dataclasses'} & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_public_names_are_these() -> None:
    assert agent.__all__ == [
        "Answer",
        "AnswerError",
        "Block",
        "BlockingToolbox",
        "Failure",
        "Piece",
        "Problem",
        "Question",
        "Run",
        "Server",
        "ServerError",
        "Stats",
        "Stream",
        "StreamError",
        "Telemetry",
        "Tool",
        "ToolCall",
        "Toolbox",
        "Tools",
        "read",
        "run",
    ]
    for name in agent.__all__:
        assert getattr(agent, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        agent.nothing_like_it  # noqa: B018
