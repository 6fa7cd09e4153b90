"""The one JSON encoder and the one way to build a decoder, so that no two rooms differ.

In: values, or types. Out: bytes, or decoders. It knows JSON, and nothing of calls.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kuniumi.core.types import is_pydantic


def _encode_foreign(value: Any) -> Any:
    """Show msgspec what it does not know: a pydantic model knows how to show itself."""
    if is_pydantic(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    msg = f"an object of type {type(value).__name__}"
    raise TypeError(msg)


def _decode_foreign(expected: Any, value: Any) -> Any:
    """Make what msgspec can't: the only such type `types.adapt` lets through is a model."""
    from kuniumi.core.models import decode_model  # noqa: PLC0415 - pydantic is the user's choice

    return decode_model(expected, value)


dumps = msgspec.json.Encoder(enc_hook=_encode_foreign).encode
"""Encode a value as JSON. Raises TypeError for what JSON can't carry; NaN comes out as `null`."""


def builtins(value: Any) -> Any:
    """Give the value as the plain dicts, lists and scalars that would be encoded."""
    return msgspec.to_builtins(value, enc_hook=_encode_foreign)


def decoder(expected: Any) -> msgspec.json.Decoder[Any]:
    """Build a strict decoder for a type that `types.adapt` accepted."""
    return msgspec.json.Decoder(expected, dec_hook=_decode_foreign)
