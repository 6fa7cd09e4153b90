"""Running a call right here, in the thread that asks.

In: a `Ready`. Out: an `Outcome`, whatever the function did: nothing it raises gets past this line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kuniumi.core.call import Outcome

if TYPE_CHECKING:
    from kuniumi.core.call import Ready


GRACE = 1.0
"""Seconds a function whose time is up gets to clean up before it is left behind."""


class Halt(Protocol):
    """Tells whether anybody still waits: a `threading.Event` does."""

    def is_set(self) -> bool:
        """Whether the work is to stop."""
        ...


def run(ready: Ready, halt: Halt | None = None) -> Outcome:
    """Run a plain function, or a generator to its end, or until nobody waits for it."""
    try:
        value = ready.start()
        if ready.operation.result.layout == "stream":
            value = _collect(value, halt)
    except BaseException as error:  # noqa: BLE001 - SystemExit in a function must not end the server
        return Outcome(error=error)
    return Outcome(value)


def close(items: Any) -> None:
    """Close a generator that may have more to give, so that its `finally` runs now."""
    closing = getattr(items, "close", None)
    if closing is not None:
        closing()


def _collect(items: Any, halt: Halt | None) -> list[Any]:
    if halt is None:
        return list(items)
    collected = []
    try:
        for item in items:
            collected.append(item)
            if halt.is_set():
                break
    finally:
        close(items)
    return collected
