"""The way from a thread to the event loop, for plain functions with async providers.

In: awaitables and async context managers, from a thread. Out: what they give. The thread waits in
small steps, so that it can be interrupted while it does.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import TimeoutError as NotYetError
from typing import TYPE_CHECKING, Any

from kuniumi.core.provide import bridge_at_hand
from kuniumi.execute.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_STEP = 0.05


def lend() -> None:
    """Let the thread that is about to run this call's function use the loop that runs here."""
    bridge_at_hand.set(LoopBridge(asyncio.get_running_loop()))


class LoopBridge:
    """Runs on a loop what a thread waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wait(self, awaited: Awaitable[Any]) -> Any:
        """Wait for what the loop makes of it."""

        async def run() -> Any:
            return await awaited

        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            while True:
                try:
                    return future.result(_STEP)
                except NotYetError:
                    if future.done():  # it is its own
                        raise
        finally:
            future.cancel()

    def enter(self, manager: Any) -> tuple[Any, Callable[..., object]]:
        """Enter an async context manager; what leaves it waits for that, too."""

        async def keep() -> tuple[Kept, Any]:
            kept = Kept(lambda: manager, is_async=True)
            return kept, await kept.enter()

        kept, value = self.wait(keep())
        return value, lambda *raised: self.wait(kept.leave(*raised))
