"""JSON in text: read where a text is nothing but an object or an array, and written as text.

In: text, or data. Out: the value, or `ABSENT`; text, and the value as it could be written. It knows
JSON, and nothing of answers.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kuniumi.agent.plain import make_plain

_decode = msgspec.json.decode
_encode = msgspec.json.Encoder().encode
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


class Absent:
    """What there is instead of a value where there is none; null is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


def parse(text: str) -> Any:
    """Give the object or array that the text is, or `ABSENT`.

    Numbers, strings and the like stay text: `00501` is a postcode.
    """
    first = text[:1]
    if first not in {"{", "["}:
        text = text.strip("\ufeff \t\r\n")
        first = text[:1]
        if first not in {"{", "["}:
            return ABSENT
    return parse_any(text)


def parse_any(text: str) -> Any:
    """Give the JSON value that the text is, of whatever type, or `ABSENT`."""
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _parse_half_pairs(text) if _HALF_PAIR.search(text) else ABSENT


def write(value: Any, notes: list[str]) -> tuple[Any, str]:
    """Give the value, bent where JSON can't carry it, and its JSON."""
    try:
        raw = _encode(value)
        same = bool(_decode(raw) == value)  # the encoder writes null for a NaN, a list for a set
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        same = False
    if not same:
        value = make_plain(value, notes)
        raw = _encode(value)
    return value, raw.decode()


def spell(value: Any) -> str:
    """Give the JSON of a value that was read from JSON."""
    return _encode(value).decode()


def _parse_half_pairs(text: str) -> Any:
    """Read JSON whose escapes are halves of a pair, which the fast decoder refuses."""
    import json  # noqa: PLC0415 - hardly any text needs it

    try:
        return make_plain(json.loads(text, parse_constant=_refuse), [])
    except (ValueError, RecursionError):
        return ABSENT


def _refuse(constant: str) -> None:
    raise ValueError(constant)
