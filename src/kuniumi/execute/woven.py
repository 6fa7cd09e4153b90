"""Running a call with all that surrounds it, on an event loop.

In: an operation and a call that has a weave. Out: what the hooks around it made of its answer. The
app's lifespan is opened first, if nobody has opened it yet. A hook that awaits is held to the call's
limit at each of its steps, and ends when nobody waits for the call any more.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from kuniumi.core.around import Calling, Passage
from kuniumi.core.fault import Fault
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.execute.kept import Kept, in_thread
from kuniumi.execute.life import report_closing
from kuniumi.execute.loop import outcome_of, perform, run_coroutine
from kuniumi.execute.report import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from kuniumi.core.around import Steps
    from kuniumi.core.call import Call, Envelope, Outcome
    from kuniumi.core.life import Life
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.execute.loop import Watch

    Tell = Callable[[Operation, Envelope], Envelope]


class Way:
    """One call's way in, through all that surrounds it, and out again."""

    def __init__(
        self,
        operation: Operation,
        call: Call,
        limit: float | None,
        gone: Watch | None,
        tell: Tell = report,
    ) -> None:
        self._operation = operation
        self._call = call
        self._limit = limit
        self._gone = gone
        self._tell = partial(tell, operation)
        hooks = call.weave.hooks_of(operation) if call.weave is not None else []
        self._passage = Passage(hooks, Calling(operation, call), self._tell)

    async def begin(self) -> Envelope | None:
        """Go in; give the answer if there is one already."""
        weave, context = self._call.weave, self._call.context
        if weave is None or context is None:
            return None
        life = weave.life
        if life is not None:
            if not life.is_open:
                opened = await self._await(lambda: open_life(life, context.env))
                if opened.error is not None:
                    return self._tell(settle(self._operation, opened))
            context.state = life.state
        envelope: Envelope | None = await self._drive(self._passage.begin())
        return envelope

    async def end(self, envelope: Envelope) -> Envelope:
        """Go out with an answer; give what has become of it."""
        ended: Envelope = await self._drive(self._passage.end(envelope))
        return ended

    async def leave(self) -> None:
        """Close what still waits for an answer, since there will be none."""
        await self._drive(self._passage.leave())

    async def _drive(self, steps: Steps) -> Any:
        try:
            awaited = next(steps)
            while True:
                awaited = steps.send(await self._await(lambda: awaited))  # noqa: B023 - at once
        except StopIteration as end:
            return end.value

    async def _await(self, start: Any) -> Outcome:
        return await outcome_of(run_coroutine(start, self._call, self._limit, self._gone))


async def answer_woven(
    operation: Operation,
    call: Call,
    limit: float | None,
    gone: Watch | None = None,
    tell: Tell = report,
) -> Envelope:
    """Take one call all the way, through all that surrounds it; `tell` is told of failures."""
    way = Way(operation, call, limit, gone, tell)
    try:
        envelope = await way.begin()
        if envelope is None:
            ready = prepare(operation, call)
            if isinstance(ready, Fault):
                envelope = refuse(ready)
            else:
                outcome = await outcome_of(perform(ready, call, limit, gone))
                envelope = settle(operation, outcome)
            envelope = tell(operation, envelope)
        return await way.end(envelope)
    finally:
        await way.leave()


# ---- the lifespan ------------------------------------------------------------------------------------


async def open_life(life: Life, environment: Any) -> None:
    """Open a lifespan on this loop, if it is not open; all who come meanwhile wait for the same."""
    loop = asyncio.get_running_loop()
    if life.is_open:
        return
    opening = life.opening
    if opening is None or opening.done() or opening.get_loop() is not loop:
        opening = life.opening = loop.create_task(_open(life, environment))
        opening.add_done_callback(_look_at)
    await asyncio.shield(opening)


def _look_at(opening: asyncio.Task[None]) -> None:
    """Leave no failure unseen: whoever waited for it may be gone."""
    if not opening.cancelled():
        opening.exception()


async def _open(life: Life, environment: Any) -> None:
    while not life.lock.acquire(blocking=False):  # noqa: ASYNC110 - a thread opens it, and tells nobody
        await asyncio.sleep(0.01)
    try:
        if life.is_open:
            return
        is_async = life.lifespan.is_async
        kept = Kept(lambda: life.lifespan.manager(environment), is_async=is_async, ended=life.ended)
        try:
            state = await kept.enter()
        except (Exception, SystemExit) as error:
            raise life.failed(error) from error
        loop = asyncio.get_running_loop() if is_async else None
        life.opened(state, kept.leave, loop, awaits=True)
    finally:
        life.lock.release()


async def open_service(service: Service) -> None:
    """Open what a service opens before its first call, if anything; raises a `StartError`."""
    weave = service.weave
    if weave is not None and weave.life is not None:
        await open_life(weave.life, service.environment)


async def close_service(service: Service, seconds: float | None = None) -> None:
    """Close what a service has open, in so many seconds; a failure is logged."""
    weave = service.weave
    life = weave.life if weave is not None else None
    if life is None:
        return
    if life.opening is not None and not life.opening.done():
        life.opening.cancel()
        await asyncio.wait({life.opening})
    awaits, closing = life.close_awaits, life.closing()
    if closing is None:
        return
    try:
        async with asyncio.timeout(seconds):
            await (closing() if awaits else in_thread(closing))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the calls were answered
        report_closing(life, error)
