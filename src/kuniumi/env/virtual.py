"""Virtual paths: the text a function names a file with, made absolute and plain.

In: a path as a function gives it, and its working directory. Out: `/a/b`, with no `.`, `..` or `//`
left. `..` is resolved in the text, as in an address on the web, before anything is looked up, and
there is nothing above `/`. It must not know of hosts or of mounts.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

if TYPE_CHECKING:
    from os import PathLike

    from kuniumi.env.path import Path

    AnyPath: TypeAlias = "str | PathLike[str] | Path"

LONGEST = 4095
"""Bytes of a path, at most: what Linux takes."""


def absolute(path: AnyPath, start: str) -> str:
    """Make a path absolute and plain; relative ones begin at `start`."""
    text = path if type(path) is str else _text(path)
    if not text:
        refuse(errno.ENOENT, text)
    if "\0" in text:
        refuse(errno.EINVAL, text)
    if text[0] != "/":
        text = f"{start}/{text}"
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    plain = "/" + "/".join(parts)
    if not plain.isascii():
        _check_encoding(plain)
    elif len(plain) > LONGEST:
        refuse(errno.ENAMETOOLONG, plain)
    return plain


def refuse(code: int, path: str, words: str = "") -> NoReturn:
    """Raise the operating system's error of this number, for a virtual path."""
    raise _kind(code)(code, words or os.strerror(code), path)


def retold(error: OSError, path: str, other: str | None = None) -> OSError:
    """Give the same error with virtual paths for whatever paths it named."""
    code = error.errno or errno.EIO
    words = error.strerror or os.strerror(code)
    if other is None:
        return _kind(code)(code, words, path)
    return _kind(code)(code, words, path, None, other)


def _kind(code: int) -> type[OSError]:
    """`OSError` finds its own subclass; that a file system is read-only is a matter of permission."""
    return PermissionError if code == errno.EROFS else OSError


def _text(path: Any) -> str:
    """Give the text of a path that is no plain text: one of `ctx.env.path`, or of `pathlib`."""
    from kuniumi.env.path import Path  # noqa: PLC0415 - most paths are texts

    text = str(path) if isinstance(path, (str, Path)) else os.fspath(path)
    if not isinstance(text, str):
        msg = f"a path is a text, and {text!r} is none"
        raise TypeError(msg)
    return text


def _check_encoding(plain: str) -> None:
    try:
        size = len(os.fsencode(plain))
    except UnicodeEncodeError:  # half of a surrogate pair
        refuse(errno.EINVAL, plain)
    if size > LONGEST:
        refuse(errno.ENAMETOOLONG, plain)
