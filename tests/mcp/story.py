"""What every client should see at each step of the story that `clients/telling.py` plays.

The story is about `apps/story.py`. Where the two ways of speaking differ, there are two expectations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
INTEGER = {"type": "integer"}
TOOLS = [
    "Add",
    "Divide",
    "Burst",
    "Vanish",
    "Locate",
    "Split",
    "Gallery",
    "Weigh",
    "Chatter",
    "Route",
    "Meta",
    "Climb",
    "Diary",
    "Wait",
    "Doze",
    "Grind",
    "Noted",
    "Introduce",
    "Quiz",
    "Muse",
    "Folders",
    "Dare",
    "Secret",
    "Hide",
    "Show",
    "TurnPage",
]


class ByEra(NamedTuple):
    """What depends on how a client speaks."""

    legacy: Any
    modern: Any


class Holds(NamedTuple):
    """Some of the entries of an object, where the others are others' affair."""

    entries: dict[str, Any]
    keys: list[str]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answered(envelope: dict[str, Any], words: str) -> dict[str, Any]:
    return {"content": [text(words)], "structuredContent": envelope, "isError": False}


def failed(words: str) -> dict[str, Any]:
    return {"content": [text(words)], "isError": True}


def greeting(revision: str) -> dict[str, Any]:
    return {
        "revision": revision,
        "server": {
            "name": "Story",
            "version": "1.2.3",
            "title": "A story",
            "description": "Told to every client",
        },
        "capabilities": ["completions", "logging", "prompts", "resources", "tools"],
        "instructions": "Listen well.",
    }


def codes(no_resource: int) -> dict[str, int]:
    return {
        "tool": -32602,
        "resource": no_resource,
        "chapter": no_resource,
        "prompt": -32602,
        "prompt without its argument": -32602,
    }


ADD = {
    "name": "functions.Add",
    "title": "Addition",
    "description": "Adds two integers.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "x": {**INTEGER, "description": "First integer to add"},
            "y": {**INTEGER, "description": "Second integer to add"},
        },
        "required": ["x", "y"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {"result": {**INTEGER, "description": "Sum of x and y"}},
        "required": ["result"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    "_meta": {"tags": ["sums"]},
}
PLACE = {"name": "Hill", "height": 12.5, "near": ["Here", "There"]}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
META = {"traceparent": TRACE, "note": "to whom it concerns"}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": INTEGER},
    "required": ["name", "age"],
}
GIVEN_UP = [["began", "cancelled"]] * 4

