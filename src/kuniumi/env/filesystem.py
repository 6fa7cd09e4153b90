"""The virtual tree as a file system of fsspec's: what pandas, pyarrow and many others read.

In: an environment. Out: an `fsspec.AbstractFileSystem`. fsspec is optional, and imported here alone;
deriving from its class is how it wants to be given a file system.
"""

from __future__ import annotations

import io
import os
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any

from kuniumi.errors import UsageError

try:
    from fsspec.spec import AbstractFileSystem
except ImportError as error:
    msg = "ctx.env.fsspec() needs fsspec: pip install kuniumi[files]"
    raise UsageError(msg) from error

if TYPE_CHECKING:
    from datetime import datetime
    from typing import IO

    from kuniumi.env.environment import Environment


class EnvironmentFileSystem(AbstractFileSystem):  # type: ignore[misc] # fsspec is not typed
    """One environment's files."""

    protocol = "kuniumi"
    root_marker = "/"
    cachable = False  # another call has another environment

    def __init__(self, env: Environment, **options: Any) -> None:
        super().__init__(env=env, **options)
        self._env = env

    # ---- what is there -----------------------------------------------------------------------------

    def info(self, path: str, **_options: Any) -> dict[str, Any]:
        """Tell about a file or a directory."""
        there = self._env.path(self._plain(path))
        about = there.stat()
        kind = "file" if S_ISREG(about.st_mode) else "other"
        return {
            "name": str(there),
            "size": about.st_size,
            "type": "directory" if S_ISDIR(about.st_mode) else kind,
            "mtime": about.st_mtime,
            "created": about.st_ctime,
        }

    def ls(self, path: str, detail: bool = True, **_options: Any) -> list[Any]:  # noqa: FBT001, FBT002 - as fsspec has it
        """Give what is in a directory; a file is told of by itself."""
        there = self._env.path(self._plain(path))
        found = list(there.iterdir()) if there.is_dir() else [there]
        if not detail:
            return [str(one) for one in found]
        # A link that leads nowhere, or out, is no file that could be read …
        listed = [self.info(str(one)) for one in found if one == there or one.exists()]
        for about in listed:  # … and one to a directory may lead round and round
            if about["type"] == "directory" and self._env.path(about["name"]).is_symlink():
                about["type"] = "other"
        return listed

    def modified(self, path: str) -> datetime:
        """Tell when a file was changed."""
        from datetime import UTC, datetime  # noqa: PLC0415 - only here

        return datetime.fromtimestamp(self.info(path)["mtime"], UTC)

    # ---- files -------------------------------------------------------------------------------------

    def _open(self, path: str, mode: str = "rb", **_options: Any) -> IO[bytes]:
        if mode != "rb":
            return self._env.open(self._plain(path), mode)
        return _Buffered(_Reader(self._env.open(self._plain(path), mode, buffering=0)))

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_options: Any
    ) -> bytes:
        """Read a file, or a part of it; numbers below zero count from its end."""
        start = start or 0
        plain = self._plain(path)
        if start < 0 or (end is not None and end < 0):
            size = self.info(plain)["size"]
            start = max(size + start, 0) if start < 0 else start
            end = size + end if end is not None and end < 0 else end
        return self._env.read_file(plain, start, None if end is None else max(end - start, 0))

    def cp_file(self, path1: str, path2: str, **_options: Any) -> None:
        """Copy a file; of a directory only the directory itself."""
        if self.isdir(path1):
            self.makedirs(path2, exist_ok=True)
        else:
            self._env.copy_file(self._plain(path1), self._plain(path2))

    def touch(self, path: str, truncate: bool = True, **_options: Any) -> None:  # noqa: FBT001, FBT002 - as fsspec has it
        """Make an empty file, or have one changed just now."""
        if truncate:
            self._env.write_file(self._plain(path), b"")
        else:
            self._env.path(self._plain(path)).touch()

    def _rm(self, path: str) -> None:
        there = self._env.path(self._plain(path))
        if there.is_dir() and not there.is_symlink():
            there.rmdir()
        else:
            there.unlink()

    # ---- directories -------------------------------------------------------------------------------

    def mkdir(self, path: str, create_parents: bool = True, **_options: Any) -> None:  # noqa: FBT001, FBT002 - as fsspec has it
        """Make a directory."""
        self._env.path(self._plain(path)).mkdir(parents=create_parents)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as fsspec has it
        """Make a directory, and those above it."""
        self._env.path(self._plain(path)).mkdir(parents=True, exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        self._env.path(self._plain(path)).rmdir()

    def _plain(self, path: str) -> str:
        """Give the path without `kuniumi://`; fsspec leaves nothing of its root."""
        return str(self._strip_protocol(path)) or "/"


class _Buffered(io.BufferedReader):
    """A file that tells its size, as fsspec's own do: who reads it block by block asks for that."""

    @property
    def size(self) -> int:
        raw: Any = self.raw
        return int(raw.size)


class _Reader(io.RawIOBase):
    """A file that is closed, without a warning, when nobody holds it: pyarrow closes none."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.name = file.name

    @property
    def size(self) -> int:
        here = self.tell()
        try:
            return self.seek(0, os.SEEK_END)
        finally:
            self.seek(here)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return int(self._file.readinto(buffer))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()
