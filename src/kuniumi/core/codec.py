"""The one JSON encoder and the one way to build a decoder, so that no two rooms differ.

In: values, or types. Out: bytes, or decoders. It knows JSON, and nothing of calls.
"""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.types import has_fields, holds, is_pydantic, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

_KINDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "bytes": "base64 text",
    "datetime": "a date and time",
    "date": "a date",
    "time": "a time",
    "timedelta": "a duration",
    "decimal": "a decimal number",
    "uuid": "a UUID",
}
_PLACE = re.compile(r" - at `(key` in `)?\$([^`]*)`\Z")
_KIND = re.compile(r"(?<=xpected )`([\w |]+)`|(?<=, got )`([\w |]+)`")
_ZEROS = bytes.maketrans(b"0123456789E", b"0000000000e")
_MANY_DIGITS = b"0" * 200
_ODD_DECIMAL = r"""(?xi) " (?:
    [+\-.0-9e]*+ (?: \\ | [\s_\d] [\s_+\-.\de]*+ ["\\])           # " 1", "1_0", "1\u0030"
  | [\s_+\-]*+ (?: [s_]*n_*a_*n | _*i_*n_*f) [inty_\s\d]*+ ["\\]  # "NaN", "-Infinity"
  | [\s_+\-]*+ [snaifty_]++ \\                                   # "N\u0061N"
)"""
"""Text that Python's decimals take and ours don't."""


class Written(float):
    """A number as it was written, where a float has lost some of its digits.

    The decoder gives a model plain data, and the model may want a decimal.
    """

    __slots__ = ("text",)
    text: str


def _as_written(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        msg = "Number out of range"
        raise ValueError(msg)
    if repr(number) == text:
        return number
    written = Written(number)
    written.text = text
    return written


def _encode_foreign(value: Any) -> Any:
    """Show msgspec what it does not know: a model shows itself, a kind of number is a number."""
    if is_pydantic(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    for plain in (float, int, str):
        if isinstance(value, plain):  # a class of the user's, derived from it
            return getattr(plain, f"__{plain.__name__}__")(value)
    msg = f"an object of type {type(value).__name__}"
    raise TypeError(msg)


def _check_foreign(expected: Any, value: Any) -> Any:
    from kuniumi.core.models import check_model  # noqa: PLC0415 - pydantic is the user's choice

    return check_model(expected, value)


def _decode_foreign(expected: Any, value: Any) -> Any:
    """Make what msgspec can't: the only such type `types.adapt` lets through is a model."""
    from kuniumi.core.models import decode_model  # noqa: PLC0415 - pydantic is the user's choice

    return decode_model(expected, value)


dumps = msgspec.json.Encoder(enc_hook=_encode_foreign).encode
"""Encode a value as JSON. Raises TypeError for what JSON can't carry; NaN comes out as `null`."""


def decoder(expected: Any) -> msgspec.json.Decoder[Any]:
    """Build a strict decoder for a type that `types.adapt` accepted."""
    hook = _as_written if "pydantic" in sys.modules and holds(expected, is_pydantic) else None
    return msgspec.json.Decoder(expected, dec_hook=_decode_foreign, float_hook=hook)


def arguments_decoder(expected: Any, annotations: list[Any]) -> Callable[[bytes], Any]:
    """Give what decodes these arguments, and refuses what JSON has no number for.

    The decoder takes 1e400 where it skips what it does not know, and NaN where a decimal is
    wanted. Only types that hold such a place pay for a look at the bytes; a suspicion is enough,
    because what is refused gets a second look.
    """
    decode = decoder(expected).decode
    parts = set().union(*map(parts_of, annotations))
    if not any(map(_is_lax, parts)):
        return decode
    has_decimals = Decimal in parts

    def decode_carefully(raw: bytes) -> Any:
        if overflows(raw) or (has_decimals and re.search(_ODD_DECIMAL, raw.decode())):
            msg = "Number out of range"
            raise msgspec.ValidationError(msg)
        return decode(raw)

    return decode_carefully


def _is_lax(cls: Any) -> bool:
    if not isinstance(cls, type):
        return False
    if issubclass(cls, msgspec.Struct):
        return not cls.__struct_config__.forbid_unknown_fields
    return cls in {Decimal, msgspec.Raw} or has_fields(cls)


def overflows(raw: bytes) -> bool:
    """Whether a number in there is too large for a float; few bodies have to be read for that."""
    zeros = raw.translate(_ZEROS, b"+")
    if b"0e000" not in zeros and _MANY_DIGITS not in zeros:
        return False
    try:
        msgspec.json.decode(raw)
    except msgspec.ValidationError:
        return True
    except msgspec.DecodeError:
        return False  # not JSON: the decoder says so
    return False


def checker(expected: Any) -> msgspec.json.Decoder[Any]:
    """Build a decoder for what goes out: models have written themselves, with all they compute."""
    return msgspec.json.Decoder(expected, dec_hook=_check_foreign)


def explain(error: BaseException, root: str) -> tuple[str, str]:
    """Give the place a decoder's error is about, as a caller would write it, and what it says.

    The place starts at `root`: `$.lines[2].price` becomes `order.lines[2].price`.
    """
    text, place = str(error), root
    if "\n" in text:
        return root, "not valid"
    found = _PLACE.search(text)
    if found:
        place = f"{root}{found[2]}".lstrip(".") or root
        text = text[: found.start()] + (" as a key" if found[1] else "")
    text = _KIND.sub(_in_words, text).replace("`", "")
    return place, text[:1].lower() + text[1:]


def _in_words(found: re.Match[str]) -> str:
    if found[2] == "bool":
        return "a boolean"
    kinds = (found[1] or found[2]).split(" | ")
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds)
