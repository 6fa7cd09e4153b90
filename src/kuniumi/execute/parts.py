"""Running a call whose items are wanted one by one, as the function gives them.

In: an operation, a call, and `offer`, which takes each encoded item and may make the function wait.
Out: the envelope with all of them, as everybody else gets it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuniumi.core.call import Envelope, Outcome, Ready
from kuniumi.core.invoke import prepare, refuse, settle
from kuniumi.core.result import join_items
from kuniumi.execute.loop import perform, run_coroutine, run_in_thread
from kuniumi.execute.report import report

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kuniumi.core.call import Call
    from kuniumi.core.operation import Operation
    from kuniumi.execute.loop import Watch

    Offer = Callable[[bytes], Coroutine[Any, Any, None]]


async def answer_in_parts(
    operation: Operation, call: Call, limit: float | None, gone: Watch, offer: Offer
) -> Envelope:
    """Take one call all the way, offering each item of a stream as it comes."""
    ready = prepare(operation, call)
    if not isinstance(ready, Ready):
        return refuse(ready)
    encode_item = operation.result.encode_item
    if encode_item is None:
        return report(operation, settle(operation, await perform(ready, call, limit, gone)))
    parts: list[bytes] = []

    async def forward(items: Any) -> None:
        if hasattr(items, "__await__"):
            items = await items
        async for item in items:
            parts.append(encode_item(item))
            await offer(parts[-1])

    loop = asyncio.get_running_loop()

    def forward_from_thread() -> Outcome:
        try:
            items = ready.start()
            try:
                for item in items:
                    parts.append(encode_item(item))
                    asyncio.run_coroutine_threadsafe(offer(parts[-1]), loop).result()
            finally:
                getattr(items, "close", bool)()
        except BaseException as error:  # noqa: BLE001 - whatever it raises is this call's alone
            return Outcome(error=error)
        return Outcome()

    if operation.is_async:
        outcome = await run_coroutine(lambda: forward(ready.start()), call, limit, gone)
    else:
        outcome = await run_in_thread(forward_from_thread, call, limit, gone)
    if outcome.error is None:
        return Envelope(join_items(parts))
    return report(operation, settle(operation, outcome))
