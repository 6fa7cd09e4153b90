"""Whole conversations in pieces: limits, callbacks, and clients that never answer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kuniumi import App
from kuniumi.agent import Piece, Run, Stream, StreamError, Toolbox, run

app = App(name="Calculator", version="1.0.0")


@app.function
async def Add(x: int, y: int = 1) -> int:
    """Adds two integers."""
    return x + y


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}


def turn(*, calls: bool = True, words: str = "Let me see.", why: str = "") -> Iterator[Any]:
    """Give the events of a turn of Anthropic's."""
    yield from block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": words})
    if calls:
        used = {"type": "tool_use", "id": "t", "name": "functions_Add", "input": {}}
        yield from block(1, used, {"type": "input_json_delta", "partial_json": '{"x": 1}'})
    why = why or ("tool_use" if calls else "end_turn")
    yield {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {}}


class Chunks:
    """A stream of a package, as far as one can see; knows whether it was closed."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.closed = threading.Event()

    async def __aiter__(self) -> AsyncIterator[Any]:
        for event in self.events:
            yield event

    async def close(self) -> None:
        self.closed.set()


class Messages:
    """Stands in for the client of a package: gives these turns, one a request."""

    def __init__(self, *turns: Iterator[Any]) -> None:
        self.messages = self
        self.turns = iter(turns)
        self.given: list[Chunks] = []
        self.asked: list[Any] = []

    async def create(self, **asked: Any) -> Chunks:
        assert asked["stream"] is True
        self.asked.append(list(asked["messages"]))
        self.given.append(Chunks(next(self.turns)))
        return self.given[-1]


Messages.__module__ = "anthropic._client"


def converse(client: Any, messages: Any = "Count!", **options: Any) -> Run:
    async def main() -> Run:
        async with Toolbox(app) as tools:
            return await run(client, "model", messages, tools, **{"stream": True, **options})

    return asyncio.run(main())


def test_pieces_are_told_in_their_order() -> None:
    client = Messages(turn(), turn(calls=False, words="It is 2."))
    pieces: list[Piece] = []
    went = converse(client, on_piece=pieces.append, stream=False)
    assert (went.text, went.stopped, went.rounds) == ("It is 2.", "done", 2)
    assert [piece.text or piece.name for piece in pieces if piece.text or piece.name] == [
        "Let me see.",
        "functions_Add",
        '{"x": 1}',
        "It is 2.",
    ]
    assert all(chunks.closed.is_set() for chunks in client.given)


def test_a_coroutine_may_hear_of_pieces() -> None:
    heard: list[str] = []

    async def hear(piece: Piece) -> None:
        await asyncio.sleep(0)
        heard.append(piece.text)

    converse(Messages(turn(calls=False)), on_piece=hear)
    assert "".join(heard) == "Let me see."


def test_what_a_callback_raises_is_raised_and_the_stream_closed() -> None:
    client = Messages(turn())

    def refuse(_piece: Piece) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        converse(client, on_piece=refuse)
    assert client.given[0].closed.is_set()


def test_rounds_and_sizes_are_limited_while_it_streams() -> None:
    by_rounds = converse(Messages(turn(), turn(), turn()), rounds=2)
    assert (by_rounds.stopped, by_rounds.rounds, len(by_rounds.messages)) == ("rounds", 2, 5)
    by_answers = converse(Messages(turn(), turn(), turn()), max_size=150)
    assert (by_answers.stopped, by_answers.rounds) == ("size", 2)
    talking = Messages(turn(), turn(words="blah " * 1000))
    by_words = converse(talking, max_size=2000)
    assert (by_words.stopped, by_words.rounds, len(by_words.messages)) == ("size", 2, 3)
    assert talking.given[1].closed.is_set()


def test_a_stream_without_an_end_is_no_turn() -> None:
    def half() -> Iterator[Any]:
        yield from list(turn())[:-1]

    client = Messages(turn(), half())
    went = converse(client)
    assert (went.stopped, went.rounds, len(went.messages)) == ("broken", 2, 3)
    assert isinstance(went.error, StreamError)
    assert isinstance(went.response, dict)  # of the turn before
    again = Messages(turn(calls=False, words="It is 2."))
    assert converse(again, went.messages).text == "It is 2."
    assert again.asked == [went.messages]


def test_a_stream_of_nothing_is_no_turn() -> None:
    went = converse(Messages(iter([])))
    assert (went.stopped, went.text, len(went.messages)) == ("broken", "", 1)
    assert isinstance(went.error, StreamError)


def test_what_is_raised_in_the_midst_is_why_it_is_broken() -> None:
    def failing() -> Iterator[Any]:
        yield from list(turn())[:2]
        raise ConnectionResetError("gone")

    went = converse(Messages(failing()))
    assert (went.stopped, went.text, repr(went.error)) == (
        "broken",
        "Let me see.",
        "ConnectionResetError('gone')",
    )


def test_who_cancels_a_run_closes_its_stream() -> None:
    class Waiting(Chunks):
        async def __aiter__(self) -> AsyncIterator[Any]:
            yield next(self.events)
            await asyncio.Event().wait()

    client = Messages()
    client.given = [Waiting(iter([*turn()][1:]))]  # the first event is of no piece

    async def create(**_: Any) -> Chunks:
        return client.given[0]

    client.create = create  # type: ignore[method-assign]

    async def main() -> None:
        begun = asyncio.Event()
        async with Toolbox(app) as tools:
            talk = run(client, "model", "?", tools, on_piece=lambda _: begun.set())
            task = asyncio.create_task(talk)
            await begun.wait()
            assert not client.given[0].closed.is_set()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert client.given[0].closed.is_set()


def test_a_turn_that_was_only_paused_goes_on() -> None:
    client = Messages(turn(calls=False, why="pause_turn"), turn(calls=False, words="Done."))
    went = converse(client)
    assert (went.text, went.stopped, went.rounds) == ("Done.", "done", 2)
    assert client.asked[1][-1]["content"] == [{"type": "text", "text": "Let me see."}]


def test_a_stream_that_breaks_off_while_it_is_answered_says_why() -> None:
    async def events() -> AsyncIterator[Any]:
        for event in list(turn())[:-1]:
            yield event
        raise ConnectionResetError("gone")

    async def main() -> None:
        async with Toolbox(app) as tools:
            await tools.reply(events())

    with pytest.raises(StreamError, match="gone"):
        asyncio.run(main())


# ---- clients that do not await ---------------------------------------------------------------------

SILENT = """
import asyncio, sys, threading
from kuniumi import App
from kuniumi.agent import Toolbox, run

