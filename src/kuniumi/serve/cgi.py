"""The CGI surface: one request from variables and stdin, one response on stdout, and out.

In: the process's environment and streams. Out: the same bytes as over HTTP. What a function prints
goes to stderr, so that it can never land among the headers. No asyncio, no server: a cold start.
"""

from __future__ import annotations

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from kuniumi.core.caller import NOBODY, Caller
from kuniumi.core.fault import INVALID_JSON, Fault, Kind
from kuniumi.core.invoke import refuse
from kuniumi.execute.alone import answer_alone, close
from kuniumi.serve.streams import end_process, take_stdout
from kuniumi.wire.cgi import read_request, write_response
from kuniumi.wire.http import Site, Target, respond, too_large, too_slow, trace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from kuniumi.core.call import Envelope
    from kuniumi.core.service import Service
    from kuniumi.wire.cgi import Request
    from kuniumi.wire.http import Form

    Leave = Callable[[bytes], NoReturn]

MAX_BODY = 4 * 1024 * 1024
BODY_TIMEOUT = 30.0
_CHUNK = 65_536


def run(service: Service, *, max_body: int = MAX_BODY, body_timeout: float = BODY_TIMEOUT) -> None:
    """Answer the request this process was started for."""
    answer_to = take_stdout()
    os.environ.pop("HTTP_PROXY", None)  # a visitor's `Proxy:` header, which HTTP clients obey

    def leave(output: bytes) -> NoReturn:
        _write(answer_to, output)
        end_process(0)

    output = handle(
        service,
        os.environ,
        None if sys.stdin is None else sys.stdin.buffer,
        max_body=max_body,
        body_timeout=body_timeout,
        leave=leave,
    )
    _write(answer_to, output)
    close(service)


def handle(
    service: Service,
    variables: Mapping[str, str],
    stdin: BinaryIO | None,
    *,
    max_body: int = MAX_BODY,
    body_timeout: float = BODY_TIMEOUT,
    leave: Leave | None = None,
) -> bytes:
    """Answer one request, given as CGI gives it; the output is complete CGI output.

    `leave` writes such output and ends the process: the last resort where a function won't end.
    """
    request = read_request(variables, service.registry)
    site = Site(service, root_path=request.root)
    found = site.resolve(request.method, request.path, request.headers)
    if not isinstance(found, Target):
        return write_response(found, head=request.method == "HEAD")
    body = _Body(stdin, max_body, body_timeout).read(request)
    form = "json" if found.form == "events" else found.form  # CGI gives everything at once
    if isinstance(body, Fault):
        return write_response(respond(refuse(body), form))
    operation = found.operation
    wanted = operation.wants_context or service.weave is not None
    caller = Caller(meta=trace_of(request.headers)) if wanted else NOBODY
    call, limit = service.call(operation, body, caller), service.limit(operation)
    envelope = answer_alone(operation, call, limit, leave=_leaving(leave, form))
    return write_response(respond(envelope, form))


def _leaving(leave: Leave | None, form: Form) -> Callable[[Envelope], NoReturn] | None:
    return leave and (lambda envelope: leave(write_response(respond(envelope, form))))


def _write(answer_to: BinaryIO, output: bytes) -> None:
    try:
        with answer_to:
            answer_to.write(output)
    except BrokenPipeError:  # the web server has given this request up
        return


class _Body:
    """The body of one request: never read past its end, never past a limit, never for ever."""

    def __init__(self, stdin: BinaryIO | None, most: int, seconds: float) -> None:
        self._stdin = stdin
        self._most = most
        self._seconds = seconds

    def read(self, request: Request) -> bytes | Fault:
        """Read as much as was announced and not a byte more.

        Where nothing is announced, a body ends where stdin ends: a person pipes it in, or a web
        server passes on what came in chunks. Any other request without a length has no body.
        """
        length = request.length
        if length is None:
            if self._stdin is None or not request.to_the_end:
                return b""
            return b"" if self._stdin.isatty() else self._read(self._most + 1, exactly=False)
        if length < 0:
            return Fault(Kind.MALFORMED, "CONTENT_LENGTH is not a number of bytes")
        if length > self._most:
            return too_large(self._most)
        return self._read(length, exactly=True)

    def _read(self, length: int, *, exactly: bool) -> bytes | Fault:
        deadline = monotonic() + self._seconds
        parts: list[bytes] = []
        while length:
            if not self._waits_for_bytes(deadline - monotonic()):
                return too_slow(self._seconds)
            part = self._some(min(length, _CHUNK))
            if not part:
                return Fault(Kind.MALFORMED, INVALID_JSON) if exactly else b"".join(parts)
            parts.append(part)
            length -= len(part)
        return b"".join(parts) if exactly else too_large(self._most)

    def _some(self, most: int) -> bytes:
        """Give some bytes, as soon as there are any."""
        if self._stdin is None:
            return b""
        read_once = getattr(self._stdin, "read1", self._stdin.read)
        part: bytes = read_once(most)
        return part

    def _waits_for_bytes(self, seconds: float) -> bool:
        """Wait until there is something to read, or nothing will come any more."""
        if self._stdin is None:
            return True
        import select  # noqa: PLC0415 - only a body needs it

        try:
            ready, _, _ = select.select([self._stdin], [], [], max(seconds, 0))
        except (OSError, TypeError, ValueError):  # no file of the system's: nobody has to wait
            return True
        return bool(ready)
