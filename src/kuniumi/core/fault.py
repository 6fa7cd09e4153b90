"""Faults: the only kind of failure an envelope carries.

In: nothing but words. Out: frozen data. A fault knows what kind of failure it is; it must not
know what any protocol calls that (`wire.status` is the one table that does).
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Kind(Enum):
    """What went wrong, in the words of a caller. A new kind needs a row in `wire.status`."""

    MALFORMED = "malformed"  # the arguments are not JSON
    NOT_AN_OBJECT = "not_an_object"  # they are JSON, but not an object
    BAD_ARGUMENTS = "bad_arguments"  # an argument is missing, unknown or wrong
    NOT_FOUND = "not_found"
    WRONG_METHOD = "wrong_method"
    WRONG_TYPE = "wrong_type"  # of the request's content
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"  # the caller did not deliver its request in time
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    FAILED = "failed"  # a FunctionError: an expected failure
    CRASHED = "crashed"  # any other exception
    BAD_RESULT = "bad_result"  # the function returned what its annotation or JSON forbids
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"  # the caller went away, or asked to stop
    OVERLOADED = "overloaded"
    CANNOT_ASK = "cannot_ask"  # the function has a question, and this caller takes none


class Fault(Struct, frozen=True):
    """One failure: its kind, a message for people and models, and where it lies."""

    kind: Kind
    message: str
    path: str = ""  # of the argument or result at fault: `order.lines[2].price`
    status: int = 0  # a FunctionError's own; 0 leaves it to the table
    retry_after: float = 0  # seconds after which it may go better, if the function said so
    needs: str = ""  # what the caller would have to be able to do
    incident: str = ""  # the number under which the log tells the whole story
    cause: BaseException | None = None  # for the log only; never sent


class Faulted(Exception):  # noqa: N818 - a fault on its way, not an error of its own
    """Carries a fault that is known already through code that knows exceptions only."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


INVALID_JSON = "Invalid JSON body"
"""The exact words for a body that is not JSON, or not an object."""


def clipped(text: str, most: int = 200) -> str:
    """Give a text as a message repeats it: nobody who sends megabytes gets them back."""
    return text if len(text) <= most else f"{text[:most]}…"


def not_found(name: str) -> Fault:
    """No function answers to this name."""
    return Fault(Kind.NOT_FOUND, f"Function not found: {clipped(name)}")


def crowded(name: str) -> Fault:
    """More calls of this function wait for their turn than may."""
    return Fault(
        Kind.OVERLOADED, f"Overloaded: too many calls of {name} at once, try again in a second"
    )


def stopping() -> Fault:
    """Whoever runs the call is about to end."""
    return Fault(Kind.OVERLOADED, "Cut off: the server is stopping, try again in a second")


def timed_out(seconds: float | None) -> Fault:
    """Give the fault of a call that took longer than it may."""
    return Fault(Kind.TIMED_OUT, f"Timed out after {seconds:g} seconds")
