"""A call answered as a stream of server-sent events: items and progress as they come, then the end.

In: an operation and its arguments. Out: ASGI messages. The last event, `result` or `error`, carries
the envelope that everyone else gets as the whole answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps
from kuniumi.execute.loop import answer_in_parts
from kuniumi.wire.sse import CONTENT_TYPE, encode_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Send = Callable[[dict[str, Any]], Awaitable[None]]

_WAITING = 64


async def stream(
    service: Service,
    operation: Operation,
    body: bytes,
    headers: tuple[tuple[bytes, bytes], ...],
    gone: Callable[[], Awaitable[object]],
    send: Send,
) -> None:
    """Call the operation and send what it gives as it gives it."""
    raise NotImplementedError
