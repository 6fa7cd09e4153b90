"""The data on the way of a call: Call → Ready → Outcome → Envelope.

Frozen nouns, no behaviour beyond reading themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.context import Context
    from kuniumi.core.fault import Fault
    from kuniumi.core.operation import Operation
    from kuniumi.core.weave import Weave


class Call(Struct, frozen=True, gc=False):
    """What a surface received: which operation, the argument bytes as they came, and for whom."""

    operation_id: str
    arguments: bytes
    context: Context | None = None
    weave: Weave | None = None  # what surrounds it, if anything does


class Ready(Struct, frozen=True):
    """A call whose arguments were decoded and accepted: nothing is left but to run it."""

    operation: Operation
    args: tuple[Any, ...]
    kwargs: dict[str, Any] | None = None

    def start(self) -> Any:
        """Call the function: gives its value, its coroutine or its generator."""
        function: Callable[..., Any] = self.operation.run
        if self.kwargs is None:
            return function(*self.args)
        return function(*self.args, **self.kwargs)


class Outcome(Struct, frozen=True):
    """How it ended: a value, or what went wrong (an exception, or a fault that is known)."""

    value: Any = None
    error: BaseException | Fault | None = None


class Envelope(Struct, frozen=True):
    """The answer, the same on every surface: one JSON object, and the fault it tells of, if any."""

    body: bytes
    fault: Fault | None = None
    content: bytes = b""  # the function's own words and pictures, as a JSON array of blocks
    meta: bytes = b""  # what the function said beside them, as a JSON object
    for_people: bool = False  # whether those are all it gives: the body is no data for programs
