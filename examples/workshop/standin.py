"""A stand-in for models: speaks the HTTP APIs of OpenAI, Anthropic and Gemini, and thinks little.

It calls the first tool for every city that the question names: for two of them at once, then for one
a round; then it says what it was told. Good enough to try an agent with, offline and for nothing:

    python standin.py --port 9000
"""

from __future__ import annotations

import argparse
import json
import re
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CITIES = ("Oslo", "Kyoto", "Nairobi", "Atlantis")


def think(question: str, tools: list[str], told: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Give the calls to make next; none when there is nothing left to ask."""
    cities = [word for word in re.findall(r"[A-Z]\w+", question) if word in CITIES]
    left = cities[len(told) :]
    wanted = left[:1] if told else left[:2]
    return [(tools[0], {"location": city}) for city in wanted] if tools else []


def conclude(told: list[str]) -> str:
    """Give the last words."""
    return " | ".join(told) or "I know nothing."


# ---- one function an API ---------------------------------------------------------------------------


def responses(asked: dict[str, Any]) -> dict[str, Any]:
    """Speak OpenAI's Responses API."""
    items = asked["input"]
    told = [item["output"] for item in items if item.get("type") == "function_call_output"]
    calls = think(items[0]["content"], [tool["name"] for tool in asked.get("tools", [])], told)
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{len(told)}_{index}",
            "call_id": f"call_{len(told)}_{index}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    if not output:
        text = {"type": "output_text", "text": conclude(told), "annotations": []}
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output = [{**said, "content": [text]}]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": asked["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": 1,
        "top_p": 1,
    }


def chat(asked: dict[str, Any]) -> dict[str, Any]:
    """Speak OpenAI's Chat Completions API."""
    messages = asked["messages"]
    told = [message["content"] for message in messages if message["role"] == "tool"]
    tools = [tool["function"]["name"] for tool in asked.get("tools", [])]
    calls = [
        {
            "id": f"call_{len(told)}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(think(messages[0]["content"], tools, told))
    ]
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    message |= {"tool_calls": calls} if calls else {"content": conclude(told)}
    why = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": why, "logprobs": None}
    about = {"id": "chat_1", "object": "chat.completion", "created": 0, "model": asked["model"]}
    return {**about, "choices": [choice]}


def messages(asked: dict[str, Any]) -> dict[str, Any]:
    """Speak Anthropic's Messages API."""
    told = [
        block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
        for message in asked["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    tools = [tool["name"] for tool in asked.get("tools", [])]
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"toolu_{len(told)}_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(
            think(asked["messages"][0]["content"], tools, told)
        )
    ]
    why = "tool_use" if content else "end_turn"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content or [{"type": "text", "text": conclude(told)}],
        "stop_reason": why,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def generate(asked: dict[str, Any]) -> dict[str, Any]:
    """Speak the Gemini API."""
    parts = [part for content in asked["contents"] for part in content["parts"]]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    told = [_as_text(answer.get("output", answer.get("error"))) for answer in answers]
    declared = [each for tool in asked.get("tools", []) for each in tool["functionDeclarations"]]
    calls = think(parts[0]["text"], [each["name"] for each in declared], told)
    said: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": "c2lnbmVk"}
        for name, arguments in calls
    ]
    content = {"role": "model", "parts": said or [{"text": conclude(told)}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def _as_text(found: Any) -> str:
    return found if isinstance(found, str) else json.dumps(found, separators=(",", ":"))


# ---- the server ------------------------------------------------------------------------------------

APIS = {
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
    "/v1/messages": messages,
}


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Let the API at the path answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        api = generate if path.endswith(":generateContent") else APIS[path]
        body = json.dumps(api(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    with ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
