"""Running one call on an event loop of its own, which ends when the call does, and not before.

In: a coroutine. Out: what it gives, as soon as it does. `asyncio.run` would first wait for
every task and every thread that the call left behind, for ever if need be. Here tasks are cancelled
and get a moment to end; threads are not waited for at all, not even when the process ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from kuniumi.core.call import Outcome
from kuniumi.execute.inline import GRACE
from kuniumi.execute.threads import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

_MOST_THREADS = 32


def run_on_own_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine from its beginning to its end."""
    refuse_nesting()
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Threads())
    try:
        return _run(loop, work)
    finally:
        wind_up(loop)


def _run(loop: asyncio.AbstractEventLoop, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    def stop(_: object) -> None:
        loop.stop()

    task = loop.create_task(work())
    task.add_done_callback(stop)
    try:
        while not task.done():  # whoever else stops the loop, it goes on
            try:
                loop.run_forever()
            except SystemExit:  # raised by another task: whoever awaits that one is told of it
                continue
            except KeyboardInterrupt:
                if threading.current_thread() is threading.main_thread():
                    raise  # Ctrl-C comes there, and nowhere else
    finally:
        task.remove_done_callback(stop)
    return task.result()


def refuse_nesting() -> None:
    """Say what to do where this thread can't run a loop, since it is running one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    msg = "a coroutine can't wait for another loop: await asyncio.to_thread(app.call, …)"
    raise RuntimeError(msg)


def wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """Tell all that the call left behind to end, give it a moment, and close the loop."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    try:
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=GRACE))
        loop.run_until_complete(_wait(loop.shutdown_asyncgens()))
    finally:
        for task in asyncio.all_tasks(loop):
            _keep_for_ever(task)
        loop.close()


async def _wait(ending: Coroutine[Any, Any, None]) -> None:
    await asyncio.wait({asyncio.ensure_future(ending)}, timeout=GRACE)


def _keep_for_ever(task: asyncio.Task[Any]) -> None:
    """Never let go of a task that refuses to end.

    Python ends a coroutine that nobody holds any more by raising in it. One that catches everything
    would go on right there, in a loop that never waits, since nothing can be awaited any more.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))


class _Threads(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`, as daemons: Python waits for those of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._pool = Pool(_MOST_THREADS)
        self._over = False

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run work in a thread; its future brings what it gives."""
        future: Future[Any] = Future()

        def run() -> Outcome:
            if not future.set_running_or_notify_cancel():
                return Outcome()
            try:
                value = work(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - it is the awaiting coroutine's to handle
                if not self._over:
                    future.set_exception(error)
            else:
                if not self._over:  # there would be no loop to take it to
                    future.set_result(value)
            return Outcome()

        self._pool.submit(run, lambda _outcome: None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - as its base has it
        """Wait for nothing: the call is over."""
        self._over = True
        super().shutdown(wait=False, cancel_futures=cancel_futures)
