"""A second look at arguments that the decoder refused: coerce what can be, explain what can't.

In: the operation and the bytes. Out: decoded arguments, or a `Fault` that says which argument,
what was expected and what is close. Right arguments never come here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from kuniumi.core.codec import arguments_decoder, decoder, dumps, explain, overflows
from kuniumi.core.coerce import MISSING, Misfit, expectation, fit, parse, resolved
from kuniumi.core.fault import INVALID_JSON, Fault, Kind, clipped
from kuniumi.core.schema import input_schema

if TYPE_CHECKING:
    from kuniumi.core.operation import Operation
    from kuniumi.core.signature import Parameter

_LONGEST_SHOWN = 80
_MOST_FAULTS = 8
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MALFORMED = Fault(Kind.MALFORMED, INVALID_JSON)
_Decode = Callable[[bytes], Any]
_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def reconsider(operation: Operation, raw: bytes) -> Any:
    """Give the arguments after coercion, or the fault that explains why they are refused."""
    parts = _parts(raw)
    if isinstance(parts, Fault):
        return parts
    faults: list[Fault] = []
    schema = input_schema(operation)
    accepted: dict[str, msgspec.Raw] = {}
    for parameter in operation.parameters:
        part = parts.pop(parameter.name, None)
        if part is None:
            if parameter.required:
                faults.append(_missing(parameter, schema))
            continue
        fitted = _argument(operation, parameter, part, schema)
        if isinstance(fitted, Fault):
            faults.append(fitted)
        elif fitted is not None:
            accepted[parameter.name] = fitted
    faults += [_unknown(name, operation) for name in list(parts)[:_MOST_FAULTS]]
    if not faults:
        try:
            return _decoders_of(operation).all(dumps(accepted))
        except _NOT_JSON as error:
            return Fault(Kind.BAD_ARGUMENTS, f"Arguments: {explain(error, '')[1]}")
    return _together(faults, len(faults) + max(0, len(parts) - _MOST_FAULTS))


class _Decoders(Struct, frozen=True):
    """What decodes the arguments of one operation, together and each by itself.

    The plain ones are for what was looked at already: its suspicious places are none.
    """

    all: _Decode
    plain: dict[str, _Decode]
    careful: dict[str, _Decode]


_known: WeakKeyDictionary[Operation, _Decoders] = WeakKeyDictionary()


def _decoders_of(operation: Operation) -> _Decoders:
    found = _known.get(operation)
    if found is None:
        types = {part.name: part.annotation for part in operation.parameters}
        found = _known[operation] = _Decoders(
            decoder(operation.arguments).decode,
            {name: decoder(wanted).decode for name, wanted in types.items()},
            {name: arguments_decoder(wanted, [wanted]) for name, wanted in types.items()},
        )
    return found


def _together(faults: list[Fault], count: int) -> Fault:
    """Tell of several faults at once, but never at such length as a caller could make it."""
    told = [fault.message for fault in faults[:_MOST_FAULTS]]
    if count > len(told):
        told.append(f"and {count - len(told)} more")
    return Fault(Kind.BAD_ARGUMENTS, "; ".join(told), faults[0].path)


def _parts(raw: bytes) -> dict[str, msgspec.Raw] | Fault:
    """Take the object apart, each argument still as it came."""
    try:
        parse(raw)
    except msgspec.ValidationError:
        pass  # JSON, with a number that is out of range
    except _NOT_JSON:
        return _MALFORMED
    try:
        return _decode_parts(raw)
    except msgspec.ValidationError:
        return Fault(Kind.NOT_AN_OBJECT, INVALID_JSON)
    except _NOT_JSON:
        return _MALFORMED


def _argument(
    operation: Operation, parameter: Parameter, part: msgspec.Raw, schema: dict[str, Any]
) -> msgspec.Raw | Fault | None:
    """Give one argument as the decoder takes it; None where its default shall stand."""
    decoders = _decoders_of(operation)
    try:
        decoders.careful[parameter.name](bytes(part))
    except _NOT_JSON:
        pass
    else:
        return part
    coerce = not operation.policy.strict
    try:
        plain = parse(part)
    except msgspec.ValidationError as error:
        return _wrong(*explain(error, parameter.name))
    if plain is None and coerce and not parameter.required:
        return None
    wanted = schema["properties"][parameter.name]
    fitted, misfit = fit(plain, wanted, schema, parameter.name, coerce=coerce)
    if misfit is not None:
        return _explained(misfit)
    try:
        encoded = dumps(fitted)
        if overflows(encoded):
            return _wrong(_place_of_huge(fitted, parameter.name), "number out of range")
        decoders.plain[parameter.name](encoded)
    except (ValueError, RecursionError) as error:
        return _wrong(*explain(error, parameter.name))
    return msgspec.Raw(encoded)


def _place_of_huge(value: Any, path: str) -> str:
    """Give the place of the number that is too large for a float."""
    waiting = [(value, path)]
    while waiting:
        part, there = waiting.pop()
        if isinstance(part, msgspec.Raw) and not isfinite(float(bytes(part))):
            return there
        if isinstance(part, dict):
            waiting += [(item, f"{there}.{name}") for name, item in part.items()]
        elif isinstance(part, list):
            waiting += [(item, f"{there}[{index}]") for index, item in enumerate(part)]
    return path


def _missing(parameter: Parameter, schema: dict[str, Any]) -> Fault:
    expected = expectation(resolved(schema["properties"][parameter.name], schema))
    message = f"Missing argument {parameter.name!r} ({expected})"
    return Fault(Kind.BAD_ARGUMENTS, message, parameter.name)


def _unknown(name: str, operation: Operation) -> Fault:
    known = [parameter.name for parameter in operation.parameters]
    near = _near(name, known)
    if near:
        hint = f"did you mean {near!r}?"
    elif known:
        hint = f"{operation.name} takes {', '.join(known)}"
    else:
        hint = f"{operation.name} takes none"
    name = clipped(name, _LONGEST_SHOWN)
    return Fault(Kind.BAD_ARGUMENTS, f"Unknown argument {name!r}: {hint}", name)


def _explained(misfit: Misfit) -> Fault:
    path = clipped(misfit.path, _LONGEST_SHOWN)
    if misfit.found is MISSING:
        message = f"Argument {path!r} is missing: expected {misfit.expected}"
        return Fault(Kind.BAD_ARGUMENTS, message, path)
    if not misfit.expected:
        near = _near(misfit.path.rpartition(".")[2], misfit.choices)
        hint = f"did you mean {near!r}?" if near else f"known are {', '.join(misfit.choices)}"
        return Fault(Kind.BAD_ARGUMENTS, f"Argument {path!r} is unknown: {hint}", path)
    near = _near(misfit.found, misfit.choices)
    hint = f"; did you mean {dumps(near).decode()}?" if near else ""
    return _wrong(path, f"expected {misfit.expected}, got {_shown(misfit.found)}{hint}")


def _wrong(path: str, reason: str) -> Fault:
    path = clipped(path, _LONGEST_SHOWN)
    return Fault(Kind.BAD_ARGUMENTS, f"Argument {path!r}: {clipped(reason, 400)}", path)


def _near(name: Any, known: Any) -> str:
    """Give the known name that was probably meant, if any is close."""
    if not isinstance(name, str) or len(name) > _LONGEST_SHOWN:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    names = [other for other in known if isinstance(other, str)]
    folded = {other.casefold(): other for other in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    return next(iter(get_close_matches(name, names, n=1)), "")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return clipped(dumps(value).decode(), _LONGEST_SHOWN)
