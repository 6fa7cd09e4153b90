"""Running a call whose items are wanted one by one, as the function gives them.

In: a prepared call, and `offer`, which takes each encoded item and may make the function wait.
Out: the envelope with all of them, as everybody else gets it.
"""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Envelope, Outcome
from kuniumi.core.invoke import settle
from kuniumi.core.result import join_items
from kuniumi.execute.inline import close
from kuniumi.execute.loop import (
    aclose,
    lend_loop,
    outcome_of,
    perform,
    run_coroutine,
    run_in_thread,
)
from kuniumi.execute.report import report

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

    from kuniumi.core.call import Call, Ready
    from kuniumi.execute.loop import Watch

    Offer = Callable[[bytes], Coroutine[Any, Any, None]]


async def answer_in_parts(
    ready: Ready, call: Call, limit: float | None, gone: Watch, offer: Offer
) -> Envelope:
    """Take a prepared call to its end, offering each item of a stream as it comes."""
    operation = ready.operation
    encode_item = operation.result.encode_item
    if encode_item is None:
        outcome = await outcome_of(perform(ready, call, limit, gone))
        return report(operation, settle(operation, outcome))
    forwarder = _Forwarder(encode_item, offer)
    if operation.is_async:
        forwarding = run_coroutine(lambda: forwarder.forward(ready.start()), call, limit, gone)
        outcome = await outcome_of(forwarding)
    else:
        lend_loop(operation)
        work = partial(forwarder.run, ready)
        outcome = await run_in_thread(work, call, limit, gone, forwarder.halt, operation.turns)
    if outcome.error is None:
        return Envelope(join_items(forwarder.parts))
    return report(operation, settle(operation, outcome))


class _Forwarder:
    """Takes a stream's items on, one by one, and keeps them."""

    def __init__(self, encode_item: Callable[[Any], bytes], offer: Offer) -> None:
        self.encode_item = encode_item
        self.offer = offer
        self.parts: list[bytes] = []
        self.loop = asyncio.get_running_loop()
        self.halt = threading.Event()

    async def forward(self, items: Any) -> None:
        """Forward what comes from the event loop."""
        if hasattr(items, "__await__"):  # an `async def` that returns its stream
            items = await items
        try:
            async for item in items if hasattr(items, "__aiter__") else _one_by_one(items):
                await self.offer(self._keep(item))
        finally:
            await aclose(items)

    def run(self, ready: Ready) -> Outcome:
        """Run a function in this thread, and forward what it gives."""
        try:
            items = ready.start()
            try:
                for item in items:
                    offering = self.offer(self._keep(item))
                    asyncio.run_coroutine_threadsafe(offering, self.loop).result()
                    if self.halt.is_set():
                        break
            finally:
                close(items)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is this call's alone
            return Outcome(error=error)
        return Outcome()

    def _keep(self, item: Any) -> bytes:
        self.parts.append(self.encode_item(item))
        return self.parts[-1]


async def _one_by_one(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item
