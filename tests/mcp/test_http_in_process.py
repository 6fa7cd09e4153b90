"""The endpoint as an ASGI application in this very process: what no client could bring about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
import pytest

from kuniumi import App, Context
from kuniumi.serve.mcp import desk
from tests.mcp.posting import BOTH, NEW, OLD

Message = MutableMapping[str, Any]


def _app() -> App:
    app = App(name="Here", version="1.0.0")

    @app.function
    async def Add(x: int, y: int) -> int:
        """Adds two integers."""
        return x + y

    @app.function
    async def Talk(ctx: Context) -> str:
        """Could say something."""
        return "said"

    return app


class Post:
    """One POST, and what is sent back."""

    def __init__(self, app: App, method: str, **params: Any) -> None:
        self._app = app
        self._left = asyncio.Event()
        self._message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.sent: list[Message] = []
        self._told = asyncio.Event()

    async def run(self) -> None:
        """Send it, and wait for the end of the answer."""
        about = self._message["params"]
        assert isinstance(about, dict)
        revision = NEW if "_meta" in about else OLD
        headers = {
            "content-type": "application/json",
            "accept": BOTH,
            "mcp-protocol-version": revision,
            "mcp-method": str(self._message["method"]),
            "mcp-name": str(about.get("name", "")),
        }
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        body = [msgspec.json.encode(self._message)]

        async def receive() -> Message:
            if body:
                return {"type": "http.request", "body": body.pop(), "more_body": False}
            await self._left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            self.sent.append(message)
            self._told.set()

        answer: Callable[..., Awaitable[None]] = self._app.asgi
        await answer(scope, receive, send)

    async def hear(self, words: str) -> None:
        """Wait until something has been said."""
        while words not in self.text:
            self._told.clear()
            await self._told.wait()

    def leave(self) -> None:
        """Go away."""
        self._left.set()

    @property
    def text(self) -> str:
        """What was sent so far."""
        return b"".join(message.get("body", b"") for message in self.sent).decode()


META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("name", ["Add", "Talk"])
@pytest.mark.parametrize(("meta", "status"), [({"_meta": META}, 500), ({}, 200)])
def test_a_mistake_of_the_server_is_answered_and_logged(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    meta: dict[str, Any],
    status: int,
) -> None:
    async def mistaken(*_words: object) -> bytes:
        msg = "that should not be"
        raise LookupError(msg)

    for handlers in (desk._STATELESS, desk._WITH_HANDSHAKE):
        monkeypatch.setitem(handlers, "tools/call", mistaken)

    async def story() -> None:
        post = Post(_app(), "tools/call", name=f"functions.{name}", **meta)
        async with asyncio.timeout(5):
            await post.run()
        assert post.sent[0]["status"] == status
        error = msgspec.json.decode(post.text)["error"]
        assert error == {"code": -32603, "message": "Internal error: LookupError"}

    asyncio.run(story())
    assert "that should not be" in caplog.text


def test_an_app_outlives_an_event_loop() -> None:
    app = _app()

    async def story() -> None:
        post = Post(
            app, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=META
        )
        listening = asyncio.create_task(post.run())
        async with asyncio.timeout(5):
            await post.hear("acknowledged")
            app.disable("Add")
            app.enable("Add")
            await post.hear("tools/list_changed")
            post.leave()
            await listening

    for _ in range(2):
        asyncio.run(story())


def test_nothing_is_sent_to_who_has_left() -> None:
    app = _app()

    async def story() -> None:
        post = Post(
            app, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=META
        )
        listening = asyncio.create_task(post.run())
        async with asyncio.timeout(5):
            await post.hear("acknowledged")
            sent = len(post.sent)
            post.leave()
            app.disable("Add")
            await listening
        assert len(post.sent) == sent

    asyncio.run(story())
