"""Every exception this package raises, in one tree. A leaf: it imports nothing of the house.

    KuniumiError
    ├── DefinitionError   a function cannot be registered: names the function and the remedy
    ├── StartError        what the app opens before its first call could not be opened
    ├── UsageError        a command line, a setting or a file that cannot be used as given
    ├── FunctionError     raised *by a function* to say "this failed, as can be expected"
    ├── AnswerError       a tool's answer is not what an agent took it for
    ├── ServerError       a server of tools cannot be reached, or does not speak as it should
    ├── StreamError       what a model said in pieces broke off before the model was done
    ├── CannotAskError    raised *inside a function* that asks a caller who can't be asked
    └── DeclinedError     raised *inside a function* whose caller would not answer

What goes wrong during a call is never an exception for the caller: it is a `Fault`
(`kuniumi.core.fault`), and only `settle` makes one out of an exception.
"""

from __future__ import annotations

_LONGEST_WAIT = 10 * 365 * 86_400


class KuniumiError(Exception):
    """The root of the tree."""


class DefinitionError(KuniumiError):
    """A function, as written, cannot be offered. Raised at registration, never later."""


class StartError(KuniumiError):
    """What the app opens before its first call could not be opened: its `@app.lifespan` failed."""


class UsageError(KuniumiError):
    """A command line, a setting or a file that cannot be used as given."""


class FunctionError(KuniumiError):
    """An expected failure: the message reaches the caller as it stands, with this status.

    Raise it from inside a function::

        raise FunctionError("Disk is full", status=507)

    `retry_after` says in how many seconds it may go better: over HTTP, the header of that name.
    """

    def __init__(self, message: str, *, status: int = 500, retry_after: float = 0) -> None:
        if not 400 <= status <= 599:
            msg = f"FunctionError(status={status!r}): a failure's status lies between 400 and 599"
            raise ValueError(msg)
        if not 0 <= retry_after <= _LONGEST_WAIT:
            msg = f"FunctionError(retry_after={retry_after!r}): give a number of seconds"
            raise ValueError(msg)
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the status when the error crosses a process boundary."""
        return _restore_function_error, (self.message, self.status, self.retry_after)


class AnswerError(KuniumiError):
    """A tool's answer is not of the type that it was asked for as."""


class ServerError(KuniumiError):
    """A server of tools cannot be reached, or does not speak as it should.

    `may_have_run` says whether what was asked may have been done nonetheless.
    """

    def __init__(
        self, message: str, *, may_have_run: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run
        self.retry_after = retry_after


class StreamError(KuniumiError):
    """What a model said in pieces broke off before the model was done: half a turn has no answer."""


class CannotAskError(KuniumiError):
    """There is nobody to ask: this surface, or this caller, has no way to carry the question.

    A function may catch it and do without the answer.
    """

    def __init__(self, message: str, needs: str) -> None:
        super().__init__(f"{message} (nobody can be asked here: that needs {needs})")
        self.needs = needs


class DeclinedError(KuniumiError):
    """The person who was asked declined, or put the question away."""

    def __init__(self, action: str) -> None:
        said = "declined" if action == "decline" else "cancelled"
        super().__init__(f"The question was {said}")
        self.action = action


def _restore_function_error(message: str, status: int, retry_after: float) -> FunctionError:
    return FunctionError(message, status=status, retry_after=retry_after)
