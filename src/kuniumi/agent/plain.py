"""Plain JSON data out of anything: SDKs' objects, and data that JSON cannot carry.

In: any object. Out: dicts, lists, strings, numbers; how it was bent is noted. Objects are known by
their shape, so no SDK is imported. Cycles, depth and size are bounded.
"""

from __future__ import annotations

import re
from enum import Enum
from math import isfinite
from typing import Any

import msgspec

from kuniumi.agent.words import clean

_MAX_DEPTH = 200
_MAX_NODES = 1_000_000
_MAX_BITS = 14_000  # Python writes no integer of more than 4,300 digits
_PLACE = re.compile(r" at 0x[0-9a-fA-F]+")
_DECODED = frozenset({str, int, float, bool, type(None)})


def make_plain(value: Any, notes: list[str], *, keep_bytes: bool = False) -> Any:
    """Give the value as plain data that encodes as JSON; bytes may stay, as a block's data."""
    return _Walk(notes, keep_bytes=keep_bytes).go(value, 0)


def is_plain(value: Any) -> bool:
    """Whether this is what a JSON decoder gives, and nothing else; no for what is too large."""
    waiting, seen = [value], 0
    while waiting:
        each = waiting.pop()
        kind = type(each)
        if kind is dict:
            waiting.extend(each.values())
        elif kind is list:
            waiting.extend(each)
        elif kind not in _DECODED:
            return False
        seen += 1
        if seen > _MAX_NODES:
            return False
    return True


class _Walk:
    """One walk through one value."""

    __slots__ = ("inside", "keep_bytes", "nodes", "notes")

    def __init__(self, notes: list[str], *, keep_bytes: bool) -> None:
        self.notes = notes
        self.keep_bytes = keep_bytes
        self.inside: set[int] = set()
        self.nodes = 0

    def go(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and not isinstance(value, Enum):
            if (bits := value.bit_length()) <= _MAX_BITS:
                return value
            return self.bent(
                f"[an integer of {bits:,} bits]", "an integer has too many digits to be written"
            )
        if isinstance(value, Enum):
            return self.go(value.value, depth + 1)
        if isinstance(value, str):
            return clean(str(value))
        if isinstance(value, float):
            if isfinite(value):
                return float(value)
            return self.bent(None, f"{value} is no JSON: it became null")
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value) if self.keep_bytes else f"[{len(value):,} bytes]"
        return self.enter(value, depth)

    def enter(self, value: Any, depth: int) -> Any:
        """Go into what holds other values, unless that would never end."""
        self.nodes += 1
        if id(value) in self.inside:
            return self.bent("[a cycle]", "a value holds itself: it was cut there")
        if depth >= _MAX_DEPTH:
            return self.bent(
                "[too deep]", f"a value is nested deeper than {_MAX_DEPTH}: it was cut"
            )
        if self.nodes > _MAX_NODES:
            return self.bent(
                "[too many]", f"a value has more than {_MAX_NODES:,} parts: it was cut"
            )
        self.inside.add(id(value))
        try:
            return self.take_apart(value, depth + 1)
        finally:
            self.inside.discard(id(value))

    def take_apart(self, value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            return {clean(str(key)): self.go(item, depth) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.go(item, depth) for item in value]
        if isinstance(value, (set, frozenset)):
            return sorted((self.go(item, depth) for item in value), key=repr)
        if getattr(type(value), "__pydantic_root_model__", False):
            return self.go(value.root, depth)
        fields = fields_of(value)
        if fields is None:
            return _in_json(value)
        return {name: self.go(item, depth) for name, item in fields.items()}

    def bent(self, result: Any, note: str) -> Any:
        if note not in self.notes:
            self.notes.append(note)
        return result


def fields_of(value: Any) -> dict[str, Any] | None:
    """Give an object's fields by the names they have on the wire; None if it has no fields."""
    cls: Any = type(value)
    if isinstance(value, type) or callable(value):
        return None
    if hasattr(cls, "__pydantic_fields__"):
        return _model_fields(value, cls.__pydantic_fields__)
    if hasattr(cls, "__struct_fields__"):
        names = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        found = {wire: getattr(value, name) for name, wire in names}
        config = cls.__struct_config__
        return {config.tag_field: config.tag, **found} if config.tag_field else found
    for described in ("__dataclass_fields__", "__attrs_attrs__"):
        if hasattr(cls, described):
            known = getattr(cls, described)
            known = known if isinstance(known, dict) else [each.name for each in known]
            return {name: getattr(value, name, None) for name in known}
    if _has_words(cls) or not hasattr(value, "__dict__"):
        return None  # it has words of its own: an address, a date
    return {name: item for name, item in vars(value).items() if not name.startswith("_")}


def _model_fields(value: Any, described: dict[str, Any]) -> dict[str, Any]:
    """Give a pydantic model's fields: a None that nobody set was not on the wire."""
    given = getattr(value, "__pydantic_fields_set__", None) or ()
    found = {}
    for name, item in vars(value).items():
        if item is None and name not in given:
            continue
        field = described.get(name)
        alias = field and (field.serialization_alias or field.alias)
        found[alias if isinstance(alias, str) else name] = item
    return {**found, **(getattr(value, "__pydantic_extra__", None) or {})}


def _in_json(value: Any) -> Any:
    """Give what has no fields as JSON has it: dates and the like; else an object's own words."""
    try:
        found = msgspec.to_builtins(value)
    except (TypeError, ValueError, RecursionError):
        found = None
    return clean(found if isinstance(found, str) else _show(value))


def _show(value: Any) -> str:
    """Give an object's own words, without its place in memory, which is another in every run."""
    cls: Any = type(value)
    if not _has_words(cls) and cls.__repr__ is object.__repr__:
        return f"[an object of type {cls.__name__}]"
    return _PLACE.sub("", str(value))


def _has_words(cls: Any) -> bool:
    return cls.__str__ is not object.__str__