STORY: dict[str, Any] = {
    "connect": ByEra(greeting("2025-11-25"), greeting("2026-07-28")),
    "tools": Holds({"functions.Add": ADD}, [f"functions.{name}" for name in TOOLS]),
    "call": answered({"result": 10}, '{"result":10}'),
    "call with text for a number": answered({"result": 10}, '{"result":10}'),
    "wrong argument": failed(
        r"""{"error":"Argument 'x': expected an integer, got \"not_a_number\""}"""
    ),
    "wrong kind of argument": failed(
        """{"error":"Argument 'x': expected an integer, got an array of 1"}"""
    ),
    "function error": failed('{"error":"Division by zero"}'),
    "exception": failed('{"error":"ValueError: the pipe burst"}'),
    "exit": failed('{"error":"SystemExit: 3"}'),
    "errors": ByEra(codes(-32002), codes(-32602)),
    "structured": answered(
        {"result": PLACE}, '{"result":{"name":"Hill","height":12.5,"near":["Here","There"]}}'
    ),
    "two values": answered({"result0": "w", "result1": 3}, '{"result0":"w","result1":3}'),
    "blocks": {
        "content": [
            {**text("Five kinds"), "annotations": {"audience": ["user"], "priority": 0.5}},
            {"type": "image", "data": PICTURE, "mimeType": "image/png"},
            {"type": "audio", "data": SOUND, "mimeType": "audio/wav"},
            {
                "type": "resource_link",
                "uri": "story://title",
                "name": "title",
                "description": "What it is called",
            },
            {
                "type": "resource",
                "resource": {
                    "uri": "story://inside",
                    "text": "Inside",
                    "mimeType": "text/plain",
                },
            },
        ],
        "isError": False,
    },
    "words and data": answered({"result": 2.5}, "The feather weighs two and a half."),
    "noise": answered({"result": "quiet"}, '{"result":"quiet"}'),
    "header": answered({"result": "via süd west"}, '{"result":"via süd west"}'),
    "meta": answered(
        {"result": META},
        f'{{"result":{{"traceparent":"{TRACE}","note":"to whom it concerns"}}}}',
    ),
    "progress": [[1, 3, "Step 1"], [2, 3, "Step 2"], [3, 3, "Step 3"]],
    "log": [["info", "woke up"], ["warning", "it rains"]],
    "cancel": {"Wait": GIVEN_UP, "Doze": GIVEN_UP, "Grind": GIVEN_UP},
    "ask": {
        "said": ["Ada is 36", "nobody: decline", "nobody: cancel"],
        "asked": {"message": "Who is there?", "schema": PERSON},
    },
    "ask twice": answered({"result": "red, surely"}, '{"result":"red, surely"}'),
    "nobody to ask": answered({"result": "nobody to ask"}, '{"result":"nobody to ask"}'),
    "sample": answered(
        {"result": "parrot: Be brief, A word on rain? Indeed."},
        '{"result":"parrot: Be brief, A word on rain? Indeed."}',
    ),
    "roots": answered({"result": ["file:///home/ada"]}, '{"result":["file:///home/ada"]}'),
    "resources": {
        "count": 1103,  # more than a page has
        "cover": {
            "name": "cover",
            "uri": "story://cover",
            "description": "What the story looks like.",
            "mimeType": "image/png",
        },
    },
    "templates": [
        {
            "name": "chapter",
            "uriTemplate": "story://chapter/{number}",
            "description": "One of the chapters.",
            "mimeType": "application/json",
        }
    ],
    "read text": [{"uri": "story://title", "mimeType": "text/plain", "text": "The Clients"}],
    "read bytes": [{"uri": "story://cover", "mimeType": "image/png", "blob": PICTURE}],
    "read template": [
        {
            "uri": "story://chapter/7",
            "mimeType": "application/json",
            "text": '{"number":7,"text":"And then"}',
        }
    ],
    "prompts": [
        {
            "name": "greeting",
            "title": "A greeting",
            "description": "Greets somebody.",
            "arguments": [
                {"name": "name", "description": "Whom to greet", "required": True},
                {"name": "tone", "description": "How", "required": False},
            ],
        },
        {
            "name": "critique",
            "description": "Begins with something to look at.",
            "arguments": [],
        },
    ],
    "prompt": [{"role": "user", "content": text("Write a cool greeting to Ada.")}],
    "prompt with a picture": [
        {"role": "user", "content": {"type": "image", "data": PICTURE, "mimeType": "image/png"}},
        {"role": "assistant", "content": text("What a red dot.")},
    ],
    "complete": {"name": ["Ada", "Adam"], "tone": ["cool", "warm"], "number": ["1", "12"]},
    "changes": [
        "updated story://page",
        "tools, without the secret",
        "tools, with the secret",
    ],
    "objects": {"sum": 10, "near": "There"},
    "missing": {"code": 1, "message": "Resource not found: story://nothing"},
    "still there": answered({"result": 10}, '{"result":10}'),
}


ITS_OWN_WAY: dict[tuple[str, str], Any] = {
    ("TypeScript SDK 2", "errors"): codes(-32602),  # it shows the old code as the new one
}
"""What a client makes of what it sees, by its name and the step."""


def expected(step: str, client: str, era: str) -> Any:
    """Give what a client of an era should see at a step."""
    found = ITS_OWN_WAY.get((client, step), STORY[step])
    return getattr(found, era) if isinstance(found, ByEra) else found


def shown(saw: Any, wanted: Any) -> tuple[Any, Any]:
    """Give what was seen and what was wanted in forms to be compared."""
    if not isinstance(wanted, Holds):
        return saw, wanted
    entries = {key: saw.get(key) for key in wanted.entries}
    return (sorted(saw), entries), (sorted(wanted.keys), wanted.entries)
