"""Becomes a Python program that may not call openat2, as in a container that forbids it.

    WITHOUT_OPENAT2="EPERM app.py" python without_openat2.py WORDS...

The kernel answers that system call with the error named, to the program and to all that it starts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_OPENAT2 = 437
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_FAIL, _ALLOW = 0x00050000, 0x7FFF0000


def forbid(name: str) -> None:
    """Have the kernel answer openat2 with this error, from now on and for good."""
    steps = [
        (_LOAD, 0, 0, 0),  # the number of the system call
        (_JUMP_IF_EQUAL, 0, 1, _OPENAT2),
        (_RETURN, 0, 0, _FAIL | getattr(errno, name)),
        (_RETURN, 0, 0, _ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    told = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(program)))
    system = ctypes.CDLL(None, use_errno=True)
    for words in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_SECCOMP, _FILTER, told, 0, 0)):
        if system.prctl(*words):
            raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    error, program = os.environ["WITHOUT_OPENAT2"].split(" ", 1)
    forbid(error)
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])  # noqa: S606 - it is its work
