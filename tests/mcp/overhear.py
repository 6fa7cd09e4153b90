"""Listens in on every server of MCP in the process that loads it, and writes down what is said.

    import overhear; overhear.begin("/some/file")

Each program that tests start does so before anything else (`interpreter.py`), and so does the process
of the tests themselves. What is written stands where a server meets the world: the lines of stdio on
their way to the pipe, ASGI's messages on their way to the HTTP server. The product knows nothing of
it: its modules are wrapped as they are imported, and a program that speaks no MCP loads none of them.

Out: one line of JSON for each piece, appended to the file at once, whichever process it comes from.
"""

import site
import sys

if False:  # the least there can be is imported: programs are held to what they load
    from typing import Any


class _Notes:
    """Where this process writes, and how many conversations it has begun."""

    file = ""
    count = 0


def begin(file: str, *packages: str) -> None:
    """Listen in from now on; more packages are found there."""
    if _Notes.file:  # Python reads the files of an environment twice
        return
    _Notes.file = file
    for folder in packages:
        site.addsitedir(folder)
    sys.meta_path.insert(0, _Finder())
    for name, tee in _TEES.items():
        if name in sys.modules:
            tee(sys.modules[name])


class _Finder:
    """Finds the modules that speak, as others find them, and wraps them when they are there."""

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        tee = _TEES.get(name)
        if tee is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                _wrap(spec.loader, tee)
                return spec
        return None


def _wrap(loader: "Any", tee: "Any") -> None:
    load = loader.exec_module

    def load_and_wrap(module: "Any") -> None:
        load(module)
        tee(module)

    loader.exec_module = load_and_wrap


def _note(key: str, what: str, said: "Any") -> None:
    import os

    import msgspec

    line = msgspec.json.encode([key, what, said]) + b"\n"
    # Opened for each: a function may close what it did not open. One write at the end of a file is whole.
    descriptor = os.open(_Notes.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _key(kind: str) -> str:
    import os

    _Notes.count += 1
    return f"{kind}-{os.getpid()}-{_Notes.count}"


# ---- on stdio --------------------------------------------------------------------------------------


def _tee_stdio(module: "Any") -> None:
    connect = module.connect

    def overheard(*words: "Any") -> "Any":
        connection, inlet, outlet = connect(*words)
        key, take, write = _key("stdio"), inlet._take, outlet.write

        def heard(line: "Any") -> None:
            if line is not None:  # it was too long, and nobody read it
                _note(key, "asked", line)
            take(line)

        def said(line: bytes) -> None:
            _note(key, "said", line)
            write(line)

        inlet._take, outlet.write = heard, said
        return connection, inlet, outlet

    module.connect = overheard


# ---- over HTTP -------------------------------------------------------------------------------------

_TELLING = (b"mcp-protocol-version", b"mcp-session-id")


def _tee_http(module: "Any") -> None:
    answer = module.Front.answer

    async def overheard(
        self: "Any", method: str, headers: "Any", server: "Any", receive: "Any", send: "Any"
    ) -> None:
        key, body = _key("http"), bytearray()
        _note(key, "headers", [headers.get(name, b"").decode("latin-1") for name in _TELLING])

        async def heard() -> "Any":
            message = await receive()
            if message["type"] == "http.request":
                body.extend(message.get("body", b""))
            return message

        async def said(message: "Any") -> None:
            if message["type"] == "http.response.start":
                fields = {name: value.decode("latin-1") for name, value in message["headers"]}
                told = [fields.get(name, "") for name in (b"content-type", b"mcp-session-id")]
                _note(key, "asked", bytes(body))  # as far as it was read
                _note(key, "status", [message["status"], *told])
            elif message.get("body"):
                _note(key, "said", bytes(message["body"]))
            await send(message)

        await answer(self, method, headers, server, heard, said)

    module.Front.answer = overheard


_TEES = {"kuniumi.serve.mcp.stdio": _tee_stdio, "kuniumi.serve.mcp.front": _tee_http}
