"""The floor: a bare ASGI application that answers a constant, read by Granian."""

# mypy: ignore-errors
# Written the shortest way, without types, as a floor should be.

import os

if os.environ.get("BENCH_SCHEDULING") == "batch":  # as a worker of `kuniumi serve` has it
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"13")],
}
BODY = {"type": "http.response.body", "body": b'{"result":10}'}


async def app(scope, receive, send):
    """Answer without looking at the request."""
    await send(START)
    await send(BODY)


async def reading(scope, receive, send):
    """Take the first part of the body, which is all of a small one, then answer."""
    await receive()
    await send(START)
    await send(BODY)


async def exhausting(scope, receive, send):
    """Read until the server says that the body has ended, then answer.

    Granian says so in a message of its own: a second trip through its threads.
    """
    while (await receive()).get("more_body"):
        pass
    await send(START)
    await send(BODY)
