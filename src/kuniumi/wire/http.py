"""HTTP, without a socket: what stands at which address, and how an envelope becomes a response.

In: method, path and headers, from any server. Out: a `Target` (an operation to call, and the form
of its answer) or a finished `Response`. ASGI and CGI read and write through this one module.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from msgspec import Struct

from kuniumi.core.fault import Fault, Kind, clipped, not_found
from kuniumi.core.invoke import refuse
from kuniumi.wire.status import http_status, is_result
from kuniumi.wire.tool_result import encode_tool_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service

    Headers = Mapping[bytes, bytes]
    Form = str
    """json, tool-result, named-tool-result or events; or the media type that is preferred to JSON."""

JSON = b"application/json"
TOOL_RESULT = b"application/vnd.mcp.tool-result+json"
EVENTS = b"text/event-stream"

_UTF8 = {b"utf-8", b"utf8", b"us-ascii"}
_FUNCTIONS = "/functions/"
_MOST_REMEMBERED = 256
_LONGEST_REMEMBERED = 256


class Response(Struct, frozen=True):
    """A finished answer. `headers` are those beside the content's type and length.

    An answer without content has an empty `content_type`.
    """

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Target(Struct, frozen=True):
    """An operation that a request calls, and the form its answer shall have."""

    operation: Operation
    form: Form


class Site:
    """The addresses of one app, for a server that passes requests on."""

    def __init__(
        self, service: Service, *, root_path: str = "", cors: tuple[str, ...] = ()
    ) -> None:
        self.service = service
        self.root_path = root_path.rstrip("/")
        self.cors = frozenset(origin.encode() for origin in cors)
        self._version = -1
        self._targets: dict[str, Target] = {}  # those that were called, in the usual form
        self._pages: dict[tuple[str, str], Response] = {}  # those that were read, by root and path
        self._forms: dict[bytes, Form] = {}  # of the Accept headers that were seen

    def resolve(
        self, method: str, path: str, headers: Headers, root: str | None = None
    ) -> Target | Response:
        """Find what a request is about: an operation to call, or an answer already.

        `root` is where the app is mounted, if this request came by another way than `root_path`.
        """
        if self._version != self.service.registry.version:
            self._forget()
        target = self._targets.get(path)
        if target is None or method != "POST":
            operation = self._operation_at(path)
            if operation is None or method != "POST":
                root = self.root_path if root is None else root
                return self._answer_without_call(method, path, operation, headers, root)
            target = self._targets[path] = Target(operation, self.service.http_format)
        content_type = headers.get(b"content-type")
        if content_type != JSON and not self._takes(content_type, headers):
            return respond_fault(_wrong_type(content_type))
        accept = headers.get(b"accept")
        if accept is None or accept == b"*/*" or accept == JSON:  # noqa: PLR1714 - the usual ones, quickly
            return target
        form = self._form_for(accept)
        return target if form == target.form else Target(target.operation, form)

    def cors_headers(self, headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
        """Give the headers that let a page of an allowed origin read the answer."""
        if not self.cors:
            return ()
        if b"*" in self.cors:
            return ((b"access-control-allow-origin", b"*"),)
        origin = headers.get(b"origin")
        if origin is not None and origin in self.cors:
            return ((b"access-control-allow-origin", origin), (b"vary", b"origin"))
        return ((b"vary", b"origin"),)

    def _allows_origin(self, headers: Headers) -> bool:
        return b"*" in self.cors or headers.get(b"origin") in self.cors

    def _forget(self) -> None:
        self._version = self.service.registry.version
        self._targets.clear()
        self._pages.clear()

    def _operation_at(self, path: str) -> Operation | None:
        registry = self.service.registry
        if path.startswith(_FUNCTIONS):
            return registry.by_name.get(path[len(_FUNCTIONS) :])
        return registry.by_path.get(path)

    # ---- a call: what comes in, and the form of what goes out -----------------------------------

    def _takes(self, content_type: bytes | None, headers: Headers) -> bool:
        """Whether a body of this type is read as JSON.

        A page of a foreign origin can send a body without any type, and a browser does not ask
        the server first; such a request has to name its type like any other.
        """
        if content_type is None:
            return not self._is_foreign(headers)
        media_type, *parameters = content_type.split(b";")
        if media_type.strip().lower() != JSON:
            return False
        charsets = [
            value.strip().strip(b'"').lower()
            for key, _, value in (parameter.partition(b"=") for parameter in parameters)
            if key.strip().lower() == b"charset"
        ]
        return all(charset in _UTF8 for charset in charsets)

    def _is_foreign(self, headers: Headers) -> bool:
        origin = headers.get(b"origin")
        if origin is None:
            return headers.get(b"sec-fetch-site") in {b"cross-site", b"same-site"}
        return origin.rpartition(b"//")[2] != headers.get(b"host")

    def _form_for(self, accept: bytes) -> Form:
        form = self._forms.get(accept)
        if form is None:
            form = _preferred_form(accept) or self.service.http_format
            if len(self._forms) < _MOST_REMEMBERED and len(accept) <= _LONGEST_REMEMBERED:
                self._forms[accept] = form
        return form

    # ---- everything but a call ------------------------------------------------------------------

    def _answer_without_call(
        self, method: str, path: str, operation: Operation | None, headers: Headers, root: str
    ) -> Response:
        from kuniumi.wire import pages  # noqa: PLC0415 - a call by CGI never needs them

        page = pages.find(path, operation)
        methods = ("GET", "HEAD") if page else ()
        if operation is not None:
            methods = (*methods, "POST")
        if not methods:
            return respond_fault(_nothing_at(path))
        if method == "OPTIONS":
            # It advertises what the OpenAPI document has at a function's address: the call. Who is
            # refused is told all that is answered there (RFC 9110 §15.5.6).
            return self._options(methods if operation is None else ("POST",), headers)
        if page is None or method not in methods:
            return _wrong_method(method, (*methods, "OPTIONS"))
        found = self._pages.get((root, path))
        if found is None:
            content_type, body = page(self.service, root)
            if len(self._pages) >= _MOST_REMEMBERED + len(self.service.registry):  # many roots
                self._pages.clear()
            found = self._pages[root, path] = Response(200, body, content_type)
        return found

    def _options(self, methods: tuple[str, ...], headers: Headers) -> Response:
        allow = ", ".join((*methods, "OPTIONS")).encode()
        extra: tuple[tuple[bytes, bytes], ...] = ((b"allow", allow),)
        if b"access-control-request-method" in headers and self._allows_origin(headers):
            extra += (
                (b"access-control-allow-methods", allow),
                (b"access-control-allow-headers", b"content-type, accept, authorization"),
                (b"access-control-max-age", b"600"),
            )
        return Response(204, b"", b"", extra)


_AS_IT_IS = ((b"x-content-type-options", b"nosniff"), (b"vary", b"accept"))
_TRACE = ("traceparent", "tracestate", "baggage")

_EXTRA: dict[Kind, tuple[tuple[bytes, bytes], ...]] = {
    Kind.OVERLOADED: ((b"retry-after", b"1"),),
    Kind.TOO_SLOW: ((b"connection", b"close"),),  # the rest of the body may still come
}


def respond(envelope: Envelope, form: Form) -> Response:
    """Write an envelope as a response of the form that was asked for."""
    fault = envelope.fault
    if fault is None and form == "json":
        return Response(200, envelope.body)
    extra: tuple[tuple[bytes, bytes], ...] = ()
    if fault is not None:
        extra = _EXTRA.get(fault.kind, ())
        if fault.retry_after > 0:
            extra += ((b"retry-after", b"%d" % ceil(fault.retry_after)),)
    status = http_status(fault)
    if fault is None and "/" in form:
        return _media(envelope, form) or Response(200, envelope.body)
    if form in {"json", "events"} or (fault is not None and not is_result(fault)):
        return Response(status, envelope.body, JSON, extra)
    content_type = TOOL_RESULT if form == "named-tool-result" else JSON
    # A tool that failed has answered all the same: its `isError` says so.
    return Response(200, encode_tool_result(envelope), content_type)


def _media(envelope: Envelope, wanted: str) -> Response | None:
    """Write the one picture or sound that a function gave as what it is, if it is as wanted."""
    if not envelope.for_people:
        return None
    from kuniumi.core.content import Audio, Image, read_blocks  # noqa: PLC0415 - few give any

    blocks = read_blocks(envelope.content)
    if len(blocks) != 1 or not isinstance(block := blocks[0], (Audio, Image)):
        return None
    kind, _, part = wanted.partition("/")
    if block.mime_type != wanted and not (part == "*" and block.mime_type.startswith(f"{kind}/")):
        return None
    return Response(200, block.data, block.mime_type.encode(), _AS_IT_IS)


def trace_of(headers: Headers) -> dict[str, str]:
    """Give the W3C trace context of a request."""
    return {
        name: headers[name.encode()].decode("latin-1")
        for name in _TRACE
        if name.encode() in headers
    }


def respond_fault(fault: Fault) -> Response:
    """Write a fault that was found before any operation was."""
    return respond(refuse(fault), "json")


def too_large(limit: int) -> Fault:
    """Give the fault of a body over the limit."""
    return Fault(Kind.TOO_LARGE, f"Body too large: at most {limit} bytes are read")


def too_slow(seconds: float) -> Fault:
    """Give the fault of a body that does not arrive."""
    return Fault(Kind.TOO_SLOW, f"Body too slow: it has to arrive within {seconds:g} seconds")


def overloaded() -> Fault:
    """Give the fault of a call that found no free place."""
    return Fault(Kind.OVERLOADED, "Overloaded: too many calls at once, try again in a second")


def _nothing_at(path: str) -> Fault:
    if path.startswith(_FUNCTIONS):
        return not_found(path[len(_FUNCTIONS) :])
    return Fault(
        Kind.NOT_FOUND, f"Nothing at {clipped(path)}: GET /functions lists what can be called"
    )


def _wrong_type(content_type: bytes | None) -> Fault:
    sent = (content_type or b"").decode("latin-1") or "nothing"
    return Fault(Kind.WRONG_TYPE, f"Content-Type is {sent}: send application/json")


def _wrong_method(method: str, allowed: tuple[str, ...]) -> Response:
    listed = ", ".join(allowed)
    fault = Fault(Kind.WRONG_METHOD, f"Method not allowed: {method} (send {listed})")
    envelope = refuse(fault)
    return Response(http_status(fault), envelope.body, JSON, ((b"allow", listed.encode()),))


_OFFERED: dict[bytes, Form] = {
    TOOL_RESULT: "named-tool-result",
    EVENTS: "events",
}


def _preferred_form(accept: bytes) -> Form | None:
    """Give the special form that an Accept header asks for before plain JSON, if any."""
    best: Form | None = None
    best_weight = 0.0
    for part in accept.lower().split(b","):
        media_type, *parameters = (piece.strip() for piece in part.split(b";"))
        weight = _weight(parameters)
        if weight <= best_weight:
            continue
        if media_type in _OFFERED or media_type == JSON:
            best, best_weight = _OFFERED.get(media_type), weight
        elif media_type.startswith((b"image/", b"audio/")):
            best, best_weight = media_type.decode("latin-1"), weight
    return best


def _weight(parameters: list[bytes]) -> float:
    for parameter in parameters:
        if parameter.startswith(b"q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
