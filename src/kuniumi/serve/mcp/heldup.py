"""The end of a process whose loop is held up: a function keeps it, and does not give it back.

In: the loop, and what tells that its client wants no more. Out: the end of the process, if the loop
can't see to that. Where it goes on it does so itself, and better.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

PATIENCE = 3.0
"""Seconds for which a loop may be held up when there is no client any more."""

_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


def end_with_input(loop: asyncio.AbstractEventLoop, stdin: int) -> None:
    """See to it that the process ends when its client has closed the other end of stdin."""

    def watch() -> None:
        poll = select.poll()
        poll.register(stdin, 0)  # only to learn that it is closed: others read
        while not any(event & _GONE for _, event in poll.poll()):
            pass
        _end_if_held_up(loop)

    threading.Thread(target=watch, daemon=True).start()


def end_with_signals(
    loop: asyncio.AbstractEventLoop, stop: Callable[[], object], drain: float
) -> None:
    """Have the loop stop when it is told to, and the process end where it can't."""

    def watch() -> None:
        time.sleep(drain)
        _end_if_held_up(loop)

    def hear(_number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(stop)
        threading.Thread(target=watch, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, hear)


def _end_if_held_up(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        alive = threading.Event()
        try:
            loop.call_soon_threadsafe(alive.set)
        except RuntimeError:  # it has ended, and the process is about to
            return
        if not alive.wait(PATIENCE):
            os._exit(1)
        time.sleep(0.5)
