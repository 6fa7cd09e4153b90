"""YAML read as JSON: the values that JSON has, and strings for keys, whatever else YAML knows.

In: the bytes of a document. Out: plain data. YAML 1.1 takes `no` for false, `2024-01-01` for a date,
and `200` for a key that is a number; in a document that could as well be JSON none of that is meant.
Aliases count as often as they are used: a few lines of them could stand for any amount of data.
"""

from __future__ import annotations

import re
from importlib import import_module
from math import isfinite
from typing import Any

from msgspec import Struct

from kuniumi.errors import ServerError

_MOST_NODES = 2_000_000
_DEEPEST = 100
_STRING = ("!", "tag:yaml.org,2002:str")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,400})")
_BROKEN = re.compile(r"[-+]?(0|[1-9][0-9]*)?(\.[0-9]+|(?<=[0-9])\.?)([eE][-+]?[0-9]{1,5})?")
_MERGE = "<<"


class Anchored(Struct, frozen=True):
    """A node that aliases may stand for, and how much each of them adds."""

    value: Any
    nodes: int
    height: int


class Frame:
    """A list or an object that is not at its end."""

    __slots__ = ("anchor", "before", "height", "key", "merged", "value")

    def __init__(self, value: Any, anchor: str | None, before: int) -> None:
        self.value = value
        self.anchor = anchor
        self.before = before  # nodes that were there before it
        self.height = 0
        self.key: str | None = None
        self.merged: list[Any] | None = None


class Builder:
    """Makes data of events; nothing here is recursive, so depth costs nothing until it is refused."""

    def __init__(self) -> None:
        self.value: Any = None
        self._frames: list[Frame] = []
        self._anchors: dict[str, Anchored] = {}
        self._nodes = 0

    def scalar(self, text: str, anchor: str | None, tag: str | None, *, plain: bool) -> None:
        """Take a scalar, which may be a key."""
        self._count(1, 0)
        frame = self._frames[-1] if self._frames else None
        is_key = frame is not None and isinstance(frame.value, dict) and frame.key is None
        value: Any = text
        if not is_key and tag not in _STRING and (plain or tag is not None):
            value = _resolve(text)
        self._remember(anchor, Anchored(value, 1, 0))
        if frame is not None and is_key:
            frame.key = text
            if plain and text == _MERGE:
                frame.merged = frame.merged or []
            return
        self._put(value, 0)

    def begin(self, value: Any, anchor: str | None) -> None:
        """Take the beginning of a list or an object."""
        self._count(1, 1)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._refuse_key()
        if anchor is not None:
            self._anchors.pop(anchor, None)  # within itself it is not known
        self._frames.append(Frame(value, anchor, self._nodes - 1))

    def end(self) -> None:
        """Take the end of the innermost list or object."""
        frame = self._frames.pop()
        for other in frame.merged or ():
            for key, value in other.items():
                frame.value.setdefault(key, value)
        nodes = self._nodes - frame.before
        self._remember(frame.anchor, Anchored(frame.value, nodes, frame.height + 1))
        self._put(frame.value, frame.height + 1)

    def alias(self, name: str) -> None:
        """Take what stands for a node that was there before."""
        found = self._anchors.get(name)
        if found is None:
            raise ServerError(f"the YAML cannot be read: *{name} stands for nothing, or for itself")
        self._count(found.nodes, found.height)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            if not isinstance(found.value, str):
                self._refuse_key()
            frame.key = found.value
            return
        self._put(found.value, found.height)

    def _put(self, value: Any, height: int) -> None:
        if not self._frames:
            self.value = value
            return
        frame = self._frames[-1]
        frame.height = max(frame.height, height)
        if isinstance(frame.value, list):
            frame.value.append(value)
            return
        key, frame.key = frame.key, None
        if key == _MERGE and frame.merged is not None and _can_merge(value):
            frame.merged += value if isinstance(value, list) else [value]
        else:
            frame.value[key] = value

    def _remember(self, anchor: str | None, node: Anchored) -> None:
        if anchor is not None:
            self._anchors[anchor] = node

    def _count(self, nodes: int, height: int) -> None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise ServerError(f"the YAML stands for more than {_MOST_NODES:,} values")
        if len(self._frames) + height > _DEEPEST:
            raise ServerError(f"the YAML is nested more than {_DEEPEST} deep")

    def _refuse_key(self) -> None:
        raise ServerError("the YAML cannot be read: a key of an object is no string")


def read_yaml(raw: bytes) -> Any:
    """Give the first document of some YAML; `ServerError` says why there is none."""
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise ServerError("it is written in YAML: pip install kuniumi[yaml]") from None
    builder = Builder()
    try:
        for event in yaml.parse(raw, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            match event:
                case yaml.ScalarEvent():
                    plain = not event.style
                    builder.scalar(event.value, event.anchor, event.tag, plain=plain)
                case yaml.MappingStartEvent():
                    builder.begin({}, event.anchor)
                case yaml.SequenceStartEvent():
                    builder.begin([], event.anchor)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    builder.end()
                case yaml.AliasEvent():
                    builder.alias(event.anchor)
                case yaml.DocumentEndEvent():
                    break
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise ServerError(f"the YAML cannot be read: {said[:300]}") from error
    return builder.value


def _resolve(text: str) -> Any:
    """Give what a plain scalar means where only JSON's values are meant."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _BROKEN.fullmatch(text):
        number = float(text)
        return number if isfinite(number) else text
    return text


def _can_merge(value: Any) -> bool:
    listed = value if isinstance(value, list) else [value]
    return bool(listed) and all(isinstance(each, dict) for each in listed)
