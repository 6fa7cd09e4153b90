"""What `ctx.env` is: the variables and the files a function was given, and nothing of the host's.

In: variables and mounts, as an author or a command line gave them. Out: an `Environment`, of which
each call gets its own, with a working directory of its own. Files are another module's affair, which
is loaded when the first of them is asked for.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import IO, Any

    from kuniumi.env.files import Files
    from kuniumi.env.mounts import Mount
    from kuniumi.env.path import Path
    from kuniumi.env.virtual import AnyPath

    Bytes = bytes | bytearray | memoryview


class Environment:
    """Managed variables and mounted directories only: the host's own are never read.

    Paths are virtual, with `/` between names on every system. Relative ones begin at the working
    directory, `..` is resolved in the text, and failures are the `OSError`s that Python's own files
    have: `FileNotFoundError`, `IsADirectoryError`, `PermissionError`…
    """

    __slots__ = ("_cwd", "_given")

    def __init__(
        self,
        variables: Mapping[str, str] | None = None,
        mounts: Iterable[str | Mount] | None = None,
    ) -> None:
        self._given = _Given({}, ())
        self._cwd = "/"
        if variables is not None:
            from kuniumi.env.variables import check_variables  # noqa: PLC0415 - few apps have any

            self._given.variables = check_variables(variables)
        if mounts is not None and mounts != ():
            from kuniumi.env.mounts import check_mounts  # noqa: PLC0415 - few apps have any

            self._given.mounts = check_mounts(mounts)

    def extended(
        self, variables: Mapping[str, str] | None = None, mounts: Iterable[str | Mount] = ()
    ) -> Environment:
        """Give one that has more variables and mounts; they take the place of those it had."""
        more = Environment(variables, mounts)
        if more._given.mounts:
            from kuniumi.env.mounts import merged  # noqa: PLC0415 - few apps have any

            more._given.mounts = merged(self._given.mounts, more._given.mounts)
        else:
            more._given.mounts = self._given.mounts
        more._given.variables = {**self._given.variables, **more._given.variables}
        return more

    def for_call(self) -> Environment:
        """Give the same for one call: where that goes is not seen by any other."""
        own = object.__new__(Environment)
        own._given = self._given
        own._cwd = "/"
        return own

    def __reduce__(self) -> tuple[object, ...]:
        """Cross to another process: what is open stays behind."""
        return _restored, (self._given.variables, self._given.mounts, self._cwd)

    # ---- variables ---------------------------------------------------------------------------------

    def getenv(self, name: str, default: str = "") -> str:
        """Give the variable's value, or the default."""
        return self._given.variables.get(name, default)

    def list_env(self) -> dict[str, str]:
        """Give all variables, as a copy."""
        return dict(self._given.variables)

    # ---- files -------------------------------------------------------------------------------------

    def read_file(self, path: AnyPath, offset: int = 0, length: int | None = None) -> bytes:
        """Read a file, or `length` bytes of it from `offset` on; fewer where it ends before."""
        if offset < 0 or (length is not None and length < 0):
            raise OSError(errno.EINVAL, "Neither offset nor length may be negative", str(path))
        given = self._given
        return (given.files or given.load()).read(self._at(path), offset, length)

    def write_file(self, path: AnyPath, data: Bytes | str, *, append: bool = False) -> None:
        """Write a file, text as UTF-8; what it held is gone, unless this is to be appended."""
        self._files.write(self._at(path), _as_bytes(data), append=append)

    def rewrite_file(self, path: AnyPath, offset: int, data: Bytes | str) -> None:
        """Write over a part of a file, in place; it grows if the part goes on past its end."""
        if offset < 0:
            raise OSError(errno.EINVAL, "The offset may not be negative", str(path))
        self._files.rewrite(self._at(path), offset, _as_bytes(data))

    def copy_file(self, source: AnyPath, target: AnyPath) -> None:
        """Copy a file and its permissions; a file that is there already is replaced."""
        self._files.copy(self._at(source), self._at(target))

    def remove_file(self, path: AnyPath) -> None:
        """Remove a file."""
        self._files.remove(self._at(path))

    def chmod(self, path: AnyPath, mode: int) -> None:
        """Change who may do what with a file or a directory: bits of 0o777, and no others."""
        self._files.chmod(self._at(path), mode)

    def list_files(self, path: AnyPath = ".") -> list[str]:
        """Give the names in a directory, of files and directories, in order."""
        return [name for name, _ in self._files.scan(self._at(path))]

    def find_files(
        self,
        root: AnyPath = ".",
        pattern: str = "*",
        recursive: bool = True,  # noqa: FBT001, FBT002 - as os.walk and glob have it
    ) -> list[str]:
        """Give the paths of the files beneath a directory whose names match a pattern.

        A pattern with slashes, like `2026/**/*.csv`, is held against the way from there on.
        """
        return self._files.find(self._at(root), pattern, recursive=recursive)

    def open(
        self,
        path: AnyPath,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Open a file, as the built-in `open` does; text is UTF-8 unless said otherwise."""
        if "b" not in mode:
            encoding = encoding or "utf-8"
        return self._files.open(
            self._at(path),
            mode,
            buffering=buffering,
            encoding=encoding,
            errors=errors,
            newline=newline,
        )

    def path(self, *parts: AnyPath) -> Path:
        """Give a path that acts on this environment's files, much as one of `pathlib` does."""
        from kuniumi.env.path import Path  # noqa: PLC0415 - most functions use none

        return Path(self, *parts)

    def fsspec(self) -> Any:
        """Give these files as a file system of fsspec's, for pandas, pyarrow and others."""
        from kuniumi.env.filesystem import EnvironmentFileSystem  # noqa: PLC0415 - fsspec is optional

        return EnvironmentFileSystem(self)

    # ---- the working directory ---------------------------------------------------------------------

    @property
    def cwd(self) -> str:
        """The directory that relative paths begin at; `/` when a call begins."""
        return self._cwd

    def chdir(self, path: AnyPath) -> None:
        """Have relative paths begin at another directory, for the rest of this call."""
        there = self._at(path)
        if self._files.kind(there) != "directory":
            self._files.scan(there)  # this tells what is wrong with it
        self._cwd = there

    # ---- below -------------------------------------------------------------------------------------

    @property
    def _files(self) -> Files:
        return self._given.files or self._given.load()

    def _at(self, path: AnyPath) -> str:
        from kuniumi.env.virtual import absolute  # noqa: PLC0415 - a call that reads no files needs none

        return absolute(path, self._cwd)


class _Given:
    """What all calls of an app share."""

    __slots__ = ("files", "mounts", "variables")

    def __init__(self, variables: dict[str, str], mounts: tuple[Mount, ...]) -> None:
        self.variables = variables
        self.mounts = mounts
        self.files: Files | None = None

    def load(self) -> Files:
        """Load what knows of files. Two threads may both do so: then one of the two is dropped."""
        from kuniumi.env.files import Files  # noqa: PLC0415 - most calls read none

        self.files = self.files or Files(self.mounts)
        return self.files


def _restored(variables: dict[str, str], mounts: tuple[Mount, ...], cwd: str) -> Environment:
    environment = Environment(variables, mounts)
    environment._cwd = cwd  # noqa: SLF001 - what it was, whatever is there in this process
    return environment


def _as_bytes(data: Bytes | str) -> Bytes:
    """Give the bytes to be written; what is none is refused before anything is lost to it."""
    if isinstance(data, str):
        return data.encode()
    try:
        return memoryview(data).cast("B")
    except TypeError:
        msg = f"what is written is bytes or text, not {type(data).__name__}"
        raise TypeError(msg) from None
