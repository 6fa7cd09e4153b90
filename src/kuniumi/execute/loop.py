"""Running calls on an event loop: coroutines here, plain functions in the pool's threads.

In: an operation and a call. Out: an envelope. A coroutine that ends at its first step costs no
task and no timer; only one that waits is put on a leash, which ends it when its time is up or when
nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import threading
import types
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Outcome, Ready
from kuniumi.core.fault import Fault, Kind, crowded, stopping, timed_out
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.execute import copies, inline
from kuniumi.execute.inline import GRACE
from kuniumi.execute.report import report
from kuniumi.execute.threads import Pool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from kuniumi.core.call import Call, Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.execute.threads import Job
    from kuniumi.execute.turns import Turns

    Watch = Callable[[], Awaitable[object]]

_TURN = 64
_LONG = 0.5
"""Seconds after which it is worth a task to learn that nobody waits for a thread."""

pool = Pool(32)

_at_work: set[_Leash | _Wait] = set()
"""Calls that take a while: those that end at once have nothing to be told."""


async def answer(
    operation: Operation, call: Call, limit: float | None, gone: Watch | None = None
) -> Envelope:
    """Take one call all the way. `gone` ends when nobody waits for the answer any more."""
    weave = call.weave
    if weave is not None and weave.surrounds(operation):
        from kuniumi.execute.woven import answer_woven  # noqa: PLC0415 - few have hooks around calls

        return await answer_woven(operation, call, limit, gone)
    ready = prepare(operation, call)
    if type(ready) is not Ready:
        return report(operation, refuse(ready))  # type: ignore[arg-type]
    outcome = perform(ready, call, limit, gone)
    if type(outcome) is not Outcome:
        outcome = await outcome  # type: ignore[misc]
    envelope = settle(operation, outcome)
    return envelope if envelope.fault is None else report(operation, envelope)


def perform(
    ready: Ready, call: Call, limit: float | None, gone: Watch | None = None
) -> Outcome | Awaitable[Outcome]:
    """Run a prepared call wherever its function belongs. What ends at once is an outcome already."""
    operation = ready.operation
    if operation.is_async:
        if operation.result.layout == "stream":
            return run_coroutine(lambda: _collect(ready.start()), call, limit, gone)
        return run_coroutine(ready.start, call, limit, gone)
    if operation.policy.inline:
        before = copies.made
        outcome = inline.run(ready)
        if copies.made != before:
            copies.end_here()
        return outcome
    lend_loop(operation)
    if operation.result.layout == "stream":
        halt = threading.Event()
        return run_in_thread(
            partial(inline.run, ready, halt), call, limit, gone, halt, operation.turns
        )
    return run_in_thread(partial(inline.run, ready), call, limit, gone, turns=operation.turns)


def lend_loop(operation: Operation) -> None:
    """Let a plain function with async providers use this loop from its thread."""
    if operation.needs_loop:
        from kuniumi.execute.bridge import lend  # noqa: PLC0415 - few functions need it

        lend()


def run_coroutine(
    start: Callable[[], Any], call: Call, limit: float | None, gone: Watch | None
) -> Outcome | Awaitable[Outcome]:
    """Run a coroutine in the current task, for its first step without any ado."""
    coroutine, before = None, copies.made
    try:
        coroutine = start()
        if not hasattr(coroutine, "send"):
            return Outcome(coroutine)  # a decorator made a plain function of it
        awaited = coroutine.send(None)
    except StopIteration as end:
        return Outcome(error=end) if coroutine is None else Outcome(end.value)
    except BaseException as error:  # noqa: BLE001 - whatever it raises is this call's alone
        return Outcome(error=error)
    finally:
        if copies.made != before:
            copies.end_here()
    return _lead(coroutine, awaited, call, limit, gone)


async def outcome_of(running: Outcome | Awaitable[Outcome]) -> Outcome:
    """Wait for an outcome that may be there already."""
    return running if isinstance(running, Outcome) else await running


async def _collect(items: Any) -> list[Any]:
    if hasattr(items, "__await__"):  # an `async def` that returns its stream
        items = await items
    collected = []
    try:
        if not hasattr(items, "__aiter__"):
            return list(items)
        async for item in items:
            collected.append(item)
            if not len(collected) % _TURN:
                await asyncio.sleep(0)  # it may never wait itself, and others want their turn
    finally:
        await aclose(items)
    return collected


async def aclose(items: Any) -> None:
    """Close a generator that may have more to give, so that its `finally` runs now."""
    closing = getattr(items, "aclose", None)
    if closing is not None:
        await closing()
    else:
        inline.close(items)


# ---- the leash -----------------------------------------------------------------------------------


class _Leash:
    """Ends the current task's call when its time is up, or when its caller is gone."""

    def __init__(self, call: Call, limit: float | None, gone: Watch | None) -> None:
        self.call = call
        self.limit = limit
        self.loop = asyncio.get_running_loop()
        self.task = asyncio.current_task(self.loop)
        self.fault: Fault | None = None
        self.cut = False  # the coroutine had its grace: drive it no further
        self.pulls = 0
        self.own = self.task.cancelling() if self.task else 0  # cancelled by the function itself
        self.timer = self.loop.call_later(limit, self.expire) if limit else None
        self.watch = self.loop.create_task(self._wait(gone)) if gone else None
        _at_work.add(self)

    async def _wait(self, gone: Watch) -> None:
        await gone()
        self.give_up(Fault(Kind.CANCELLED, "Cancelled: the caller is gone"))

    def expire(self) -> None:
        self.give_up(timed_out(self.limit))

    def give_up(self, fault: Fault) -> None:
        if self.fault is not None:
            return
        self.fault = fault
        if self.call.context is not None:
            self.call.context.cancel()
        self._cancel()
        if self.timer is not None:
            self.timer.cancel()
        self.timer = self.loop.call_later(GRACE, self.let_go)

    def let_go(self) -> None:
        self.cut = True
        self._cancel()

    def _cancel(self) -> None:
        if self.task is not None:
            self.pulls += 1
            self.task.cancel()

    def pulled_by_others(self) -> bool:
        """Whether somebody cancelled this task who is neither the leash nor the function."""
        return self.task is not None and self.task.cancelling() > self.pulls + self.own

    def release(self) -> None:
        _at_work.discard(self)
        if self.timer is not None:
            self.timer.cancel()
        if self.watch is not None:
            self.watch.cancel()
        if self.task is not None:
            for _ in range(self.pulls + self.own):
                self.task.uncancel()


