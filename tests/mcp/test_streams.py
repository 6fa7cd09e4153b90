"""A stream keeps what waits to be read, and what may be read again: neither without bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from kuniumi.serve.mcp.streams import MOST, MOST_BYTES, Stream
from kuniumi.wire.sse import EventReader

Make = Callable[[], Stream]
BIG = 1024 * 1024


@pytest.fixture
def make() -> Iterator[Make]:
    """Give what makes streams that can be read again; each belongs to a loop."""
    with asyncio.Runner() as runner:

        async def made() -> Stream:
            return Stream(resumable=True)

        yield lambda: runner.run(made())


def read(stream: Stream, position: int = 0) -> list[bytes]:
    return [event.data for event in EventReader().feed(stream.events_after(position))]


def message(number: int, size: int = 10) -> bytes:
    return b"%d:" % number + b"x" * size


@pytest.mark.parametrize(("count", "size"), [(3 * MOST, 10), (50, BIG)], ids=["many", "big"])
def test_what_nobody_reads_is_bounded_and_ends_with_the_latest(
    make: Make, count: int, size: int
) -> None:
    stream = make()
    for number in range(count):
        stream.put(message(number, size))
    waiting = read(stream)
    assert len(waiting) <= MOST
    assert sum(map(len, waiting)) <= MOST_BYTES + 2 * BIG
    assert waiting[0] == message(0, size)
    assert waiting[-1] == message(count - 1, size)


@pytest.mark.parametrize("size", [10, BIG], ids=["many", "big"])
def test_what_somebody_depends_on_is_never_dropped(make: Make, size: int) -> None:
    stream = make()
    for number in range(2 * MOST if size < BIG else 20):
        stream.put(message(number, size))
    stream.put(b"a question", urgent=True)
    stream.put(b"more of the rest")
    stream.finish(b"the result")
    assert read(stream)[-2:] == [b"a question", b"the result"]


@pytest.mark.parametrize("size", [10, BIG], ids=["many", "big"])
def test_a_reader_that_keeps_up_gets_everything_in_order(make: Make, size: int) -> None:
    stream, got = make(), []
    for number in range(3 * MOST if size < BIG else 50):
        stream.put(message(number, size))
        position = stream.end - 1
        got += read(stream, position)
    assert got == [message(number, size) for number in range(len(got))]
    assert len(got) == (3 * MOST if size < BIG else 50)
    assert sum(map(len, read(stream))) <= MOST_BYTES + BIG
