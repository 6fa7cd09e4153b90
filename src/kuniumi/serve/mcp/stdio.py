"""MCP on stdin and stdout: one client, one message a line, both ways of speaking on one stream.

In: lines. Out: lines, and nothing else on stdout whatever functions print. The end of input ends the
process within a second; SIGTERM lets calls finish first.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from kuniumi.errors import StartError
from kuniumi.execute.inline import GRACE
from kuniumi.execute.life import report_opening
from kuniumi.execute.woven import close_service, open_service
from kuniumi.serve.mcp import changes
from kuniumi.serve.mcp.asked import Questions
from kuniumi.serve.mcp.desk import Desk, Line
from kuniumi.serve.mcp.heldup import end_with_input, end_with_signals
from kuniumi.serve.mcp.pipes import Inlet, Outlet
from kuniumi.serve.mcp.terms import Terms, agreed, is_stateless, stated
from kuniumi.serve.streams import take_stdin, take_stdout
from kuniumi.wire.jsonrpc import (
    INTERNAL,
    INVALID_REQUEST,
    Notification,
    Request,
    Response,
    RpcError,
    read,
    write_error,
    write_result,
)
from kuniumi.wire.mcp import messages
from kuniumi.wire.mcp.revisions import LATEST_WITH_HANDSHAKE

if TYPE_CHECKING:
    from kuniumi.core.service import Service
    from kuniumi.wire.mcp.messages import AnyParams

    Result = bytes | RpcError

AFTER_END = 0.7
"""Seconds that calls may still take when there is no more input."""

_MOST_AT_WORK = 1000


def run(service: Service, *, max_message: int, drain: float) -> int:
    """Serve the client at the other end of stdin and stdout, until it is gone."""
    stdin, stdout = take_stdin(), take_stdout()
    service.open()
    loop = asyncio.new_event_loop()
    serving = loop.create_task(_serve(service, stdin, stdout.fileno(), max_message, drain))
    serving.add_done_callback(lambda _done: loop.stop())
    while not serving.done():
        # A function may stop the loop it runs on, or leave a task behind that wants to exit.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
    return serving.result()


async def _serve(service: Service, stdin: int, stdout: int, max_message: int, drain: float) -> int:
    connection, inlet, outlet = connect(service, stdin, stdout, max_message)
    told_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    end_with_signals(loop, told_to_stop.set, drain)
    end_with_input(loop, stdin)
    inlet.resume()
    waits = [loop.create_task(inlet.ended.wait()), loop.create_task(told_to_stop.wait())]
    failing = loop.create_task(_fail_to_open(service))  # meanwhile, hands can be shaken
    await asyncio.wait([*waits, failing], return_when=asyncio.FIRST_COMPLETED)
    inlet.pause()
    failed = failing.done()
    if failed:
        report_opening(failing.result())
    failing.cancel()
    await connection.finish(drain if told_to_stop.is_set() else AFTER_END)
    await close_service(service, drain)
    try:
        async with asyncio.timeout(GRACE):
            await outlet.drain()
    except TimeoutError:
        return 1
    return int(failed)


async def _fail_to_open(service: Service) -> StartError:
    """Open what the app opens before its first call; give the error, or nothing for ever."""
    try:
        await open_service(service)
    except StartError as error:
        return error
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]


def connect(
    service: Service, stdin: int, stdout: int, max_message: int
) -> tuple[Connection, Inlet, Outlet]:
    """Put a connection between two pipes. It begins to read when its inlet is resumed."""
    outlet = Outlet(stdout)
    connection = Connection(Desk(service, secrets.token_bytes(32)), outlet)
    inlet = Inlet(stdin, max_message, lambda line: connection.take(line, max_message))
    connection.inlet = inlet
    return connection, inlet, outlet


class Work:
    """One request that is being answered."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.cancelled = asyncio.Event()
        self.over = False
        self.is_endless = False  # whether only a client, or the end of the connection, ends it

    def cancel(self) -> None:
        """Give it up: the function learns, and gets a moment to clean up."""
        self.cancelled.set()
        if self.task is not None:
            self.task.get_loop().call_later(1.5 * GRACE, self.task.cancel)


