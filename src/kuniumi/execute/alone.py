"""Running one call with no event loop around it: CGI, the shell, a call in process.

In: an operation and a call. Out: an envelope. A plain function runs right here, and an alarm ends
it when its time is up; asyncio is only loaded for a coroutine.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Outcome
from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault, Kind, not_found
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.execute import inline
from kuniumi.execute.report import report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.core.call import Call, Envelope, Ready
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service


def answer_alone(
    operation: Operation, call: Call, limit: float | None, *, log: bool = True
) -> Envelope:
    """Take one call all the way, in this thread."""
    ready = prepare(operation, call)
    if isinstance(ready, Fault):
        return report(operation, refuse(ready)) if log else refuse(ready)
    if operation.is_async:
        outcome = _run_coroutine(ready, call, limit)
    else:  # in a context of its own, so that no variable it sets is seen by the next call
        outcome = copy_context().run(_run_plain, ready, call, limit)
    envelope = settle(operation, outcome)
    return report(operation, envelope) if log else envelope


def answer_named(
    service: Service, name: str, arguments: Mapping[str, Any] | bytes = b""
) -> Envelope:
    """Call the function of this name or operation id; arguments may be given as Python data."""
    operation = service.registry.find(name)
    if operation is None:
        return refuse(not_found(name))
    raw = arguments if isinstance(arguments, bytes) else dumps(arguments)
    return answer_alone(operation, service.call(operation, raw), service.limit(operation))


def _run_plain(ready: Ready, call: Call, limit: float | None) -> Outcome:
    return _run_with_alarm(ready, call, limit) if limit else inline.run(ready)


def _run_coroutine(ready: Ready, call: Call, limit: float | None) -> Outcome:
    import asyncio  # noqa: PLC0415 - a plain function's cold start must not pay for it

    from kuniumi.execute.loop import outcome_of, perform  # noqa: PLC0415

    async def run() -> Outcome:
        return await outcome_of(perform(ready, call, limit))

    return asyncio.run(run())


class _Alarm(BaseException):
    """The call's time is up."""


def _run_with_alarm(ready: Ready, call: Call, limit: float) -> Outcome:
    import signal  # noqa: PLC0415 - most calls have no limit

    fault = Fault(Kind.TIMED_OUT, f"Timed out after {limit:g} seconds")

    def ring(_signal: int, _frame: Any) -> None:
        if call.context is not None:
            call.context.cancel()
        raise _Alarm

    try:
        before = signal.signal(signal.SIGALRM, ring)
    except (ValueError, AttributeError):  # not the main thread, or no alarms on this system
        return _run_in_thread(ready, call, limit)
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        outcome = inline.run(ready)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _Alarm:
        return Outcome(error=fault)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return Outcome(error=fault) if isinstance(outcome.error, _Alarm) else outcome


def _run_in_thread(ready: Ready, call: Call, limit: float) -> Outcome:
    from functools import partial  # noqa: PLC0415
    from queue import Empty, SimpleQueue  # noqa: PLC0415

    from kuniumi.execute.threads import Pool  # noqa: PLC0415

    arrived: SimpleQueue[Outcome] = SimpleQueue()
    pool = Pool(1)
    job = pool.submit(partial(inline.run, ready), arrived.put)
    try:
        return arrived.get(timeout=limit)
    except Empty:
        if call.context is not None:
            call.context.cancel()
        pool.abandon(job, interrupt=True)
        return Outcome(error=Fault(Kind.TIMED_OUT, f"Timed out after {limit:g} seconds"))