class Silent:
    def __init__(self):
        self.messages = self
    def create(self, **asked):
        if asked.get("stream") and sys.argv[1] == "in the midst":
            return self.events()
        threading.Event().wait()
    def events(self):
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hm"}}
        threading.Event().wait()

Silent.__module__ = "anthropic._client"

async def main():
    async with Toolbox(App(name="Nothing")) as tools:
        went = await run(Silent(), "model", "?", tools, timeout=0.3, stream=sys.argv[2] == "stream")
    print(went.stopped, repr(went.text))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("when", "how", "text"),
    [("at once", "", ""), ("at once", "stream", ""), ("in the midst", "stream", "Hm")],
)
def test_a_client_that_never_answers_holds_up_nobody(when: str, how: str, text: str) -> None:
    """Not even the end of the process, which waits for the threads of a loop's own executor."""
    ended = subprocess.run(
        [sys.executable, "-c", SILENT, when, how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (ended.stdout.strip(), ended.stderr) == (f"timeout {text!r}", "")


class Late:
    """Stands in for a client that answers when nobody waits any more."""

    def __init__(self) -> None:
        self.messages = self
        self.may_answer = threading.Event()
        self.answer = Plain()

    def create(self, **_: Any) -> Plain:
        self.may_answer.wait()
        return self.answer


Late.__module__ = "anthropic._client"


class Plain:
    """A stream that is gone through without awaiting."""

    def __init__(self, *events: Any) -> None:
        self.events = list(events)
        self.taken = 0
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        for event in self.events:
            self.taken += 1
            yield event

    def close(self) -> None:
        self.closed.set()


def test_a_stream_that_comes_too_late_is_closed() -> None:
    client = Late()

    async def main() -> Run:
        async with Toolbox(app) as tools:
            went = await run(client, "model", "?", tools, timeout=0.1, stream=True)
            client.may_answer.set()
            assert await asyncio.to_thread(client.answer.closed.wait, 30)
            return went

    assert asyncio.run(main()).stopped == "timeout"


class Watched(Plain):
    """As instrumentation wraps a stream: it offers both ways, and only one works."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        raise TypeError("the stream below is no async one")
        yield


def test_a_watched_stream_is_gone_through_as_its_client_goes() -> None:
    client = Late()
    client.may_answer.set()
    client.answer = Watched(*turn(calls=False))
    assert converse(client).text == "Let me see."
    stream = Stream()
    assert [piece.text for piece in stream.read(Watched(*turn(calls=False)))] == ["Let me see."]


def test_a_stream_is_not_read_far_ahead_of_who_listens() -> None:
    client = Late()
    client.may_answer.set()
    words = {"type": "text_delta", "text": "x"}
    many = [{"type": "content_block_delta", "index": 0, "delta": words}] * 5000
    client.answer = Plain({"type": "content_block_start", "index": 0}, *many)
    seen: list[int] = []

    def stop(piece: Piece) -> None:
        seen.append(client.answer.taken)
        if len(seen) == 100:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        converse(client, on_piece=stop)
    assert client.answer.closed.wait(30)
    assert client.answer.taken < 500
