"""Add as a CGI script by hand: the least code that does for a call what Kuniumi does."""

import os
import sys

import msgspec


class Pair(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments."""

    x: int
    y: int


class Sum(msgspec.Struct):
    """The answer."""

    result: int


class Error(msgspec.Struct):
    """The other answer."""

    error: str


def answer() -> tuple[str, Sum | Error]:
    """Read the request from the environment and stdin, and call Add."""
    name = os.environ.get("PATH_INFO", "").removeprefix("/functions").removeprefix("/")
    if name != "Add":
        return "404 Not Found", Error(f"Function not found: {name}")
    if os.environ.get("REQUEST_METHOD") != "POST":
        return "405 Method Not Allowed", Error("Use POST")
    body = sys.stdin.buffer.read(int(os.environ.get("CONTENT_LENGTH") or 0))
    try:
        pair = msgspec.json.decode(body, type=Pair)
    except msgspec.DecodeError as error:
        return "400 Bad Request", Error(str(error))
    return "200 OK", Sum(pair.x + pair.y)


status, envelope = answer()
content = msgspec.json.encode(envelope)
head = (
    f"Status: {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
)
sys.stdout.buffer.write(head.encode() + content)
