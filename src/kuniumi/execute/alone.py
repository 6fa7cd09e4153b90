"""Running one call with no event loop around it: CGI, the shell, a call in process.

In: an operation and a call. Out: an envelope. A plain function runs right here; when its time is up
an alarm ends it, or, in a process that is not the call's alone, a thread of its own is left behind.
asyncio is only loaded for a coroutine.
"""

from __future__ import annotations

import os
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kuniumi.core.call import Outcome
from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault, crowded, not_found, timed_out
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.execute import inline
from kuniumi.execute.inline import GRACE
from kuniumi.execute.report import report

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import NoReturn

    from kuniumi.core.call import Call, Envelope, Ready
    from kuniumi.core.context import Context
    from kuniumi.core.life import Life
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.core.weave import Weave
    from kuniumi.execute.turns import Turns

    Leave = Callable[[Envelope], NoReturn]

T = TypeVar("T")

_LOOPS_OWN = 4 * GRACE
"""Seconds an event loop may need, at the very most, to end a call whose time is up."""


def answer_alone(
    operation: Operation,
    call: Call,
    limit: float | None,
    *,
    log: bool = True,
    leave: Leave | None = None,
) -> Envelope:
    """Take one call all the way, in this thread.

    `leave` gives the answer and ends the process, right where it is called. A surface whose process
    has only this call to make offers it, against a function that ignores that its time is up.
    """
    pid = os.getpid()
    try:
        if call.weave is not None:  # hooks may set variables, too, which no other call shall see
            way = partial(_answer_woven, call.weave, log=log, leave=leave)
            return copy_context().run(way, operation, call, limit)
        return _answer(operation, call, limit, log=log, leave=leave)
    except GeneratorExit as error:  # where a task raises one, Python closes whoever awaits it
        return _told(operation, settle(operation, Outcome(error=error)), log=log)
    finally:
        if leave is not None and pid != os.getpid():  # a copy that the function made: who asks it?
            os._exit(0)


def _answer(
    operation: Operation,
    call: Call,
    limit: float | None,
    *,
    log: bool,
    leave: Leave | None,
    home: Any = None,
) -> Envelope:
    ready = prepare(operation, call)
    if isinstance(ready, Fault):
        return _told(operation, refuse(ready), log=log)
    if operation.needs_loop:
        outcome = _run_coroutine(ready, call, limit, leave, home)
    else:  # in a context of its own, so that no variable it sets is seen by the next call
        run = _run_bounded if operation.turns is None else partial(_run_in_turn, operation.turns)
        outcome = copy_context().run(run, partial(inline.run, ready), call, limit, leave)
    return _told(operation, settle(operation, outcome), log=log)


def answer_named(
    service: Service, name: str, arguments: Mapping[str, Any] | bytes = b""
) -> Envelope:
    """Call the function of this name or operation id; arguments may be given as Python data."""
    operation = service.registry.find(name)
    if operation is None:
        return refuse(not_found(name))
    raw = arguments if isinstance(arguments, bytes) else dumps(arguments)
    return answer_alone(operation, service.call(operation, raw), service.limit(operation))


def close(service: Service) -> None:
    """Close what a service has opened for calls, if it has."""
    if service.weave is not None:
        from kuniumi.execute.life import close_alone  # noqa: PLC0415 - few apps open anything

        close_alone(service)


def _told(operation: Operation, envelope: Envelope, *, log: bool) -> Envelope:
    """Log a failure where that is wanted, or where the answer itself refers to the log."""
    fault = envelope.fault
    return report(operation, envelope) if log or (fault and fault.incident) else envelope


def _run_bounded(
    work: Callable[[], Outcome],
    call: Call,
    limit: float | None,
    leave: Leave | None,
    waited: float = 0.0,
) -> Outcome:
    if not limit:
        return work()
    if leave is None or not _may_set_alarms():
        return _run_in_thread(work, call, limit, waited)
    return _run_with_alarm(work, call, limit, leave, late=-waited)


def _run_in_turn(
    turns: Turns,
    work: Callable[[], Outcome],
    call: Call,
    limit: float | None,
    leave: Leave | None,
) -> Outcome:
    """Run work when its turn has come: other threads of this process may make such calls, too."""
    from threading import Event  # noqa: PLC0415 - few functions are limited
    from time import monotonic  # noqa: PLC0415

    came = Event()
    began = monotonic()
    if not turns.enter(came.set):
        return Outcome(error=crowded(turns.name))
    try:
        came.wait(limit)
        waited = monotonic() - began
        if limit and waited >= limit:
            if call.context is not None:
                call.context.cancel()
            return Outcome(error=timed_out(limit))
        return _run_bounded(work, call, limit, leave, waited)
    finally:
        turns.leave(came.set)


