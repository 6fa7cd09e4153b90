"""A worker: a process that takes one call after another from a line, until the line is closed.

In: frames of calls. Out: what each call tells of itself, and its ending. The call is prepared, run
and settled here, so that arguments and results cross as bytes. Nothing of one call is left for the
next: not its working directory, its umask or its timer, not what it did to `os.environ`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Envelope, Outcome, Ready
from kuniumi.core.caller import Caller
from kuniumi.core.fault import Fault, Kind
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.execute import frames, inline, loop
from kuniumi.execute.alone import run_on_loop
from kuniumi.execute.life import close_life, open_alone
from kuniumi.execute.loop import aclose, lend_loop, outcome_of, run_coroutine, run_in_thread
from kuniumi.execute.nursery import CANCEL
from kuniumi.execute.threads import Pool

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from kuniumi.core.call import Call
    from kuniumi.core.life import Life
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.env.environment import Environment

_CHUNK = 262_144


def work(service: Service, operations: Mapping[str, Operation], line: socket.socket) -> None:
    """Take calls until nobody has any more."""
    worker = _Worker(service, operations, line)
    worker.listen()
    loop.pool = Pool(loop.pool.size)  # the app's has threads that are not in this process
    reader = frames.Reader()
    try:
        # Where it has said what nobody heard, the end of the line is a reset.
        with suppress(ConnectionResetError):
            while data := line.recv(_CHUNK):
                for kind, head, arguments in reader.feed(data):
                    if kind == frames.CALL and not worker.answer(
                        frames.read_request(head), arguments
                    ):
                        return
    finally:
        if worker.life is not None:
            close_life(worker.life)


def _its_own_life(service: Service) -> Life | None:
    """Give what the app's lifespan is in this process: not open yet, whatever the app has open."""
    return None if service.weave is None else service.weave.afresh().life


class _Worker:
    def __init__(
        self, service: Service, operations: Mapping[str, Operation], line: socket.socket
    ) -> None:
        self.service = service
        self.life = _its_own_life(service)
        self.operations = operations
        self.line = line
        self.running: _Running | None = None
        self.home = _Home()
        own_log = logging.getLogger("kuniumi.call")  # told to the app, which has its own handlers
        own_log.propagate = False
        own_log.handlers = [logging.NullHandler()]
        own_log.setLevel(logging.CRITICAL + 1)

    def listen(self) -> None:
        """Be told when nobody waits any more, whatever a function did about signals."""
        if signal.getsignal(CANCEL) != self.cancel:
            signal.signal(CANCEL, self.cancel)

    def cancel(self, _signal: int, _frame: object) -> None:
        """Tell the function that nobody waits for it any more."""
        if self.running is not None:
            self.running.cancel()

    def answer(self, request: frames.Request, arguments: bytes) -> bool:
        """Take one call all the way. Tells whether this worker may take another."""
        operation = self.operations[request.operation_id]
        running = _Running(self.line, request, self.life, self.service.environment)
        call = self.service.call(operation, arguments, running.caller)
        running.call = call
        self.running = running
        memory = operation.policy.memory
        if memory:
            _limit_memory(memory)
        envelope = running.run(operation)
        spent = False
        if memory:
            _limit_memory(0)
            spent = envelope.fault is not None and isinstance(envelope.fault.cause, MemoryError)
        self.running = None
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # what it printed must not be lost if this process is killed
                stream.flush()
        self.home.return_to()
        self.listen()
        running.end(envelope, spent=spent)
        return not spent


