"""The two pure ends of every call: `prepare` before the function runs, `settle` after it.

In: a call and its operation; an outcome. Out: a `Ready` or a `Fault`; an `Envelope`. Neither runs
anything, waits for anything or knows who asked. Only `settle` turns an exception into an envelope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kuniumi.core.call import Envelope, Ready
from kuniumi.core.codec import dumps
from kuniumi.core.fault import Fault, Faulted, Kind
from kuniumi.core.result import BadResultError
from kuniumi.errors import CannotAskError, DeclinedError, FunctionError

if TYPE_CHECKING:
    from kuniumi.core.call import Call, Outcome
    from kuniumi.core.operation import Operation

_LONGEST_MESSAGE = 65_536


def prepare(operation: Operation, call: Call) -> Ready | Fault:
    """Decode and validate the arguments in one pass; only what that refuses is looked at again."""
    raw = call.arguments or b"{}"
    try:
        arguments = _arguments(operation, raw)
    except BaseException as error:  # noqa: BLE001 - a __post_init__ or a validator may raise anything
        return _fault_of(operation, error)
    if isinstance(arguments, Fault):
        return arguments
    args, kwargs = operation.bind(arguments, call.context)
    return Ready(operation, args, kwargs)


def accept(operation: Operation, arguments: bytes) -> Any:
    """Give the arguments by name, as the function would get them; or the fault that is in them."""
    operation = operation.beneath or operation
    try:
        accepted = _arguments(operation, arguments or b"{}")
    except BaseException as error:  # noqa: BLE001 - as above
        return _fault_of(operation, error)
    if isinstance(accepted, Fault):
        return accepted
    names = [parameter.name for parameter in operation.parameters]
    return dict(zip(names, msgspec.structs.astuple(accepted), strict=True))


def _arguments(operation: Operation, raw: bytes) -> Any:
    try:
        if not raw.isascii():
            raw.decode()  # the decoder does not look into what it skips
        return operation.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        from kuniumi.core.reconsider import reconsider  # noqa: PLC0415 - right arguments never need it

        return reconsider(operation, raw)


def settle(operation: Operation, outcome: Outcome) -> Envelope:
    """Turn how a call ended into what its caller gets."""
    error = outcome.error
    if error is None:
        result = operation.result
        try:
            body = result.encode(outcome.value)
            if result.content is None:
                return Envelope(body)
            content, meta = result.content(outcome.value)
            return Envelope(body, content=content, meta=meta, for_people=result.for_people)
        except BaseException as raised:  # noqa: BLE001 - a lazy value may raise anything while it is read
            error = raised
    if isinstance(error, Fault):
        return refuse(error)
    return refuse(_fault_of(operation, error))


def refuse(fault: Fault) -> Envelope:
    """Make the envelope that tells of a fault."""
    try:
        return Envelope(dumps({"error": fault.message}), fault)
    except UnicodeEncodeError:
        readable = fault.message.encode("utf-8", "backslashreplace").decode()
        return Envelope(dumps({"error": readable}), fault)


def _fault_of(operation: Operation, error: BaseException) -> Fault:
    if isinstance(error, Faulted):
        return error.fault
    if isinstance(error, FunctionError):
        said = _shortened(_text_of(error.message))
        return Fault(Kind.FAILED, said, status=error.status, retry_after=error.retry_after)
    if isinstance(error, CannotAskError):
        return Fault(Kind.CANNOT_ASK, _shortened(_text_of(error)), needs=error.needs)
    if isinstance(error, DeclinedError):
        return Fault(Kind.FAILED, _text_of(error), status=422)
    if isinstance(error, BadResultError):
        kind, said = Kind.BAD_RESULT, f"{operation.name} returned what it must not: {error}"
    else:
        kind, said = Kind.CRASHED, _told(error)
    if operation.policy.mask_errors:
        incident = _new_incident()
        return Fault(kind, f"Internal error (incident {incident})", incident=incident, cause=error)
    return Fault(kind, _shortened(said), cause=error)


def _told(error: BaseException) -> str:
    name, said = type(error).__name__, _text_of(error)
    return f"{name}: {said}" if said else name


def _text_of(what: object) -> str:
    try:
        return str(what)
    except BaseException:  # noqa: BLE001 - what fails to say what it is has said nothing
        return ""


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_MESSAGE:
        return text
    half = _LONGEST_MESSAGE // 2
    return f"{text[:half]} … [{len(text) - 2 * half} characters left out] … {text[-half:]}"


def _new_incident() -> str:
    from secrets import token_hex  # noqa: PLC0415 - a cold start rarely fails

    return token_hex(6)
