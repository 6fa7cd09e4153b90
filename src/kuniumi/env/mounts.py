"""Mounts: which directory, or which remote store, stands where in the virtual tree.

In: `HOST:VIRTUAL[:ro]` or a `Mount`. Out: checked mounts. Nothing is opened here, and no file
system is loaded: a call that reads no files pays for none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.errors import DefinitionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

_EXPECTED = "expected HOST:VIRTUAL, or HOST:VIRTUAL:ro for one that is only read"
_LOCAL = ("file://", "local://")


class Mount(Struct, frozen=True):
    """One directory of the host, or one remote store, under its virtual path."""

    host: str | PathLike[str]  # a folder, or an address such as s3://bucket/folder
    virtual: str
    read_only: bool = False
    options: Mapping[str, Any] = {}  # for the driver of a remote store

    @property
    def is_remote(self) -> bool:
        """Whether this is an address, for fsspec to open."""
        return "://" in str(self.host)


def check_mounts(given: Any) -> tuple[Mount, ...]:
    """Give the mounts that an author wrote, or say what is wrong with them."""
    if isinstance(given, (str, bytes, Mount)) or not hasattr(given, "__iter__"):
        msg = f"the app: mounts={given!r} must be a list, like ['./data:/data:ro']"
        raise DefinitionError(msg)
    try:
        mounts = [_checked(one if isinstance(one, Mount) else _parsed(one)) for one in given]
    except ValueError as error:
        msg = f"the app: mounts={given!r}: {error}"
        raise DefinitionError(msg) from None
    double = _double(mounts)
    if double:
        msg = f"the app: mounts={given!r}: two are mounted at {double}"
        raise DefinitionError(msg)
    return tuple(mounts)


def parse_mounts(flags: Iterable[str]) -> tuple[Mount, ...]:
    """Read `--mount HOST:VIRTUAL[:ro]` flags, and see that each host's directory is there."""
    mounts = []
    for flag in flags:
        try:
            mount = _checked(_parsed(flag))
            _find(mount)
        except ValueError as error:
            msg = f"--mount {flag!r}: {error}"
            raise UsageError(msg) from None
        mounts.append(mount)
    double = _double(mounts)
    if double:
        msg = f"--mount: two are mounted at {double}"
        raise UsageError(msg)
    return tuple(mounts)


def merged(mounts: Iterable[Mount], over: Iterable[Mount]) -> tuple[Mount, ...]:
    """Add mounts to others; one at the same virtual path takes the other's place."""
    return tuple({mount.virtual: mount for mount in (*mounts, *over)}.values())


def _parsed(text: Any) -> Mount:
    """Take a flag apart, from its end: a host may hold colons, as in `s3://bucket`.

    It means the same on every system, so that `C:/data` is never the folder `C`.
    """
    if not isinstance(text, str):
        msg = f"{text!r} is neither a text nor a Mount"
        raise ValueError(msg)  # noqa: TRY004 - the caller makes its own error of it
    rest, colon, word = text.rpartition(":")
    read_only = word == "ro"
    if not colon or word not in {"ro", "rw"}:
        rest = text
    host, colon, virtual = rest.rpartition(":/")
    # `C:/data` and `s3://bucket` name no virtual path: what looks like one is the host's own.
    if not colon or not host or virtual.startswith("/"):
        raise ValueError(_EXPECTED)
    if len(host) == 1 and host.isascii() and host.isalpha():
        msg = f"{_EXPECTED}: {rest} is on drive {host}; for the folder {host} write ./{rest}"
        raise ValueError(msg)
    return Mount(host, f"/{virtual}", read_only)


def _checked(mount: Mount) -> Mount:
    """Give the mount with its host's path absolute and its virtual path plain."""
    host = os.fspath(mount.host)
    if not isinstance(host, str) or not host or "\0" in host:
        msg = f"{host!r} is no directory and no address"
        raise ValueError(msg)
    local = next((scheme for scheme in _LOCAL if host.startswith(scheme)), "")
    if local or "://" not in host:
        if os.name == "nt":
            msg = f"{host!r} can't be mounted on Windows, which has nothing to keep paths in it"
            raise ValueError(msg)
        host = os.path.abspath(host.removeprefix(local))
    return Mount(host, _plain(mount.virtual), bool(mount.read_only), dict(mount.options))


def _plain(virtual: Any) -> str:
    parts = virtual.split("/") if isinstance(virtual, str) else []
    if len(parts) < 2 or parts[0] or ".." in parts or any(char in virtual for char in ":\\\0"):
        msg = f"{virtual!r} is no virtual path: write it like /data, from / on and without .."
        raise ValueError(msg)
    return "/" + "/".join(part for part in parts if part not in {"", "."})


def _find(mount: Mount) -> None:
    if not mount.is_remote:
        if not os.path.isdir(mount.host):
            msg = f"there is no directory {mount.host}"
            raise ValueError(msg)
        return
    from importlib.util import find_spec  # noqa: PLC0415 - few mounts are remote

    if find_spec("fsspec") is None:
        msg = "a remote store needs fsspec: pip install kuniumi[files]"
        raise ValueError(msg)


def _double(mounts: Iterable[Mount]) -> str:
    seen = set()
    for mount in mounts:
        if mount.virtual in seen:
            return mount.virtual
        seen.add(mount.virtual)
    return ""
