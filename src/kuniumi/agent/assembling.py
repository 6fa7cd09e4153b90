"""A response that comes in events, put together as if it had come at once.

In: the events of one stream, as plain data, with the wire they are of. Out: the whole response, in
its provider's words: what has to be sent back is all there (thinking and its signatures, encrypted
reasoning, blocks that the provider made itself), in its order. It is pure, and never raises.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any, Protocol

from kuniumi.agent.json_text import parse
from kuniumi.agent.partial_arguments import put_piece
from kuniumi.agent.words import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kuniumi.agent.turns import Wire

_FIXED = frozenset({"role", "type", "id", "object", "format", "index"})
"""What is said once in a stream, or again and again the same; all other text grows."""


class Called(Protocol):
    """A call as the stream knows it; `extra` is what its service said of it beside."""

    id: str
    name: str
    extra: dict[str, Any]

    @property
    def arguments(self) -> str:
        """The JSON that was sent so far."""
        ...


class _Growing(Protocol):
    """A response of one provider, of which more may come."""

    def take(self, event: dict[str, Any]) -> dict[str, Any]:
        """Take an event; give what shall be told of it."""
        ...

    def whole(self, calls: Sequence[Called]) -> dict[str, Any]:
        """Give the response."""
        ...


class Assembly:
    """Puts the events of one stream together; the first one decides whose they are."""

    __slots__ = ("_growing", "wire")

    def __init__(self) -> None:
        self.wire: Wire | None = None
        self._growing: _Growing = _Chat()

    def take(self, wire: Wire, event: dict[str, Any]) -> dict[str, Any]:
        """Take an event; give what shall be told of it: most often, itself."""
        if self.wire is None:
            self.wire = wire
            self._growing = _KINDS[wire]()
        return self._growing.take(event) if wire == self.wire else event

    def whole(self, calls: Sequence[Called], content: str) -> dict[str, Any]:
        """Give the response; without any provider's events, one of a chat."""
        growing = self._growing
        if self.wire is None:
            growing = _Chat()
            growing.take({"choices": [{"delta": {"content": content}, "finish_reason": "stop"}]})
        found: dict[str, Any] = _joined(growing.whole(calls))
        return found


class _Responses:
    """OpenAI's Responses: items that come whole in the end, and a response that may hold them all."""

    def __init__(self) -> None:
        self.base: dict[str, Any] = {}
        self.items: dict[int, dict[str, Any]] = {}

    def take(self, event: dict[str, Any]) -> dict[str, Any]:
        item, response = event.get("item"), event.get("response")
        if isinstance(item, dict) and event["type"].startswith("response.output_item."):
            place = event.get("output_index")
            self.items[place if isinstance(place, int) else len(self.items)] = item
        elif isinstance(response, dict):
            self.base = response
        return event

    def whole(self, calls: Sequence[Called]) -> dict[str, Any]:
        # Some services leave the items out in the end, since all of them were told before.
        output = self.base.get("output")
        if not output or not isinstance(output, list):
            output = [_with_arguments(item, calls) for _, item in sorted(self.items.items())]
        return {**self.base, "output": output}


def _with_arguments(item: dict[str, Any], calls: Iterable[Called]) -> dict[str, Any]:
    """Fill in what came in pieces, for an item that was never said to be done."""
    if item.get("type") != "function_call" or item.get("arguments"):
        return item
    found = [call.arguments for call in calls if call.id and call.id == item.get("call_id")]
    return {**item, "arguments": found[0] if found else ""}


