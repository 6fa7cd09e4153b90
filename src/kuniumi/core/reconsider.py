"""A second look at arguments that the decoder refused: coerce what can be, explain what can't.

In: the operation and the bytes. Out: decoded arguments, or a `Fault` that says which argument,
what was expected and what is close. Right arguments never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.codec import decoder, dumps
from kuniumi.core.coerce import MISSING, Misfit, expectation, fit, resolved
from kuniumi.core.fault import INVALID_JSON, Fault, Kind
from kuniumi.core.schema import input_schema

if TYPE_CHECKING:
    from kuniumi.core.operation import Operation
    from kuniumi.core.signature import Parameter

_LONGEST_SHOWN = 80
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
    faults += [_unknown(name, operation) for name in parts]
    if not faults:
        try:
            return operation.decode(dumps(accepted))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            faults.append(Fault(Kind.BAD_ARGUMENTS, f"Arguments: {_cleaned(error)}"))
    worst = next((fault for fault in faults if fault.kind is Kind.MALFORMED), None)
    if worst is not None:
        return worst
    message = "; ".join(fault.message for fault in faults)
    return Fault(Kind.BAD_ARGUMENTS, message, faults[0].path)


def _parts(raw: bytes) -> dict[str, msgspec.Raw] | Fault:
    """Take the object apart, each argument still as it came."""
    try:
        return _decode_parts(raw)
    except msgspec.ValidationError:
        return Fault(Kind.NOT_AN_OBJECT, INVALID_JSON)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Fault(Kind.MALFORMED, INVALID_JSON)


def _argument(
    operation: Operation, parameter: Parameter, part: msgspec.Raw, schema: dict[str, Any]
) -> msgspec.Raw | Fault | None:
    """Give one argument as the decoder takes it; None where its default shall stand."""
    decode = decoder(parameter.annotation).decode
    try:
        decode(part)
    except (msgspec.ValidationError, RecursionError):
        pass
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Fault(Kind.MALFORMED, INVALID_JSON)
    else:
        return part
    coerce = not operation.policy.strict
    try:
        plain = msgspec.json.decode(part)
    except msgspec.ValidationError as error:
        return _wrong(parameter.name, _cleaned(error))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Fault(Kind.MALFORMED, INVALID_JSON)
    if plain is None and coerce and not parameter.required:
        return None
    wanted = schema["properties"][parameter.name]
    fitted, misfit = fit(plain, wanted, schema, parameter.name, coerce=coerce)
    if misfit is not None:
        return _explained(misfit)
    try:
        encoded = dumps(fitted)
        decode(encoded)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return _wrong(_place(parameter.name, error), _cleaned(error))
    return msgspec.Raw(encoded)


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
    return Fault(Kind.BAD_ARGUMENTS, f"Unknown argument {_clipped(name)!r}: {hint}", name)


def _explained(misfit: Misfit) -> Fault:
    if misfit.found is MISSING:
        message = f"Argument {misfit.path!r} is missing: expected {misfit.expected}"
        return Fault(Kind.BAD_ARGUMENTS, message, misfit.path)
    if not misfit.expected:
        name = misfit.path.rpartition(".")[2]
        near = _near(name, misfit.choices)
        hint = f": did you mean {near!r}?" if near else f": known are {', '.join(misfit.choices)}"
        return Fault(Kind.BAD_ARGUMENTS, f"Argument {misfit.path!r} is unknown{hint}", misfit.path)
    near = _near(misfit.found, misfit.choices)
    hint = f"; did you mean {dumps(near).decode()}?" if near else ""
    return _wrong(misfit.path, f"expected {misfit.expected}, got {_shown(misfit.found)}{hint}")


def _wrong(path: str, reason: str) -> Fault:
    return Fault(Kind.BAD_ARGUMENTS, f"Argument {path!r}: {reason}", path)


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
        return "an array"
    return _clipped(dumps(value).decode())


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _place(name: str, error: Exception) -> str:
    """Give the path msgspec names, in the form a caller would write it."""
    _, found, path = str(error).partition(" - at `$")
    return name + path.rstrip("`") if found else name


def _cleaned(error: Exception) -> str:
    """Give msgspec's words, without its markup and the path that stands before them."""
    text = str(error).partition(" - at `$")[0].replace("`", "")
    return _clipped(text[:1].lower() + text[1:]) if "\n" not in text else "not valid"
