"""The words between an app and its workers: whole, in pieces, torn."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kuniumi.core.call import Envelope
from kuniumi.core.fault import Fault, Kind
from kuniumi.execute import frames
from kuniumi.execute.frames import Death, Frame, Reader

_bodies = st.binary(max_size=300)
_frames = st.lists(
    st.tuples(st.sampled_from([frames.ITEM, frames.END]), st.none() | st.text(), _bodies)
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut bytes at these places."""
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in pairwise(at) if begin < end]


def read(reader: Reader, parts: list[bytes]) -> list[Frame]:
    """Feed all parts; give all frames."""
    return [frame for part in parts for frame in reader.feed(part)]


@given(_frames, st.lists(st.integers(0), max_size=9))
def test_frames_come_out_as_they_went_in_however_they_are_cut(
    sent: list[tuple[bytes, str | None, bytes]], places: list[int]
) -> None:
    data = b"".join(b"".join(frames.write(kind, said, body)) for kind, said, body in sent)
    whole = read(Reader(), [data])
    assert [(kind, body) for kind, _, body in whole] == [(kind, body) for kind, _, body in sent]
    for (_, said, _), (_, head, _) in zip(sent, whole, strict=True):
        assert head == b"" if said is None else frames.read_head(head) == said
    assert read(Reader(), cut(data, places)) == whole
    assert read(Reader(), [bytes([byte]) for byte in data]) == whole


@given(
    st.binary(max_size=300),
    st.integers(-64, 255),
    st.booleans(),
    st.lists(st.integers(0), max_size=9),
    st.data(),
)
def test_the_last_frame_is_found_behind_a_torn_one(
    body: bytes, status: int, unread: bool, places: list[int], data: st.DataObject
) -> None:
    frame = b"".join(frames.write(frames.ITEM, "head", body))
    torn = frame[: data.draw(st.integers(0, len(frame) - 1))]
    reader = Reader()
    read(reader, cut(torn + frames.write_death(status, unread=unread), places))
    assert reader.death() == Death(status, unread)


@given(st.binary(max_size=60))
def test_without_a_last_frame_there_is_no_death_to_tell_of(data: bytes) -> None:
    reader = Reader()
    read(reader, [frames.write(frames.ITEM, None, data)[0]])
    assert reader.death() is None


@given(
    st.sampled_from(Kind),
    st.text(),
    st.text(),
    st.integers(0, 599),
    st.floats(0, 1e6),
    st.text(max_size=5),
)
def test_a_fault_comes_out_as_it_went_in(
    kind: Kind, message: str, path: str, status: int, after: float, needs: str
) -> None:
    fault = Fault(kind, message, path, status, after, needs)
    ((_, head, body),) = read(Reader(), frames.write_ending(Envelope(b"", fault), spent=False))
    assert frames.envelope_of(frames.read_ending(head), body).fault == fault


@given(st.binary(), st.binary(), st.binary(), st.booleans())
def test_an_answer_comes_out_as_it_went_in(
    body: bytes, content: bytes, meta: bytes, for_people: bool
) -> None:
    envelope = Envelope(body, None, content, meta, for_people)
    ((_, head, told),) = read(Reader(), frames.write_ending(envelope, spent=False))
    assert frames.envelope_of(frames.read_ending(head), told) == envelope
