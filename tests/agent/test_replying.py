"""A model's response, answered: its calls run, in its provider's words, within limits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from kuniumi import App, UsageError
from kuniumi.agent import Run, Toolbox, run

app = App(name="Calculator", version="1.0.0")


@app.function
async def Add(x: int, y: int = 1) -> int:
    """Adds two integers."""
    return x + y


def calling(*calls: tuple[str, Any]) -> dict[str, Any]:
    """Give the response of Anthropic's that makes these calls."""
    content = [
        {"type": "tool_use", "id": f"t{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": content}


def reply(response: Any, **options: Any) -> list[dict[str, Any]]:
    async def main() -> list[dict[str, Any]]:
        async with Toolbox(app) as tools:
            return await tools.reply(response, **options)

    return asyncio.run(main())


def test_responses_of_openai_are_answered() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "functions_Add"}
    thought = {"type": "reasoning", "id": "r", "summary": []}
    first = {**call, "arguments": '{"x": 1, "y": null}'}
    assert reply({"output": [thought, first]}) == [
        thought,
        first,
        {"type": "function_call_output", "call_id": "c", "output": '{"result":2}'},
    ]


def test_chats_are_answered() -> None:
    function = {"name": "functions_Add", "arguments": '{"x": 1}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": function}],
    }
    assert reply({"choices": [{"message": message}]}) == [
        message,
        {"role": "tool", "tool_call_id": "c", "content": '{"result":2}'},
    ]


@pytest.mark.parametrize("key", ["functionCall", "function_call"])
def test_gemini_is_answered(key: str) -> None:
    part = {key: {"name": "functions_Add", "args": {"x": 1}}, "thoughtSignature": "c2ln"}
    said, answered = reply({"candidates": [{"content": {"role": "model", "parts": [part]}}]})
    assert said == {"role": "model", "parts": [part]}
    (answer,) = answered["parts"]
    assert answer["function_response"]["name"] == "functions_Add"
    assert answer["function_response"]["response"] == {"output": {"result": 2}}


def test_several_calls_are_answered_in_their_order() -> None:
    response = calling(("functions_Add", {"x": 1}), ("nothing", {}), ("functions_Add", {"x": "z"}))
    said, answered = reply(response)
    assert said == response
    results = answered["content"]
    assert [each["tool_use_id"] for each in results] == ["t0", "t1", "t2"]
    assert [each.get("is_error", False) for each in results] == [False, True, True]
    assert results[1]["content"] == "Unknown tool: nothing"


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", "x"])
def test_arguments_that_are_no_object_are_told_the_model(arguments: str) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "functions_Add"}
    *_, answer = reply({"output": [{**call, "arguments": arguments}]})
    assert "no JSON object" in answer["output"]


def test_a_response_without_calls_needs_no_answer() -> None:
    assert reply({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}) == []
    assert reply({"output": []}) == []
    assert reply({"candidates": []}) == []


@pytest.mark.parametrize("wrong", [None, 5, "text", {}, {"messages": []}])
def test_what_is_no_response_is_told(wrong: Any) -> None:
    with pytest.raises(UsageError, match="no response of a model"):
        reply(wrong)


# ---- whole conversations ---------------------------------------------------------------------------


class Messages:
    """Stands in for the client of a package: one that never has enough."""

    def __init__(self, seconds: float = 0) -> None:
        self.messages = self
        self._seconds = seconds

    async def create(self, **asked: Any) -> dict[str, Any]:
        assert asked["tools"][0]["name"] == "functions_Add"
        await asyncio.sleep(self._seconds)
        return calling(("functions_Add", {"x": len(asked["messages"])}))


Messages.__module__ = "anthropic._client"


def converse(client: Any, **options: Any) -> Run:
    async def main() -> Run:
        async with Toolbox(app) as tools:
            return await run(client, "model", "Count!", tools, **options)

    return asyncio.run(main())


def test_a_conversation_ends_at_its_limits() -> None:
    by_rounds = converse(Messages(), rounds=3)
    assert (by_rounds.stopped, by_rounds.rounds, len(by_rounds.messages)) == ("rounds", 3, 7)
    by_time = converse(Messages(seconds=60), timeout=0.1)
    assert (by_time.stopped, by_time.rounds, len(by_time.messages)) == ("timeout", 0, 1)
    by_size = converse(Messages(), max_size=200)
    assert by_size.stopped == "size"
    assert by_size.rounds < 20


def test_a_client_of_nobody_known_is_told() -> None:
    with pytest.raises(UsageError, match="no client of openai, anthropic or google-genai"):
        converse(object())


def test_no_http_client_is_loaded_before_a_server_is_an_address() -> None:
    code = (
        "import sys\nfrom kuniumi.agent import Server, Toolbox\nToolbox('x y')\n"
        "print(sorted({'httpx', 'h11', 'mcp', 'openai', 'anthropic'} & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
