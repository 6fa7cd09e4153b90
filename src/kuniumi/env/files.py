"""All files of an app: what a virtual path means, and every operation on one.

In: virtual paths, absolute and plain. Out: bytes, file objects, facts. The mount at the longest part
of a path, by whole components, decides; where it is only read, nothing changes. What leads to a
mount, and is on no host, is a directory that holds nothing else.

Every error names virtual paths.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from stat import S_IFDIR, S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, NamedTuple

from kuniumi.env.folder import Folder
from kuniumi.env.virtual import refuse, retold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    from kuniumi.env.folder import Entry
    from kuniumi.env.mounts import Mount
    from kuniumi.env.remote import Store

_CHUNK = 1 << 20
_NOWHERE = os.stat_result((S_IFDIR | 0o555, 0, 0, 1, 0, 0, 0, 0, 0, 0))
"""What is told of a directory that only leads to mounts."""


class _Mounted(NamedTuple):
    """A mount with what is behind it."""

    virtual: str
    prefix: str  # the same with one slash at its end
    store: Folder | Store
    read_only: bool


class Files:
    """What lies under the mounts of one app, shared by all its calls."""

    def __init__(self, mounts: Iterable[Mount]) -> None:
        known = sorted(mounts, key=lambda mount: len(mount.virtual), reverse=True)
        points = [mount.virtual for mount in known]
        self._mounts = tuple(_mounted(mount, points) for mount in known)
        self._points = frozenset(points)
        self._passages = frozenset(_above(points))  # directories on the way to a mount

    # ---- reading -----------------------------------------------------------------------------------

    def read(self, path: str, offset: int, length: int | None) -> bytes:
        """Read a file, or a part of it."""
        store, name, _ = self._find(path)
        try:
            return store.read(name, offset, length)
        except OSError as error:
            raise retold(error, path) from error.__cause__

    def stat(self, path: str, *, follow: bool = True) -> os.stat_result:
        """Tell about what is there."""
        if path in self._passages and path not in self._points:
            return self._stat_passage(path)
        store, name, _ = self._find(path)
        with _told(path):
            return store.stat(name, follow=follow)

    def scan(self, path: str) -> list[Entry]:
        """Give what is in a directory, mounts included, in order."""
        found: dict[str, str] = {}
        if path in self._points or path not in self._passages:
            store, name, _ = self._find(path)
            with _told(path):
                found.update(store.scan(name))
        else:  # it leads to a mount, whether or not it is on a host
            with suppress(OSError):
                store, name, _ = self._find(path)
                found.update(store.scan(name))
        if path not in self._passages:
            return sorted(found.items())
        inside = path.rstrip("/") + "/"
        for point in (*self._points, *self._passages):
            if point.startswith(inside) and point != inside:
                found[point[len(inside) :].partition("/")[0]] = "directory"
        return sorted(found.items())

    def kind(self, path: str) -> str:
        """Tell what is there, links followed: `file`, `directory`, `other` or nothing."""
        try:
            mode = self.stat(path).st_mode
        except OSError:
            return ""
        return "directory" if S_ISDIR(mode) else "file" if S_ISREG(mode) else "other"

    def find(self, root: str, pattern: str, *, recursive: bool) -> list[str]:
        """Give the files beneath a directory whose name, or way from there, matches a pattern.

        A link to a file counts as one; one to a directory is not followed.
        """
        wanted = pattern.split("/")
        if len(wanted) == 1 and recursive:
            wanted = ["**", pattern]
        found: list[str] = []
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            inside = waiting.pop()
            folder = "/".join((root.rstrip("/"), *inside)) or "/"
            try:
                entries = self.scan(folder)
            except OSError:
                if not inside:
                    raise
                continue  # it has just gone, or is not for us to see
            for name, kind in entries:
                way = (*inside, name)
                path = f"{folder.rstrip('/')}/{name}"
                if kind == "directory":
                    if "**" in wanted or len(way) < len(wanted):
                        waiting.append(way)
                elif _matches(way, wanted) and (
                    kind == "file" or (kind == "link" and self.kind(path) == "file")
                ):
                    found.append(path)
        return sorted(found)

    # ---- writing -----------------------------------------------------------------------------------

    def write(self, path: str, data: Any, *, append: bool) -> None:
        """Write a file from its beginning, or on from its end."""
        store, name = self._find_to_change(path)
        with _told(path):
            store.write(name, data, append=append)

    def rewrite(self, path: str, offset: int, data: Any) -> None:
        """Write over a part of a file."""
        store, name = self._find_to_change(path)
        with _told(path):
            store.rewrite(name, offset, data)

    def touch(self, path: str, *, exclusive: bool) -> None:
        """Make an empty file, or have an existing one changed just now."""
        store, name = self._find_to_change(path)
        with _told(path):
            store.touch(name, exclusive=exclusive)

    def copy(self, source: str, target: str) -> None:
        """Copy a file, from one mount to another too."""
        store, name, _ = self._find(source)
        other, other_name = self._find_to_change(target)
        if source == target:
            refuse(errno.EINVAL, source, "It is the same file")
        with _told(source, target):
            if isinstance(store, Folder) and isinstance(other, Folder):
                store.copy(name, other, other_name)
                return
            if (
                not isinstance(store, Folder)
                and not isinstance(other, Folder)
                and store.is_the_same(name, other, other_name)
            ):
                refuse(errno.EINVAL, source, "It is the same file")
            with (
                store.open(name, source, "rb") as read,
                other.open(other_name, target, "wb") as written,
            ):
                while part := read.read(_CHUNK):
                    written.write(part)

    def open(self, path: str, mode: str, **text: Any) -> IO[Any]:
        """Open a file as Python does."""
        if set(mode) & set("wax+"):
            store, name = self._find_to_change(path)
        else:
            store, name, _ = self._find(path)
        with _told(path):
            opened: IO[Any] = store.open(name, path, mode, **text)
            return opened

    def mkdir(self, path: str, mode: int) -> None:
        """Make a directory."""
        if path in self._passages or path in self._points:
            refuse(errno.EEXIST, path)
        store, name = self._find_to_change(path)
        with _told(path):
            store.mkdir(name, mode)

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""
        store, name = self._find_to_move(path)
        with _told(path):
            store.rmdir(name)

    def remove(self, path: str) -> None:
        """Remove a file, or a link itself."""
        store, name = self._find_to_change(path)
        with _told(path):
            store.remove(name)

    def rename(self, source: str, target: str) -> None:
        """Give a file or a directory another name in the same mount."""
        store, name = self._find_to_move(source)
        other, other_name = self._find_to_move(target)
        if store is not other:
            words = "From one mount to another: copy it, then remove it"
            raise OSError(errno.EXDEV, words, source, None, target)
        with _told(source, target):
            store.rename(name, other_name)

    def chmod(self, path: str, mode: int) -> None:
        """Change who may do what."""
        if self._is_mere_passage(path):
            refuse(errno.EROFS, path)
        store, name, read_only = self._find(path)
        if read_only:
            refuse(errno.EROFS, path)
        with _told(path):
            store.chmod(name, mode)

    # ---- finding -----------------------------------------------------------------------------------

    def _find(self, path: str) -> tuple[Folder | Store, str, bool]:
        """Give what a path lies in, its name there, and whether that is only read."""
        for mount in self._mounts:
            if path.startswith(mount.prefix):
                return mount.store, path[len(mount.prefix) :], mount.read_only
            if path == mount.virtual:
                return mount.store, "", mount.read_only
        if path in self._passages:
            refuse(errno.EISDIR, path)
        return refuse(errno.ENOENT, path)

    def _find_to_change(self, path: str) -> tuple[Folder | Store, str]:
        """Give the same of what is to be changed; a directory that holds mounts is none."""
        if path in self._passages or path in self._points:
            refuse(errno.EISDIR, path)
        if not any(path.startswith(mount.prefix) for mount in self._mounts):
            parent = path.rpartition("/")[0] or "/"
            refuse(errno.EROFS if parent in self._passages else errno.ENOENT, path)
        store, name, read_only = self._find(path)
        if read_only:
            refuse(errno.EROFS, path)
        return store, name

    def _find_to_move(self, path: str) -> tuple[Folder | Store, str]:
        """Give the same of what is to get another name, or to go."""
        if path in self._passages or path in self._points:
            refuse(errno.EBUSY, path, "Something is mounted here, or further down")
        return self._find_to_change(path)

    def _stat_passage(self, path: str) -> os.stat_result:
        try:
            store, name, _ = self._find(path)
            about = store.stat(name)
        except OSError:
            return _NOWHERE
        return about if S_ISDIR(about.st_mode) else _NOWHERE

    def _is_mere_passage(self, path: str) -> bool:
        """Whether a directory only leads to mounts, and is on no host."""
        known = path in self._passages and path not in self._points
        return known and self._stat_passage(path) is _NOWHERE


def _mounted(mount: Mount, points: Sequence[str]) -> _Mounted:
    prefix = mount.virtual.rstrip("/") + "/"
    host = str(mount.host)
    store: Folder | Store
    if mount.is_remote:
        from kuniumi.env.remote import Store  # noqa: PLC0415 - few mounts are remote

        store = Store(host, mount.options)
    else:
        hidden = [point[len(prefix) :] for point in points if point.startswith(prefix)]
        store = Folder(host, [name for name in hidden if name])
    return _Mounted(mount.virtual, prefix, store, mount.read_only)


def _above(points: Iterable[str]) -> Iterator[str]:
    """Give every directory above these; the root is always there."""
    yield "/"
    for point in points:
        parts = point.split("/")
        yield from ("/".join(parts[:size]) for size in range(2, len(parts)))


def _matches(way: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a way, name by name, fits a pattern in which `**` stands for any names."""
    reached = {0}  # how much of the pattern is used up, in every way there is
    for name in (*way, None):
        for at in range(len(wanted)):
            if at in reached and wanted[at] == "**":
                reached.add(at + 1)
        if name is None:
            break
        reached = {
            at if wanted[at] == "**" else at + 1
            for at in reached
            if at < len(wanted) and (wanted[at] == "**" or fnmatchcase(name, wanted[at]))
        }
    return len(wanted) in reached


@contextmanager
def _told(path: str, other: str | None = None) -> Iterator[None]:
    """Tell an error with virtual paths instead of whatever it names."""
    try:
        yield
    except OSError as error:
        raise retold(error, path, other) from error.__cause__
