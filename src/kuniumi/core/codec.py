"""The one JSON encoder and the one way to build a decoder, so that no two rooms differ.

In: values, or types. Out: bytes, or decoders. It knows JSON, and nothing of calls.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kuniumi.core.types import is_pydantic

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
    return msgspec.json.Decoder(expected, dec_hook=_decode_foreign)


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
