"""The streaming events of the providers' SDKs, told as steps that all have in common.

In: an event as plain data: of OpenAI's Responses API and Chat Completions, of Anthropic, of Gemini.
Out: the steps in it, or None for what is no such event. Known by their shape; no SDK is imported.

Some SDKs tell of the same text twice: as deltas, and as the whole when a part is done. Only deltas
count; a whole is taken where no delta can have come.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.agent.assembling import is_first
from kuniumi.agent.json_text import ABSENT, parse, write

if TYPE_CHECKING:
    from kuniumi.agent.turns import Wire


class Step(Struct, frozen=True):
    """One thing that happened: words came, a call began or grew, the model came to an end.

    `key` is the call's place in its stream; `whole` says that `text` is all of its arguments;
    `extra` is what else was said of it.
    """

    kind: Literal["content", "thinking", "call", "finish", "error"]
    text: str = ""
    key: Any = None
    id: str = ""
    name: str = ""
    whole: bool = False
    extra: dict[str, Any] = {}


def event_of(chunk: Any) -> Any:
    """Give the event itself, where an SDK's helper wraps it together with a snapshot of it all."""
    look = chunk.get if isinstance(chunk, dict) else partial(getattr, chunk)
    inner = look("chunk", None)
    return inner if look("type", None) == "chunk" and inner is not None else chunk


def is_repeated(chunk: Any) -> bool:
    """Whether a helper's object tells only what the events beside it have told."""
    kind = getattr(chunk, "type", None)
    return isinstance(kind, str) and hasattr(chunk, _SAID_ALREADY.get(kind, " "))


def wire_of(event: dict[str, Any]) -> Wire | None:
    """Give the wire that an event is of; nothing for what any may have, or none."""
    kind = event.get("type")
    if isinstance(kind, str):
        if kind.startswith("response."):
            return "openai"
        if kind in _ANTHROPIC:
            return None if kind == "ping" else "anthropic"
    if isinstance(event.get("choices"), list):
        return "openai_chat"
    if isinstance(event.get("candidates"), list) or not _ABOUT_GEMINI.isdisjoint(event):
        return "gemini"
    return None


def read_event(event: dict[str, Any]) -> list[Step] | None:
    """Give the steps of a provider's event; None if it is none."""
    match wire_of(event):
        case "openai":
            return _read_responses(event["type"], event)
        case "anthropic":
            return _read_anthropic(event["type"], event)
        case "openai_chat":
            return _read_chat(event)
        case "gemini":
            return _read_gemini(event)
    kind = event.get("type")
    if kind == "ping" or (isinstance(kind, str) and _SAID_ALREADY.get(kind, " ") in event):
        return []
    return read_error(event.get("error", event)) if kind == "error" else None


def read_error(error: Any) -> list[Step] | None:
    """Give what went wrong, where a service says so in the midst of a stream."""
    said = error.get("message") if isinstance(error, dict) else None
    return [Step("error", said)] if isinstance(said, str) else None


def read_calls(calls: list[Any]) -> list[Step]:
    """Give the steps of a list of calls, whole ones or deltas, in any provider's form."""
    steps = []
    for call in calls:
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        function = function if isinstance(function, dict) else call
        index = call.get("index")
        arguments = next(
            (function[key] for key in ("arguments", "args", "input") if key in function), None
        )
        text = _json(arguments)
        # Some send deltas that say only whose they are; what is an object by itself is no delta.
        whole = isinstance(arguments, dict) or (index is None and parse(text) is not ABSENT)
        known = _OF_A_CALL if function is not call else _OF_A_CALL | call.keys()
        steps.append(
            Step(
                "call",
                text,
                key=None if index is None else ("call", str(index)),
                id=_text(call.get("id") or call.get("call_id")),
                name=_text(function.get("name")),
                whole=whole,
                extra={k: v for k, v in call.items() if k not in known and v is not None},
            )
        )
    return steps


_OF_A_CALL = frozenset({"index", "id", "call_id", "type", "function"})


# ---- OpenAI ----------------------------------------------------------------------------------------


def _read_responses(kind: str, event: dict[str, Any]) -> list[Step]:
    delta = _text(event.get("delta"))
    place = ("item", str(event.get("item_id") or event.get("output_index")))
    match kind:
        case "response.output_text.delta" | "response.refusal.delta":
            return [Step("content", delta)]
        case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
            return [Step("thinking", delta)]
        case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
            return [Step("call", delta, key=place)]
        case "response.function_call_arguments.done":
            return [Step("call", _text(event.get("arguments")), key=place, whole=True)]
        case "response.output_item.added" | "response.output_item.done":
            item = event.get("item")
            if isinstance(item, dict) and item.get("type") in {"function_call", "custom_tool_call"}:
                return [_read_item(item, event, whole=kind.endswith("done"))]
        case "response.completed" | "response.incomplete":
            return [Step("finish", kind.removeprefix("response."))]
        case "response.failed" | "response.cancelled":
            why = kind.removeprefix("response.")
            return [Step("finish", why), Step("error", _why_failed(event) or why)]
    return []


