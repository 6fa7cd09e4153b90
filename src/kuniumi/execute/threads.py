"""A pool of threads for plain functions, which must not hold up an event loop.

In: work that can't raise, and a callback for its outcome. It must not know asyncio. A worker that
overstays is interrupted; if it does not even notice (it sits in C code), another takes its place,
so that the slot comes back.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING

from kuniumi.core.call import Outcome
from kuniumi.execute import copies

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_OVERSTAYING = 256


class Overstayed(BaseException):
    """Raised inside a function that overstayed its time."""


class Job:
    """One piece of work on its way through the pool."""

    __slots__ = ("_abandoned", "_context", "_done", "_lock", "_thread", "_work")

    def __init__(
        self,
        work: Callable[[], Outcome],
        done: Callable[[Outcome], None],
        context: Context | None = None,
    ) -> None:
        self._work = work
        self._done = done
        self._context = copy_context() if context is None else context
        self._lock = threading.Lock()
        self._thread = 0  # the thread that runs it now
        self._abandoned = False

    def run(self) -> bool:
        """Run the work in this thread; tell whether anybody still waited for the outcome."""
        with self._lock:
            if self._abandoned:
                return True  # given up before it began: this thread lost no time on it
            self._thread = threading.get_ident()
        before = copies.made
        try:
            try:
                outcome = self._context.run(self._work)
            finally:
                wanted = self._leave()
        except Overstayed:  # it came between the function's end and `_leave`
            wanted = self._leave()
            outcome = Outcome(error=None)
        if copies.made != before:
            copies.end_here()
        if wanted:
            try:
                self._done(outcome)
            except BaseException:  # noqa: BLE001 - somebody raised it in what this thread did before
                self._done(outcome)  # whoever was told already is told nothing new
        return wanted

    def _leave(self) -> bool:
        with self._lock:
            if self._abandoned and self._thread:
                _raise_in(self._thread, None)  # take back an interruption that has not arrived
            self._thread = 0
            return not self._abandoned

    def abandon(self, *, interrupt: bool) -> bool:
        """Give the work up: its outcome is dropped. Tells whether a thread is still busy on it."""
        with self._lock:
            self._abandoned = True
            if self._thread and interrupt:
                _raise_in(self._thread, Overstayed)
            return bool(self._thread)


class Pool:
    """Threads that are started when needed, up to `size`, and stay."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._queue: deque[Job] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()  # rung for each that is queued
        self._lock = threading.Lock()
        self._threads = 0
        self._jobs = 0  # queued or running
        self._overstaying = 0

    def submit(
        self,
        work: Callable[[], Outcome],
        done: Callable[[Outcome], None],
        context: Context | None = None,
    ) -> Job:
        """Queue the work; `done` is called with its outcome, in the thread that ran it.

        It runs in the context given, or in a copy of whoever submits it. A `RuntimeError` tells that
        there is no thread, and none to be had.
        """
        job = Job(work, done, context)
        with self._lock:
            self._jobs += 1
            refused = self._grow_if_short()
            if refused is not None and not self._threads:
                self._jobs -= 1
                raise refused
        self._queue.append(job)
        self._bell.put(None)
        return job

    def abandon(self, job: Job, *, interrupt: bool) -> None:
        """Give a job up; if a thread is busy with it, another may take that thread's place."""
        if job.abandon(interrupt=interrupt):
            with self._lock:
                self._overstaying += 1
                self._grow_if_short()

    @property
    def overstaying(self) -> int:
        """How many jobs were given up that still run."""
        return self._overstaying

    @property
    def _most(self) -> int:
        return self.size + min(self._overstaying, _MOST_OVERSTAYING)

    def _grow_if_short(self) -> RuntimeError | None:
        if self._threads >= min(self._jobs, self._most):
            return None
        try:
            threading.Thread(target=self._serve, name="kuniumi-call", daemon=True).start()
        except RuntimeError as error:  # the system has no more
            return error
        self._threads += 1
        return None

    def _serve(self) -> None:
        while True:
            try:
                self._bell.get()
                job = self._queue.popleft()
            except IndexError:
                continue
            except BaseException:  # noqa: BLE001 - somebody raised it in what this thread did before
                self._bell.put(None)  # it may have been rung for a job: nobody may miss that
                continue
            wanted = job.run()
            with self._lock:
                self._jobs -= 1
                if not wanted:
                    self._overstaying -= 1  # it came back after all
                if self._threads > self._most:
                    self._threads -= 1
                    return


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an error in another thread at its next step, or take it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(error) if error else None
    )
