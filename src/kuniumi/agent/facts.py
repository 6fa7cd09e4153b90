"""Whether one piece of data says all that another says, so that a model reads each fact once.

In: plain JSON values. Out: yes or no. `1`, `1.0` and `1e0` are the same number; `true` is none.
"""

from __future__ import annotations

from typing import Any


def covers(whole: Any, part: Any) -> bool:
    """Whether the whole says everything that the part says: an object may say more."""
    try:
        return _covers(whole, part)
    except RecursionError:
        return False


def says_something(value: Any) -> bool:
    """Whether there is anything in there but zeros and emptiness."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, (list, tuple)):
            waiting.extend(each)
        elif each:
            return True
    return False


def _covers(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return (
            isinstance(whole, dict)
            and len(part) <= len(whole)
            and all(key in whole and _covers(whole[key], item) for key, item in part.items())
        )
    if isinstance(part, (list, tuple)):
        return (
            isinstance(whole, (list, tuple))
            and len(part) == len(whole)
            and all(map(_covers, whole, part))
        )
    if isinstance(whole, bool) or isinstance(part, bool):
        return whole is part
    return bool(whole == part)
