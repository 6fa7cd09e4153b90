"""From a function's value to the bytes of its envelope, checked against what it promised.

In: a return annotation, once; then values. Out: the encoded JSON object. What goes out is checked
as bytes, by decoding it again with the decoder of the annotation: whatever the value was, the
schema then describes it. It must not know what becomes of a failure.
"""

from __future__ import annotations

import collections.abc
import re
import sys
from datetime import datetime, time
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Never, NoReturn, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import NODEFAULT, Struct

from kuniumi.core.codec import checker, dumps, explain
from kuniumi.core.keys import misused
from kuniumi.core.types import adapt, has_fields, is_made_of_models, is_pydantic, parts_of, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kuniumi.core.signature import Signature

_ASYNC_STREAMS = frozenset(
    {
        collections.abc.AsyncIterator,
        collections.abc.AsyncGenerator,
        collections.abc.AsyncIterable,
    }
)
_STREAMS = _ASYNC_STREAMS | {
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Iterable,
}
_REWRITTEN = frozenset({Decimal, set, frozenset, collections.abc.Set, collections.abc.MutableSet})
_MAPPINGS = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})
_OPEN = _MAPPINGS | {Any}  # they may hold keys that are written alike
_SPELLED = frozenset({UUID, datetime, time})
_ODDLY_SPELLED = rb"""(?x) "(?:
    [0-9A-Fa-f]{32}                                                  # a UUID without its dashes
  | [0-9-]{10}[t\ ][0-9]{2}:                                         # a moment, oddly joined
  | (?:[0-9-]{10}[Tt\ ])? [0-9]{2}:[0-9:.]{5,} (?: z | [+-][0-9]{4}) "  # an odd offset
)"""
"""What is taken for a UUID or a moment, but not as we write it."""
_NOTHING = (None, type(None), NoReturn, Never)
_RESULT = b'{"result":'

Content = tuple[bytes, bytes]
"""Blocks and metadata, as they are written; nothing where there are none."""


class BadResultError(Exception):
    """The value is not what the annotation promises, or not JSON. `settle` words the fault."""


class Result(Struct, frozen=True):
    """What one operation gives back, and the encoder made for it.

    `types` is empty for nothing, one type for a value, and several for a tuple of fixed length.
    """

    types: tuple[Any, ...]
    encode: Callable[[Any], bytes]
    layout: str  # "nothing", "value", "values", "bare", "stream" or "anything"
    encode_item: Callable[[Any], bytes] | None = None  # of a stream
    content: Callable[[Any], Content] | None = None  # of a function that gives blocks of its own
    for_people: bool = False  # whether it gives nothing else


def result_of(signature: Signature, envelope: str) -> Result:
    """Work out, once, how this function's values go out."""
    where = f"the result of function {signature.name!r}"
    if signature.returns is NODEFAULT and not _streams(signature, None):
        return Result((Any,), _encode_anything, "anything")
    annotation = Any if signature.returns is NODEFAULT else signature.returns
    bare_type = unwrap(annotation)
    content = sys.modules.get("kuniumi.core.content")  # without it there is no type of its making
    if content is not None:
        if (get_origin(bare_type) or bare_type) is content.ToolResult:
            return _of_tool_result(signature, bare_type, envelope)
        if content.is_content(bare_type):
            adapted = adapt(annotation, where)
            encode = _wrapped(_encoder(adapted))
            return Result((adapted,), encode, "value", content=_only_blocks, for_people=True)
    if _streams(signature, bare_type):
        item = adapt((*get_args(bare_type), Any)[0], where)
        encode_item = _encoder(item)
        return Result((item,), _stream_encoder(encode_item), "stream", encode_item)
    if bare_type in _NOTHING:
        return Result((), _encode_nothing, "nothing")
    if _is_fixed_tuple(bare_type):
        types = tuple(adapt(part, where) for part in get_args(bare_type))
        return Result(types, _tuple_encoder(types), "values")
    adapted = adapt(annotation, where)
    encode = _encoder(adapted)
    if envelope == "bare" and _is_object(bare_type):
        return Result((adapted,), encode, "bare")
    return Result((adapted,), _wrapped(encode), "value")


