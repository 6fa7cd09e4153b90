"""Plain data as YAML, for people to read: blocks, and quotes only where YAML would misread.

In: what JSON can carry. Out: text that every YAML parser reads back as the same data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kuniumi.core.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = re.compile(r"[A-Za-z_/$][A-Za-z0-9_/$.-]*(?: [A-Za-z0-9_/$().-]+)*\Z")
_LONGEST_KEY = 1000  # YAML looks for the colon that far and no further
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"}


def to_yaml(data: Any) -> str:
    """Write the data as a YAML document."""
    return "\n".join(_block(data, "")) + "\n"


def _block(data: Any, indent: str) -> Iterator[str]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            head = f"{indent}{_scalar(key)}"
            if len(head) > _LONGEST_KEY:
                yield f"{indent}? {_scalar(key)}"
                head = indent
            yield from _entry(f"{head}:", value, f"{indent}  ")
    elif isinstance(data, list) and data:
        for item in data:
            first, *rest = _block(item, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
    else:
        yield indent + _scalar(data)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if value and isinstance(value, (dict, list)):
        yield head
        yield from _block(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    text = dumps(value).decode()
    if isinstance(value, float) and "e" in text:  # 1e-7 is text to YAML 1.1, 1.0e-7 a number
        mantissa, _, exponent = text.partition("e")
        sign = "" if exponent[0] in "+-" else "+"
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}{exponent}"
    # JSON allows these raw in a string; YAML does not.
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", _escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
