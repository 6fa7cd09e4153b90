"""The workshop's stand-in for models, served in this process, with faults.

A fault is asked for by the first part of an address: `{url}/stall-5-a/v1/responses` streams well once,
then sends five pieces of a stream and no more, until whoever listens goes away.
"""

from __future__ import annotations

import importlib.util
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from itertools import islice, repeat
from pathlib import Path
from types import ModuleType

STANDIN = Path(__file__).parents[2] / "examples" / "workshop" / "standin.py"
PATIENCE = 60.0  # seconds: longer than any test takes that passes


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("workshop_standin", STANDIN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


standin = _load()


class Service(ThreadingHTTPServer):
    """A running stand-in; it knows who has gone away from it while it was silent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Faulty)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.seen: Counter[str] = Counter()
        self.left: set[str] = set()
        self.changed = threading.Condition()

    def is_left(self, fault: str) -> bool:
        """Wait until whoever met a fault has gone away; no, if that does not happen."""
        with self.changed:
            return self.changed.wait_for(lambda: fault in self.left, PATIENCE / 6)


class Faulty(standin.Handler):  # type: ignore[name-defined,misc]
    """Answers one request, or fails to."""

    server: Service

    def do_GET(self) -> None:
        """Tell whether the fault at the address was left."""
        self.send(200, self.server.is_left(self.path.strip("/")))

    def send_pieces(self, events: Iterator[str]) -> None:
        fault = re.match(r"/(([a-z]+)-(\d+)-\w+)/", self.path)
        if fault is not None:
            self.server.seen[fault[1]] += 1
        if fault is None or self.server.seen[fault[1]] == 1:
            super().send_pieces(events)
        else:
            self.close_connection = True
            self.fail(fault[1], fault[2], [*islice(events, int(fault[3]))])

    def fail(self, name: str, fault: str, events: list[str]) -> None:
        match fault:
            case "flood":
                super().send_pieces(iter([*events, *repeat(events[-1], 100_000)]))
            case "end":
                super().send_pieces(iter(events))
            case "error":
                super().send_pieces(iter([*events, self.error()]))
            case "garbage":
                super().send_pieces(iter([*events, "event: message_delta\ndata: {no JSON\n\n"]))
            case _:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for event in events:
                    self.send_chunk(event.encode())
                if fault == "stall":
                    self.wait_until_left(name)

    def error(self) -> str:
        said = '"message":"too many people ask"'
        if "messages" in self.path:
            kind = '"type":"overloaded_error"'
            return f'event: error\ndata: {{"type":"error","error":{{{kind},{said}}}}}\n\n'
        if "responses" in self.path:
            return f'event: error\ndata: {{"type":"error","code":"busy",{said}}}\n\n'
        return f'data: {{"error":{{"code":503,"status":"UNAVAILABLE",{said}}}}}\n\n'

    def wait_until_left(self, name: str) -> None:
        self.connection.settimeout(PATIENCE)
        try:
            self.connection.recv(1)
        except TimeoutError:
            return
        except OSError:
            pass
        with self.server.changed:
            self.server.left.add(name)
            self.server.changed.notify_all()


@contextmanager
def serving() -> Iterator[Service]:
    """Serve the stand-in on loopback."""
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()