def _of_tool_result(signature: Signature, annotation: Any, envelope: str) -> Result:
    """Work out how the value inside a `ToolResult` goes out, with its content beside it."""
    (inner,) = get_args(annotation) or (NODEFAULT,)
    result = result_of(msgspec.structs.replace(signature, returns=inner), envelope)
    if result.layout == "stream" or result.content is not None:
        msg = f"{inner} can't be the value of a ToolResult: give data"
        raise TypeError(msg)

    def encode(given: Any) -> bytes:
        return result.encode(_tool_result(given).value)

    def content(given: Any) -> Content:
        blocks = _checked_blocks(given.content) if given.content else b""
        return blocks, _encode_meta(given.meta) if given.meta else b""

    return msgspec.structs.replace(result, encode=encode, content=content)


def _tool_result(given: Any) -> Any:
    from kuniumi.core.content import ToolResult  # noqa: PLC0415 - who promises one has loaded it

    if not isinstance(given, ToolResult):
        msg = f"{_shown(given)} where a ToolResult was promised"
        raise BadResultError(msg)
    return given


def _encode_blocks(given: Any) -> bytes:
    from kuniumi.core.content import as_blocks  # noqa: PLC0415 - who gives blocks has loaded it

    return _encode(as_blocks(given))


def _only_blocks(given: Any) -> Content:
    return _encode_blocks(given), b""


def _encode_meta(given: Any) -> bytes:
    """Write what a function says to programs beside its value; some keys are the protocol's own."""
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        msg = f"meta that is no dict with texts as keys: {_shown(given)}"
        raise BadResultError(msg)
    for key in given:
        if why := misused(key):
            msg = f"meta with {why}"
            raise BadResultError(msg)
    return _encode(given)


def _checked_blocks(given: Any) -> bytes:
    """Write blocks that no annotation promises."""
    from kuniumi.core.content import read_blocks  # noqa: PLC0415 - who gives blocks has loaded it

    encoded = _encode_blocks(given)
    try:
        read_blocks(encoded)
    except msgspec.DecodeError as error:
        place, said = explain(error, "content")
        msg = f"content that is none: {said}, at {place}"
        raise BadResultError(msg) from None
    return encoded


def join_items(items: Iterable[bytes]) -> bytes:
    """Make the envelope of a stream out of its encoded items."""
    return b'{"result":[' + b",".join(items) + b"]}"


def is_async_stream(returns: Any) -> bool:
    """Whether this return annotation promises items that are awaited one by one."""
    bare_type = unwrap(returns)
    return (get_origin(bare_type) or bare_type) in _ASYNC_STREAMS


def _streams(signature: Signature, bare_type: Any) -> bool:
    if signature.is_generator or signature.is_async_generator:
        return True
    return (get_origin(bare_type) or bare_type) in _STREAMS


def _is_fixed_tuple(bare_type: Any) -> bool:
    if get_origin(bare_type) is not tuple:
        return False
    return Ellipsis not in get_args(bare_type)


def _is_object(bare_type: Any) -> bool:
    """Whether JSON will always show this type as an object."""
    cls = get_origin(bare_type) or bare_type
    if not isinstance(cls, type):
        return False
    if issubclass(cls, msgspec.Struct):
        return not cls.__struct_config__.array_like
    return (
        issubclass(cls, (dict, collections.abc.Mapping))
        or hasattr(cls, "__dataclass_fields__")
        or hasattr(cls, "__attrs_attrs__")
        or (is_pydantic(cls) and not getattr(cls, "__pydantic_root_model__", False))
    )


# ---- encoding ------------------------------------------------------------------------------------


def _encode(value: Any) -> bytes:
    try:
        return dumps(value)
    except RecursionError:
        msg = "a value that contains itself, or nests too deeply"
    except UnicodeEncodeError:
        msg = "text with a lone surrogate, which is not Unicode"
    except Exception as error:  # noqa: BLE001 - a property or a hook of the value's own may raise anything
        msg = f"what JSON can't carry: {error}"
    raise BadResultError(msg)


def _encoder(expected: Any) -> Callable[[Any], bytes]:
    """Give a function that encodes a value of this type and checks the bytes."""
    if is_made_of_models(expected):
        from kuniumi.core.models import model_encoder  # noqa: PLC0415 - pydantic is the user's choice

        return model_encoder(expected, _encode)
    check = checker(expected).decode
    mend = _mender(expected)

    def encode(value: Any) -> bytes:
        body = _encode(value)
        try:
            checked = check(body)
        except ValueError as error:
            if b"null" in body:
                refuse_infinities(value)
            raise BadResultError(_wrong(error)) from None
        except RecursionError:
            msg = "a value that nests too deeply"
            raise BadResultError(msg) from None
        if b"null" in body:
            refuse_infinities(value)
        return body if mend is None else mend(body, checked, value)

    return encode


