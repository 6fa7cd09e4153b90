"""Opening a path beneath a directory, whatever links and renames stand in its way.

In: the descriptor of a directory, and a path from there. Out: a descriptor of something that lay
beneath it. On Linux the kernel itself sees to that (`openat2` with RESOLVE_BENEATH); elsewhere, or
where it may not be asked, the path is walked one component at a time, each opened from the directory
before it and never through a symbolic link, which is read and walked by the same rule. Both follow
links that stay beneath, and refuse those that don't, absolute ones included.

It must not know of virtual paths: errors carry none.
"""

from __future__ import annotations

import errno
import os
from stat import S_ISLNK
from struct import Struct
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    Barred = frozenset[tuple[str, ...]]
    SystemCall = Callable[[int, int, bytes, bytes, int], int]

PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""Opens just the place: no permission to read is needed, and no device notices."""

DIRECTORY = PATH_ONLY | os.O_DIRECTORY
_IS_PATH_ONLY = getattr(os, "O_PATH", 0)

_OPENAT2 = 437  # the same number wherever Linux has it
_HOW = Struct("QQQ")  # the kernel's `struct open_how`: flags, mode, resolve
_NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 0x02, 0x04, 0x08
_ATTEMPTS = 64
_MOST_LINKS = 40  # as in Linux

NOTHING_BARRED: Barred = frozenset()


def open_beneath(
    root: int, path: str, flags: int, mode: int = 0, barred: Barred = NOTHING_BARRED
) -> int:
    """Open what lies at a path (plain, from `root` on; empty for `root` itself).

    `barred` names places, component by component, that no link may lead into.
    """
    call = kernel()
    if call is not None:
        found = _ask(call, root, path or ".", flags | os.O_CLOEXEC, mode, links=not barred)
        if found is not None:
            return found
    return walk(root, path, flags, mode, barred)


# ---- by the kernel -------------------------------------------------------------------------------

_known: list[SystemCall | None] = []


def kernel() -> SystemCall | None:
    """Give the kernel's own way, if there is one and it may be used here."""
    if not _known:
        _known.append(_try_kernel())
    return _known[0]


def _try_kernel() -> SystemCall | None:
    if os.uname().sysname != "Linux":
        return None
    import ctypes  # noqa: PLC0415 - only here, and only once files are used

    library: Any = ctypes.CDLL(None, use_errno=True)
    call = library.syscall
    call.restype = ctypes.c_long
    call.argtypes = (
        *(ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p),
        ctypes.c_size_t,
    )

    def checked(number: int, root: int, path: bytes, how: bytes, size: int) -> int:
        found: int = call(number, root, path, how, size)
        return found if found >= 0 else -ctypes.get_errno()

    root = os.open("/", DIRECTORY)
    try:  # an old kernel does not know it, a container may forbid it
        how = _HOW.pack(DIRECTORY | os.O_CLOEXEC, 0, _BENEATH)
        found = checked(_OPENAT2, root, b".", how, _HOW.size)
    finally:
        os.close(root)
    if found < 0:
        return None
    os.close(found)
    return checked


def _ask(
    call: SystemCall, root: int, path: str, flags: int, mode: int, *, links: bool
) -> int | None:
    """Ask the kernel; it gives nothing where it must not decide, or can't."""
    resolve = _BENEATH | _NO_MAGIC_LINKS | (0 if links else _NO_LINKS)
    how = _HOW.pack(flags, mode if flags & os.O_CREAT else 0, resolve)
    name = os.fsencode(path)
    for _ in range(_ATTEMPTS):
        found = call(_OPENAT2, root, name, how, _HOW.size)
        if found >= 0:
            return found
        if found == -errno.EXDEV:
            _refuse_escape()
        if found == -errno.ELOOP and not links:
            return None  # there is a link on the way: only a walk sees where it leads
        if found in {-errno.ENOSYS, -errno.EPERM}:
            return None  # it was forbidden since it was tried; if not, a walk is told so as well
        if found not in {-errno.EAGAIN, -errno.EINTR}:
            raise OSError(-found, os.strerror(-found))
    return None  # others never stop renaming what it looks at


# ---- by a walk -----------------------------------------------------------------------------------


def walk(root: int, path: str, flags: int, mode: int = 0, barred: Barred = NOTHING_BARRED) -> int:
    """Open what lies at a path, one component after another."""
    waiting = path.split("/")[::-1]
    passed: list[str] = []  # the directories on the way to `here`, by their own names
    here, links = root, 0
    try:
        while waiting:
            part = waiting.pop()
            if part in {"", "."}:
                continue
            if part == "..":  # its meaning is where we came from, whatever has been moved since
                if not passed:
                    _refuse_escape()
                waiting += passed[-2::-1]
                passed, here = [], _left(here, root)
                continue
            if barred and (*passed, part) in barred:
                _refuse_escape()
            found = _step(here, part, DIRECTORY if waiting else flags, mode)
            if isinstance(found, str):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if found.startswith("/"):
                    _refuse_escape()
                waiting += found.split("/")[::-1]
            elif waiting:
                _left(here, root)
                here = found
                passed.append(part)
            else:
                return found
        return os.open(".", flags, mode, dir_fd=here)
    finally:
        _left(here, root)


def _step(here: int, name: str, flags: int, mode: int) -> int | str:
    """Open one name in a directory; if it is a link, give where that leads."""
    for _ in range(_ATTEMPTS):
        found = -1
        try:
            found = os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=here)
        except OSError as error:
            refused = error
        if found >= 0 and not _is_link(found, flags):
            return found
        if found >= 0:
            os.close(found)
        elif refused.errno not in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
            raise refused
        try:
            return os.readlink(name, dir_fd=here)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        if found < 0 and refused.errno == errno.ENOTDIR:
            raise refused
        # It was a link a moment ago, and no longer is.
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _is_link(found: int, flags: int) -> bool:
    """Whether this is the link itself, which only a path-only opening gives."""
    return bool(flags & _IS_PATH_ONLY) and S_ISLNK(os.fstat(found).st_mode)


def _left(here: int, root: int) -> int:
    if here != root:
        os.close(here)
    return root


def _refuse_escape() -> NoReturn:
    raise PermissionError(errno.EACCES, "It leads out of its mount")
