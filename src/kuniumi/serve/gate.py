"""How many calls run at once in this process, whichever way they came.

In: calls that begin and end. Out: whether there is room for one more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kuniumi.core.service import Service


class Gate:
    """Counts the calls of one app against the limit it has set."""

    __slots__ = ("_service", "running")

    def __init__(self, service: Service) -> None:
        self._service = service
        self.running = 0

    @property
    def is_full(self) -> bool:
        """Whether one more call would be one too many."""
        most = self._service.limit_concurrency
        return most > 0 and self.running >= most
