"""A hook that limits how often functions are called: so many calls in so many seconds, per key.

In: calls. Out: those that come too soon are refused with status 429, and told when to come back.
"""

from __future__ import annotations

from _thread import allocate_lock  # `threading` is a good deal more to load
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any

from kuniumi.errors import DefinitionError, FunctionError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from kuniumi.core.around import Around, Calling

MOST_KEYS = 10_000
_ENDLESS = float("inf")


def limit_rate(
    calls: int,
    *,
    per: float = 1.0,
    key: Callable[[Calling], Hashable] | None = None,
    most_keys: int = MOST_KEYS,
    clock: Callable[[], float] = monotonic,
) -> Callable[[Calling], Around]:
    """Make a hook that lets `calls` calls pass in `per` seconds: `app.around(limit_rate(10))`.

    All of them may come at once; then one more passes whenever its share of the time is over. Each
    `key` is counted by itself: each function, unless told otherwise; a call whose key is None is not
    counted. At most `most_keys` are kept in mind, in each process.
    """
    for option, given in (("calls", calls), ("most_keys", most_keys)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            msg = f"limit_rate: {option}={given!r} must be a whole number, 1 or more"
            raise DefinitionError(msg)
    if not isinstance(per, (int, float)) or isinstance(per, bool) or not 0 < per < _ENDLESS:
        msg = f"limit_rate: per={per!r} must be a positive number of seconds"
        raise DefinitionError(msg)
    pace = _Pace(per / calls, per, most_keys)

    def limit(call: Calling) -> Around:
        who: Any = call.operation.operation_id if key is None else key(call)
        wait = 0.0 if who is None else pace.wait(who, clock())
        if wait > 0:
            seconds = ceil(wait)
            unit = "second" if seconds == 1 else "seconds"
            msg = f"Too many calls: try again in {seconds} {unit}"
            raise FunctionError(msg, status=429, retry_after=wait)
        yield None

    return limit


class _Pace:
    """For each key, the moment at which it will have used up all that it may (one float each)."""

    def __init__(self, share: float, span: float, most: int) -> None:
        self._share = share  # the time that one call takes up
        self._span = span
        self._most = most
        self._until: dict[Any, float] = {}  # the key seen longest ago comes first
        self._lock = allocate_lock()

    def wait(self, key: Any, now: float) -> float:
        """Take one call's share, or tell how long there is none."""
        with self._lock:
            until = max(self._until.pop(key, now), now)
            wait = until + self._share - self._span - now
            if wait > 1e-6:  # what is left of rounding is no wait
                self._until[key] = until
                return wait
            self._until[key] = until + self._share
            if len(self._until) > self._most:
                del self._until[next(iter(self._until))]
            return 0.0
