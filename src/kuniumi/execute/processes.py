"""Calls in worker processes: what happens to a process happens to the one call it runs.

In: calls as bytes. Out: envelopes as bytes. Each worker has a line of its own, and whoever has a
call to make holds that line until the call has ended: no lock, no queue and no pipe is shared that a
killed worker could leave in disorder. Workers are started when they are needed, and stay.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Envelope
from kuniumi.core.fault import Faulted
from kuniumi.execute import frames
from kuniumi.execute.inline import GRACE
from kuniumi.execute.nursery import Nursery

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.execute.executor import Work

_SMALL, _BIG = 65_536, 262_144
"""Bytes to read at once, where little is expected and where much is."""

_PEEK = socket.MSG_PEEK | socket.MSG_DONTWAIT
_FEWEST = 4
"""Workers that there may be on a machine of fewer cores: what a function does is often to wait."""

_MOST_WAITING = 64
"""Items and reports that wait here before the worker has to."""

_ATTEMPTS = 10
"""Workers that are given one call, each after the one before ended without having read it."""


class ProcessDiedError(Exception):
    """The process that ran a call ended before the call did."""


class Worker:
    """The app's end of the line to one worker process."""

    __slots__ = ("line", "number", "nursery")

    def __init__(self, nursery: Nursery) -> None:
        self.nursery = nursery
        self.number, self.line = nursery.start()

    def is_there(self) -> bool:
        """Whether it waits for a call: a worker that has something to say has ended."""
        try:
            self.line.recv(1, _PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False


class Processes:
    """The worker processes of one app, in one process of its server."""

    def __init__(self, service: Service, size: int = 0) -> None:
        self.service = service
        self.size = size or max(_FEWEST, os.cpu_count() or 1)
        self.operations: dict[str, Operation] = {}
        self._forget()

    def _forget(self) -> None:
        """Begin anew, with no worker."""
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._nursery: Nursery | None = None
        self._closing: weakref.finalize[Any, Any] | None = None
        self._idle: list[Worker] = []
        self._count = 0  # idle or at work
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[Worker]]] = deque()

    # ---- as an executor ------------------------------------------------------------------------

    def add(self, operation: Operation) -> None:
        """Take note of an operation; workers that don't know it are asked no more."""
        self.operations[operation.operation_id] = operation
        self._renew()

    def serve(self, service: Service) -> None:
        """Run calls from now on as this service has them."""
        self.service = service
        self._renew()

    def open(self) -> None:
        """Fork the nursery, while this process has no other thread."""
        self._see_whose_it_is()
        with self._lock:
            self._open()

    async def run(self, work: Work) -> Envelope:
        """Run a call to its end."""
        exchange, said = await self._begin(work)
        self._end(exchange)
        return said  # type: ignore[return-value] # only a stream has items to give before

    async def stream(self, work: Work) -> AsyncGenerator[bytes, None]:
        """Run a call whose items are wanted as they come."""
        exchange, said = await self._begin(work)
        try:
            while isinstance(said, bytes):
                yield said
                said = await exchange.next()
        finally:
            self._end(exchange)
        if isinstance(said, Envelope) and said.fault is not None:
            raise Faulted(said.fault)

    # ---- calls ---------------------------------------------------------------------------------

    async def _begin(self, work: Work) -> tuple[_Exchange, bytes | Envelope]:
        """Give a call to a worker; give the first thing that it says of it."""
        for _ in range(_ATTEMPTS):
            exchange = _Exchange(await self._take(), work)
            try:
                return exchange, await exchange.next()
            except _UnreadError:
                self._end(exchange)  # it had ended before: this call has not begun
            except BaseException:
                self._end(exchange)
                raise
        msg = "one process after another ended before it could take the call"
        raise ProcessDiedError(msg)

    def _end(self, exchange: _Exchange) -> None:
        exchange.close()
        if exchange.is_over:
            self._give(exchange.worker)
        else:
            self._drop(exchange.worker, exchange.grace)

    async def _take(self) -> Worker:
        """Give a worker that waits for a call, or wait for one."""
        self._see_whose_it_is()
        with self._lock:
            worker = self._find()
            if worker is not None:
                return worker
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Worker] = loop.create_future()
            self._waiting.append((loop, future))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._give(future.result())  # it came at the very moment
            raise

    def _find(self) -> Worker | None:
        while self._idle:
            worker = self._idle.pop()
            if worker.nursery is self._nursery and worker.is_there():
                return worker
            self._dismiss(worker, 0)
        if self._count >= self.size:
            return None
        self._count += 1
        try:
            try:
                return Worker(self._open())
            except OSError:  # somebody has ended the nursery
                self._leave_nursery()
            return Worker(self._open())
        except BaseException:
            self._count -= 1
            raise

    def _give(self, worker: Worker) -> None:
        """Take a worker back that has done its work."""
        with self._lock:
            if worker.nursery is self._nursery:
                self._idle.append(worker)
            else:
                self._dismiss(worker, 0)
        self._serve_waiting()

    def _drop(self, worker: Worker, grace: float) -> None:
        """End a worker, unless it has ended by itself; its place is free at once."""
        with self._lock:
            self._dismiss(worker, grace)
        self._serve_waiting()

    def _dismiss(self, worker: Worker, grace: float) -> None:
        self._count -= 1
        worker.line.close()
        nursery = worker.nursery
        nursery.stop(worker.number, grace)
        if nursery is not self._nursery and not nursery.workers:
            nursery.close()

    def _serve_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                try:
                    worker = self._find()
                except OSError:  # the system has no room for more: who is at work will come by here
                    return
                if worker is None:
                    return
                loop, future = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(self._hand_over, future, worker)
            except RuntimeError:  # that loop is closed: nobody waits there any more
                self._give(worker)

    def _hand_over(self, future: asyncio.Future[Worker], worker: Worker) -> None:
        if future.done():
            self._give(worker)
        else:
            future.set_result(worker)

    # ---- the nursery ---------------------------------------------------------------------------

    def _open(self) -> Nursery:
        if self._nursery is None:
            from kuniumi.execute.worker import work  # noqa: PLC0415 - it is loaded where it forks

            self._nursery = Nursery(partial(work, self.service, dict(self.operations)))
            self._closing = weakref.finalize(self, _close_all, self._nursery, self._idle)
        return self._nursery

    def _see_whose_it_is(self) -> None:
        """Forget all in a process that is a copy: what it knows, its lock too, is the original's."""
        if self._pid == os.getpid():
            return
        if self._nursery is not None:
            self._nursery.let_go()
        if self._closing is not None:
            self._closing.detach()
        for worker in self._idle:
            worker.line.close()
        self._forget()

    def _leave_nursery(self) -> None:
        """Have the next call open another; this one stays until its last worker is done."""
        if self._nursery is None or self._closing is None:
            return
        left, self._nursery = self._nursery, None
        self._closing.detach()
        idle = self._idle.copy()
        self._idle.clear()
        if not left.workers:
            left.close()
        for worker in idle:
            self._dismiss(worker, 0)

    def _renew(self) -> None:
        with self._lock:
            self._leave_nursery()


