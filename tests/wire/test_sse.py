"""Events: rows of bytes and what they tell, fed whole, in two pieces, and byte by byte."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuniumi.wire.sse import (
    KEEP_ALIVE,
    Event,
    EventReader,
    encode_event,
    encode_message,
    encode_pause,
)

ROWS: list[tuple[bytes, list[Event]]] = [
    (b"", []),
    (b"data: x", []),
    (b"data: x\n", []),
    (b"data: x\n\n", [Event(b"x")]),
    (b"data:x\n\n", [Event(b"x")]),
    (b"data:  x\n\n", [Event(b" x")]),
    (b"data: x\r\n\r\n", [Event(b"x")]),
    (b"data: x\r\r", []),  # a line feed may follow
    (b"data: x\r\r\n", [Event(b"x")]),
    (b"data: x\r\rdata: y\n\n", [Event(b"x"), Event(b"y")]),
    (b"data: x\ndata: y\n\n", [Event(b"x\ny")]),
    (b"data\n\n", [Event(b"")]),
    (b"data:\n\n", [Event(b"")]),
    (b"\n\n\n", []),
    (b": a comment\n\n", []),
    (KEEP_ALIVE + b"data: x\n\n", [Event(b"x")]),
    (b"event: result\ndata: {}\n\n", [Event(b"{}", b"result")]),
    (b"event: a\n\ndata: x\n\n", [Event(b"", b"a"), Event(b"x")]),
    (b"id: 7\ndata: x\n\ndata: y\n\n", [Event(b"x", id=b"7"), Event(b"y", id=b"7")]),
    (b"id: 7\ndata: x\n\nid\ndata: y\n\n", [Event(b"x", id=b"7"), Event(b"y")]),
    (b"id: 7\0\ndata: x\n\n", [Event(b"x")]),
    (b"id: 7\nretry: 100\ndata: \n\n", [Event(b"", id=b"7", retry=100)]),
    (b"retry: soon\ndata: x\n\n", [Event(b"x")]),
    (b"retry: -1\ndata: x\n\n", [Event(b"x")]),
    (b"retry: " + b"9" * 5000 + b"\ndata: x\n\n", [Event(b"x")]),
    (b"unknown: y\ndata: x\n\n", [Event(b"x")]),
    (b"\xef\xbb\xbfdata: x\n\n", [Event(b"x")]),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", []),
    (b"data: \xff\0\n\n", [Event(b"\xff\0")]),
    (b"data: x:y\n\n", [Event(b"x:y")]),
    (encode_event("result", b"{}"), [Event(b"{}", b"result")]),
    (encode_message(b"{}"), [Event(b"{}")]),
    (encode_message(b"{}", b"a-1"), [Event(b"{}", id=b"a-1")]),
    (encode_pause(b"a-0", 100), [Event(b"", id=b"a-0", retry=100)]),
]  # fmt: skip
rows = pytest.mark.parametrize(("data", "events"), ROWS, ids=[repr(row[0][:40]) for row in ROWS])


def fed(pieces: Iterable[bytes]) -> list[Event]:
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


@rows
def test_fed_whole(data: bytes, events: list[Event]) -> None:
    assert fed([data]) == events


@rows
def test_fed_byte_by_byte(data: bytes, events: list[Event]) -> None:
    assert fed(data[at : at + 1] for at in range(len(data))) == events


@rows
def test_fed_in_two(data: bytes, events: list[Event]) -> None:
    for at in range(min(len(data), 100)):
        assert fed([data[:at], data[at:]]) == events, at


@rows
def test_fed_after_another_event(data: bytes, events: list[Event]) -> None:
    if not data.startswith(b"\xef"):  # a mark at the beginning counts only there
        assert fed([b"data: first\n\n" + data]) == [Event(b"first"), *events]


@given(st.binary(), st.lists(st.integers(0, 50)))
def test_how_a_stream_is_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(data[at : at + cut])
        at += cut
    assert fed([*pieces, data[at:]]) == fed([data])


@given(st.lists(st.tuples(st.binary(), st.binary(max_size=9))))
def test_what_is_written_is_read(said: list[tuple[bytes, bytes]]) -> None:
    ends = b"\r\n\0"
    clean = [tuple(part.translate(None, ends) for part in pair) for pair in said]
    stream = b"".join(encode_message(data, b"n" + number) for data, number in clean)
    assert fed([stream]) == [Event(data, id=b"n" + number) for data, number in clean]


def test_an_event_without_an_end_takes_no_memory() -> None:
    reader = EventReader(limit=1000)
    for _ in range(125):
        reader.feed(b"data: x\n")
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        reader.feed(b"data: x\n")
    reader = EventReader(limit=1000)
    for _ in range(2000):
        reader.feed(b": still here\n\ndata: x\n\n")
