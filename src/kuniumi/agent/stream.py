"""What a model says in pieces, put together: its thinking, its text, its calls of tools.

In: chunks as they come: the SDKs' streaming events, dicts, text, bytes, and halves of these. Out:
`Piece`s, as soon as they are sure, and in the end the whole. Nothing is lost, nothing raises.

Some services stream envelopes, `{"content": "Hel"}`, and anything else in between. Text is an
envelope only if it starts where a chunk, or another object, ends, is a JSON object, and has a
known key: `42`, `null`, `{"foo": 1}` are what the model said. An object that has begun is held until
it is whole; it becomes text as soon as it can be none, at the latest when the stream ends.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from kuniumi.agent import events
from kuniumi.agent.assembling import Assembly
from kuniumi.agent.json_text import parse, write
from kuniumi.agent.plain import fields_of, make_plain
from kuniumi.agent.sdk_objects import dump
from kuniumi.agent.words import clean

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

_KNOWN = frozenset({"content", "thinking", "reasoning_content", "tool_calls"})
_MAX_HELD = 16_000_000
_MAX_PENDING = 1_000
_OPENING = re.compile(r'\s*+\{\s*+(?:\Z|(["}]))')
_WORTH_A_LOOK = re.compile(r'[\\"{}\[\]]')


class Piece(Struct, frozen=True):
    """One more piece of what the model says."""

    kind: Literal["thinking", "content", "tool_call"]
    text: str = ""
    index: int | None = None  # which of the calls grew
    name: str = ""  # the tool's, in the first piece of a call


class ToolCall(Struct, frozen=True):
    """A tool that the model calls; `arguments` are the JSON as it was sent."""

    id: str
    name: str
    arguments: str

    def parsed(self) -> dict[str, Any] | None:
        """Give the arguments as data; None if they are no object, as after an early end."""
        if not self.arguments.strip():
            return {}
        found = parse(self.arguments)
        return found if isinstance(found, dict) else None


class _Growing:
    """A call of which more may come."""

    __slots__ = ("extra", "id", "key", "name", "pieces")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.extra: dict[str, Any] = {}

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Stream:
    """Puts a stream together.

        stream = agent.Stream()
        async for piece in stream.read(chunks):    # or `for`, if the chunks come without awaiting
            print(piece.text, end="")
        messages += await tools.reply(stream)

    `feed` takes the chunks one by one, and `end` says that there are no more.
    """

    def __init__(self) -> None:
        self.extras: dict[str, Any] = {}
        self.finish_reason: str | None = None
        self.trouble = ""  # what the service said that went wrong
        self._assembly = Assembly()
        self._ended = False
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[_Growing] = []
        self._held: _Object | None = None  # an object that is not whole yet
        self._pending = ""  # what may be the beginning of one
        self._after_envelope = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._half = ""  # the first half of a surrogate pair

    @property
    def content(self) -> str:
        """What the model has said so far."""
        return "".join(self._content)

    @property
    def thinking(self) -> str:
        """What the model has thought so far."""
        return "".join(self._thinking)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the model has made so far, in their order."""
        return tuple(ToolCall(each.id, each.name, each.arguments) for each in self._calls)

    @property
    def is_done(self) -> bool:
        """Whether the model came to its end; a stream that broke off before never will."""
        if self._assembly.wire is None:
            said = self._content or self._thinking or self._calls or self.extras
            return self._ended and bool(said) and not self.trouble
        # Gemini at times gives no reason to end after calls, which come whole.
        called = self._assembly.wire == "gemini" and self._ended and bool(self._calls)
        return (self.finish_reason is not None or called) and not self.trouble

    @property
    def response(self) -> dict[str, Any] | None:
        """The whole response, as its provider gives it to those who don't stream; once it is done."""
        if not self.is_done:
            return None
        found: dict[str, Any] = dump(self._assembly.whole(self._calls, self.content))
        return found

    def feed(self, chunk: Any) -> list[Piece]:
        """Take one chunk; give what is new and sure."""
        if chunk is None:
            return []
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            chunk = self._decoder.decode(bytes(chunk))
        if isinstance(chunk, str):
            return self._take_text(chunk)
        pieces = self._flush()
        try:
            if events.is_repeated(chunk):
                return pieces
            plain = events.event_of(chunk) if type(chunk) is dict else self._plain(chunk)
            pieces += self._take_object(plain)
        except Exception:  # noqa: BLE001 - an object may run code of its own, and that may fail
            pieces += self._say(f"[a chunk of type {type(chunk).__name__}]")
        return pieces

    def end(self) -> list[Piece]:
        """Say that nothing more comes; what was held is text."""
        last = self._decoder.decode(b"", True)  # noqa: FBT003 - its one flag
        pieces = self._take_text(last) if last else []
        pieces += self._flush()
        if self._half:
            self._half = ""
            pieces += self._say("\ufffd")
        self._ended = True
        return pieces

    def read(self, chunks: Iterable[Any] | AsyncIterable[Any]) -> Pieces:
        """Go through a whole stream, piece by piece: with `for`, or with `async for`."""
        return Pieces(self, chunks)

    # ---- text ----

    def _take_text(self, chunk: str) -> list[Piece]:
        chunk = self._join_pairs(chunk)
        pieces: list[Piece] = []
        while chunk:
            if self._held is None:
                chunk, self._pending = self._pending + chunk, ""
                opening = _OPENING.match(chunk)
                undecided = opening is not None and opening[1] is None
                framing = self._after_envelope and chunk.isspace()
                if (undecided or framing) and len(chunk) < _MAX_PENDING:
                    self._pending = chunk
                    break
                if opening is None:
                    pieces += self._say(chunk)
                    break
                self._held = _Object()
            found, chunk = self._held.take(chunk)
            if found is not None:
                self._held = None
                pieces += self._take_found(found)
        return pieces

    def _flush(self) -> list[Piece]:
        """Say what was held as text; only the end of a line after an envelope is none."""
        held, pending = self._held, self._pending
        self._held, self._pending = None, ""
        if held is not None:
            return self._say(held.text())
        return [] if self._after_envelope and pending.isspace() else self._say(pending)

    def _take_found(self, found: str) -> list[Piece]:
        """Take a whole object: an envelope, or what the model said."""
        value = parse(found)
        if isinstance(value, dict) and not _KNOWN.isdisjoint(value):
            # Space between envelopes is theirs, and between words and an envelope the words'.
            spoken = self._content and not self._after_envelope
            pieces = self._say(found[: found.index("{")]) if spoken else []
            pieces += self._take_envelope(value)
            self._after_envelope = True
            return pieces
        return self._say(found)

    def _join_pairs(self, text: str) -> str:
        """Put the halves of a surrogate pair together that came in two chunks."""
        if self._half:
            text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return clean(text)

    def _say(self, text: str) -> list[Piece]:
        if not text:
            return []
        self._after_envelope = False
        self._content.append(text)
        return [Piece("content", text)]

    def _think(self, text: str) -> list[Piece]:
        if not text:
            return []
        self._thinking.append(text)
        return [Piece("thinking", text)]

    # ---- objects ----

    def _plain(self, chunk: Any) -> Any:
        if isinstance(chunk, (bool, int, float, list, tuple)) or fields_of(chunk) is None:
            return make_plain(chunk, [])
        return dump(events.event_of(chunk))

    def _take_object(self, chunk: Any) -> list[Piece]:
        if isinstance(chunk, dict):
            wire = events.wire_of(chunk)
            steps = events.read_event(
                chunk if wire is None else self._assembly.take(wire, dump(chunk))
            )
            if steps is None and self._assembly.wire is not None:
                steps = events.read_error(chunk.get("error"))
            if steps is not None:
                return self._take_steps(steps)
            if not _KNOWN.isdisjoint(chunk):
                return self._take_envelope(chunk)
            if self._assembly.wire is not None and isinstance(chunk.get("type"), str):
                return []  # an event that came up later than this was written
        if isinstance(chunk, str):
            return self._say(chunk)
        return self._say(write(chunk, [])[1])

    def _take_envelope(self, envelope: dict[str, Any]) -> list[Piece]:
        """Take an envelope; what it has beside the known keys is kept in `extras`."""
        pieces: list[Piece] = []
        for key in ("thinking", "reasoning_content"):
            pieces += self._think(_words(envelope.get(key)))
        pieces += self._say(_words(envelope.get("content")))
        calls = envelope.get("tool_calls")
        if isinstance(calls, dict):
            calls = [calls]
        if isinstance(calls, list):
            pieces += self._take_steps(events.read_calls(calls))
        elif calls is not None:
            self.extras["tool_calls"] = calls
        self.extras.update({key: item for key, item in envelope.items() if key not in _KNOWN})
        return pieces

    def _take_steps(self, steps: Iterable[events.Step]) -> list[Piece]:
        pieces: list[Piece] = []
        for step in steps:
            if step.kind == "content":
                pieces += self._say(clean(step.text))
            elif step.kind == "thinking":
                pieces += self._think(clean(step.text))
            elif step.kind == "finish":
                self.finish_reason = step.text or self.finish_reason or ""
            elif step.kind == "error":
                self.trouble = self.trouble or clean(step.text)
            else:
                pieces += self._take_call(step)
        return pieces

    def _take_call(self, step: events.Step) -> list[Piece]:
        index, call = self._find_call(step)
        begun = step.name if not call.name else ""
        call.id = call.id or step.id
        call.name = call.name or step.name
        call.extra.update(step.extra)
        text = clean(step.text)
        if not step.whole:
            call.pieces.append(text)
        elif text:
            text = "" if call.arguments == text else text
            call.pieces = [clean(step.text)]
        return [Piece("tool_call", text, index, begun)]

    def _find_call(self, step: events.Step) -> tuple[int, _Growing]:
        """Give the call a step is about: by its place in the stream, else by its id, else the last.

        Some services give all their calls the same place: the last one there is the one that grows.
        """
        for index, call in reversed(list(enumerate(self._calls))):
            if step.key is not None and call.key == step.key:
                if not (step.id and call.id and step.id != call.id):
                    return index, call
            elif step.key is None:
                goes_on = not step.name and not step.whole
                if call.id == step.id if step.id else goes_on:
                    return index, call
        call = _Growing(step.key)
        self._calls.append(call)
        return len(self._calls) - 1, call


