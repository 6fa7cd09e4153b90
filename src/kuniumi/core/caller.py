"""Who calls: what a function may do towards its caller while it runs.

Each surface fills in what it can carry; a function sees none of this but through its `Context`. It
must not know which surface that was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kuniumi.core.questions import Question

    Report = Callable[[float, float | None, str | None], None]
    Log = Callable[[int, str, str], None]
    Ask = Callable[[Question], Awaitable[Mapping[str, Any]]]

_NOTHING: Mapping[str, Any] = {}


class Caller(Struct, frozen=True, kw_only=True):
    """What a caller takes beside the answer, and what it sent beside the arguments."""

    report: Report | None = None  # progress
    log: Log | None = None  # what the function logs: level, logger, message
    log_level: int = 0  # as in `logging`: nothing below it is wanted
    ask: Ask | None = None  # a question; gives the answer as data
    release: Callable[[], None] | None = None  # let it hang up, and come back for the answer
    meta: Mapping[str, Any] = _NOTHING  # such as `traceparent`


NOBODY = Caller()
"""A caller that takes nothing but the answer."""
