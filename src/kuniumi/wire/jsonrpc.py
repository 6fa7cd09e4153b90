"""JSON-RPC 2.0: what a message is, read from bytes and written to them.

In: the bytes of one message. Out: a `Request`, a `Notification`, a `Response`, or an `RpcError`
that says what is wrong with it. Parameters and results stay raw: whoever knows the method reads
them.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from kuniumi.core.codec import dumps

MALFORMED = -32700
INVALID_REQUEST = -32600
NO_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603

_NOTHING = Raw(b"")
_LONGEST_ID = 1024


class Request(Struct, frozen=True):
    """A question: it wants exactly one answer, which carries its id."""

    id: bytes  # as it came, to be given back
    method: str
    params: Raw = _NOTHING

    @property
    def key(self) -> int | str:
        """The id as a value, to be compared with others."""
        key: int | str = msgspec.json.decode(self.id)
        return key


class Notification(Struct, frozen=True):
    """Something to know, which wants no answer."""

    method: str
    params: Raw = _NOTHING


class Response(Struct, frozen=True):
    """The answer to a question of ours."""

    id: bytes
    result: Raw = _NOTHING
    error: Raw = _NOTHING


class RpcError(Struct, frozen=True):
    """Why there is no result."""

    code: int
    message: str
    data: Any = None
    id: bytes = b""  # of the message it is about, where that could be read


Message = Request | Notification | Response


class _Incoming(Struct):
    jsonrpc: Raw = _NOTHING
    id: Raw = _NOTHING
    method: str = ""
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING


_decode = msgspec.json.Decoder(_Incoming).decode
_VERSION = Raw(b'"2.0"')


def read(raw: bytes) -> Message | RpcError:
    """Read one message."""
    try:
        if not raw.isascii():
            raw.decode()  # the decoder does not look into what it skips
        found = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _unreadable(raw, error)
    message_id = bytes(found.id)
    if message_id and not _is_id(message_id):
        return RpcError(INVALID_REQUEST, "Invalid request: its id is no text and no integer")
    if found.jsonrpc != _VERSION:
        # The id of an answer is ours: told back, it would be taken for that of a request of theirs.
        is_answer = bytes(found.result) or bytes(found.error)
        about = b"" if is_answer else message_id
        return RpcError(INVALID_REQUEST, 'Invalid request: it lacks "jsonrpc": "2.0"', id=about)
    if found.method:
        if message_id:
            return Request(message_id, found.method, found.params)
        return Notification(found.method, found.params)
    if message_id and (bytes(found.result) or bytes(found.error)):
        return Response(message_id, found.result, found.error)
    return RpcError(INVALID_REQUEST, "Invalid request: it lacks a method", id=message_id)


def _is_id(raw: bytes) -> bool:
    if raw[:1] == b'"':
        return len(raw) <= _LONGEST_ID
    return raw.removeprefix(b"-").isdigit() and len(raw) <= 20


def _unreadable(raw: bytes, error: Exception) -> RpcError:
    """Tell what is no JSON from what is no message."""
    start = raw.lstrip()[:1]
    try:
        whole = msgspec.json.decode(raw)
        raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RpcError(MALFORMED, "Parse error: that is no JSON")
    if start == b"[":
        return RpcError(INVALID_REQUEST, "Invalid request: send one message at a time, no batch")
    if not isinstance(whole, dict):
        return RpcError(INVALID_REQUEST, "Invalid request: a message is an object")
    said = str(error).partition(" - at")[0].replace("`", "")
    found = dumps(whole.get("id"))
    return RpcError(INVALID_REQUEST, f"Invalid request: {said}", id=found if _is_id(found) else b"")


# ---- writing ---------------------------------------------------------------------------------------


def write_result(message_id: bytes, result: bytes) -> bytes:
    """Write the answer to a request."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (message_id, result)


def write_error(message_id: bytes, error: RpcError) -> bytes:
    """Write why a request has no answer; without an id if it could not be read."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    about = b'"id":%b,' % message_id if message_id else b""
    return b'{"jsonrpc":"2.0",%b"error":%b}' % (about, dumps(body))


def write_notification(method: str, params: bytes) -> bytes:
    """Write something to know."""
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), params)


def write_request(message_id: bytes, method: str, params: bytes) -> bytes:
    """Write a question."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (
        message_id,
        method.encode(),
        params,
    )