async def _lead(
    coroutine: Any, awaited: Any, call: Call, limit: float | None, gone: Watch | None
) -> Outcome:
    """Drive a coroutine that has begun to wait to its end, on a leash."""
    leash = _Leash(call, limit, gone)
    try:
        value = await _steps(coroutine, awaited, leash)
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and leash.pulled_by_others():
            raise  # the server itself is being stopped
        return Outcome(error=leash.fault or error)
    else:
        return Outcome(value, leash.fault)
    finally:
        leash.release()


@types.coroutine
def _steps(coroutine: Any, awaited: Any, leash: _Leash) -> Generator[Any, Any, Any]:
    """Continue a coroutine after its first step: pass on what it awaits, and what comes back."""
    task = leash.task
    cancelling = task.cancelling if task else int
    copied = copies.made
    while True:
        try:
            sent = yield awaited
        except BaseException as thrown:
            if leash.cut:
                _close(coroutine)
                raise
            step = partial(coroutine.throw, thrown)
        else:
            step = partial(coroutine.send, sent)
        before = cancelling()
        try:
            awaited = step()
        except StopIteration as end:
            return end.value
        finally:
            if copies.made != copied:
                copies.end_here()
            leash.own = max(0, leash.own + cancelling() - before)


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    with suppress(BaseException):  # it ignored its cancellation, and now its end
        coroutine.close()


# ---- threads -------------------------------------------------------------------------------------


