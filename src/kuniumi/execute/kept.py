"""Keeping something open on an event loop: what is entered in one task is left in the same one.

In: a context manager, plain or async. Out: its value; later, its end. What an async generator holds
across its `yield`, such as a timeout or a task group, belongs to a task: so one of its own opens,
waits and closes, whoever asks for that. A plain manager is entered and left in threads, so that it
holds up no loop.
"""

from __future__ import annotations

import asyncio
import threading
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_NOTHING = (None, None, None)


class Kept:
    """A context manager that a task of its own enters and leaves."""

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        is_async: bool,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._make = make
        self._is_async = is_async
        self._failure: BaseException | None = None  # to leave it
        self._ended = ended  # is called before it is left
        self._entered: asyncio.Future[Any] = loop.create_future()
        self._leaving: asyncio.Future[tuple[Any, ...]] = loop.create_future()
        # It outlives the call that asked for it, so nothing of that call's context is its own.
        self._task = loop.create_task(self._keep(), context=Context())

    async def enter(self) -> Any:
        """Give what entering gives; being cancelled meanwhile ends it as well."""
        try:
            return await asyncio.shield(self._entered)
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def leave(self, *raised: Any) -> None:
        """Leave it, because of an error or of none."""
        if not self._leaving.done():
            self._leaving.set_result(raised or _NOTHING)
        await asyncio.shield(self._task)
        if self._failure is not None:
            raise self._failure

    async def _keep(self) -> None:
        try:
            manager = self._make()
            value = await self._run(manager, "enter")
        except BaseException as error:  # noqa: BLE001 - it is for whoever waits to enter
            self._fail(error)
            return
        if self._entered.done():  # nobody waits any more
            await self._run(manager, "exit", *_NOTHING)
            return
        self._entered.set_result(value)
        try:
            raised = await self._leaving
        except asyncio.CancelledError:  # the loop comes to its end, and nobody has closed this
            self._ended()
            await self._run(manager, "exit", *_NOTHING)
            return
        self._ended()
        try:
            await self._run(manager, "exit", *raised)
        except BaseException as error:  # noqa: BLE001 - it is for whoever leaves
            self._failure = error

    def _fail(self, error: BaseException) -> None:
        if self._entered.done():
            return
        if isinstance(error, asyncio.CancelledError):
            self._entered.cancel()
        else:
            if isinstance(error, StopIteration):  # no future takes one
                error = RuntimeError("raised StopIteration")
            self._entered.set_exception(error)
            self._entered.exception()  # it may be that nobody waits

    async def _run(self, manager: Any, what: str, *raised: Any) -> Any:
        if self._is_async:
            return await getattr(manager, f"__a{what}__")(*raised)
        return await in_thread(lambda: getattr(manager, f"__{what}__")(*raised))


async def in_thread(work: Callable[[], Any]) -> Any:
    """Do work in a thread of its own, which nobody waits for when the process ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def bring(value: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except StopIteration as raised:
            error = RuntimeError(f"raised {raised!r}")
        except BaseException as raised:  # noqa: BLE001 - it is raised again where it is awaited
            error = raised  # type: ignore[assignment]
        try:
            loop.call_soon_threadsafe(bring, value, error)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=run, name="kuniumi-life", daemon=True).start()
    return await done