class _Chat:
    """Chat Completions: one message that grows; its calls are those that the stream has found."""

    def __init__(self) -> None:
        self.base: dict[str, Any] = {}
        self.message: dict[str, Any] = {"role": "assistant"}
        self.finish: Any = None

    def take(self, event: dict[str, Any]) -> dict[str, Any]:
        self.base.update({key: item for key, item in event.items() if item is not None})
        for choice in event["choices"]:
            if not is_first(choice):
                continue
            delta = choice.get("delta")
            delta = delta if isinstance(delta, dict) else choice.get("message")
            for key, item in delta.items() if isinstance(delta, dict) else ():
                if key not in {"tool_calls", "function_call"}:
                    _grow(self.message, key, item)
            self.finish = choice.get("finish_reason") or self.finish
        return event

    def whole(self, calls: Sequence[Called]) -> dict[str, Any]:
        message = _joined(self.message)
        message["content"] = message.get("content") or ("" if not calls else None)
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                    **call.extra,
                }
                for call in calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {**self.base, "object": "chat.completion", "choices": [choice]}


class _Anthropic:
    """Anthropic's Messages: blocks, each by its index; the input of a tool is JSON in pieces."""

    def __init__(self) -> None:
        self.base: dict[str, Any] = {}
        self.blocks: dict[int, dict[str, Any]] = {}
        self.inputs: dict[int, StringIO] = {}

    def take(self, event: dict[str, Any]) -> dict[str, Any]:
        place, block, delta = event.get("index"), event.get("content_block"), event.get("delta")
        match event["type"]:
            case "message_start" if isinstance(event.get("message"), dict):
                self.base = event["message"]
            case "content_block_start" if isinstance(block, dict) and isinstance(place, int):
                self.blocks[place] = {k: v for k, v in block.items() if v is not None}
            case "content_block_delta" if isinstance(place, int) and isinstance(delta, dict):
                self.grow(place, delta)
            case "message_delta" if isinstance(delta, dict):
                self.base = {**self.base, **delta, "usage": self.used(event.get("usage"))}
        return event

    def grow(self, place: int, delta: dict[str, Any]) -> None:
        block = self.blocks.setdefault(place, {})
        match delta.get("type"):
            case "input_json_delta":
                self.inputs.setdefault(place, StringIO()).write(_text(delta.get("partial_json")))
            case "signature_delta":
                block["signature"] = _text(delta.get("signature"))
            case "citations_delta":
                _grow(block, "citations", [delta.get("citation")])
            case _:
                for key, item in delta.items():
                    if key != "type":
                        _grow(block, key, item)

    def used(self, usage: Any) -> Any:
        """Give what was used: the last word on each count."""
        before = self.base.get("usage")
        before = before if isinstance(before, dict) else {}
        told = usage.items() if isinstance(usage, dict) else ()
        return {**before, **{key: item for key, item in told if item is not None}}

    def whole(self, _calls: Sequence[Called]) -> dict[str, Any]:
        blocks = []
        for place, block in sorted(self.blocks.items()):
            sent = self.inputs[place].getvalue() if place in self.inputs else ""
            if sent.strip():
                found = parse(sent)
                # What is no object, as after an early end, stays text: it is told the model.
                block = {**block, "input": found if isinstance(found, dict) else sent}  # noqa: PLW2901
            blocks.append(block)
        return {"role": "assistant", **self.base, "content": blocks}


