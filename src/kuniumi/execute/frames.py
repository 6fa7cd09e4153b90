"""The words between an app and its worker processes, as bytes: pure data, both directions.

A frame is its kind, the length of its head and that of its body; a head is a small MessagePack, a
body is raw bytes that nobody copies more often than the system has to. The last frame of a worker
that ended is not its own: the nursery writes it, and it may stand right behind a torn one.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from kuniumi.core.call import Envelope
from kuniumi.core.fault import Fault, Kind
from kuniumi.core.invoke import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL, ITEM, PROGRESS, LOG, RELEASE, END, DEATH = b"C", b"I", b"P", b"L", b"R", b"E", b"D"

_START = struct.Struct("<cII")
_DEATH = struct.Struct("<i?")
_MOST = 2**32 - 1

Frame = tuple[bytes, bytes, bytes]


class Request(Struct, frozen=True, array_like=True):
    """What a worker is told of a call, beside its arguments."""

    operation_id: str
    meta: dict[str, Any]
    reports: bool  # whether anybody listens to progress
    log_level: int


class Ending(Struct, frozen=True, array_like=True):
    """How a call ended, beside the body of its answer."""

    body_length: int
    content_length: int = 0
    for_people: bool = False
    kind: str = ""  # of its fault, if there is one
    message: str = ""
    path: str = ""
    status: int = 0
    retry_after: float = 0.0
    needs: str = ""
    incident: str = ""
    trace: str | None = None  # the whole story, for the log
    spent: bool = False  # this worker should take no further call


class Death(Struct, frozen=True):
    """How a worker ended: by a signal if negative, else by itself with this status."""

    status: int
    unread: bool  # whether it had left its last request unread


class InWorkerError(Exception):
    """What went wrong in another process, in the words of its traceback. For the log only."""


_decode_ending = msgspec.msgpack.Decoder(Ending).decode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_any = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode


def write(kind: bytes, said: Any = None, *bodies: bytes) -> list[bytes]:
    """Give the pieces of a frame, to be sent one after another."""
    head = b"" if said is None else _encode(said)
    length = sum(map(len, bodies))
    if length > _MOST:
        msg = f"{length} bytes are too many for one answer from a process"
        raise OverflowError(msg)
    return [_START.pack(kind, len(head), length) + head, *(body for body in bodies if body)]


def write_death(status: int, *, unread: bool) -> bytes:
    """Give the last frame of a worker."""
    return b"".join(write(DEATH, None, _DEATH.pack(status, unread)))


def read_request(head: bytes) -> Request:
    """Read the head of a CALL."""
    return _decode_request(head)


def read_head(head: bytes) -> Any:
    """Read the head of a PROGRESS or a LOG."""
    return _decode_any(head)


class Reader:
    """Takes bytes as they come, gives whole frames."""

    def __init__(self) -> None:
        self._sections: list[bytes] = []  # of the frame at hand: its start, its head
        self._lengths = [_START.size]
        self._parts: list[memoryview] = []  # of the section at hand
        self._missing = _START.size
        self._tail = b""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take some bytes; give each frame that they complete."""
        self._tail = data[-_LAST:] if len(data) >= _LAST else (self._tail + data)[-_LAST:]
        view = memoryview(data)
        while True:
            part = view[: self._missing]
            view = view[len(part) :]
            self._parts.append(part)
            self._missing -= len(part)
            if self._missing:
                return
            self._sections.append(b"".join(self._parts))
            self._parts = []
            if len(self._sections) == 1:
                self._lengths = list(_START.unpack(self._sections[0])[1:])
            elif len(self._sections) == 3:
                start, head, body = self._sections
                self._sections = []
                yield start[:1], head, body
            self._missing = self._lengths.pop(0) if self._sections else _START.size
            if not view and self._missing:
                return

    @property
    def missing(self) -> int:
        """How many bytes will at least come, as far as is known."""
        return self._missing

    def death(self) -> Death | None:
        """Give the last frame, where the sender's end may have torn the one before it."""
        start, told = self._tail[: _START.size], self._tail[_START.size :]
        if len(told) != _DEATH.size or start != _START.pack(DEATH, 0, _DEATH.size):
            return None
        return Death(*_DEATH.unpack(told))


_LAST = _START.size + _DEATH.size


# ---- endings -------------------------------------------------------------------------------------


def write_ending(envelope: Envelope, *, spent: bool) -> list[bytes]:
    """Write how a call ended."""
    fault = envelope.fault
    if fault is None:
        body, content, meta = envelope.body, envelope.content, envelope.meta
        ending = Ending(len(body), len(content), envelope.for_people, spent=spent)
        return write(END, ending, body, content, meta)
    ending = Ending(
        0,
        kind=fault.kind.value,
        message=sayable(fault.message),
        path=sayable(fault.path),
        status=fault.status,
        retry_after=fault.retry_after,
        needs=fault.needs,
        incident=fault.incident,
        trace=None if fault.cause is None else _trace_of(fault.cause),
        spent=spent,
    )
    return write(END, ending)


def read_ending(head: bytes) -> Ending:
    """Read the head of an END."""
    return _decode_ending(head)


def envelope_of(ending: Ending, body: bytes) -> Envelope:
    """Make the envelope anew that a worker has settled."""
    if ending.kind:
        cause = None if ending.trace is None else InWorkerError(f"\n{ending.trace}")
        return refuse(
            Fault(
                Kind(ending.kind),
                ending.message,
                path=ending.path,
                status=ending.status,
                retry_after=ending.retry_after,
                needs=ending.needs,
                incident=ending.incident,
                cause=cause,
            )
        )
    at = ending.body_length
    if at == len(body):
        return Envelope(body, for_people=ending.for_people)
    end = at + ending.content_length
    return Envelope(body[:at], content=body[at:end], meta=body[end:], for_people=ending.for_people)


def _trace_of(error: BaseException) -> str:
    from traceback import format_exception  # noqa: PLC0415 - most calls end well

    try:
        return sayable("".join(format_exception(error)).rstrip())
    except Exception:  # noqa: BLE001 - an exception may fail even to be printed
        return type(error).__name__


def sayable(text: str) -> str:
    """Give text that any encoding can carry, as `refuse` will write it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
