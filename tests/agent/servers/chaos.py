"""A server of MCP on stdio that does all that a server should not."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = (
    "fine",
    "late",
    "twice",
    "half",
    "never",
    "flood",
    "drip",
    "garbled",
    "die",
    "noise",
    "odd",
    "refuse",
)
SAFE = {"readOnlyHint": True}


def send(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def half(answer: dict[str, Any], _: dict[str, Any]) -> None:
    raw(json.dumps(answer).encode()[:20])
    os._exit(3)


def flood(answer: dict[str, Any], arguments: dict[str, Any]) -> None:
    start, _, end = json.dumps(answer).encode().partition(b"flood")
    raw(start)
    for _ in range(arguments["megabytes"]):
        raw(b"x" * 1_000_000)
    raw(end + b"\n")


def twice(answer: dict[str, Any], _: dict[str, Any]) -> None:
    send(answer)
    send(answer)
    send({**answer, "id": 987654})


def drip(answer: dict[str, Any], _: dict[str, Any]) -> None:
    for byte in json.dumps(answer).encode() + b"\n":
        raw(bytes([byte]))


def late(answer: dict[str, Any], arguments: dict[str, Any]) -> None:
    time.sleep(arguments["seconds"])
    send(answer)


def garbled(answer: dict[str, Any], _: dict[str, Any]) -> None:
    raw(json.dumps(answer).encode().replace(b"garbled is done", b"caf\xe9 \xff") + b"\n")


def die(_: dict[str, Any], __: dict[str, Any]) -> None:
    note("died")
    sys.stderr.write("out of luck\n")
    sys.stderr.flush()
    os._exit(9)


def noise(answer: dict[str, Any], _: dict[str, Any]) -> None:
    raw(b"Starting up...\n\n[]\n{}\nnull\n{not json}\n\xff\xfe\n")
    send({"jsonrpc": "2.0", "id": 5, "method": "nobody/knows"})
    send({"jsonrpc": "2.0", "method": "notifications/progress", "params": [1]})
    send(answer)


def odd(answer: dict[str, Any], arguments: dict[str, Any]) -> None:
    send({**answer, "result": arguments["result"]})


def refuse(answer: dict[str, Any], _: dict[str, Any]) -> None:
    error = {"code": -32602, "message": "Nothing like that here"}
    send({"jsonrpc": "2.0", "id": answer["id"], "error": error})


MISCHIEF = {
    each.__name__: each
    for each in (half, flood, twice, drip, late, garbled, die, noise, odd, refuse)
}


def note(what: str) -> None:
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{what}\n")


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "die_safely":
        name = "fine" if Path(os.environ["NOTES"]).exists() else "die"
    answer = {"jsonrpc": "2.0", "id": number, "result": text(f"{name} is done")}
    if name == "task":
        answer["result"] = {"task": {"taskId": "t7", "status": "working"}}
    if name in MISCHIEF:
        MISCHIEF[name](answer, arguments)
    elif name != "never":
        send(answer)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            said = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            said["serverInfo"] = {"name": "chaos", "version": "0"}
            send({"jsonrpc": "2.0", "id": number, "result": said})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            tools.append({"name": "die_safely", "inputSchema": {}, "annotations": SAFE})
            tools.append({"name": "task", "execution": {"taskSupport": "required"}})
            send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
        elif method == "tools/call":
            call(number, message["params"]["name"], message["params"]["arguments"])
        elif method == "notifications/cancelled":
            note("cancelled")
        elif method == "tasks/cancel":
            note(f"stopped {message['params']['taskId']}")
        elif method == "tasks/result":
            note("waited for")
        elif number is not None and method:
            error = {"code": -32601, "message": "Method not found"}
            send({"jsonrpc": "2.0", "id": number, "error": error})


if __name__ == "__main__":
    main()
