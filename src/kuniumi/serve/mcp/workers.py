"""How the workers of one server reach each other: a socket each, in a folder nobody else may enter.

In: a request that belongs to another worker's session, or a change that all shall hear of. Out: that
worker's answer, message by message. Where there is one worker there is nobody to reach.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.registry import Change  # noqa: TC001 - it is read off the wire
from kuniumi.errors import KuniumiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from kuniumi.core.registry import Registry

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Answer = Callable[["Relayed", Receive, Send], Awaitable[None]]


class Relayed(msgspec.Struct, tag="request"):
    """A request, on its way to the worker it belongs to."""

    method: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    fields: list[tuple[bytes, bytes]]  # headers of the answer


class Heard(msgspec.Struct, tag="change"):
    """A change, on its way to all others."""

    change: Change


class NoSuchWorkerError(KuniumiError):
    """The worker of this name is gone, or never was."""


_frames = msgspec.msgpack.Decoder(Relayed | Heard)


class Workers:
    """This worker, and the way to the others."""

    def __init__(self, folder: str, registry: Registry, answer: Answer) -> None:
        self.name = f"{os.getpid():x}{secrets.token_hex(3)}"
        self._folder = Path(folder)
        self._registry = registry
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._loop = asyncio.get_running_loop()
        self._telling: set[asyncio.Task[None]] = set()
        self._serving: set[asyncio.Task[Any]] = set()
        self._listening: set[asyncio.StreamWriter] = set()  # on behalf of clients of this worker

    async def open(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_unix_server(self._serve, self._folder / self.name)
        self._registry.listen(self._hear)

    def drain(self) -> None:
        """End what clients of this worker hear from others, which may go on for ever."""
        for writer in tuple(self._listening):
            writer.close()

    async def close(self) -> None:
        """Listen no more, once everything is answered that others have passed on."""
        while self._serving:
            await asyncio.wait(self._serving)
        if self._server is not None:
            self._server.close()
        with suppress(OSError):
            (self._folder / self.name).unlink()

    # ---- requests that belong elsewhere ---------------------------------------------------------

    def owns(self, worker: str) -> bool:
        """Whether a name is this worker's own."""
        return worker == self.name

    async def relay(self, worker: str, relayed: Relayed, receive: Receive, send: Send) -> None:
        """Have another worker answer a request, and pass its answer on."""
        reader, writer = await self._reach(worker)
        leaving = asyncio.create_task(_close_when_gone(receive, writer))
        if relayed.method == "GET":
            self._listening.add(writer)
        begun = ended = False
        try:
            with suppress(OSError):  # it has ended: there is nothing to be read, either
                _write(writer, relayed)
                await writer.drain()
            while not ended and (frame := await _read(reader)) is not None:
                message = msgspec.msgpack.decode(frame)
                begun, ended = True, _is_last(message)
                await send(message)
            if not begun and not leaving.done():
                raise NoSuchWorkerError(worker)  # it ended before it could answer
            if not ended and not leaving.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._listening.discard(writer)
            leaving.cancel()
            writer.close()

    async def _reach(self, worker: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not worker.isalnum():
            raise NoSuchWorkerError(worker)
        try:
            return await asyncio.open_unix_connection(self._folder / worker)
        except OSError as error:
            raise NoSuchWorkerError(worker) from error

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - it is a server's
        self._serving.add(task)
        try:
            frame = await _read(reader)
            if frame is None:
                return
            found = _frames.decode(frame)
            if isinstance(found, Heard):
                self._apply(found.change)
            else:
                await self._answer_relayed(found, reader, writer)
        except (OSError, msgspec.DecodeError):
            return
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answer_relayed(
        self, relayed: Relayed, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async def receive() -> Message:
            await reader.read(1)  # it ends when the client, or the worker between, is gone
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            _write(writer, dict(message))
            await writer.drain()

        await self._answer(relayed, receive, send)

    # ---- changes that all shall hear of ---------------------------------------------------------

    def _hear(self, change: Change) -> None:
        if not change.heard:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._spread, change)

    def _spread(self, change: Change) -> None:
        for path in self._folder.iterdir():
            if path.name != self.name:
                task = asyncio.create_task(self._tell(path.name, change))
                self._telling.add(task)
                task.add_done_callback(self._telling.discard)

    async def _tell(self, worker: str, change: Change) -> None:
        with suppress(OSError, NoSuchWorkerError):
            _, writer = await self._reach(worker)
            _write(writer, Heard(msgspec.structs.replace(change, heard=True)))
            await writer.drain()
            writer.close()

    def _apply(self, change: Change) -> None:
        if change.name:
            self._registry.switch(change.name, enabled=change.enabled, heard=True)
        else:
            self._registry.changed(change)


def _write(writer: asyncio.StreamWriter, message: Any) -> None:
    frame = msgspec.msgpack.encode(message)
    writer.write(len(frame).to_bytes(4, "big") + frame)


async def _read(reader: asyncio.StreamReader) -> bytes | None:
    try:
        length = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        return None


def _is_last(message: Message) -> bool:
    return message["type"] == "http.response.body" and not message.get("more_body")


async def _close_when_gone(receive: Receive, writer: asyncio.StreamWriter) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    writer.close()
