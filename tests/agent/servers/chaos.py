"""A server of MCP on stdio that does all that a server should not."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = ("fine", "late", "twice", "half", "never", "flood", "drip", "garbled", "die", "noise", "odd")
SAFE = {"readOnlyHint": True}


def send(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    answer = {"jsonrpc": "2.0", "id": number, "result": text(f"{name} is done")}
    match name:
        case "late":
            time.sleep(arguments["seconds"])
            send(answer)
        case "twice":
            send(answer)
            send(answer)
            send({**answer, "id": 987654})
        case "half":
            raw(json.dumps(answer).encode()[:20])
            os._exit(3)
        case "never":
            pass
        case "flood":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % number)
            for _ in range(arguments["megabytes"]):
                raw(b"x" * 1_000_000)
            raw(b'"}]}}\n')
        case "drip":
            for byte in json.dumps(answer).encode() + b"\n":
                raw(bytes([byte]))
        case "garbled":
            raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":' % number)
            raw(b'"caf\xe9 \xff"}]}}\n')
        case "die":
            Path(os.environ["NOTES"]).open("a").write("died\n")
            print("out of luck", file=sys.stderr, flush=True)
            os._exit(9)
        case "noise":
            raw(b"Starting up...\n\n[]\n{}\nnull\n{not json}\n\xff\xfe\n")
            send({"jsonrpc": "2.0", "id": 5, "method": "nobody/knows"})
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": [1]})
            send(answer)
        case "odd":
            send({"jsonrpc": "2.0", "id": number, "result": arguments["result"]})
        case _:
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
            send({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}})
        elif method == "tools/call":
            name = message["params"]["name"]
            notes = Path(os.environ["NOTES"])
            if name == "die_safely":
                name = "fine" if notes.exists() else "die"
            call(number, name, message["params"]["arguments"])
        elif method == "notifications/cancelled":
            with Path(os.environ["NOTES"]).open("a") as notes_file:
                notes_file.write("cancelled\n")
        elif number is not None and method:
            error = {"code": -32601, "message": "Method not found"}
            send({"jsonrpc": "2.0", "id": number, "error": error})


if __name__ == "__main__":
    main()
