"""Arguments of a call that come piece by piece, each with the path of where it belongs: Gemini's way.

In: pieces like `{"json_path": "$.days[0].city", "string_value": "Os", "will_continue": true}`. Out:
the arguments, grown by them; strings that may get longer are `StringIO`s.
"""

from __future__ import annotations

import re
from io import StringIO
from itertools import pairwise
from typing import Any

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[['\"](.*?)['\"]\]")
_VALUES = ("string_value", "number_value", "bool_value", "stringValue", "numberValue", "boolValue")
_LONGEST = 10_000  # items of a list that a path may ask for


def put_piece(arguments: dict[str, Any], piece: dict[str, Any]) -> None:
    """Put a piece in its place; one whose path leads nowhere is left out."""
    path = piece.get("json_path") or piece.get("jsonPath")
    found = _STEP.findall(path) if isinstance(path, str) else []
    steps = [int(number) if number else name or quoted for name, number, quoted in found]
    place: Any = arguments
    for step, following in pairwise(steps):
        if not _make_room(place, step):
            return
        wanted: type = list if isinstance(following, int) else dict
        if not isinstance(place[step], wanted):
            place[step] = wanted()
        place = place[step]
    if steps and _make_room(place, steps[-1]):
        place[steps[-1]] = _longer(place[steps[-1]], _value_of(piece))


def _make_room(place: Any, step: int | str) -> bool:
    """See to it that there is something at a step; no, if there can't be."""
    if isinstance(step, int):
        if not isinstance(place, list) or step >= _LONGEST:
            return False
        place.extend([None] * (step + 1 - len(place)))
        return True
    if not isinstance(place, dict):
        return False
    place.setdefault(step)
    return True


def _value_of(piece: dict[str, Any]) -> Any:
    value = next((piece[key] for key in _VALUES if piece.get(key) is not None), None)
    # JSON has one kind of numbers: a whole one is an integer, to those who tell them apart.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _longer(before: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    grown = before if isinstance(before, StringIO) else StringIO()
    grown.write(value)
    return grown
