"""An event loop in a thread of its own, for what has to stay open where no loop runs.

In: an async lifespan. Out: the same, open; calls that await are then made on its loop.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from kuniumi.core.call import Outcome
from kuniumi.execute.kept import Kept
from kuniumi.execute.own_loop import wind_up

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from kuniumi.core.life import Life

T = TypeVar("T")


class Home:
    """A loop that runs until it is left."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="kuniumi-home", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt):  # a task that a function left behind
                continue
            wind_up(self.loop)
            return

    def leave(self) -> None:
        """Stop the loop."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()


def open_at_home(life: Life, environment: Any) -> None:
    """Open an async lifespan on a loop made for it."""
    home = Home()

    async def enter() -> Outcome:
        kept = Kept(lambda: life.lifespan.manager(environment), is_async=True)
        try:
            return Outcome((await kept.enter(), kept))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an exit would end the loop
            return Outcome(error=error)

    try:
        outcome = wait_on(home.loop, enter())
    except BaseException:  # Ctrl-C, or an alarm
        home.leave()
        raise
    if isinstance(outcome.error, BaseException):
        home.leave()
        raise outcome.error
    state, kept = outcome.value

    def close() -> None:
        try:
            wait_on(home.loop, kept.leave())
        finally:
            home.leave()

    life.opened(state, close, home.loop)


def wait_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Have a coroutine run on a loop that runs in another thread, and wait for it here."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:  # Ctrl-C, or an alarm
        future.cancel()
        raise