def _close_all(nursery: Nursery, idle: list[Worker]) -> None:
    """End all that belongs to an app nobody has any more."""
    for worker in idle:
        worker.line.close()
    nursery.close()


# ---- one call over one line ----------------------------------------------------------------------


class _UnreadError(Exception):
    """A worker ended without having read its call."""


class _Exchange:
    """What is said over one line from a call's beginning to its end."""

    def __init__(self, worker: Worker, work: Work) -> None:
        self.worker = worker
        self.work = work
        self.is_over = False  # the worker waits for the next call
        self.grace = 0.0  # seconds that the function can make use of, if it is told to end
        self._line = worker.line
        self._loop = asyncio.get_running_loop()
        self._reader = frames.Reader()
        self._heard: deque[frames.Frame] = deque()
        self._lost: Exception | None = None
        self._woken: asyncio.Future[None] | None = None
        self._begun = self._listens = False

    async def next(self) -> bytes | Envelope:
        """Give the next item, or in the end the envelope."""
        if not self._begun:
            await self._begin()
        while True:
            while self._heard:
                kind, head, body = self._heard.popleft()
                if kind == frames.ITEM:
                    return body
                if kind == frames.END:
                    return self._end(frames.read_ending(head), body)
                self._tell(kind, head)
            if self._lost is not None:
                raise self._lost
            self._listen()
            self._woken = self._loop.create_future()
            await self._woken

    def close(self) -> None:
        """Listen no longer."""
        if self._listens:
            self._listens = False
            self._loop.remove_reader(self._line.fileno())

    async def _begin(self) -> None:
        operation, context = self.work.operation, self.work.context
        request = frames.Request(
            operation.operation_id,
            {} if context is None else dict(context.meta),
            context is not None and context.is_followed,
            logging.CRITICAL if context is None else context.log.getEffectiveLevel(),
        )
        pieces = frames.write(frames.CALL, request, self.work.arguments)
        self._begun = True
        try:
            try:
                sent = self._line.sendmsg(pieces)
            except BlockingIOError:
                sent = 0
            for piece in pieces:
                if sent < len(piece):
                    await self._loop.sock_sendall(self._line, memoryview(piece)[sent:])
                sent = max(0, sent - len(piece))
        except OSError:
            raise _UnreadError from None
        if operation.wants_context or operation.is_async or operation.result.layout == "stream":
            self.grace = GRACE

    def _listen(self) -> None:
        if not self._listens:
            self._listens = True
            self._loop.add_reader(self._line.fileno(), self._read)

    def _read(self) -> None:
        try:
            data = self._line.recv(_BIG if self._reader.missing > _SMALL else _SMALL)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._heard.extend(self._reader.feed(data))
        else:
            self._lose()
        if len(self._heard) >= _MOST_WAITING:
            self.close()
        if (self._heard or self._lost) and self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _tell(self, kind: bytes, head: bytes) -> None:
        """Pass on what the function tells of itself."""
        context = self.work.context
        if context is None:
            return
        if kind == frames.PROGRESS:
            context.progress(*frames.read_head(head))
        elif kind == frames.LOG:
            level, message = frames.read_head(head)
            context.log.log(level, "%s", message)
        elif kind == frames.RELEASE:
            context.release()

    def _end(self, ending: frames.Ending, body: bytes) -> Envelope:
        self.is_over = not ending.spent
        self.grace = 0.0
        return frames.envelope_of(ending, body)

    def _lose(self) -> None:
        """Find out what has become of the worker."""
        self.close()
        self.grace = 0.0
        death = self._reader.death()
        if death is not None and death.unread:
            self._lost = _UnreadError()
        else:
            self._lost = ProcessDiedError(_cause_of(death))


def _cause_of(death: frames.Death | None) -> str:
    if death is None:
        return "the process that ran it is gone"
    if death.status >= 0:
        return f"the process that ran it ended with status {death.status}"
    try:
        name = signal.Signals(-death.status).name
    except ValueError:
        name = f"signal {-death.status}"
    return f"the process that ran it was ended by {name}"