class _Gemini:
    """Gemini: parts; words are put together, anything with more to it stays a part of its own."""

    def __init__(self) -> None:
        self.base: dict[str, Any] = {}
        self.about: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        self.open: dict[str, Any] | None = None  # a part with a call of which more will come

    def take(self, event: dict[str, Any]) -> dict[str, Any]:
        self.base.update({key: item for key, item in event.items() if item is not None})
        candidates = event.get("candidates")
        if not isinstance(candidates, list):
            return event
        told = [self.take_candidate(each) for each in candidates if is_first(each)]
        return {**event, "candidates": told}

    def take_candidate(self, candidate: dict[str, Any]) -> dict[str, Any]:
        self.about.update({key: item for key, item in candidate.items() if item is not None})
        content = candidate.get("content")
        content = content if isinstance(content, dict) else {}
        parts = content.get("parts")
        if not isinstance(parts, list):
            return candidate
        told = []
        for part in parts:
            whole = self.take_part(part) if isinstance(part, dict) else None
            if whole is not None:
                told.append(whole)
                self.add(whole)
        return {**candidate, "content": {**content, "parts": told}}

    def take_part(self, part: dict[str, Any]) -> dict[str, Any] | None:
        """Give a part, unless it is a piece of a call; the last piece gives the call."""
        key = "function_call" if "function_call" in part else "functionCall"
        call = part.get(key)
        if not isinstance(call, dict):
            return part
        more = call.get("will_continue") or call.get("willContinue")
        pieces = call.get("partial_args") or call.get("partialArgs")
        if self.open is None and not more and not pieces:
            return part
        opened = {**(self.open or {}), **part}
        known = (self.open or {}).get(key) or {"args": {}}
        known = {**known, **{name: call[name] for name in ("id", "name") if call.get(name)}}
        if isinstance(call.get("args"), dict):
            known["args"].update(call["args"])
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                put_piece(known["args"], piece)
        opened[key] = known
        self.open = opened if more else None
        return None if more else {**opened, key: _joined(known)}

    def add(self, part: dict[str, Any]) -> None:
        if part.keys() <= {"text", "thought"} and isinstance(part.get("text"), str):
            last = self.parts[-1] if self.parts else {}
            grows = isinstance(last.get("text"), StringIO)
            if not grows or last.get("thought") != part.get("thought"):
                last = {**part, "text": StringIO()}
                self.parts += [last] if part["text"] else []
            last["text"].write(part["text"])
        else:
            self.parts.append(part)

    def whole(self, _calls: Sequence[Called]) -> dict[str, Any]:
        content = {"role": "model", "parts": self.parts}
        candidates = [{**self.about, "content": content}] if self.about else []
        return {**self.base, "candidates": candidates}


_KINDS: dict[Wire, Callable[[], _Growing]] = {
    "openai": _Responses,
    "openai_chat": _Chat,
    "anthropic": _Anthropic,
    "gemini": _Gemini,
}


# ---- growing ---------------------------------------------------------------------------------------


def _grow(into: dict[str, Any], key: str, item: Any) -> None:
    """Add a piece to what is there under a key: text and lists get longer, the rest is new."""
    before = into.get(key)
    if item is None or (key in _FIXED and before):
        return
    if isinstance(item, str) and key not in _FIXED:
        if not isinstance(before, StringIO):
            into[key] = StringIO()
            into[key].write(before if isinstance(before, str) else "")
        into[key].write(item)
    elif isinstance(item, dict):
        grown = dict(before) if isinstance(before, dict) else {}
        for name, each in item.items():
            _grow(grown, name, each)
        into[key] = grown
    elif isinstance(item, list):
        into[key] = _longer(before if isinstance(before, list) else [], item)
    else:
        into[key] = item


def _longer(before: list[Any], more: list[Any]) -> list[Any]:
    """Add to a list; what has an index belongs to what has the same."""
    found = list(before)
    for item in more:
        place = item.get("index") if isinstance(item, dict) else None
        same = [
            at
            for at, each in enumerate(found)
            if place is not None and isinstance(each, dict) and each.get("index") == place
        ]
        if same:
            grown = dict(found[same[0]])
            for name, each in item.items():
                _grow(grown, name, each)
            found[same[0]] = grown
        else:
            found.append(item)
    return found


def _joined(found: Any) -> Any:
    """Give what has grown as it stands now."""
    if isinstance(found, StringIO):
        return clean(found.getvalue())
    if isinstance(found, dict):
        return {key: _joined(item) for key, item in found.items()}
    return [_joined(item) for item in found] if isinstance(found, list) else found


def is_first(answer: Any) -> bool:
    """Whether this is the first of several answers to one question: the others are not followed."""
    return isinstance(answer, dict) and answer.get("index") in (0, None)


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
