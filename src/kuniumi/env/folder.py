"""A directory of the host, and the files in it: every operation on a name beneath it.

In: names, plain and relative to the directory; the empty one is the directory itself. Out: bytes,
file objects, facts. Nothing is reached but through `beneath`, so nothing outside is. What is neither
a file nor a directory (a pipe, a device, a socket) is listed and removed, and never read or written.

It must not know where it is mounted: the paths in its errors mean nothing, and are told anew above.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from stat import S_ISDIR, S_ISREG
from threading import Lock
from typing import TYPE_CHECKING

from kuniumi.env.beneath import DIRECTORY, PATH_ONLY, open_beneath

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO, Any, NoReturn

    from kuniumi.env.beneath import Barred

Entry = tuple[str, str]
"""A name in a directory, and its kind: `directory`, `file`, `link` or `other`."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_WRITE = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
_QUIET = os.O_NONBLOCK | os.O_NOCTTY  # a pipe must not make anybody wait, nor a terminal be taken
_PLAIN_BITS = 0o777
_OTHERS_RIGHTS = (
    0o6000  # setuid, setgid: the system takes them from what is written, but not root's
)
_CHUNK = 1 << 20
_FARTHEST = sys.maxsize - _CHUNK  # as far as the system can count: nothing lies beyond
_NEW = 0o666  # of a new file: the process's umask takes from it what it will


