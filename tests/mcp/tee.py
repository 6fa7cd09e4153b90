"""Stands between a client and a server on stdio, and writes down what each says.

    python tee.py FOLDER COMMAND…

A client starts this in the server's place. Each process writes a file of its own into the folder, for
a client may start its server more than once: lines of JSON, `{"from": "client" | "server", "line": …}`.
Signals to stop go on to the server, whose end is the end of this.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO


def main(folder: Path, command: list[str]) -> int:
    """Run the server, pass on what is said, and give its exit code."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: server.send_signal(received))
    assert server.stdin is not None
    assert server.stdout is not None
    with (folder / f"{os.getpid()}.jsonl").open("w") as log:
        lock = threading.Lock()

        def pass_on(who: str, source: IO[bytes], sink: IO[bytes]) -> None:
            try:
                for line in source:
                    with lock:
                        log.write(json.dumps({"from": who, "line": line.decode()}) + "\n")
                        log.flush()
                    sink.write(line)
                    sink.flush()
            except BrokenPipeError:
                return  # whom it is for is gone
            finally:
                sink.close()

        listening = threading.Thread(
            target=pass_on, args=("client", sys.stdin.buffer, server.stdin), daemon=True
        )
        listening.start()
        pass_on("server", server.stdout, sys.stdout.buffer)
        return server.wait()


if __name__ == "__main__":
    # The client may be silent for ever: the thread that listens to it must not be waited for.
    os._exit(main(Path(sys.argv[1]), sys.argv[2:]))
