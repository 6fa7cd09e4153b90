"""Remembering answers: the hook around functions marked `cache=seconds`.

In: calls. Out: the answers that the same calls got, while they are fresh. Faults are never kept. Two
calls are the same if their operation is, and their arguments are, as JSON: the order of names and the
blanks between them don't count; how a number is written does, if only a little.
"""

from __future__ import annotations

from _thread import allocate_lock  # `threading` is a good deal more to load
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.around import Around, Calling
    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation

MOST_ANSWERS = 10_000
MOST_BYTES = 64 * 1024 * 1024
_LONGEST_TTL = 10 * 365 * 86_400


class Cache(Struct, frozen=True):
    """How the answers of a function are remembered: `@app.function(cache=Cache(60, key=…))`.

    `key` gives what the answer depends on besides the arguments.
    """

    ttl: float
    key: Callable[[Calling], object] | None = None


def as_cache(given: Any, owner: str) -> Cache:
    """Read the option `cache=`: seconds, or a `Cache`."""
    cache = given if isinstance(given, Cache) else Cache(given)
    ttl: Any = cache.ttl
    if (
        not isinstance(ttl, (int, float))
        or isinstance(ttl, bool)
        or not 0 < ttl <= _LONGEST_TTL
        or not (cache.key is None or callable(cache.key))
    ):
        msg = (
            f"{owner}: cache={given!r} must be a positive number of seconds, or a Cache(60, key=…)"
        )
        raise DefinitionError(msg)
    return cache


def check_cache(operation: Operation) -> None:
    """Refuse to remember what may differ although the arguments don't."""
    cache = operation.policy.cache
    if operation.result.layout == "stream":
        msg = f"function {operation.name!r}: cache= is for functions that give one value, no stream"
        raise DefinitionError(msg)
    if operation.wants_context and cache is not None and cache.key is None:
        msg = (
            f"function {operation.name!r}: with a Context its answers may depend on more than its "
            f"arguments: say on what, cache=Cache({cache.ttl!r}, key=lambda call: …)"
        )
        raise DefinitionError(msg)


def remember(
    most: int = MOST_ANSWERS,
    most_bytes: int = MOST_BYTES,
    clock: Callable[[], float] = monotonic,
) -> Callable[[Calling], Around]:
    """Make the hook that remembers; the answers asked for longest ago are forgotten first."""
    answers = _Answers(most, most_bytes, clock)

    def remembered(call: Calling) -> Around:
        cache = call.operation.policy.cache
        key = _key_of(call, cache) if cache is not None else None
        if cache is None or key is None:
            yield None
            return
        known = answers.find(key)
        if known is not None:
            yield known
            return
        answer = yield None
        if answer.fault is None:
            answers.keep(key, answer, cache.ttl)

    return remembered


class _Answers:
    """Answers by key, the one asked for longest ago first."""

    def __init__(self, most: int, most_bytes: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._clock = clock
        self._kept: dict[Any, tuple[float, Envelope]] = {}
        self._bytes = 0
        self._lock = allocate_lock()

    def find(self, key: Any) -> Envelope | None:
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                return None
            until, envelope = found
            if until <= self._clock():
                self._bytes -= _size(key, envelope)
                return None
            self._kept[key] = found  # now the last to be forgotten
            return envelope

    def keep(self, key: Any, envelope: Envelope, ttl: float) -> None:
        size = _size(key, envelope)
        if size > self._most_bytes // 8:
            return
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._bytes -= _size(key, before[1])
            self._kept[key] = (self._clock() + ttl, envelope)
            self._bytes += size
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                oldest = next(iter(self._kept))
                self._bytes -= _size(oldest, self._kept.pop(oldest)[1])


def _size(key: tuple[str, bytes, Any], envelope: Envelope) -> int:
    return len(key[1]) + len(envelope.body) + len(envelope.content) + 500


# A float would lose what is written, and 1e0 is not 1 to whoever tells floats and integers apart.
_canonical_in = msgspec.json.Decoder(float_hook=lambda written: Raw(written.encode()))
_canonical_out = msgspec.json.Encoder(order="sorted")


def _key_of(call: Calling, cache: Cache) -> tuple[str, bytes, Any] | None:
    """Give what makes the call the same as another; nothing for arguments that can't be read."""
    try:
        arguments = _canonical_out.encode(_canonical_in.decode(call.raw or b"{}"))
    except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError):
        return None
    more = cache.key(call) if cache.key is not None else None
    return call.operation.operation_id, arguments, more
