"""Run where the providers' packages are: holds messages and tools against their types, in bulk.

In: lines of JSON, `{"as": …, "what": …}`. Out: a line each, empty if it is valid, else what is wrong.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from anthropic.types import (  # type: ignore[import-not-found]
    Message,
    MessageParam,
    RawMessageStreamEvent,
    ToolParam,
)
from google.genai import types as gemini  # type: ignore[import-not-found]
from openai.types.chat import (  # type: ignore[import-not-found]
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageParam,
)
from openai.types.responses import (  # type: ignore[import-not-found]
    FunctionToolParam,
    Response,
    ResponseInputItemParam,
    ResponseStreamEvent,
)
from openai.types.responses.response_input_item_param import FunctionCallOutput  # type: ignore[import-not-found]
from pydantic import TypeAdapter, ValidationError

warnings.simplefilter("ignore")  # what the packages say of themselves

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_responses = TypeAdapter[Any](FunctionCallOutput)
_item = TypeAdapter[Any](ResponseInputItemParam)
_chat = TypeAdapter[Any](ChatCompletionMessageParam)
_anthropic = TypeAdapter[Any](MessageParam)
_openai_tool = TypeAdapter[Any](FunctionToolParam)
_chat_tool = TypeAdapter[Any](ChatCompletionFunctionToolParam)
_anthropic_tool = TypeAdapter[Any](ToolParam)


def openai(messages: list[Any]) -> Iterator[str]:
    for message in messages:
        valid = _responses.validate_python(message, strict=True)
        yield from _unknown(message, valid, "")
        yield from _empty(message["output"])


def openai_chat(messages: list[Any]) -> Iterator[str]:
    for message in messages:
        yield from _unknown(message, _chat.validate_python(message, strict=True), "")
    roles = [message["role"] for message in messages]
    if roles != sorted(roles):  # the tool's messages come first, then what is shown with them
        yield f"roles are {roles}"
    for message in messages:
        yield from _empty(message["content"])
        if message["role"] == "tool" and not isinstance(message["content"], str):
            yield "a tool's message is more than text"


def anthropic(messages: list[Any]) -> Iterator[str]:
    for message in messages:
        yield from _unknown(message, _anthropic.validate_python(message, strict=True), "")
        for block in message["content"]:
            content = block["content"]
            yield from _empty(content)
            for part in content if isinstance(content, list) else ():
                if part["type"] != "text" and block.get("is_error"):
                    yield "media in an error"
                if part["type"] == "text" and not part["text"].strip():
                    yield "an empty text"
                if part["type"] == "image" and part["source"]["media_type"] not in {
                    "image/png",
                    "image/jpeg",
                    "image/gif",
                    "image/webp",
                }:
                    yield f"an image of type {part['source']['media_type']}"


def gemini_content(messages: list[Any]) -> Iterator[str]:
    for message in messages:
        content = gemini.Content.model_validate(message)
        for part in content.parts or []:
            response = part.function_response
            assert response is not None
            if not response.name or not isinstance(response.response, dict):
                yield "no name, or no response"
            elif response.response.keys() - {"output", "error"} or len(response.response) != 1:
                yield f"a response of {list(response.response)}"
            if '"$ref"' in json.dumps(response.response).replace('\\"', ""):
                yield "a reference in a response"
            for each in response.parts or []:
                assert each.inline_data is not None
                if not each.inline_data.data:
                    yield "media without bytes"


def conversation(valid: TypeAdapter[Any]) -> Callable[[list[Any]], Iterator[str]]:
    """Hold all messages of a conversation against the type of one."""

    def check(messages: list[Any]) -> Iterator[str]:
        for message in messages:
            yield from _unknown(message, valid.validate_python(message, strict=True), "")

    return check


def gemini_conversation(messages: list[Any]) -> Iterator[str]:
    for message in messages:
        content = gemini.Content.model_validate(message)
        if not content.parts or content.role not in {"user", "model"}:
            yield f"a content of {content.role} with {content.parts}"


def told(whole: Any, event: Any) -> Callable[[list[Any]], Iterator[str]]:
    """Hold a response, and the events of its stream, against the types that a package reads them as."""
    valid_whole, valid_event = TypeAdapter[Any](whole), TypeAdapter[Any](event)

    def check(sent: list[Any]) -> Iterator[str]:
        response, *events = sent
        valid_whole.validate_python(response)
        for each in events:
            if each.get("type") != "ping":  # the package keeps it to itself
                valid_event.validate_python(each)
        yield from ()

    return check


def openai_tools(tools: list[Any]) -> Iterator[str]:
    for tool in tools:
        _openai_tool.validate_python(tool, strict=True)
        yield from _named(tool["name"], _NAME)
        yield from _objects(tool["parameters"])
        if tool["strict"]:
            yield from _strict(tool["parameters"], "$", required=True)


def openai_chat_tools(tools: list[Any]) -> Iterator[str]:
    for tool in tools:
        _chat_tool.validate_python(tool, strict=True)
        yield from _named(tool["function"]["name"], _NAME)
        yield from _objects(tool["function"]["parameters"])


def anthropic_tools(tools: list[Any]) -> Iterator[str]:
    for tool in tools:
        _anthropic_tool.validate_python(tool, strict=True)
        yield from _named(tool["name"], _NAME)
        yield from _objects(tool["input_schema"])
        if tool.get("strict"):
            yield from _strict(tool["input_schema"], "$", required=False)
        if "definitions" in tool["input_schema"]:
            yield "definitions of an older draft"


def gemini_tools(tools: list[Any]) -> Iterator[str]:
    for tool in tools:
        for declared in gemini.Tool.model_validate(tool).function_declarations or []:
            yield from _named(declared.name or "", _GEMINI_NAME)
            schema = declared.parameters_json_schema
            yield from _objects(schema)
            if _has_ref(schema):
                yield "a reference"


def _unknown(sent: Any, valid: Any, path: str) -> Iterator[str]:
    """Typed dicts let unknown keys pass without a word; the services don't."""
    if isinstance(sent, list) and hasattr(valid, "__next__"):
        valid = list(valid)  # an iterable of blocks is held against its type only when it is read
    if isinstance(sent, dict) and isinstance(valid, dict):
        for key in sent:
            if key not in valid:
                yield f"{path}.{key} is unknown"
            else:
                yield from _unknown(sent[key], valid[key], f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(valid, list):
        for index, (each, other) in enumerate(zip(sent, valid, strict=True)):
            yield from _unknown(each, other, f"{path}[{index}]")


def _empty(content: Any) -> Iterator[str]:
    if not content:
        yield "no content"


def _named(name: str, pattern: re.Pattern[str]) -> Iterator[str]:
    if not pattern.fullmatch(name):
        yield f"the name {name!r}"


def _objects(schema: Any) -> Iterator[str]:
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        yield "the root is no object"
    for keyword in ("anyOf", "oneOf", "allOf", "enum", "not"):
        if keyword in schema:
            yield f"{keyword} at the root"


def _has_ref(schema: Any) -> bool:
    if isinstance(schema, dict):
        below = [item for key, item in schema.items() if key not in {"enum", "properties"}]
        below += list(schema.get("properties", {}).values())
        return isinstance(schema.get("$ref"), str) or any(map(_has_ref, below))
    return isinstance(schema, list) and any(map(_has_ref, schema))


def _strict(schema: Any, path: str, *, required: bool) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{path} is no object"
        return
    for keyword in ("oneOf", "allOf", "not", "if", "patternProperties", "prefixItems"):
        if keyword in schema:
            yield f"{path} has {keyword}"
    if "$ref" in schema and len(schema) > 1 and path != "$":
        yield f"{path} has more than a reference"
    yield from _closed(schema, path, required=required)
    below = {**schema.get("properties", {}), **schema.get("$defs", {})}
    below |= {f"|{index}": each for index, each in enumerate(schema.get("anyOf", []))}
    if "items" in schema:
        below["[]"] = schema["items"]
    for name, each in below.items():
        yield from _strict(each, f"{path}.{name}", required=required)


def _closed(schema: dict[str, Any], path: str, *, required: bool) -> Iterator[str]:
    if "properties" in schema:
        if schema.get("additionalProperties") is not False:
            yield f"{path} is open"
        if required and schema.get("required") != list(schema["properties"]):
            yield f"{path} has optional properties"
    elif schema.get("type") == "object":
        yield f"{path} is any object"


CHECKS: dict[str, Callable[[list[Any]], Iterator[str]]] = {
    "openai": openai,
    "openai_chat": openai_chat,
    "anthropic": anthropic,
    "gemini": gemini_content,
    "openai_told": told(Response, ResponseStreamEvent),
    "openai-chat_told": told(ChatCompletion, ChatCompletionChunk),
    "anthropic_told": told(Message, RawMessageStreamEvent),
    "gemini_told": told(gemini.GenerateContentResponse, gemini.GenerateContentResponse),
    "openai_conversation": conversation(_item),
    "openai-chat_conversation": conversation(_chat),
    "anthropic_conversation": conversation(_anthropic),
    "gemini_conversation": gemini_conversation,
    "openai_tools": openai_tools,
    "openai_chat_tools": openai_chat_tools,
    "anthropic_tools": anthropic_tools,
    "gemini_tools": gemini_tools,
}


def wrong_with(line: str) -> str:
    sent = json.loads(line)
    try:
        return "; ".join(CHECKS[sent["as"]](sent["what"]))
    except (ValidationError, ValueError, AssertionError) as error:
        return str(error).replace("\n", " | ")[:2000]


if __name__ == "__main__":
    for each in sys.stdin:
        sys.stdout.write(f"{wrong_with(each)}\n")
