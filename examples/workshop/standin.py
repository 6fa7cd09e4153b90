"""A stand-in for models: speaks the HTTP APIs of OpenAI, Anthropic and Gemini, and thinks little.

It calls the first tool for every city that the question names: for two of them at once, then for one
a round; then it says what it was told. It answers at once or as a stream, as it is asked, and minds
what the real ones mind: every call has its answer, and what the model thought comes back as it was.
Good enough to try an agent with, offline and for nothing:

    python standin.py --port 9000 --pace 0.05
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

CITIES = ("Oslo", "Kyoto", "Nairobi", "Atlantis")

JSON = dict[str, Any]


class Refused(Exception):  # noqa: N818 - it is what the services answer
    """A request that the real services would not take."""


def think(question: str, tools: list[str], told: list[str]) -> list[tuple[str, dict[str, str]]]:
    """Give the calls to make next; none when there is nothing left to ask."""
    cities = [word for word in re.findall(r"[A-Z]\w+", question) if word in CITIES]
    left = cities[len(told) :]
    wanted = left[:1] if told else left[:2]
    return [(tools[0], {"location": city}) for city in wanted] if tools else []


def reason(told: list[str]) -> str:
    """Give the thoughts before the next words or calls."""
    return f"I know of {len(told)} places. What is left to ask?"


def conclude(told: list[str]) -> str:
    """Give the last words."""
    return " | ".join(told) or "I know nothing."


def seal(*words: Any) -> str:
    """Sign what a model thought, so that it knows it again."""
    return base64.b64encode(hashlib.sha512(repr(words).encode()).digest()).decode()


def pieces(text: str, size: int = 7) -> list[str]:
    """Cut a text as a stream does, with no regard for words."""
    return [text[at : at + size] for at in range(0, len(text), size)]


# ---- OpenAI: Responses -----------------------------------------------------------------------------


def responses(asked: JSON) -> JSON:
    """Speak OpenAI's Responses API."""
    items = asked["input"] if isinstance(asked["input"], list) else [{"content": asked["input"]}]
    mind_responses(asked, items)
    told = [_words(each["output"]) for each in items if each.get("type") == "function_call_output"]
    calls = think(items[0]["content"], [tool["name"] for tool in asked.get("tools", [])], told)
    step = len(told)
    thought: JSON = {"type": "reasoning", "id": f"rs_{step}"}
    thought["summary"] = [{"type": "summary_text", "text": reason(told)}]
    if "reasoning.encrypted_content" in asked.get("include", []):
        thought["encrypted_content"] = seal("rs", step)
    output: list[JSON] = [
        {
            "type": "function_call",
            "id": f"fc_{step}_{index}",
            "call_id": f"call_{step}_{index}",
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    if not output:
        text = {"type": "output_text", "text": conclude(told), "annotations": [], "logprobs": []}
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        output = [{**said, "content": [text]}]
    spent = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    cached = {"cached_tokens": 0, "cache_write_tokens": 0}
    details = {"input_tokens_details": cached, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{step}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": asked["model"],
        "output": [thought, *output],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": 1,
        "top_p": 1,
        "usage": {**spent, **details},
    }


def mind_responses(asked: JSON, items: list[JSON]) -> None:
    """Refuse calls without the reasoning before them, and calls without answers."""
    sealed = "reasoning.encrypted_content" in asked.get("include", [])
    thoughts = {each["id"]: each for each in items if each.get("type") == "reasoning"}
    for each in items:
        if each.get("type") == "function_call":
            needed = "rs_" + each["id"].split("_")[1]
            if needed not in thoughts:
                said = f"Item '{each['id']}' of type 'function_call' was provided without its "
                raise Refused(f"{said}required 'reasoning' item: '{needed}'.")
    for name, each in thoughts.items():
        step = int(name.removeprefix("rs_"))
        if sealed and each.get("encrypted_content") != seal("rs", step):
            raise Refused(f"The encrypted content of item {name} could not be verified.")
    made, answered = (
        [each["call_id"] for each in items if each.get("type") == kind]
        for kind in ("function_call", "function_call_output")
    )
    for missing in sorted(set(made) ^ set(answered)):
        raise Refused(f"No tool output found for function call {missing}.")


def stream_responses(whole: JSON, _asked: JSON) -> Iterator[JSON]:
    """Tell a response as the events of a stream."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    number = iter(range(1_000_000))

    def event(kind: str, **more: Any) -> JSON:
        return {"type": f"response.{kind}", "sequence_number": next(number), **more}

    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        hollow: JSON = {"reasoning": {"summary": []}, "message": {"content": []}}
        empty = {**item, **hollow.get(item["type"], {"arguments": ""})}
        if item["type"] != "reasoning":
            empty["status"] = "in_progress"
        yield event("output_item.added", output_index=index, item=empty)
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "reasoning":
            (part,) = item["summary"]
            at = {**place, "summary_index": 0}
            yield event("reasoning_summary_part.added", **at, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield event("reasoning_summary_text.delta", **at, delta=piece)
            yield event("reasoning_summary_text.done", **at, text=part["text"])
            yield event("reasoning_summary_part.done", **at, part=part)
        elif item["type"] == "message":
            (part,) = item["content"]
            at = {**place, "content_index": 0}
            yield event("content_part.added", **at, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield event("output_text.delta", **at, delta=piece, logprobs=[])
            yield event("output_text.done", **at, text=part["text"], logprobs=[])
            yield event("content_part.done", **at, part=part)
        else:
            for piece in pieces(item["arguments"]):
                yield event("function_call_arguments.delta", **place, delta=piece)
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield event("function_call_arguments.done", **place, **done)
        yield event("output_item.done", output_index=index, item=item)
    yield event("completed", response=whole)


# ---- OpenAI: Chat Completions ----------------------------------------------------------------------


def chat(asked: JSON) -> JSON:
    """Speak OpenAI's Chat Completions API."""
    messages = asked["messages"]
    mind_chat(messages)
    told = [_words(message["content"]) for message in messages if message["role"] == "tool"]
    tools = [tool["function"]["name"] for tool in asked.get("tools", [])]
    calls = [
        {
            "id": f"call_{len(told)}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(think(messages[0]["content"], tools, told))
    ]
    message: JSON = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    message |= {"tool_calls": calls} if calls else {"content": conclude(told)}
    why = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": why, "logprobs": None}
    about = {"id": "chat_1", "object": "chat.completion", "created": 0, "model": asked["model"]}
    spent = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {**about, "choices": [choice], "usage": spent}


def mind_chat(messages: list[JSON]) -> None:
    """Refuse calls that are not answered by the messages right after them."""
    for at, message in enumerate(messages):
        asked = [call["id"] for call in message.get("tool_calls") or []]
        after = messages[at + 1 : at + 1 + len(asked)]
        if asked != [each.get("tool_call_id") for each in after]:
            said = "An assistant message with 'tool_calls' must be followed by tool messages "
            raise Refused(f"{said}responding to each 'tool_call_id': {', '.join(asked)}")


def stream_chat(whole: JSON, asked: JSON) -> Iterator[JSON]:
    """Tell a completion as chunks."""
    (choice,) = whole["choices"]
    message = choice["message"]
    about = {key: whole[key] for key in ("id", "created", "model")}
    about["object"] = "chat.completion.chunk"
    counted = (asked.get("stream_options") or {}).get("include_usage")
    if counted:
        about["usage"] = None

    def chunk(delta: JSON, why: str | None = None) -> JSON:
        said = {"index": 0, "delta": delta, "finish_reason": why, "logprobs": None}
        return {**about, "choices": [said]}

    content = None if "tool_calls" in message else ""
    yield chunk({"role": "assistant", "content": content, "refusal": None})
    for index, call in enumerate(message.get("tool_calls", [])):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, **call, "function": function}]})
        for piece in pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    for piece in pieces(message["content"] or ""):
        yield chunk({"content": piece})
    yield chunk({}, choice["finish_reason"])
    if counted:
        yield {**about, "choices": [], "usage": whole["usage"]}