class _Wait:
    """The wait of a loop for an outcome that a thread will bring."""

    def __init__(
        self,
        work: Callable[[], Outcome],
        call: Call,
        limit: float | None,
        halt: threading.Event | None,
    ) -> None:
        self.work = work
        self.call = call
        self.limit = limit
        self.until = monotonic() + limit if limit else inf
        self.halt = halt
        self.job: Job | None = None
        self.context = copy_context()  # the caller's own, whoever's end lets this call begin
        self.is_deaf = call.context is None and halt is None
        self.watch: asyncio.Handle | asyncio.Task[None] | None = None
        self.loop = asyncio.get_running_loop()
        self.arrived: asyncio.Future[Outcome] = self.loop.create_future()

    def begin(self) -> None:
        """Begin the work, in whatever thread its turn has come."""
        if not self.arrived.done():
            try:
                self.job = pool.submit(self.work, self.bring, self.context)
            except RuntimeError as error:  # there is no thread to be had
                self.bring(Outcome(error=error))

    def bring(self, outcome: Outcome) -> None:
        """Bring the outcome, from any thread; what comes too late is none.

        The timer alone would let it pass if something held up the loop when it should have rung.
        """
        if monotonic() > self.until:
            outcome = Outcome(error=timed_out(self.limit))
        try:
            self.loop.call_soon_threadsafe(self.end, outcome)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    def end(self, outcome: Outcome) -> None:
        if not self.arrived.done():
            self.arrived.set_result(outcome)

    def give_up(self, fault: Fault) -> None:
        if self.call.context is not None:
            self.call.context.cancel()
        if self.halt is not None:
            self.halt.set()
        self.end(Outcome(error=fault))

    async def give_up_when(self, gone: Watch) -> None:
        await gone()
        self.give_up(Fault(Kind.CANCELLED, "Cancelled: the caller is gone"))

    def look_out(self, gone: Watch, turns: Turns | None) -> None:
        """Watch for the end of all interest."""
        if self.is_deaf and turns is None:  # to interrupt it is worth it where it takes its time
            self.watch = self.loop.call_later(_LONG, self.watch_now, gone)
        else:
            self.watch_now(gone)

    def watch_now(self, gone: Watch) -> None:
        self.watch = self.loop.create_task(self.give_up_when(gone))

    def abandon(self, *, interrupt: bool) -> None:
        if self.job is not None:
            pool.abandon(self.job, interrupt=interrupt)


def stop_all() -> None:
    """End all calls that still run: their functions learn of it, and their callers too."""
    for each in tuple(_at_work):
        each.give_up(stopping())


async def part(patience: float = GRACE / 2) -> None:
    """Give functions that were left behind in threads a moment to end, before the process does."""
    until = asyncio.get_running_loop().time() + patience
    while pool.overstaying and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110 - threads know no loop
        await asyncio.sleep(0.01)


async def run_in_thread(
    work: Callable[[], Outcome],
    call: Call,
    limit: float | None,
    gone: Watch | None = None,
    halt: threading.Event | None = None,
    turns: Turns | None = None,
) -> Outcome:
    """Run work in the pool, in its turn, and wait for it no longer than the limit.

    Work that looks at `halt`, or whose function looks at its context, is told when nobody waits;
    any other is interrupted then.
    """
    wait = _Wait(work, call, limit, halt)
    loop = wait.loop
    if turns is None:
        wait.begin()
    elif not turns.enter(wait.begin):
        return Outcome(error=crowded(turns.name))
    timer = loop.call_later(limit, wait.give_up, timed_out(limit)) if limit else None
    if gone is not None:
        wait.look_out(gone, turns)
    _at_work.add(wait)
    try:
        outcome = await wait.arrived
    except asyncio.CancelledError:
        wait.give_up(Fault(Kind.CANCELLED, "Cancelled"))
        wait.abandon(interrupt=False)
        raise
    finally:
        _at_work.discard(wait)
        if timer is not None:
            timer.cancel()
        if wait.watch is not None:
            wait.watch.cancel()
        if turns is not None:
            turns.leave(wait.begin)
    if isinstance(outcome.error, Fault):
        wait.abandon(interrupt=wait.is_deaf or outcome.error.kind is Kind.TIMED_OUT)
    return outcome