class Folder:
    """A directory that is opened once, at its first use, and stays the very same."""

    __slots__ = ("_barred", "_fd", "_host", "_lock")

    def __init__(self, host: str, barred: Iterable[str] = ()) -> None:
        self._host = host
        # What another mount hides: a link must not lead to what is behind it.
        self._barred: Barred = frozenset(tuple(name.split("/")) for name in barred)
        self._fd = -1
        self._lock = Lock()

    def __del__(self) -> None:
        """Close the directory with the last who knew it."""
        if self._fd >= 0:
            os.close(self._fd)

    # ---- files -------------------------------------------------------------------------------------

    def read(self, name: str, offset: int, length: int | None) -> bytes:
        """Read a file, or a part of it."""
        file, size = self._open_file(name, _READ)
        # What has no size, as in /proc, is read as well. A byte more than is left tells the end.
        most = max(size - offset, 0) + 1 if size else _CHUNK
        missing = sys.maxsize if length is None else length
        parts = []
        try:
            while (
                missing
                and offset <= _FARTHEST
                and (part := os.pread(file, min(missing, most), offset))
            ):
                parts.append(part)
                offset += len(part)
                missing -= len(part)
        finally:
            os.close(file)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, name: str, data: Any, *, append: bool) -> None:
        """Write a file from its beginning, or on from its end; make it if there is none."""
        flags = os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
        file, _ = self._open_file(name, _WRITE | flags)
        try:
            _write_all(file, data)
        finally:
            os.close(file)

    def rewrite(self, name: str, offset: int, data: Any) -> None:
        """Write over a part of a file."""
        file, size = self._open_file(name, _WRITE)
        try:
            if offset > size:
                raise OSError(errno.EINVAL, f"It ends at {size}, before the offset {offset}")
            os.lseek(file, offset, os.SEEK_SET)
            _write_all(file, data)
        finally:
            os.close(file)

    def copy(self, name: str, target: Folder, target_name: str) -> None:
        """Copy a file and its permissions, to a directory of the host's too."""
        source, _ = self._open_file(name, _READ)
        try:
            about = os.fstat(source)
            copied, _ = target._open_file(target_name, _WRITE | os.O_CREAT)
            try:
                if os.path.samestat(about, os.fstat(copied)):
                    raise OSError(errno.EINVAL, "It is the same file")
                os.ftruncate(copied, 0)
                while part := os.read(source, _CHUNK):
                    _write_all(copied, part)
                with suppress(PermissionError):  # it was there before, and is another's
                    os.fchmod(copied, about.st_mode & 0o777)
            finally:
                os.close(copied)
        finally:
            os.close(source)

    def open(self, name: str, called: str, mode: str, **text: Any) -> IO[Any]:
        """Open a file as Python does; it goes by the name `called`."""

        def opener(_called: str, flags: int) -> int:
            return self._open_file(name, flags | _QUIET)[0]

        return open(called, mode, opener=opener, **text)

    def touch(self, name: str, *, exclusive: bool) -> None:
        """Make an empty file, or have an existing one changed just now."""
        flags = os.O_CREAT | (os.O_EXCL if exclusive else 0)
        file, _ = self._open_file(name, _WRITE | flags)
        try:
            os.utime(file)
        finally:
            os.close(file)

    # ---- names -------------------------------------------------------------------------------------

    def stat(self, name: str, *, follow: bool = True) -> os.stat_result:
        """Tell about what is there, or, not following, about the link itself."""
        if not follow and name:
            parent, last = self._open_parent(name)
            try:
                return os.stat(last, dir_fd=parent, follow_symlinks=False)
            finally:
                os.close(parent)
        found = self._open(name, PATH_ONLY)
        try:
            return os.fstat(found)
        finally:
            os.close(found)

    def scan(self, name: str) -> list[Entry]:
        """Give what is in a directory."""
        found = self._open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(found) as entries:
                return [(entry.name, _kind(entry)) for entry in entries]
        finally:
            os.close(found)

    def mkdir(self, name: str, mode: int) -> None:
        """Make a directory."""
        _refuse_special_bits(mode)
        parent, last = self._open_parent(name)
        try:
            os.mkdir(last, mode, dir_fd=parent)
        finally:
            os.close(parent)

    def rmdir(self, name: str) -> None:
        """Remove an empty directory."""
        parent, last = self._open_parent(name)
        try:
            os.rmdir(last, dir_fd=parent)
        finally:
            os.close(parent)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself."""
        parent, last = self._open_parent(name)
        try:
            os.unlink(last, dir_fd=parent)
        except PermissionError:
            if S_ISDIR(os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
            raise
        finally:
            os.close(parent)

    def rename(self, name: str, target_name: str) -> None:
        """Give a file or a directory another name; a file that has it is replaced."""
        parent, last = self._open_parent(name)
        try:
            target_parent, target_last = self._open_parent(target_name)
            try:
                os.rename(last, target_last, src_dir_fd=parent, dst_dir_fd=target_parent)
            finally:
                os.close(target_parent)
        finally:
            os.close(parent)

    def chmod(self, name: str, mode: int) -> None:
        """Change who may do what; never whose rights a program takes on."""
        _refuse_special_bits(mode)
        found = self._open(name, PATH_ONLY)
        try:
            if not _is_plain(os.fstat(found)):
                _refuse_special_file()
            try:  # a descriptor of a mere place can't be changed, what it stands for can
                os.chmod(f"/proc/self/fd/{found}", mode)
            except (FileNotFoundError, NotADirectoryError):  # nor can that, on this system
                readable = self._open(name, _READ)
                try:
                    os.fchmod(readable, mode)
                finally:
                    os.close(readable)
        finally:
            os.close(found)

    # ---- opening -----------------------------------------------------------------------------------

    def _root(self) -> int:
        if self._fd < 0:
            with self._lock:
                if self._fd < 0:
                    self._fd = _open_host(self._host)
        return self._fd

    def _open(self, name: str, flags: int) -> int:
        return open_beneath(self._root(), name, flags, _NEW, self._barred)

    def _open_file(self, name: str, flags: int) -> tuple[int, int]:
        """Open a file, and nothing but a file; give its size as well."""
        try:
            file = self._open(name, flags)
        except OSError as error:
            if error.errno in {errno.ENXIO, errno.EOPNOTSUPP, errno.ENODEV}:
                _refuse_special_file()  # a socket, or a pipe that nobody reads
            raise
        about = os.fstat(file)
        if S_ISREG(about.st_mode):
            if about.st_mode & _OTHERS_RIGHTS and flags & (os.O_WRONLY | os.O_RDWR):
                with suppress(PermissionError):  # it is another's; then the first write does so
                    os.fchmod(file, about.st_mode & _PLAIN_BITS)
            return file, about.st_size
        os.close(file)
        if S_ISDIR(about.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        return _refuse_special_file()

    def _open_parent(self, name: str) -> tuple[int, str]:
        """Open the directory a name is in; links are followed up to there."""
        parent, _, last = name.rpartition("/")
        if not last:
            raise OSError(errno.EBUSY, "It is where something is mounted")
        return self._open(parent, DIRECTORY), last


def _open_host(host: str) -> int:
    try:
        return os.open(host, DIRECTORY)
    except OSError as error:
        code = error.errno
    # Out here, so that the error does not come with the one that names the host's path.
    raise OSError(code, "What is mounted here is missing on the host")


def _write_all(file: int, data: Any) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _is_plain(about: os.stat_result) -> bool:
    return S_ISREG(about.st_mode) or S_ISDIR(about.st_mode)


def _refuse_special_bits(mode: int) -> None:
    if mode & ~_PLAIN_BITS:
        raise PermissionError(errno.EPERM, "Only the bits of 0o777 may be set")


def _refuse_special_file() -> NoReturn:
    raise PermissionError(errno.EACCES, "It is neither a file nor a directory")
