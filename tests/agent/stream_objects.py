"""Run where the providers' packages are: makes their own objects of streaming events, and reads them.

In: lines of JSON, `{"as": …, "what": [event, …]}`. Out: a line each, with what the stream came to.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

sys.path.append(os.environ["MSGSPEC_FOLDER"])

import anthropic._models as anthropic  # type: ignore[import-not-found]
import openai._models as openai  # type: ignore[import-not-found]
from anthropic.types import RawMessageStreamEvent  # type: ignore[import-not-found]
from google.genai import types as gemini  # type: ignore[import-not-found]
from openai.types.chat import ChatCompletionChunk  # type: ignore[import-not-found]
from openai.types.responses import ResponseStreamEvent  # type: ignore[import-not-found]

from kuniumi import agent

MAKE: dict[str, Callable[[Any], Any]] = {
    "anthropic": lambda sent: anthropic.construct_type(type_=RawMessageStreamEvent, value=sent),
    "responses": lambda sent: openai.construct_type(type_=ResponseStreamEvent, value=sent),
    "chat": lambda sent: openai.construct_type(type_=ChatCompletionChunk, value=sent),
    "gemini": gemini.GenerateContentResponse.model_validate,
}


def read(provider: str, events: list[Any]) -> dict[str, Any]:
    stream = agent.Stream()
    made = [MAKE[provider](event) for event in events]
    for each in made:
        stream.feed(each)
    stream.end()
    return {
        "objects": all(not isinstance(each, dict) for each in made),
        "thinking": stream.thinking,
        "content": stream.content,
        "finish": stream.finish_reason,
        "calls": [[call.id, call.name, call.parsed()] for call in stream.tool_calls],
        "extras": stream.extras,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        sent = json.loads(line)
        sys.stdout.write(f"{json.dumps(read(sent['as'], sent['what']))}\n")