class Connection:
    """One client at the other end of two pipes."""

    def __init__(self, desk: Desk, outlet: Outlet) -> None:
        self.desk = desk
        self.inlet: Inlet | None = None
        self._outlet = outlet
        outlet.eased = self._breathe
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._terms = Terms(revision=LATEST_WITH_HANDSHAKE, pushes=True)  # until it says otherwise
        self._at_work: dict[int | str, Work] = {}
        self._questions = Questions()
        self._subscriptions = changes.Subscriptions(desk.service.registry)
        self._own: changes.Subscription | None = None  # what a handshake subscribes to

    def take(self, line: bytes | None, limit: int) -> None:
        """Take one line from the client."""
        if line is None:
            said = f"Invalid request: a message has at most {limit} bytes"
            self._send(write_error(b"", RpcError(INVALID_REQUEST, said)))
            return
        message = read(line)
        if type(message) is Request:
            self._take_request(message)
        elif isinstance(message, Notification):
            self._take_notification(message)
        elif isinstance(message, Response):
            self._questions.take(message)
        else:
            self._send(write_error(message.id, message))  # type: ignore[arg-type]

    # ---- requests -------------------------------------------------------------------------------

    def _take_request(self, request: Request) -> None:
        key = request.key
        if key in self._at_work:
            said = "Invalid request: its id is that of a request still at work"
            self._send(write_error(request.id, RpcError(INVALID_REQUEST, said)))
            return
        stateless = is_stateless(request)
        params = messages.read_request(request, stateless=stateless)
        if isinstance(params, RpcError):
            self._send(write_error(request.id, params))
            return
        terms = stated(params.meta) if stateless else self._terms
        if isinstance(terms, RpcError):
            self._send(write_error(request.id, terms))
        elif isinstance(params, messages.Initialize):
            self._send(write_result(request.id, self._shake_hands(params)))
        else:
            work = self._at_work[key] = Work()
            work.task = self._loop.create_task(self._answer(request, params, terms, work))
            self._breathe()

    def _shake_hands(self, params: messages.Initialize) -> bytes:
        """Agree on terms for all that is to come."""
        self._terms = agreed(params, pushes=True)
        if self._own is None:
            self._own = changes.Subscription(messages.LISTS, self._send)
        return self.desk.greet(self._terms)

    async def _answer(self, request: Request, params: AnyParams, terms: Terms, work: Work) -> None:
        try:
            result = await self._result(request, params, terms, work)
        except asyncio.CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not end the connection
            result = RpcError(INTERNAL, f"Internal error: {type(error).__name__}")
        finally:
            work.over = True
            del self._at_work[request.key]
            self._breathe()
        if work.cancelled.is_set():
            return
        if isinstance(result, RpcError):
            self._send(write_error(request.id, result))
        else:
            self._send(write_result(request.id, result))

    async def _result(
        self, request: Request, params: AnyParams, terms: Terms, work: Work
    ) -> Result:
        if isinstance(params, messages.Listen):
            return await self._listen(request, params, terms, work)
        if request.method in {"resources/subscribe", "resources/unsubscribe"}:
            if isinstance(params, messages.ReadResource) and self._own is not None:
                return (
                    self._own.turn(params.uri, on=request.method == "resources/subscribe") or b"{}"
                )
        elif isinstance(params, messages.SetLevel):
            level = messages.LEVELS[params.level]
            self._terms = msgspec.structs.replace(self._terms, log_level=level)

        def tell(message: bytes) -> None:
            if threading.get_ident() == self._thread:
                # At once: the function may end before the loop's next turn.
                self._tell(work, message)
            else:
                self._loop.call_soon_threadsafe(self._tell, work, message)

        put = partial(self._put, work)
        line = Line(tell=tell, ask=partial(self._questions.ask, put), gone=work.cancelled.wait)
        return await self.desk.answer(request, params, terms, line)

    def _tell(self, work: Work, message: bytes) -> None:
        """Send what a client can do without: it is dropped where too much waits to be read."""
        if not self._outlet.is_full:
            self._put(work, message)

    def _put(self, work: Work, message: bytes) -> None:
        if not work.over and not work.cancelled.is_set():
            self._send(message)

    # ---- changes --------------------------------------------------------------------------------

    async def _listen(
        self, request: Request, params: messages.Listen, terms: Terms, work: Work
    ) -> Result:
        if len(params.notifications.resource_subscriptions) > changes.MOST:
            return changes.too_many()
        subscription = changes.Subscription(params.notifications, self._send, request.key)
        self._send(changes.acknowledge(subscription))
        self._subscriptions.add(subscription)
        work.is_endless = True
        try:
            await work.cancelled.wait()
        finally:
            self._subscriptions.drop(subscription)
            if not work.cancelled.is_set():  # it is the server that ends it
                end = changes.close(subscription, self.desk.stamp(terms.revision).end)
                self._send(write_result(request.id, end))
        return b""

    # ---- what is no request ---------------------------------------------------------------------

    def _take_notification(self, notification: Notification) -> None:
        if notification.method == "notifications/initialized" and self._own is not None:
            self._subscriptions.add(self._own)
        if notification.method == "notifications/cancelled":
            params = messages.read_params(notification.params, messages.Cancelled)
            if not isinstance(params, RpcError) and params.request_id in self._at_work:
                self._at_work[params.request_id].cancel()

    # ---- the stream -----------------------------------------------------------------------------

    def _send(self, message: bytes) -> None:
        self._outlet.write(message)

    def _breathe(self) -> None:
        """Read on only while what is at work, and what waits to be read, is bounded."""
        if self.inlet is None:
            return
        if len(self._at_work) >= _MOST_AT_WORK or self._outlet.is_full:
            self.inlet.pause()
        else:
            self.inlet.resume()

    async def finish(self, seconds: float) -> None:
        """Let what is at work end, for as long as it may, and give up the rest."""
        self.inlet = None
        self._questions.give_up("The client is gone, and did not answer")
        tasks = []
        for work in self._at_work.values():
            if work.task is not None:
                tasks.append(work.task)
                if work.is_endless:
                    work.task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=0.1)