def _mender(expected: Any) -> Callable[[bytes, Any, Any], bytes] | None:
    """Give what a type needs of which several ways to write a value pass the check.

    The schema knows one of them only. A decimal may come as a number, a set as a list with
    doubles, a UUID without dashes; a dict whose keys are both 1 and "1" writes one key twice.
    What is written anew loses the fields a derived class may have added: so it is done where
    there are no classes, or something has to be mended.
    """
    parts = parts_of(expected)
    has_classes = any(isinstance(part, type) and _is_class(part) for part in parts)
    is_open = bool(parts & _OPEN) or any(hasattr(part, "__total__") for part in parts)
    outside = {unwrap(expected), get_origin(unwrap(expected))}
    rewritten = bool(outside & {Any, dict} or parts & _REWRITTEN) or (is_open and not has_classes)
    doubled = msgspec.Raw in parts or (is_open and not rewritten)
    spelled = bool(parts & _SPELLED)
    numbers = bool(parts & {Decimal, Any})
    if not (rewritten or doubled or spelled or numbers):
        return None

    def mend(body: bytes, checked: Any, value: Any) -> bytes:
        if rewritten or (spelled and re.search(_ODDLY_SPELLED, body)):
            body = dumps(checked)
        if numbers and (b"NaN" in body or b"Infinity" in body):
            refuse_infinities([value, checked])
        return _without_doubles(body) if doubled else body

    return mend


def _is_class(part: type) -> bool:
    return has_fields(part) or is_pydantic(part)


def _without_doubles(body: bytes) -> bytes:
    """Give an object's key once only, with the value that came last; all else stays as it is.

    Each key is followed by a colon, and text holds as many of them however it is written, unless
    they are escaped.
    """
    try:
        once = dumps(msgspec.json.decode(body))
    except (ValueError, RecursionError) as error:  # in raw JSON, which nobody had read so far
        msg = f"what JSON can't carry: {error}"
        raise BadResultError(msg) from None
    if once.count(b":") == body.count(b":") and rb"\u003" not in body:
        return body
    from kuniumi.core.coerce import parse  # noqa: PLC0415 - hardly a result has such keys

    return dumps(parse(body))


def _wrong(error: ValueError) -> str:
    place, said = explain(error, "")
    return f"{said}, at {place}" if place else said


def _wrapped(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    def encode_wrapped(value: Any) -> bytes:
        return _RESULT + encode(value) + b"}"

    return encode_wrapped


def _tuple_encoder(types: tuple[Any, ...]) -> Callable[[Any], bytes]:
    parts = tuple(
        (b'%b"result%d":' % (b"," if index else b"", index), _encoder(part))
        for index, part in enumerate(types)
    )

    def encode_values(values: Any) -> bytes:
        if not isinstance(values, (tuple, list)) or len(values) != len(parts):
            msg = f"{_shown(values)} where a tuple of {len(parts)} was promised"
            raise BadResultError(msg)
        body = b"".join(
            key + encode(value) for (key, encode), value in zip(parts, values, strict=True)
        )
        return b"{" + body + b"}"

    return encode_values


def _stream_encoder(encode_item: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    def encode_stream(items: Any) -> bytes:
        return join_items(encode_item(item) for item in items)

    return encode_stream


def _encode_nothing(value: Any) -> bytes:
    if value is not None:
        msg = f"{_shown(value)} where nothing was promised"
        raise BadResultError(msg)
    return b"{}"


def refuse_infinities(value: Any) -> None:
    """Raise if a number in there is NaN or infinite.

    msgspec writes `null`, which may be allowed; and a decimal as text.
    """
    waiting = [msgspec.to_builtins(value, builtin_types=(Decimal,), enc_hook=_inside)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (float, Decimal)):
            if not (part.is_finite() if isinstance(part, Decimal) else isfinite(part)):
                msg = "NaN or an infinity, which is not JSON"
                raise BadResultError(msg)
        elif isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting.extend(part)


def _inside(value: Any) -> Any:
    """Show what is in a value that was encoded already, as it is: pydantic writes NaN as null."""
    if is_pydantic(type(value)):
        return value.model_dump(by_alias=True)
    return float(value) if isinstance(value, float) else None


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a value of type {type(value).__name__}"


_encode_any = _wrapped(_encoder(Any))


def _encode_anything(value: Any) -> bytes:
    """Encode what an unannotated function gave: a procedure gives nothing, others a value."""
    return b"{}" if value is None else _encode_any(value)
