"""CGI (RFC 3875), without a process: from environment variables to a request, and back to text.

In: the variables a web server sets. Out: a `Request`; then the bytes of the response. Header
injection ends here: nothing but a number, a fixed word or a checked value becomes a header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kuniumi.core.registry import RESERVED_PATHS
from kuniumi.wire.status import reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.core.registry import Registry
    from kuniumi.wire.http import Response


class Request(Struct, frozen=True):
    """One request as CGI tells it.

    `length` is None where it was not told, and -1 where it is no number of bytes; `to_the_end`
    says that then the body ends where stdin ends.
    """

    method: str
    path: str
    headers: Mapping[bytes, bytes]
    length: int | None
    to_the_end: bool
    root: str


_HEADERS = {
    "CONTENT_TYPE": b"content-type",
    "HTTP_ACCEPT": b"accept",
    "HTTP_ORIGIN": b"origin",
    "HTTP_HOST": b"host",
    "HTTP_TRACEPARENT": b"traceparent",
    "HTTP_TRACESTATE": b"tracestate",
    "HTTP_BAGGAGE": b"baggage",
    "HTTP_SEC_FETCH_SITE": b"sec-fetch-site",
    "HTTP_ACCESS_CONTROL_REQUEST_METHOD": b"access-control-request-method",
}
"""The variables that are read. `HTTP_PROXY` and all others never reach anything."""

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_LONGEST_NUMBER = 18


def read_request(variables: Mapping[str, str], registry: Registry) -> Request:
    """Read the request from the variables; whatever is missing has a sensible meaning."""
    headers = {
        name: variables[key].encode("utf-8", "surrogateescape")
        for key, name in _HEADERS.items()
        if variables.get(key)
    }
    root = variables.get("SCRIPT_NAME", "").rstrip("/")
    path = _path(variables, root, registry)
    return Request(
        method=variables.get("REQUEST_METHOD") or ("GET" if path in RESERVED_PATHS else "POST"),
        path=path,
        headers=headers,
        length=_length(variables.get("CONTENT_LENGTH")),
        to_the_end=("GATEWAY_INTERFACE" not in variables or "HTTP_TRANSFER_ENCODING" in variables),
        root=_quoted(root),
    )


def write_response(response: Response, *, head: bool = False) -> bytes:
    """Write the response as CGI output: headers, an empty line, the body."""
    fields = [(b"status", f"{response.status} {reason(response.status)}".encode())]
    if response.content_type:
        fields.append((b"content-type", response.content_type))
        fields.append((b"content-length", b"%d" % len(response.body)))
    # The connection is between the web server and its client (RFC 3875 §6.3.4).
    fields.extend(field for field in response.headers if field[0] != b"connection")
    lines = [b"%b: %b\r\n" % (name.title(), value) for name, value in fields]
    return b"".join([*lines, b"\r\n", b"" if head else response.body])


def _path(variables: Mapping[str, str], root: str, registry: Registry) -> str:
    """Give the address as HTTP has it: `/Add` is short for `/functions/Add`.

    A slash that the client had encoded separates nothing. The server has decoded it, but most
    tell what they were asked for.
    """
    asked = variables.get("REQUEST_URI", "").partition("?")[0]
    if "%2f" in asked.lower():
        return asked.removeprefix(root)
    path = variables.get("PATH_INFO", "")
    if not path.startswith("/"):
        path = f"/{path}"
    known = path in RESERVED_PATHS or path in registry.by_path or path.startswith("/functions/")
    return path if known else f"/functions{path}"


def _length(told: str | None) -> int | None:
    if not told:
        return None
    return int(told) if told.isascii() and told.isdigit() and len(told) <= _LONGEST_NUMBER else -1


def _quoted(path: str) -> str:
    """Give the path as it stands in a URL; RFC 3875 has `SCRIPT_NAME` decoded."""
    raw = path.encode("utf-8", "surrogateescape")
    if _PLAIN.issuperset(raw):
        return path
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
