"""Turns: how many calls of one function run at once, and how many more may wait for their turn.

In: beginnings. Each is called at once or when its turn has come, or refused. It must not know what
begins, nor asyncio: calls come from any thread.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Begin = Callable[[], None]


class Turns:
    """Lets `most` calls run, and as many as `queue` wait, first come first served."""

    def __init__(self, name: str, most: int, queue: int) -> None:
        self.name = name
        self.most = most
        self.queue = queue
        self._forget()

    def _forget(self) -> None:
        """Begin anew: nobody runs, nobody waits."""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._running = 0
        self._waiting: dict[Begin, None] = {}

    def enter(self, begin: Begin) -> bool:
        """Have `begin` called in its turn; False if too many wait already."""
        if self._pid != os.getpid():  # a copy: who runs and waits does so in the original
            self._forget()
        with self._lock:
            if self._running >= self.most:
                if len(self._waiting) >= self.queue:
                    return False
                self._waiting[begin] = None
                return True
            self._running += 1
        begin()
        return True

    def leave(self, begin: Begin) -> None:
        """Make room: what was begun has ended, or will not be waited for any longer."""
        with self._lock:
            if begin in self._waiting:
                del self._waiting[begin]
                return
            if not self._waiting:
                self._running -= 1
                return
            following = next(iter(self._waiting))
            del self._waiting[following]
        following()
