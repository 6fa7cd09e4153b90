"""A remote store (s3://…, memory://…) behind the operations a directory of the host has.

In: names, plain and relative to the mount. Out: bytes, file objects, facts. fsspec knows the stores;
it is loaded when the first file is asked for. Whatever a store fails with, it is an `OSError` here,
without the store's own words: they name addresses.
"""

from __future__ import annotations

import errno
import io
import os
from contextlib import contextmanager
from stat import S_IFDIR, S_IFREG
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kuniumi.env.folder import Entry

_CODES = {
    FileNotFoundError: errno.ENOENT,
    FileExistsError: errno.EEXIST,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    PermissionError: errno.EACCES,
    NotImplementedError: errno.ENOTSUP,
}
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


class Store:
    """One remote store, from one address on."""

    __slots__ = ("_address", "_lock", "_options", "_system", "_top")

    def __init__(self, address: str, options: Mapping[str, Any]) -> None:
        self._address = address
        self._options = options
        self._system: Any = None
        self._top = ""
        self._lock = Lock()

    # ---- files -------------------------------------------------------------------------------------

    def read(self, name: str, offset: int, length: int | None) -> bytes:
        """Read a file, or a part of it."""
        size = self.stat_file(name).st_size
        end = size if length is None else min(size, offset + length)
        if offset >= end:
            return b""
        return bytes(self._ask("cat_file", name, start=offset, end=end))

    def write(self, name: str, data: Any, *, append: bool) -> None:
        """Write a file from its beginning, or on from its end; make it if there is none."""
        self._refuse_directory(name)
        known = self.read(name, 0, None) if append and self._exists(name) else b""
        self._ask("pipe_file", name, value=known + bytes(data))

    def rewrite(self, name: str, offset: int, data: Any) -> None:
        """Write over a part of a file: a store can only take all of it anew."""
        known = self.read(name, 0, None)
        if offset > len(known):
            raise OSError(errno.EINVAL, f"It ends at {len(known)}, before the offset {offset}")
        written = bytes(data)
        whole = known[:offset] + written + known[offset + len(written) :]
        self._ask("pipe_file", name, value=whole)

    def open(self, name: str, called: str, mode: str, **text: Any) -> Any:
        """Open a file as Python does; it goes by the name `called`."""
        kinds = set(mode)
        way = kinds & set("rwax")
        if len(way) != 1 or kinds - set("rwaxbt+") or {"b", "t"} <= kinds:
            msg = f"invalid mode: {mode!r}"
            raise ValueError(msg)
        if "+" in kinds:
            raise OSError(errno.ENOTSUP, "A remote file is read or written, not both")
        reads = "r" in way
        if reads:
            self.stat_file(name)
        else:
            self._refuse_directory(name)
        if "x" in way and self._exists(name):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        opened = self._ask("open", name, mode="rb" if reads else "ab" if "a" in way else "wb")
        raw: Any = _File(opened, called, mode)
        buffering = text.pop("buffering", -1)
        if "b" in kinds and buffering == 0:
            return raw
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        buffered: Any = io.BufferedReader(raw, size) if reads else io.BufferedWriter(raw, size)
        if "b" in kinds:
            return buffered
        return io.TextIOWrapper(buffered, **text, line_buffering=buffering == 1)

    def touch(self, name: str, *, exclusive: bool) -> None:
        """Make an empty file; an existing one is left as it is."""
        if not self._exists(name):
            self.write(name, b"", append=False)
        elif exclusive:
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))

    # ---- names -------------------------------------------------------------------------------------

    def stat(self, name: str, *, follow: bool = True) -> os.stat_result:  # noqa: ARG002 - no links
        """Tell about what is there."""
        try:
            about = self._ask("info", name)
        except FileNotFoundError:
            if name:
                raise
            about = {"type": "directory"}  # the mount itself is there, if there is nothing in it
        kind = S_IFDIR | 0o777 if about["type"] == "directory" else S_IFREG | 0o666
        when = next((about[key] for key in _TIMES if about.get(key)), 0)
        changed = when.timestamp() if hasattr(when, "timestamp") else when
        seconds = changed if isinstance(changed, (int, float)) else 0
        size = int(about.get("size") or 0)
        return os.stat_result((kind, 0, 0, 1, 0, 0, size, seconds, seconds, seconds))

    def stat_file(self, name: str) -> os.stat_result:
        """Tell about a file; a directory is none."""
        about = self.stat(name)
        if about.st_mode & S_IFDIR:
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        return about

    def scan(self, name: str) -> list[Entry]:
        """Give what is in a directory."""
        if not self.stat(name).st_mode & S_IFDIR:
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        top = self._find(name)[1].strip("/")
        try:
            listed = self._ask("ls", name, detail=True)
        except FileNotFoundError:
            listed = []
        found = {
            entry["name"].rstrip("/").rpartition("/")[2]: entry["type"]
            for entry in listed
            if entry["name"].strip("/") != top
        }
        return [(name, kind) for name, kind in found.items() if name not in {"", ".", ".."}]

    def mkdir(self, name: str, mode: int) -> None:  # noqa: ARG002 - stores have no such rights
        """Make a directory, where the store knows directories."""
        if self._exists(name):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
        self._ask("mkdir", name, create_parents=False)

    def rmdir(self, name: str) -> None:
        """Remove an empty directory."""
        if not name:
            raise OSError(errno.EBUSY, "It is where something is mounted")
        if self.scan(name):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        self._ask("rmdir", name)

    def remove(self, name: str) -> None:
        """Remove a file."""
        self.stat_file(name)
        self._ask("rm_file", name)

    def rename(self, name: str, target_name: str) -> None:
        """Give a file another name: to a store that means a copy."""
        if self.stat(name).st_mode & S_IFDIR:
            raise OSError(errno.ENOTSUP, "A directory in a remote store can't be renamed")
        self._refuse_directory(target_name)
        if name != target_name:
            self._ask("cp_file", name, path2=self._find(target_name)[1])
            self._ask("rm_file", name)

    def chmod(self, name: str, mode: int) -> None:  # noqa: ARG002 - stores have no such rights
        """Refuse: there are no such rights to change."""
        self.stat(name)
        raise OSError(errno.ENOTSUP, "A remote store has no permissions to change")

    # ---- the store ---------------------------------------------------------------------------------

    def _ask(self, what: str, name: str, **options: Any) -> Any:
        """Have the store do something with the file, or the directory, of this name."""
        system, path = self._find(name)
        with _told():
            return getattr(system, what)(path, **options)

    def _connect(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - only a remote mount needs it

            system, top = url_to_fs(self._address, **self._options)
        except (ImportError, ValueError) as error:
            words = "What is mounted here needs a driver that is not installed"
            raise OSError(errno.ENODEV, words) from error
        except Exception as error:  # each driver has exceptions of its own
            raise OSError(errno.ENODEV, "What is mounted here can't be reached") from error
        if _is_local(system):
            raise OSError(errno.ENODEV, "What is mounted here is no remote store")
        return system, str(top).rstrip("/")

    def _find(self, name: str) -> tuple[Any, str]:
        """Give the store and its own path, unless there is any way to read it as leading elsewhere."""
        text = name
        while (plain := unquote(text)) != text:
            text = plain
        if {".", ".."} & set(text.replace("\\", "/").split("/")):
            raise PermissionError(errno.EACCES, "It leads out of its mount")
        with self._lock:
            if self._system is None:
                self._system, self._top = self._connect()
        if not self._top:
            return self._system, f"{self._system.root_marker}{name}"
        return self._system, f"{self._top}/{name}" if name else self._top

    def is_the_same(self, name: str, other: Store, other_name: str) -> bool:
        """Whether two names, perhaps of two mounts, are one file's."""
        return self._find(name) == other._find(other_name)

    def _exists(self, name: str) -> bool:
        try:
            self.stat(name)
        except FileNotFoundError:
            return False
        return True

    def _refuse_directory(self, name: str) -> None:
        if self._exists(name):
            self.stat_file(name)


def _is_local(system: Any) -> bool:
    """Whether these are files of the host's, also behind a cache: nothing would keep links in."""
    while system is not None:
        protocol = system.protocol
        if "file" in ((protocol,) if isinstance(protocol, str) else protocol):
            return True
        system = getattr(system, "fs", None)
    return False


class _File(io.RawIOBase):
    """A remote file under its virtual name; its failures are `OSError`s."""

    def __init__(self, opened: Any, name: str, mode: str) -> None:
        self._opened = opened
        self._reads = "r" in mode
        self.name = name
        self.mode = mode

    def readable(self) -> bool:
        return self._reads

    def writable(self) -> bool:
        return not self._reads

    def seekable(self) -> bool:
        return self._reads

    def readinto(self, buffer: Any) -> int:
        with _told():
            read = self._opened.read(len(buffer))
        buffer[: len(read)] = read
        return len(read)

    def write(self, data: Any) -> int:
        with _told():
            self._opened.write(bytes(data))
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with _told():
            return int(self._opened.seek(offset, whence))

    def tell(self) -> int:
        with _told():
            return int(self._opened.tell())

    def close(self) -> None:
        if not self.closed:
            try:
                with _told():
                    self._opened.close()
            except OSError as error:
                raise OSError(error.errno, error.strerror, self.name) from error
            finally:
                super().close()


@contextmanager
def _told() -> Iterator[None]:
    """Tell whatever a store fails with in the operating system's words."""
    try:
        yield
    except Exception as error:  # each driver has exceptions of its own
        kinds = (code for kind, code in _CODES.items() if isinstance(error, kind))
        code = next(kinds, getattr(error, "errno", None) or errno.EIO)
        raise OSError(code, os.strerror(code)) from error
