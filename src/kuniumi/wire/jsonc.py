"""Changing one thing in a JSON file that is somebody else's: all the rest stays as it stands.

In: the text of a file, a path of keys, a value. Out: the text with that value at that place, or a
`BrokenError` that says where the file can't be read. Indentation, order and line ends are kept, and
so are comments and trailing commas, in files that may have them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.errors import KuniumiError

if TYPE_CHECKING:
    from collections.abc import Sequence

_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_WORD = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BLANK = re.compile(r"[ \t\r\n]*")
_BLANK_OR_COMMENT = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_INDENT = re.compile(r"\n([ \t]+)\S")
_USUAL = "  "


class BrokenError(KuniumiError):
    """The text is not what it should be."""


class _Value(Struct, frozen=True):
    """Where a value stands; of an object also what is in it."""

    start: int
    end: int
    members: dict[str, _Value] | None = None
    last: int = 0  # the end of an object's last member, or of its brace if it has none
    blank: int = 0  # where nothing but blanks is left before the closing brace
    comma: bool = False  # whether a comma follows the last member


def put(text: str, path: Sequence[str], value: Any, *, comments: bool = False) -> str:
    """Put a value at the place that the keys lead to; objects on the way are made."""
    if not text.strip():
        text = "{}\n"
    place = _read(text, comments=comments)
    indent = _indent_of(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    for depth, key in enumerate(path):
        if place.members is None:
            msg = f"what stands at {_named(path[:depth])} is no object"
            raise BrokenError(msg)
        found = place.members.get(key)
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, place, key, value, indent, depth, newline)
        place = found
    line = text[text.rfind("\n", 0, place.start) + 1 : place.start]
    written = _written(value, indent, line[: len(line) - len(line.lstrip())], newline)
    return text[: place.start] + written + text[place.end :]


def get(text: str, path: Sequence[str], *, comments: bool = False) -> Any:
    """Give the value at the place that the keys lead to, or nothing."""
    if not text.strip():
        return None
    place = _read(text, comments=comments)
    for key in path:
        found = (place.members or {}).get(key)
        if found is None:
            return None
        place = found
    return _data(text, place, comments=comments)


def _insert(
    text: str, place: _Value, key: str, value: Any, indent: str, depth: int, newline: str
) -> str:
    head, tail = text[: place.blank], text[place.blank :]
    if place.members and not place.comma:
        head = f"{head[: place.last]},{head[place.last :]}"
    inner, outer = newline + indent * (depth + 1), newline + indent * depth
    written = _written(value, indent, indent * (depth + 1), newline)
    member = f"{json.dumps(key, ensure_ascii=False)}: {written}"
    closing = "" if "\n" in tail[: place.end - place.blank] else outer
    return f"{head}{inner}{member}{closing}{tail}"


def _written(value: Any, indent: str, before: str, newline: str) -> str:
    lines = json.dumps(value, indent=indent, ensure_ascii=False).split("\n")
    return (newline + before).join(lines)


def _indent_of(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else _USUAL


def _named(path: Sequence[str]) -> str:
    return ".".join(map(repr, path)) or "the top"


# ---- reading -----------------------------------------------------------------------------------------


def _read(text: str, *, comments: bool) -> _Value:
    reader = _Reader(text, comments=comments)
    try:
        return reader.read()
    except RecursionError:
        msg = "it is nested too deeply"
        raise BrokenError(msg) from None


def _data(text: str, place: _Value, *, comments: bool) -> Any:
    """Give a value as data."""
    if place.members is not None:
        return {
            key: _data(text, member, comments=comments) for key, member in place.members.items()
        }
    written = text[place.start : place.end]
    if comments and written.startswith("["):
        items = _Reader(written, comments=True).items()
        return [_data(written, item, comments=True) for item in items]
    return json.loads(written)


class _Reader:
    """One walk through a text."""

    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._at = 0
        self._comments = comments
        self._blanks = _BLANK_OR_COMMENT if comments else _BLANK

    def read(self) -> _Value:
        """Read the whole text as one value."""
        self._skip()
        value = self._value()
        self._skip()
        if self._at < len(self._text):
            raise self._broken("the end")
        return value

    def items(self) -> list[_Value]:
        """Read the whole text as an array, and give what is in it."""
        self._take("[")
        found: list[_Value] = []
        self._array(found)
        return found

    def _value(self) -> _Value:
        start = self._at
        first = self._text[start : start + 1]
        if first == "{":
            self._at += 1
            return self._object(start)
        if first == "[":
            self._at += 1
            self._array([])
            return _Value(start, self._at)
        if first == '"':
            self._string()
            return _Value(start, self._at)
        found = _WORD.match(self._text, start)
        if found is None:
            raise self._broken("a value")
        self._at = found.end()
        return _Value(start, self._at)

    def _object(self, start: int) -> _Value:
        members: dict[str, _Value] = {}
        last = self._at
        comma = False
        blank = self._skip()
        while not self._comes("}"):
            if members and not comma:
                raise self._broken("',' or '}'")
            if self._text[self._at : self._at + 1] != '"':
                raise self._broken("a name in double quotes")
            key = self._string()
            self._skip()
            self._take(":")
            self._skip()
            members[key] = self._value()
            last = self._at
            blank = self._skip()
            comma = self._comes(",")
            if comma:
                blank = self._skip()
                if self._text[self._at : self._at + 1] == "}" and not self._comments:
                    raise self._broken("another name")
        return _Value(start, self._at, members, last, blank, comma)

    def _array(self, found: list[_Value]) -> None:
        self._skip()
        comma = True
        while not self._comes("]"):
            if not comma:
                raise self._broken("',' or ']'")
            found.append(self._value())
            self._skip()
            comma = self._comes(",")
            self._skip()
            if comma and self._text[self._at : self._at + 1] == "]" and not self._comments:
                raise self._broken("another value")

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._broken("a text that ends")
        self._at = found.end()
        return str(json.loads(found[0]))

    def _skip(self) -> int:
        """Pass blanks and comments; give where the last comment ended, or where this began."""
        found = self._blanks.match(self._text, self._at)
        assert found is not None  # noqa: S101 - it matches nothing, too
        self._at = found.end()
        return found.start() + len(found[0].rstrip(" \t\r\n"))

    def _comes(self, char: str) -> bool:
        here = self._text[self._at : self._at + 1] == char
        self._at += here
        return here

    def _take(self, char: str) -> None:
        if not self._comes(char):
            raise self._broken(repr(char))

    def _broken(self, wanted: str) -> BrokenError:
        before = self._text[: self._at]
        line = before.count("\n") + 1
        column = self._at - (before.rfind("\n") + 1) + 1
        rest = self._text[self._at : self._at + 1]
        if rest == "/" and not self._comments:
            return BrokenError(f"line {line}, column {column}: JSON has no comments")
        shown = repr(rest) if rest else "the end"
        return BrokenError(f"line {line}, column {column}: expected {wanted}, found {shown}")
