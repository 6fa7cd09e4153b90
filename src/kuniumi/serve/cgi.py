"""The CGI surface: one request from variables and stdin, one response on stdout, and out.

In: the process's environment and streams. Out: the same bytes as over HTTP. What a function prints
goes to stderr, so that it can never land among the headers. No asyncio, no server: a cold start.
"""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING, BinaryIO

from kuniumi.core.fault import INVALID_JSON, Fault, Kind
from kuniumi.execute.alone import answer_alone
from kuniumi.wire.cgi import read_request, write_response
from kuniumi.wire.http import Response, Site, Target, respond, respond_fault, too_large, too_slow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kuniumi.core.service import Service
    from kuniumi.wire.cgi import Request

MAX_BODY = 4 * 1024 * 1024
BODY_TIMEOUT = 30.0


def is_cgi(variables: Mapping[str, str]) -> bool:
    """Whether a web server started this process to answer one request."""
    return "GATEWAY_INTERFACE" in variables


def run(service: Service, *, max_body: int = MAX_BODY) -> None:
    """Answer the request this process was started for."""
    answer_to = _take_stdout()
    output = handle(service, os.environ, sys.stdin.buffer, max_body=max_body)
    with answer_to:
        answer_to.write(output)


def handle(
    service: Service, variables: Mapping[str, str], stdin: BinaryIO, *, max_body: int = MAX_BODY
) -> bytes:
    """Answer one request, given as CGI gives it; the output is complete CGI output."""
    request = read_request(variables, service.registry)
    site = Site(service, root_path=request.root)
    found = site.resolve(request.method, request.path, request.headers)
    head = request.method == "HEAD"
    if isinstance(found, Response):
        return write_response(found, head=head)
    return write_response(_call(service, found, request, stdin, variables, max_body))


def _call(
    service: Service,
    target: Target,
    request: Request,
    stdin: BinaryIO,
    variables: Mapping[str, str],
    max_body: int,
) -> Response:
    body = _read(request, stdin, to_the_end=not is_cgi(variables), max_body=max_body)
    if isinstance(body, Fault):
        return respond_fault(body)
    operation = target.operation
    call = service.call(operation, body)
    form = "json" if target.form == "events" else target.form  # CGI gives everything at once
    return respond(answer_alone(operation, call, service.limit(operation)), form)


def _read(request: Request, stdin: BinaryIO, *, to_the_end: bool, max_body: int) -> bytes | Fault:
    """Read the body: as much as was announced and not a byte more.

    A person who pipes a body in announces nothing: then it ends where stdin ends.
    """
    length = request.length
    if length is None:
        if not to_the_end or stdin.isatty():
            return b""
        body = stdin.read(max_body + 1)
        return body if len(body) <= max_body else too_large(max_body)
    if length < 0:
        return Fault(Kind.MALFORMED, "CONTENT_LENGTH is not a number of bytes")
    if length > max_body:
        return too_large(max_body)
    parts = []
    while length:
        if not _readable(stdin):
            return too_slow(BODY_TIMEOUT)
        part = stdin.read1(length) if hasattr(stdin, "read1") else stdin.read(length)
        if not part:
            return Fault(Kind.MALFORMED, INVALID_JSON)
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _readable(stdin: BinaryIO) -> bool:
    """Wait until there is something to read, but not for ever."""
    try:
        ready, _, _ = select.select([stdin], [], [], BODY_TIMEOUT)
    except (OSError, ValueError):  # no file of the system's: it does not keep anyone waiting
        return True
    return bool(ready)


def _take_stdout() -> BinaryIO:
    """Keep stdout for the answer alone: what anyone prints from here on goes to stderr."""
    sys.stdout.flush()
    ours = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return ours