class _Running:
    """One call on its way."""

    def __init__(
        self,
        line: socket.socket,
        request: frames.Request,
        life: Life | None,
        environment: Environment,
    ) -> None:
        self.line = line
        self.life = life
        self.environment = environment
        self.lock = threading.Lock()
        self.pid = os.getpid()
        self.over = False
        self.cancelled = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self.gone: asyncio.Event | None = None
        self.call: Any = None
        self.caller = Caller(
            report=self.report if request.reports else None,
            log=self.log,
            log_level=request.log_level,
            release=self.release,
            meta=request.meta,
        )

    # ---- towards the app -----------------------------------------------------------------------

    def report(self, done: float, total: float | None, message: str | None) -> None:
        self.tell(frames.write(frames.PROGRESS, (done, total, message)))

    def log(self, level: int, _logger: str, message: str) -> None:
        self.tell(frames.write(frames.LOG, (level, frames.sayable(message))))

    def release(self) -> None:
        self.tell(frames.write(frames.RELEASE))

    def tell(self, pieces: list[bytes]) -> None:
        """Send a frame whole, unless the call is over, or nobody is there any more."""
        with self.lock, suppress(OSError):
            if not self.over and self.pid == os.getpid():
                _send(self.line, pieces)

    def end(self, envelope: Envelope, *, spent: bool) -> None:
        """Send the last frame of this call.

        A copy of this process, which the function has made and come back in, ends here: it would say
        once more what was said, where the next call listens by now.
        """
        if self.pid != os.getpid():
            os._exit(0)
        with self.lock:
            self.over = True
            try:
                _send(self.line, frames.write_ending(envelope, spent=spent))
            except OSError:  # nobody waits, and nobody will ask again
                os._exit(0)

    # ---- running -------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Have the function learn of it, whatever it is doing."""
        self.cancelled = True
        context = self.call and self.call.context
        if context is not None:
            context.cancel()
        if self.loop is not None and self.gone is not None:
            with suppress(RuntimeError):  # it has just ended
                self.loop.call_soon_threadsafe(self.gone.set)

    def is_set(self) -> bool:
        """Whether a stream is to stop."""
        return self.cancelled

    def run(self, operation: Operation) -> Envelope:
        """Prepare, run and settle."""
        call: Call = self.call
        try:
            home = self.arrive(call)
            ready = prepare(operation, call)
            if isinstance(ready, Fault):
                return refuse(ready)
            if operation.needs_loop:
                outcome = run_on_loop(home, partial(self.drive, ready, call))
            else:
                outcome = copy_context().run(self.run_plain, ready)
            if operation.result.layout == "stream" and outcome.error is None:
                return Envelope(b"")  # its items are there already
            return settle(operation, outcome)
        except BaseException as error:  # noqa: BLE001 - a signal's handler may raise at any moment
            return settle(operation, Outcome(error=error))

    def arrive(self, call: Call) -> asyncio.AbstractEventLoop | None:
        """Open what the app's lifespan opens, for the first call; give the loop it lives on."""
        life = self.life
        if life is None:
            return None
        if not life.is_open:
            open_alone(life, self.environment)
        if call.context is not None:
            call.context.state = life.state
        home: asyncio.AbstractEventLoop | None = life.loop
        return home

    def run_plain(self, ready: Ready) -> Outcome:
        encode_item = ready.operation.result.encode_item
        if encode_item is None:
            return inline.run(ready)
        try:
            items = ready.start()
            try:
                for item in items:
                    self.tell(frames.write(frames.ITEM, None, encode_item(item)))
                    if self.cancelled:
                        break
            finally:
                inline.close(items)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is this call's alone
            return Outcome(error=error)
        return Outcome()

    async def drive(self, ready: Ready, call: Call) -> Outcome:
        """Run a coroutine, or an asynchronous stream, on a loop of its own."""
        self.loop, self.gone = asyncio.get_running_loop(), asyncio.Event()
        encode_item = ready.operation.result.encode_item
        if not ready.operation.is_async:  # what it is provided with is
            lend_loop(ready.operation)
            work = partial(self.run_plain, ready)
            return await run_in_thread(work, call, None, self.gone.wait)
        start: Callable[[], Any] = ready.start
        if encode_item is not None:
            start = partial(self.forward, ready, encode_item)
        if self.cancelled:
            return Outcome(error=Fault(Kind.CANCELLED, "Cancelled"))
        return await outcome_of(run_coroutine(start, call, None, self.gone.wait))

    async def forward(self, ready: Ready, encode_item: Callable[[Any], bytes]) -> None:
        items = ready.start()
        if hasattr(items, "__await__"):  # an `async def` that returns its stream
            items = await items
        try:
            if hasattr(items, "__aiter__"):
                async for item in items:
                    self.tell(frames.write(frames.ITEM, None, encode_item(item)))
            else:
                for item in items:
                    self.tell(frames.write(frames.ITEM, None, encode_item(item)))
        finally:
            await aclose(items)


def _send(line: socket.socket, pieces: list[bytes]) -> None:
    sent = line.sendmsg(pieces)
    for piece in pieces:
        if sent < len(piece):
            line.sendall(memoryview(piece)[sent:])
        sent = max(0, sent - len(piece))


class _Home:
    """What a call finds when it begins, and what the next one is to find."""

    def __init__(self) -> None:
        self.variables = dict(os.environ)
        self.umask = os.umask(0)
        os.umask(self.umask)
        try:
            self.folder = os.open(".", os.O_RDONLY)
            self.at = os.getcwd()  # noqa: PTH109 - compared, not worked with
        except OSError:  # it was removed
            self.folder, self.at = -1, ""

    def return_to(self) -> None:
        """Undo what a call has changed."""
        os.umask(self.umask)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.variables != os.environ:
            for name in os.environ.keys() - self.variables.keys():
                del os.environ[name]
            os.environ.update(self.variables)
        if self.folder >= 0:
            try:
                moved = os.getcwd() != self.at  # noqa: PTH109 - compared, not worked with
            except OSError:
                moved = True
            if moved:
                os.fchdir(self.folder)


def _limit_memory(more: int) -> None:
    """Let this process take so many bytes more than it has; 0 for as many as there are."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = _taken() + more if more else hard
    resource.setrlimit(resource.RLIMIT_DATA, (soft if hard < 0 else min(soft, hard), hard))


def _taken() -> int:
    """Give the bytes of data that this process has taken so far."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - no path to work with
        return int(file.read().split()[5]) * resource.getpagesize()
