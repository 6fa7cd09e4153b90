"""Questions put to a client, and the answers that find their way back to who asked.

In: a question, and a way to send it; later a response of the client. Out: the answer as data, or the
error that says why there is none.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.codec import dumps
from kuniumi.errors import FunctionError
from kuniumi.wire.jsonrpc import write_notification, write_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kuniumi.wire.jsonrpc import Response

    Answered = asyncio.Future[Mapping[str, Any]]


class Questions:
    """The questions that one client has yet to answer."""

    def __init__(self) -> None:
        self._open: dict[int | str, Answered] = {}
        self._asked = 0
        self._refused = ""  # why nothing can be asked any more

    async def ask(
        self, send: Callable[[bytes], None], method: str, params: dict[str, Any]
    ) -> Mapping[str, Any]:
        """Send a question, and wait for its answer; who waits no longer takes it back."""
        if self._refused:
            raise FunctionError(self._refused, status=503)
        self._asked += 1
        key = f"ask-{self._asked}-{secrets.token_hex(4)}"
        answered: Answered = asyncio.get_running_loop().create_future()
        self._open[key] = answered
        try:
            send(write_request(dumps(key), method, dumps(params)))
            return await answered
        except asyncio.CancelledError:
            params = {"requestId": key, "reason": "Nobody waits for the answer any more"}
            send(write_notification("notifications/cancelled", dumps(params)))
            raise
        finally:
            del self._open[key]

    def take(self, response: Response) -> bool:
        """Take the answer to a question; tell whether anybody waited for it."""
        answered = self._open.get(msgspec.json.decode(response.id))
        if answered is None or answered.done():
            return False
        _settle(answered, response)
        return True

    def give_up(self, said: str) -> None:
        """Wait for no answer any more, and ask nothing more."""
        self._refused = said
        for answered in self._open.values():
            if not answered.done():
                answered.set_exception(FunctionError(said, status=503))


def _settle(answered: Answered, response: Response) -> None:
    try:
        if bytes(response.error):
            said = msgspec.json.decode(response.error).get("message", "no reason given")
            error = FunctionError(f"The client could not answer: {said}", status=422)
            answered.set_exception(error)
        else:
            answered.set_result(msgspec.json.decode(response.result, type=dict[str, Any]))
    except (msgspec.DecodeError, AttributeError):
        answered.set_exception(FunctionError("The client's answer can't be read", status=422))