def _why_failed(event: dict[str, Any]) -> str:
    response = event.get("response")
    error = response.get("error") if isinstance(response, dict) else None
    return _text(error.get("message")) if isinstance(error, dict) else ""


def _read_item(item: dict[str, Any], event: dict[str, Any], *, whole: bool) -> Step:
    arguments = item.get("arguments")
    return Step(
        "call",
        _text(item.get("input") if arguments is None else arguments),
        key=("item", str(item.get("id") or event.get("output_index"))),
        id=_text(item.get("call_id")),
        name=_text(item.get("name")),
        whole=whole,
    )


def _read_chat(event: dict[str, Any]) -> list[Step]:
    steps = []
    for choice in event["choices"]:
        if not is_first(choice):
            continue  # another answer to the same question
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else choice.get("message")
        delta = delta if isinstance(delta, dict) else {}
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        steps.append(Step("thinking", _text(thinking)))
        steps.append(Step("content", _text(delta.get("content"))))
        steps.append(Step("content", _text(delta.get("refusal"))))
        if isinstance(delta.get("tool_calls"), list):
            steps.extend(read_calls(delta["tool_calls"]))
        if isinstance(delta.get("function_call"), dict):
            steps.extend(read_calls([{"index": 0, "function": delta["function_call"]}]))
        if choice.get("finish_reason"):
            steps.append(Step("finish", _text(choice["finish_reason"])))
    return [*steps, *(read_error(event.get("error")) or ())]


# ---- Anthropic -------------------------------------------------------------------------------------

_ANTHROPIC = frozenset(
    {
        *("message_start", "message_delta", "message_stop", "content_block_start"),
        *("content_block_delta", "content_block_stop", "ping"),
    }
)
# What the helpers of Anthropic's and OpenAI's packages tell beside the events themselves, and a field
# by which it is told from what a model may have said.
_SAID_ALREADY = {
    "text": "snapshot",
    "thinking": "snapshot",
    "input_json": "partial_json",
    "citation": "snapshot",
    "signature": "signature",
    "content.delta": "delta",
    "content.done": "content",
    "refusal.delta": "delta",
    "refusal.done": "refusal",
    "tool_calls.function.arguments.delta": "arguments",
    "tool_calls.function.arguments.done": "arguments",
    "logprobs.content.delta": "content",
    "logprobs.content.done": "content",
    "logprobs.refusal.delta": "refusal",
    "logprobs.refusal.done": "refusal",
}


def _read_anthropic(kind: str, event: dict[str, Any]) -> list[Step]:
    place = ("block", str(event.get("index")))
    if kind == "content_block_start":
        block = event.get("content_block")
        block = block if isinstance(block, dict) else {}
        if block.get("type") == "tool_use":
            given = block.get("input")
            text = _json(given) if given else ""
            return [Step("call", text, place, _text(block.get("id")), _text(block.get("name")))]
        if block.get("type") == "thinking":
            return [Step("thinking", _text(block.get("thinking")))]
        return [Step("content", _text(block.get("text")))] if block.get("type") == "text" else []
    if kind == "message_stop":
        return [Step("finish")]
    delta = event.get("delta")
    if not isinstance(delta, dict):
        return []
    if kind == "message_delta":
        reason = delta.get("stop_reason")
        return [Step("finish", _text(reason))] if reason else []
    match delta.get("type"):
        case "text_delta":
            return [Step("content", _text(delta.get("text")))]
        case "thinking_delta":
            return [Step("thinking", _text(delta.get("thinking")))]
        case "input_json_delta":
            return [Step("call", _text(delta.get("partial_json")), place)]
    return []


# ---- Gemini ----------------------------------------------------------------------------------------


_ABOUT_GEMINI = frozenset({"usage_metadata", "usageMetadata", "prompt_feedback", "promptFeedback"})


def _read_gemini(event: dict[str, Any]) -> list[Step]:
    steps: list[Step] = []
    candidates = event.get("candidates")
    for candidate in candidates if isinstance(candidates, list) else ():
        if not is_first(candidate):
            continue
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                steps.extend(_read_part(part))
        reason = candidate.get("finish_reason") or candidate.get("finishReason")
        if reason and reason != "CONTINUATION":  # the package asks for the rest, or its user does
            steps.append(Step("finish", _text(reason)))
    feedback = event.get("prompt_feedback") or event.get("promptFeedback")
    if isinstance(feedback, dict):
        blocked = feedback.get("block_reason") or feedback.get("blockReason")
        steps += [Step("finish", _text(blocked))] if blocked else []
    return steps


def _read_part(part: dict[str, Any]) -> list[Step]:
    call = part.get("function_call") or part.get("functionCall")
    if isinstance(call, dict):
        # Calls come whole, and several may have neither id nor place: each is one of its own.
        named = _text(call.get("id"))
        key = None if named else object()
        arguments = _json(call.get("args") or {})
        return [Step("call", arguments, key, named, _text(call.get("name")), whole=True)]
    text = part.get("text")
    if isinstance(text, str):
        return [Step("thinking" if part.get("thought") else "content", text)]
    return []


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _json(found: Any) -> str:
    if found is None:
        return ""
    return found if isinstance(found, str) else write(found, [])[1]
