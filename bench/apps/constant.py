"""The floor: a bare ASGI application that answers a constant, read by Granian."""

# mypy: ignore-errors
# Written the shortest way, without types, as a floor should be.

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
    """Read the body, then answer."""
    while (await receive()).get("more_body"):
        pass
    await send(START)
    await send(BODY)
