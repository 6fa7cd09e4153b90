"""Functions that write to stdout and read stdin in every way there is."""

# ruff: noqa: T201 - it is what they are about
from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import subprocess
import sys
import threading

from kuniumi import App

app = App(name="Noise", version="1.0.0")
libc = ctypes.CDLL(None)
print("noise while it is loaded")


@app.function
def Print() -> str:
    """Prints."""
    print("noise of print")
    print("noise of print, at once", flush=True)
    print("noise without an end", end="")
    return "done"


@app.function
def Write() -> str:
    """Writes past Python's buffers."""
    os.write(1, b"noise of os.write\n")
    assert sys.__stdout__ is not None
    sys.__stdout__.buffer.write(b"noise of bytes\n")
    sys.__stdout__.flush()
    with open(1, "w", closefd=False) as stream:
        stream.write("noise of a stream of its own\n")
    return "done"


@app.function
def Library() -> str:
    """Has a library of C write, which has a buffer of its own."""
    libc.puts(b"noise of puts")
    libc.fflush(None)
    libc.printf(b"noise of printf, which stays in its buffer\n")
    return "done"


@app.function
def Child() -> str:
    """Has other programs write, and read."""
    subprocess.run(["echo", "noise of a child"], check=True)
    subprocess.run([sys.executable, "-c", "print('noise of a grandchild')"], check=True)
    status = os.system("echo noise of a shell; cat")  # noqa: S605 - it is what people write
    return f"done {status}"


@app.function
def Fork() -> str:
    """Prints in a process that has all that this one has."""
    process = multiprocessing.get_context("fork").Process(target=print, args=("noise of a fork",))
    process.start()
    process.join()
    return f"done {process.exitcode}"


@app.function
def Thread() -> str:
    """Prints in threads."""
    threads = [threading.Thread(target=print, args=(f"noise {number}",)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "done"


@app.function
def Log() -> str:
    """Logs to stdout."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, force=True)
    logging.getLogger("noise").info("noise of a log")
    return "done"


@app.function
async def Loop() -> str:
    """Prints on the event loop."""
    print("noise of a coroutine")
    os.write(1, b"noise beneath it\n")
    return "done"


@app.function
def Ask() -> str:
    """Reads stdin, which is the protocol's."""
    try:
        return input("noise of a question? ")
    except EOFError:
        pass
    return repr(sys.stdin.read() + os.read(0, 100).decode())


@app.function
def Close() -> str:
    """Closes stdout."""
    os.close(1)
    return "done"


@app.function
def Swap() -> str:
    """Puts another stream in the place of stdout, and closes that."""
    sys.stdout.close()
    return "done"


if __name__ == "__main__":
    app.run()
