"""The way from a thread to the event loop, for plain functions with async providers.

In: awaitables and async context managers, from a thread. Out: what they give. The thread waits in
small steps, so that it can be interrupted while it does.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kuniumi.core.provide import bridge_at_hand
from kuniumi.execute.inline import close
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
        try:
            return self._run(lambda: awaited)
        finally:
            close(awaited)  # it may never have begun

    def enter(self, manager: Any) -> tuple[Any, Callable[..., object]]:
        """Enter an async context manager; what leaves it waits for that, too."""

        async def keep() -> tuple[Kept, Any]:
            kept = Kept(lambda: manager, is_async=True)
            return kept, await kept.enter()

        kept, value = self._run(keep)

        def leave(*raised: Any) -> None:
            with suppress(_LoopEndedError):  # then it has been left
                self._run(lambda: kept.leave(*raised))

        return value, leave

    def _run(self, make: Callable[[], Awaitable[Any]]) -> Any:
        return _Errand(self._loop, make).run()


class _Errand:
    """Something that a loop does for a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Awaitable[Any]]) -> None:
        self._loop = loop
        self._make = make
        self._ended: Future[Any] = Future()
        self._task: asyncio.Task[None] | None = None

    def run(self) -> Any:
        """Have it done, and wait for it; give it up when interrupted."""
        try:
            self._on_loop(self._begin)
            while not self._ended.done():
                if self._loop.is_closed():
                    raise _LoopEndedError
                with suppress(NotYetError):
                    self._ended.exception(_STEP)
            return self._ended.result()
        finally:
            if self._ended.cancel():  # it is not done
                with suppress(_LoopEndedError):
                    self._on_loop(self._break_off)

    def _on_loop(self, work: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            raise _LoopEndedError from None

    def _begin(self) -> None:
        if not self._ended.cancelled():
            self._task = self._loop.create_task(self._do())

    def _break_off(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _do(self) -> None:
        try:
            value = await self._make()
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread
            with suppress(InvalidStateError):  # it was given up
                self._ended.set_exception(error)
        else:
            with suppress(InvalidStateError):
                self._ended.set_result(value)


class _LoopEndedError(RuntimeError):
    def __init__(self) -> None:
        super().__init__("the event loop of this call has ended")