class Pieces:
    """The pieces of a stream, as its chunks come.

    Who goes through them decides which way: what watches a package's calls may wrap its streams in
    objects that offer both, and fail at one.
    """

    __slots__ = ("_chunks", "_stream")

    def __init__(self, stream: Stream, chunks: Any) -> None:
        self._stream = stream
        self._chunks = chunks

    def __iter__(self) -> Iterator[Piece]:
        """Give the pieces of chunks that come without awaiting."""
        for chunk in self._chunks:
            yield from self._stream.feed(chunk)
        yield from self._stream.end()

    async def __aiter__(self) -> AsyncIterator[Piece]:
        """Give the pieces of chunks that have to be awaited, or of any others."""
        if hasattr(self._chunks, "__aiter__"):
            async for chunk in self._chunks:
                for piece in self._stream.feed(chunk):
                    yield piece
        else:
            for chunk in self._chunks:
                for piece in self._stream.feed(chunk):
                    yield piece
        for piece in self._stream.end():
            yield piece


def _words(found: Any) -> str:
    """Give what an envelope says under one key: text, blocks of text, or data as JSON."""
    if found is None:
        return ""
    if isinstance(found, str):
        return clean(found)
    if isinstance(found, list) and found:
        texts = [each.get("text") if isinstance(each, dict) else each for each in found]
        if all(isinstance(text, str) for text in texts):
            return "".join(clean(text) for text in texts if text)
    return write(found, [])[1]


class _Object:
    """The object that has begun: finds its end, however it is cut, going through it once."""

    __slots__ = ("depth", "escaped", "parts", "quoted", "size")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.depth = self.size = 0
        self.quoted = self.escaped = False

    def take(self, chunk: str) -> tuple[str | None, str]:
        """Take more of it; give it as a whole, if that was the rest, and what comes after."""
        end = self.find_end(chunk)
        self.parts.append(chunk if end is None else chunk[:end])
        self.size += len(chunk)
        if end is None:
            return (self.text() if self.size > _MAX_HELD else None), ""
        return self.text(), chunk[end:]

    def text(self) -> str:
        return "".join(self.parts)

    def find_end(self, chunk: str) -> int | None:
        at = 1 if self.escaped else 0
        self.escaped = False
        while found := _WORTH_A_LOOK.search(chunk, at):
            at = found.end()
            sign = found[0]
            if sign == "\\":
                if self.quoted:
                    self.escaped = at == len(chunk)
                    at += 1
            elif sign == '"':
                self.quoted = not self.quoted
            elif not self.quoted:
                self.depth += 1 if sign in "{[" else -1
                if self.depth == 0:
                    return at
        return None
