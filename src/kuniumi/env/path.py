"""A path in the virtual tree, used much as one of `pathlib`.

In: an environment and names. Out: files and facts of that environment. A path is absolute from the
moment it is made. It is not `os.PathLike`: the built-in `open` must not take it for a path of the
host's.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from stat import S_ISLNK
from typing import TYPE_CHECKING, Any

from kuniumi.env.virtual import absolute

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import IO

    from kuniumi.env.environment import Environment
    from kuniumi.env.files import Files
    from kuniumi.env.virtual import AnyPath


class Path:
    """One path: `ctx.env.path("/data") / "report.csv"`."""

    __slots__ = ("_env", "_pure")

    def __init__(self, env: Environment, *parts: AnyPath) -> None:
        text = env.cwd
        for part in parts or (".",):
            text = absolute(part, text)
        self._env = env
        self._pure = PurePosixPath(text)

    # ---- the text ----------------------------------------------------------------------------------

    def __str__(self) -> str:
        """Give the virtual path."""
        return str(self._pure)

    def __repr__(self) -> str:
        return f"Path({str(self._pure)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self._pure == other._pure

    def __lt__(self, other: Path) -> bool:
        return self._pure < other._pure

    def __hash__(self) -> int:
        return hash(self._pure)

    def __truediv__(self, other: AnyPath) -> Path:
        """Give the path of something in this directory."""
        return self._with(absolute(other, str(self)))

    def joinpath(self, *others: AnyPath) -> Path:
        """Do the same for several names."""
        path = self
        for other in others:
            path = path / other
        return path

    @property
    def name(self) -> str:
        """The last name."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The last name without its suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The last suffix of the last name, such as `.gz`."""
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        """All of them, such as `.tar` and `.gz`."""
        return self._pure.suffixes

    @property
    def parts(self) -> tuple[str, ...]:
        """The names, `/` first."""
        return self._pure.parts

    @property
    def parent(self) -> Path:
        """The directory this is in."""
        return self._with(str(self._pure.parent))

    @property
    def parents(self) -> list[Path]:
        """All directories above, the nearest first."""
        return [self._with(str(parent)) for parent in self._pure.parents]

    def with_name(self, name: str) -> Path:
        """Give the path of this name in the same directory."""
        return self._with(str(self._pure.with_name(name)))

    def with_suffix(self, suffix: str) -> Path:
        """Give the path with another suffix."""
        return self._with(str(self._pure.with_suffix(suffix)))

    def relative_to(self, other: AnyPath) -> str:
        """Give the way from a directory above to here, as text."""
        return str(self._pure.relative_to(absolute(other, self._env.cwd)))

    def is_relative_to(self, other: AnyPath) -> bool:
        """Whether this lies in a directory, at any depth."""
        return self._pure.is_relative_to(absolute(other, self._env.cwd))

    def match(self, pattern: str) -> bool:
        """Whether the path's end matches a pattern."""
        return self._pure.match(pattern)

    # ---- what is there -----------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether there is anything, and it can be reached."""
        return bool(self._files.kind(str(self)))

    def is_file(self) -> bool:
        """Whether there is a file."""
        return self._files.kind(str(self)) == "file"

    def is_dir(self) -> bool:
        """Whether there is a directory."""
        return self._files.kind(str(self)) == "directory"

    def is_symlink(self) -> bool:
        """Whether there is a symbolic link, wherever it leads."""
        try:
            return S_ISLNK(self.lstat().st_mode)
        except OSError:
            return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Tell size, times and kind."""
        return self._files.stat(str(self), follow=follow_symlinks)

    def lstat(self) -> os.stat_result:
        """Tell the same of a symbolic link itself."""
        return self.stat(follow_symlinks=False)

    def iterdir(self) -> Iterator[Path]:
        """Give what is in this directory, in order."""
        return iter([self / name for name, _ in self._files.scan(str(self))])

    def glob(self, pattern: str) -> Iterator[Path]:
        """Give the files in here that match a pattern; `**` stands for any directories."""
        found = self._files.find(str(self), pattern, recursive=False)
        return iter([self._with(path) for path in found])

    def rglob(self, pattern: str) -> Iterator[Path]:
        """Give the files in here that match a pattern, at any depth."""
        return self.glob(f"**/{pattern}")

    # ---- files -------------------------------------------------------------------------------------

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Open the file, as the built-in `open` does; text is UTF-8 unless said otherwise."""
        return self._env.open(str(self), mode, buffering, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """Read the whole file."""
        return self._env.read_file(str(self))

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """Read the whole file as text."""
        with self.open("r", encoding=encoding, errors=errors) as file:
            return str(file.read())

    def write_bytes(self, data: bytes | bytearray | memoryview) -> int:
        """Write the whole file."""
        self._env.write_file(str(self), data)
        return memoryview(data).nbytes

    def write_text(
        self,
        data: str,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> int:
        """Write the whole file as text."""
        with self.open("w", encoding=encoding, errors=errors, newline=newline) as file:
            return int(file.write(data))

    def touch(self, *, exist_ok: bool = True) -> None:
        """Make an empty file, or have an existing one changed just now."""
        self._files.touch(str(self), exclusive=not exist_ok)

    def chmod(self, mode: int) -> None:
        """Change who may do what: bits of 0o777, and no others."""
        self._files.chmod(str(self), mode)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove the file."""
        try:
            self._files.remove(str(self))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rename(self, target: AnyPath) -> Path:
        """Give it another name in the same mount; a file that has it is replaced."""
        path = self._with(absolute(target, self._env.cwd))
        self._files.rename(str(self), str(path))
        return path

    def replace(self, target: AnyPath) -> Path:
        """Do the same."""
        return self.rename(target)

    # ---- directories -------------------------------------------------------------------------------

    def mkdir(self, mode: int = 0o777, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a directory, and those above it if asked to."""
        try:
            self._files.mkdir(str(self), mode)
        except FileNotFoundError:
            if not parents or self.parent == self:
                raise
            for above in reversed(self.parents):
                above.mkdir(exist_ok=True)
            self.mkdir(mode, exist_ok=exist_ok)
        except OSError:
            if not exist_ok or not self.is_dir():
                raise

    def rmdir(self) -> None:
        """Remove the directory, which must be empty."""
        self._files.rmdir(str(self))

    # ---- below -------------------------------------------------------------------------------------

    @property
    def _files(self) -> Files:
        return self._env._files  # noqa: SLF001 - a path is a part of its environment

    def _with(self, path: str) -> Path:
        return Path(self._env, path)