# ---- Anthropic -------------------------------------------------------------------------------------


def messages(asked: JSON) -> JSON:
    """Speak Anthropic's Messages API."""
    thinks = asked.get("thinking", {}).get("type") in {"enabled", "adaptive"}
    mind_messages(asked["messages"], thinks=thinks)
    told = [
        _words(block["content"])
        for message in asked["messages"]
        for block in _blocks(message, "tool_result")
    ]
    tools = [tool["name"] for tool in asked.get("tools", [])]
    calls: list[JSON] = [
        {"type": "tool_use", "id": f"toolu_{len(told)}_{index}", "name": name, "input": arguments}
        for index, (name, arguments) in enumerate(
            think(asked["messages"][0]["content"], tools, told)
        )
    ]
    said: list[JSON] = [] if calls else [{"type": "text", "text": conclude(told)}]
    thought = {"type": "thinking", "thinking": reason(told), "signature": seal(reason(told))}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [*([thought] if thinks else []), *said, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def mind_messages(sent: list[JSON], *, thinks: bool) -> None:
    """Refuse calls without results right after them, and thoughts that did not come back."""
    for at, message in enumerate(sent):
        asked = [block["id"] for block in _blocks(message, "tool_use")]
        after = sent[at + 1] if at + 1 < len(sent) else {}
        if asked != [block["tool_use_id"] for block in _blocks(after, "tool_result")] and asked:
            said = f"messages.{at}: `tool_use` ids were found without `tool_result` blocks "
            raise Refused(f"{said}immediately after: {', '.join(asked)}.")
        if not thinks or not asked:
            continue
        first = message["content"][0]
        if first["type"] != "thinking":
            said = f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, "
            raise Refused(f"{said}but found `{first['type']}`.")
        if first["signature"] != seal(first["thinking"]):
            raise Refused(f"messages.{at}.content.0: Invalid `signature` in `thinking` block")


def stream_messages(whole: JSON, _asked: JSON) -> Iterator[JSON]:
    """Tell a message as the events of a stream."""
    nothing: JSON = {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**whole, **nothing}}
    for index, block in enumerate(whole["content"]):
        hollow: JSON = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
        empty = {**block, **hollow.get(block["type"], {"input": {}})}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        if index == 0:
            yield {"type": "ping"}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _deltas(block: JSON) -> Iterator[JSON]:
    if block["type"] == "text":
        for piece in pieces(block["text"]):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] == "thinking":
        for piece in pieces(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        for piece in ["", *pieces(json.dumps(block["input"]))]:
            yield {"type": "input_json_delta", "partial_json": piece}


# ---- Gemini ----------------------------------------------------------------------------------------


def generate(asked: JSON) -> JSON:
    """Speak the Gemini API."""
    parts = [part for content in asked["contents"] for part in content["parts"]]
    mind_contents(asked["contents"])
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    told = [_words(answer.get("output", answer.get("error"))) for answer in answers]
    declared = [each for tool in asked.get("tools", []) for each in tool["functionDeclarations"]]
    calls = think(parts[0]["text"], [each["name"] for each in declared], told)
    said: list[JSON] = [
        {"functionCall": {"name": name, "args": arguments}} for name, arguments in calls
    ]
    said = said or [{"text": conclude(told)}]
    said[0]["thoughtSignature"] = seal(len(told))  # of several calls at once, the first is signed
    settings = asked.get("generationConfig", {}).get("thinkingConfig", {})
    if settings.get("includeThoughts") or settings.get("include_thoughts"):
        said.insert(0, {"text": reason(told), "thought": True})
    content = {"role": "model", "parts": said}
    spent = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": spent, "modelVersion": "stand-in"}


def mind_contents(contents: list[JSON]) -> None:
    """Refuse calls that lost the signature of their thoughts, and calls without answers."""
    answered = 0
    for at, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        if not calls:
            continue
        sent = calls[0].get("thoughtSignature", "").replace("-", "+").replace("_", "/")
        if sent != seal(answered):
            raise Refused("Function call is missing a thought_signature in functionCall parts.")
        after = contents[at + 1]["parts"] if at + 1 < len(contents) else []
        if len([part for part in after if "functionResponse" in part]) != len(calls):
            said = "Please ensure that the number of function response parts is equal to the "
            raise Refused(f"{said}number of function call parts of the function call turn.")
        answered += len(calls)


def stream_generate(whole: JSON, _asked: JSON) -> Iterator[JSON]:
    """Tell a response as smaller ones."""
    (candidate,) = whole["candidates"]
    version = {"modelVersion": whole["modelVersion"]}
    parts: list[JSON] = []
    for part in candidate["content"]["parts"]:
        thought = {"thought": True} if part.get("thought") else {}
        parts += [{"text": piece, **thought} for piece in pieces(part.get("text", ""))]
        if "functionCall" in part:
            parts.append(part)
        elif "thoughtSignature" in part:  # it comes last, with no words
            parts.append({"text": "", "thoughtSignature": part["thoughtSignature"]})
    for part in parts:
        content = {"role": "model", "parts": [part]}
        last = {"finishReason": "STOP"} if part is parts[-1] else {}
        told = {"candidates": [{"content": content, "index": 0, **last}], **version}
        yield {**told, "usageMetadata": whole["usageMetadata"]}


def _words(found: Any) -> str:
    """Give what an answer says; a medium is named."""
    if isinstance(found, str):
        return found
    if not isinstance(found, list):
        return json.dumps(found, separators=(",", ":"))
    return " ".join(part.get("text") or f"[{part['type']}]" for part in found)


def _blocks(message: JSON, kind: str) -> list[JSON]:
    content = message.get("content")
    return [each for each in content if each["type"] == kind] if isinstance(content, list) else []


# ---- the server ------------------------------------------------------------------------------------


class API(NamedTuple):
    """One API: how it answers, how it streams that, and how it says no."""

    answer: Callable[[JSON], JSON]
    stream: Callable[[JSON, JSON], Iterator[JSON]]
    refuse: Callable[[str], JSON]
    names_events: bool = False
    ends_with: str = ""


def _openai_error(said: str) -> JSON:
    return {"error": {"message": said, "type": "invalid_request_error", "code": None}}


def _anthropic_error(said: str) -> JSON:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": said}}


def _gemini_error(said: str) -> JSON:
    return {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}


APIS = {
    "responses": API(responses, stream_responses, _openai_error, names_events=True),
    "completions": API(chat, stream_chat, _openai_error, ends_with="data: [DONE]\n\n"),
    "messages": API(messages, stream_messages, _anthropic_error, names_events=True),
    "generateContent": API(generate, stream_generate, _gemini_error),
    "streamGenerateContent": API(generate, stream_generate, _gemini_error),
}
"""The APIs by how their paths end."""


def as_text(api: API, whole: JSON, asked: JSON) -> Iterator[str]:
    """Give the stream as it goes over the wire, event by event."""
    for event in api.stream(whole, asked):
        name = f"event: {event['type']}\n" if api.names_events else ""
        yield f"{name}data: {json.dumps(event)}\n\n"
    if api.ends_with:
        yield api.ends_with


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    pace = 0.0  # seconds between two pieces

    def handle(self) -> None:
        """Serve a connection, until either side has enough of it."""
        with suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        """Let the API at the path answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ending = re.split("[/:]", self.path.partition("?")[0])[-1]
        api = APIS.get(ending)
        if api is None:
            self.send(404, {"error": {"message": f"nothing at {self.path}"}})
            return
        try:
            whole = api.answer(asked)
        except Refused as refused:
            self.send(400, api.refuse(str(refused)))
            return
        if asked.get("stream") or ending == "streamGenerateContent":
            self.send_pieces(as_text(api, whole, asked))
        else:
            self.send(200, whole)

    def send(self, status: int, answer: JSON) -> None:
        """Send an answer at once."""
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_pieces(self, events: Iterator[str]) -> None:
        """Send a stream of events; whoever has heard enough may leave."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in events:
                self.send_chunk(event.encode())
                time.sleep(self.pace)
            self.send_chunk(b"")
        except OSError:
            self.close_connection = True

    def send_chunk(self, chunk: bytes) -> None:
        """Send a piece of a body of unknown length."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between two pieces")
    given = parser.parse_args()
    Handler.pace = given.pace
    with ThreadingHTTPServer(("127.0.0.1", given.port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