def _run_coroutine(
    ready: Ready, call: Call, limit: float | None, leave: Leave | None, home: Any
) -> Outcome:
    # A plain function's cold start must not pay for asyncio.
    from kuniumi.execute.loop import outcome_of, perform  # noqa: PLC0415

    async def run() -> Outcome:
        return await outcome_of(perform(ready, call, limit))

    work = partial(run_on_loop, home, run)
    if not limit or leave is None or not _may_set_alarms():
        return work()
    # Its loop ends it in time, unless it never waits for anything.
    return _run_with_alarm(work, call, limit, leave, late=_LOOPS_OWN)


def run_on_loop(home: Any, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on a loop of its own, or on the one that the app's lifespan lives on."""
    from kuniumi.execute.own_loop import refuse_nesting, run_on_own_loop  # noqa: PLC0415

    if home is None:
        return run_on_own_loop(work)
    from kuniumi.execute.home import wait_on  # noqa: PLC0415 - few apps have an async lifespan

    refuse_nesting()
    return wait_on(home, work())


# ---- what surrounds a call -------------------------------------------------------------------------


def _answer_woven(
    weave: Weave,
    operation: Operation,
    call: Call,
    limit: float | None,
    *,
    log: bool,
    leave: Leave | None,
) -> Envelope:
    """Take a call through all that surrounds it: the lifespan, if it is not open, and hooks."""
    from kuniumi.core.around import Calling, Passage, walk  # noqa: PLC0415 - for those who have hooks

    def tell(envelope: Envelope) -> Envelope:
        return _told(operation, envelope, log=log)

    life, home = weave.life, None
    if life is not None and call.context is not None:
        if not life.is_open:
            opened = _run_bounded(partial(_open, life, call.context), call, limit, leave)
            if opened.error is not None:
                return tell(settle(operation, opened))
        call.context.state, home = life.state, life.loop
    hooks = weave.hooks_of(operation)
    if any(hook.is_async for hook in hooks):
        from kuniumi.execute.woven import answer_woven  # noqa: PLC0415 - plain hooks need no loop

        told = partial(_told, log=log)
        return run_on_loop(home, lambda: answer_woven(operation, call, limit, tell=told))
    passage = Passage(hooks, Calling(operation, call), tell)
    try:
        envelope: Envelope | None = walk(passage.begin())
        if envelope is None:
            envelope = _answer(operation, call, limit, log=log, leave=leave, home=home)
        ended: Envelope = walk(passage.end(envelope))
        return ended
    finally:
        walk(passage.leave())


def _open(life: Life, context: Context) -> Outcome:
    from kuniumi.execute.life import open_alone  # noqa: PLC0415 - for those who open something

    try:
        open_alone(life, context.env)
    except BaseException as error:  # noqa: BLE001 - an alarm, too
        return Outcome(error=error)
    return Outcome()


# ---- the alarm -------------------------------------------------------------------------------------


class _Alarm(BaseException):
    """The call's time is up."""


def _may_set_alarms() -> bool:
    """Whether this is the thread that signals come to, on a system that has alarms."""
    import signal  # noqa: PLC0415 - most calls have no limit

    try:
        signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGALRM))
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _run_with_alarm(
    work: Callable[[], Outcome], call: Call, limit: float, leave: Leave, late: float = 0.0
) -> Outcome:
    """Run work until an alarm rings in it; if it goes on all the same, leave it at the second."""
    import signal  # noqa: PLC0415 - most calls have no limit

    fault = timed_out(limit)
    rung = False

    def ring(_signal: int, _frame: Any) -> None:
        nonlocal rung
        if rung:
            leave(refuse(fault))
        rung = True
        if call.context is not None:
            call.context.cancel()
        raise _Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, limit + late, GRACE)
        outcome = work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _Alarm:  # it came when the work had just ended
        outcome = Outcome(error=fault)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return Outcome(error=fault) if rung else outcome  # whatever it gave, it gave it too late


# ---- a thread --------------------------------------------------------------------------------------


def _run_in_thread(work: Callable[[], Outcome], call: Call, limit: float, waited: float) -> Outcome:
    """Run work in a thread of its own, and wait for it no longer than is left of the limit."""
    import threading  # noqa: PLC0415 - most calls have no limit
    from queue import Empty, SimpleQueue  # noqa: PLC0415

    from kuniumi.execute.threads import Job  # noqa: PLC0415

    arrived: SimpleQueue[Outcome] = SimpleQueue()
    job = Job(work, arrived.put)
    try:
        threading.Thread(target=job.run, name="kuniumi-call", daemon=True).start()
        return arrived.get(timeout=limit - waited)
    except BaseException as error:  # Ctrl-C, too
        if call.context is not None:
            call.context.cancel()
        job.abandon(interrupt=True)
        if isinstance(error, Empty):
            return Outcome(error=timed_out(limit))
        if isinstance(error, RuntimeError):  # the system has no more threads
            return Outcome(error=error)
        raise
