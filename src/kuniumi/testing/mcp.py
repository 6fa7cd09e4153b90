"""MCP clients for the testing door: the smallest there can be, over pipes and over ASGI.

In: the name of a tool, and its arguments as bytes. Out: a `Reply`, out of the answer as it came over
the wire. They say what a client of their revision has to say, and no more.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import Raw, Struct

from kuniumi.core.codec import dumps
from kuniumi.serve.mcp import stdio
from kuniumi.serve.mcp.pipes import Inlet, Outlet
from kuniumi.testing.reply import Reply
from kuniumi.wire.jsonrpc import write_notification, write_request
from kuniumi.wire.mcp import headers as mirrored
from kuniumi.wire.mcp.messages import CAPABILITIES, CLIENT_INFO, VERSION
from kuniumi.wire.sse import CONTENT_TYPE, EventReader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kuniumi.core.service import Service
    from kuniumi.wire.mcp.revisions import Revision

    Headers = Mapping[str, str]
    Post = Callable[[bytes, Headers], Awaitable[Reply]]

_INFO = {"name": "kuniumi.testing", "version": "1"}
_LONGEST = 256 * 1024 * 1024
_PATIENCE = 1.0


class Client(Protocol):
    """One client, and its connection to a server."""

    async def open(self) -> None:
        """Shake hands, where the revision wants it."""

    async def call(self, name: str, arguments: bytes, headers: Headers) -> Reply:
        """Call a tool."""

    async def close(self) -> None:
        """Go away."""


# ---- what is said ----------------------------------------------------------------------------------


class _Speech:
    """What a client of one revision says."""

    def __init__(self, service: Service, revision: Revision) -> None:
        self._registry = service.registry
        self.revision = revision
        self._calls = 0
        meta = {VERSION: revision.name, CAPABILITIES: {}, CLIENT_INFO: _INFO}
        self._meta = b'"_meta":%b,' % dumps(meta) if revision.stateless else b""

    def greeting(self) -> bytes:
        """Write the request that begins a handshake."""
        name = self.revision.name
        params = {"protocolVersion": name, "capabilities": {}, "clientInfo": _INFO}
        return write_request(b"0", "initialize", dumps(params))

    def call(self, name: str, arguments: bytes) -> tuple[bytes, bytes]:
        """Write the call of a tool; give its id, and its bytes."""
        self._calls += 1
        key = b"%d" % self._calls
        given = b',"arguments":%b' % arguments if arguments else b""
        params = b'{%b"name":%b%b}' % (self._meta, dumps(self.tool(name)), given)
        if not _is_json(arguments):
            params += b","  # what stands around it must not make JSON of it
        return key, write_request(key, "tools/call", params)

    def headers(self, name: str, arguments: bytes) -> dict[str, str]:
        """Write the headers that repeat what a call says."""
        if not self.revision.stateless:
            return {}
        found = {"mcp-method": "tools/call", "mcp-name": mirrored.encode(self.tool(name))}
        operation = self._registry.find(name)
        if operation is not None and _is_json(arguments):
            given = msgspec.json.decode(arguments or b"{}")
            found |= mirrored.mirrored(mirrored.mirrors_of(operation), given)
        return found

    def tool(self, name: str) -> str:
        """Name a function as a tool."""
        operation = self._registry.find(name)
        return operation.operation_id if operation else name


_GREETED = write_notification("notifications/initialized", b"{}")


def _is_json(arguments: bytes) -> bool:
    try:
        msgspec.json.decode(arguments or b"{}")
    except (ValueError, RecursionError):
        return False
    return True


# ---- what is answered ------------------------------------------------------------------------------


class _Error(Struct):
    code: int
    message: str


class _Block(Struct):
    text: str = ""


class _Result(Struct, rename="camel"):
    content: Raw = Raw(b"[]")
    structured_content: Raw = Raw(b"")
    is_error: bool = False


class _Answer(Struct):
    id: Raw = Raw(b"")  # none where it is about something that could not be read
    method: str = ""  # of what is no answer
    result: _Result | None = None
    error: _Error | None = None


_answer = msgspec.json.Decoder(_Answer)
_blocks = msgspec.json.Decoder(list[_Block])


def _reply(message: bytes, headers: Headers) -> Reply:
    found = _answer.decode(message)
    if found.error is not None:
        body = dumps({"error": found.error.message})
        return Reply(found.error.code, body, headers, message)
    assert found.result is not None, message  # noqa: S101 - this is for tests
    body = bytes(found.result.structured_content)
    if found.result.is_error:
        body = _blocks.decode(found.result.content)[0].text.encode()
    elif not body:  # it is for people, and there is no envelope
        body = b'{"content":%b}' % found.result.content
    return Reply(int(found.result.is_error), body, headers, message)


# ---- over pipes ------------------------------------------------------------------------------------


class OverPipes:
    """A client of a server on stdio; both are in this very process, with two pipes between them."""

    def __init__(self, service: Service, revision: Revision) -> None:
        self._speech = _Speech(service, revision)
        self._descriptors = [*os.pipe(), *os.pipe()]
        their_input, our_output, our_input, their_output = self._descriptors
        self._server, self._their_inlet, self._their_outlet = stdio.connect(
            service, their_input, their_output, _LONGEST
        )
        self._inlet = Inlet(our_input, _LONGEST, self._hear)
        self._outlet = Outlet(our_output)
        self._waiting: dict[bytes, asyncio.Future[bytes]] = {}  # the oldest first

    async def open(self) -> None:
        """Shake hands, where the revision wants it."""
        self._their_inlet.resume()
        self._inlet.resume()
        if not self._speech.revision.stateless:
            await self._ask(b"0", self._speech.greeting())
            self._outlet.write(_GREETED)

    async def call(self, name: str, arguments: bytes, _headers: Headers) -> Reply:
        """Call a tool."""
        key, message = self._speech.call(name, arguments)
        # Both are white space between values, and neither may be within one; but one ends a line.
        return _reply(await self._ask(key, message.replace(b"\n", b"\r")), {})

    async def close(self) -> None:
        """Go away."""
        self._their_inlet.pause()
        await self._server.finish(_PATIENCE)
        await self._their_outlet.drain()  # nothing may be left that would go to another's pipe
        self._inlet.pause()
        for descriptor in self._descriptors:
            os.close(descriptor)

    async def _ask(self, key: bytes, message: bytes) -> bytes:
        answered = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._outlet.write(message)
        answer: bytes = await answered
        return answer

    def _hear(self, line: bytes | None) -> None:
        assert line is not None  # noqa: S101 - this is for tests
        said = _answer.decode(line)
        if not said.method:
            key = bytes(said.id) or next(iter(self._waiting))
            self._waiting.pop(key).set_result(line)


# ---- over HTTP -------------------------------------------------------------------------------------


class OverHttp:
    """A client of a server on HTTP, which `post` reaches."""

    def __init__(self, service: Service, revision: Revision, post: Post) -> None:
        self._speech = _Speech(service, revision)
        self._post = post
        self._headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": revision.name,
        }

    async def open(self) -> None:
        """Shake hands, where the revision wants it."""
        if not self._speech.revision.stateless:
            greeted = await self._post(self._speech.greeting(), self._headers)
            if "mcp-session-id" in greeted.headers:
                self._headers["mcp-session-id"] = greeted.headers["mcp-session-id"]
            await self._post(_GREETED, self._headers)

    async def call(self, name: str, arguments: bytes, headers: Headers) -> Reply:
        """Call a tool."""
        _, message = self._speech.call(name, arguments)
        repeated = self._speech.headers(name, arguments)
        found = await self._post(message, {**self._headers, **repeated, **headers})
        return _reply(_answer_in(found), found.headers)

    async def close(self) -> None:
        """Go away."""


def _answer_in(found: Reply) -> bytes:
    if found.headers.get("content-type", "").encode() != CONTENT_TYPE:
        return found.body
    said = [event.data for event in EventReader().feed(found.body) if event.data]
    return next(data for data in said if not _answer.decode(data).method)
