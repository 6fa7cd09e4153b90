"""What a function may ask about the call it is in: a parameter annotated `Context` gets one.

The surface builds it; the function reads it. It must not know which surface that was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from kuniumi.env.environment import Environment


class Context:
    """The call at hand: its environment, its state, a way to report progress, a way to stop."""

    __slots__ = ("_cancelled", "_done", "_report", "env", "operation_id", "state")

    def __init__(
        self,
        operation_id: str,
        env: Environment,
        *,
        state: Any = None,
        report: Callable[[float, float | None, str | None], None] | None = None,
    ) -> None:
        self.operation_id = operation_id
        self.env = env
        self.state = state
        self._report = report
        self._done = float("-inf")
        self._cancelled = False

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell whoever is waiting how far this call has come.

        Progress only grows: a report that does not is dropped, as is one after cancellation.
        """
        if self._report is None or self._cancelled or not done > self._done:
            return
        self._done = done
        self._report(done, total, message)

    @property
    def log(self) -> logging.Logger:
        """A logger named after the operation, below `kuniumi.call`."""
        import logging  # noqa: PLC0415 - a tenth of a cold start, and most calls never log

        return logging.getLogger(f"kuniumi.call.{self.operation_id}")

    @property
    def cancelled(self) -> bool:
        """Whether the caller went away, asked to stop, or ran out of time. Poll it in a loop."""
        return self._cancelled

    def cancel(self) -> None:
        """Mark the call as no longer wanted. Surfaces call this, functions read `cancelled`."""
        self._cancelled = True
