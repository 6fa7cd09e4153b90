"""The one table that says what a kind of fault is called on each wire.

In: a fault. Out: an HTTP (and CGI) status, a JSON-RPC code, an exit code. Nobody decides it twice.
"""

from __future__ import annotations

from msgspec import Struct

from kuniumi.core.fault import Fault, Kind


class Row(Struct, frozen=True):
    """What one kind of fault becomes.

    `rpc` is a JSON-RPC error's code; 0 means that the fault is a tool's *result*, with `isError`.
    """

    http: int
    rpc: int
    exit: int


TABLE: dict[Kind, Row] = {
    Kind.MALFORMED: Row(400, -32700, 2),
    Kind.NOT_AN_OBJECT: Row(400, -32600, 2),
    Kind.BAD_ARGUMENTS: Row(400, 0, 2),
    Kind.NOT_FOUND: Row(404, -32602, 2),
    Kind.WRONG_METHOD: Row(405, -32601, 2),
    Kind.WRONG_TYPE: Row(415, -32600, 2),
    Kind.TOO_LARGE: Row(413, -32600, 2),
    Kind.TOO_SLOW: Row(408, -32600, 2),
    Kind.UNAUTHENTICATED: Row(401, -32600, 77),
    Kind.FORBIDDEN: Row(403, -32600, 77),
    Kind.FAILED: Row(500, 0, 1),
    Kind.CRASHED: Row(500, 0, 1),
    Kind.BAD_RESULT: Row(500, 0, 1),
    Kind.TIMED_OUT: Row(504, 0, 124),
    Kind.CANCELLED: Row(499, 0, 130),
    Kind.OVERLOADED: Row(503, -32603, 75),
    Kind.CANNOT_ASK: Row(422, 0, 1),
}

REASONS = {
    200: "OK",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    418: "I'm a teapot",
    422: "Unprocessable Content",
    423: "Locked",
    429: "Too Many Requests",
    451: "Unavailable For Legal Reasons",
    499: "Client Closed Request",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    507: "Insufficient Storage",
}
"""The words after a status. `http.HTTPStatus` would do, at a millisecond of every cold start."""


def http_status(fault: Fault | None) -> int:
    """Give the HTTP status of a fault, or of none."""
    if fault is None:
        return 200
    return fault.status or TABLE[fault.kind].http


def exit_code(fault: Fault | None) -> int:
    """Give the exit code of a fault, or of none."""
    return 0 if fault is None else TABLE[fault.kind].exit


def is_result(fault: Fault) -> bool:
    """Whether a tool protocol tells of this fault in a result, so that a model can mend its call."""
    return TABLE[fault.kind].rpc == 0


def reason(status: int) -> str:
    """Give the words that stand after a status."""
    return REASONS.get(status, "Client Error" if status < 500 else "Server Error")
