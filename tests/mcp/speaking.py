"""A client of MCP on stdio, as bare as can be.

with speaking(APP, revision="2025-06-18") as client:
assert client.call("add", a=1, b=2)["structuredContent"] == {"result": 3}
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mcp.official import STATELESS

PATIENCE = 30.0
ABLE: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
_META = "io.modelcontextprotocol/"

Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


class FailedError(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Client:
    """One conversation with one server."""

    def __init__(
        self,
        words: list[str],
        revision: str,
        capabilities: Mapping[str, Any],
        answer: Answer | None,
        errors: Path,
        variables: Mapping[str, str],
    ) -> None:
        self.revision = revision
        self.capabilities = capabilities
        self.answer = answer
        self.told: list[dict[str, Any]] = []  # the notifications, in their order
        self.asked: list[dict[str, Any]] = []  # the questions, in their order
        self._errors = errors
        self._id = 0
        with errors.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env={**os.environ, **variables},
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    # ---- speaking --------------------------------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Send a line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Wait for a line: it is a message, whatever else happens."""
        line = self._lines.get(timeout=PATIENCE)
        assert line, f"the server has ended: {self.errors()}"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0", line
        return dict(message)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something, and give the result; answer what the server asks meanwhile."""
        self._id += 1
        if self.revision == STATELESS:
            params["_meta"] = {**self._stated(), **params.get("_meta", {})}
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.send(json.dumps(request).encode())
        while True:
            message = self.hear()
            is_answer = "method" not in message and message.get("id") == self._id
            if is_answer:
                break
            self._take(message)
        if "error" in message:
            raise FailedError(message["error"])
        result: dict[str, Any] = message["result"]
        if result.get("resultType") != "input_required":
            return result
        responses = {key: self._reply(asked) for key, asked in result["inputRequests"].items()}
        again = {**params, "inputResponses": responses, "requestState": result["requestState"]}
        return self.request(method, **again)

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return self.request("tools/call", name=name, arguments=arguments)

    def notify(self, method: str, **params: Any) -> None:
        """Tell the server something."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def wait_to_be_told(self, method: str) -> dict[str, Any]:
        """Wait for a notification."""
        while not any(told["method"] == method for told in self.told):
            self._take(self.hear())
        return next(told for told in self.told if told["method"] == method)

    def shake_hands(self) -> dict[str, Any]:
        """Begin as the revisions do that have a handshake."""
        greeting = self.request(
            "initialize",
            protocolVersion=self.revision,
            capabilities=self.capabilities,
            clientInfo={"name": "a test", "version": "1"},
        )
        self.notify("notifications/initialized")
        return greeting

    def _stated(self) -> dict[str, Any]:
        return {
            f"{_META}protocolVersion": self.revision,
            f"{_META}clientCapabilities": self.capabilities,
            f"{_META}clientInfo": {"name": "a test", "version": "1"},
        }

    def _take(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            self.told.append(message)
            return
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": self._reply(message)}
        self.send(json.dumps(reply).encode())

    def _reply(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(question)
        assert self.answer is not None, question
        return self.answer(question["method"], question.get("params", {}))

    # ---- its end ---------------------------------------------------------------------------------

    def errors(self) -> str:
        """Give what the server wrote to stderr so far."""
        return self._errors.read_text(errors="replace")

    def finish(self) -> int:
        """Say no more, and give the exit code; all that still comes has to be messages."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        while line := self._lines.get(timeout=PATIENCE):
            assert json.loads(line)["jsonrpc"] == "2.0", line
        return code


@contextmanager
def speaking(
    app: Path,
    *flags: str,
    revision: str = STATELESS,
    capabilities: Mapping[str, Any] = ABLE,
    answer: Answer | None = None,
    words: list[str] | None = None,
    variables: Mapping[str, str] = {},
) -> Iterator[Client]:
    """Speak with an app for as long as the block lasts; it has to end well."""
    with tempfile.TemporaryDirectory() as folder:
        client = Client(
            words or [str(app), "mcp", *flags],
            revision,
            capabilities,
            answer,
            Path(folder) / "errors",
            variables,
        )
        try:
            if revision != STATELESS:
                client.shake_hands()
            yield client
            assert client.finish() == 0, client.errors()
        finally:
            if client.process.poll() is None:
                client.process.kill()
                client.process.wait()
            for pipe in (client.process.stdin, client.process.stdout):
                assert pipe is not None
                pipe.close()
