"""What a function may ask about the call it is in: a parameter annotated `Context` gets one.

The surface builds it; the function reads it. It must not know which surface that was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from kuniumi.core.caller import NOBODY

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping, Sequence

    from kuniumi.core.caller import Caller
    from kuniumi.core.questions import Message, Reply, Root
    from kuniumi.env.environment import Environment

T = TypeVar("T")


_ENDLESS = float("inf")


class Context:
    """The call at hand: its environment, its state, ways to reach its caller, a way to stop."""

    __slots__ = ("_caller", "_cancelled", "_done", "_log", "env", "operation_id", "state")

    def __init__(
        self,
        operation_id: str,
        env: Environment,
        *,
        state: Any = None,
        caller: Caller = NOBODY,
    ) -> None:
        self.operation_id = operation_id
        self.env = env
        self.state = state
        self._caller = caller
        self._log: logging.Logger | None = None
        self._done = float("-inf")
        self._cancelled = False

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell whoever is waiting how far this call has come.

        Progress only grows: a report that does not is dropped, as is one after cancellation.
        """
        if not _is_number(done) or not (total is None or _is_number(total)):
            msg = f"ctx.progress({done!r}, {total!r}): how far it has come is told in numbers"
            raise TypeError(msg)
        report = self._caller.report
        if report is None or self._cancelled or not self._done < done < _ENDLESS:
            return
        self._done = done
        if total is not None and not total < _ENDLESS:
            total = None
        if message is not None:
            message = str(message).encode("utf-8", "backslashreplace").decode()
        report(done, total, message)

    @property
    def is_followed(self) -> bool:
        """Whether anybody takes note of progress."""
        return self._caller.report is not None

    def release(self) -> None:
        """Spare the caller a long wait on an open connection, if it knows how to come back.

        The call goes on. Where nobody can come back this does nothing.
        """
        if self._caller.release is not None:
            self._caller.release()

    @property
    def log(self) -> logging.Logger:
        """A logger named after the operation, below `kuniumi.call`.

        A caller that listens gets what is logged as well.
        """
        if self._log is None:
            from kuniumi.core.log import logger_for  # noqa: PLC0415 - most calls never log

            self._log = logger_for(f"kuniumi.call.{self.operation_id}", self._caller)
        return self._log

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the caller sent beside the arguments."""
        return self._caller.meta

    @property
    def traceparent(self) -> str:
        """The W3C trace context of this call, or nothing."""
        return str(self._caller.meta.get("traceparent", ""))

    # ---- questions to the caller ---------------------------------------------------------------

    @overload
    async def ask(self, message: str, expected: type[T], *, key: str = "") -> T: ...

    @overload
    async def ask(self, message: str, expected: Any = str, *, key: str = "") -> Any: ...

    async def ask(self, message: str, expected: Any = str, *, key: str = "") -> Any:
        """Ask the person behind the call, and wait for the answer.

        `expected` is a type: text, a number, a bool, a `Literal`, or a dataclass of such fields; a
        JSON schema will do as well. Raises `DeclinedError` if the person would not answer, and
        `CannotAskError` if there is nobody to ask.

        Some protocols bring an answer by calling the function once more, from its beginning: ask
        first, act afterwards.
        """
        from kuniumi.core import questions  # noqa: PLC0415 - most functions never ask

        question = questions.form(message, expected, key)
        return questions.read_form(question, await questions.put(self._caller, question), expected)

    async def visit(self, message: str, url: str, *, key: str = "") -> None:
        """Ask the person behind the call to open a page, such as one to sign in, and wait."""
        from kuniumi.core import questions  # noqa: PLC0415 - most functions never ask

        question = questions.page(message, url, key)
        questions.read_action(await questions.put(self._caller, question))

    async def sample(
        self,
        messages: str | Sequence[str | Message],
        *,
        max_tokens: int = 1024,
        system: str = "",
        temperature: float | None = None,
        stop: Sequence[str] = (),
        models: Sequence[str] = (),
        key: str = "",
    ) -> Reply:
        """Have the caller's model continue a conversation, and wait for what it says."""
        from kuniumi.core import questions  # noqa: PLC0415 - most functions never ask

        question = questions.Sampling(
            messages=questions.as_messages(messages),
            max_tokens=max_tokens,
            system=system,
            temperature=temperature,
            stop=tuple(stop),
            models=tuple(models),
            key=key,
        )
        return questions.read_reply(await questions.put(self._caller, question))

    async def roots(self, *, key: str = "") -> list[Root]:
        """Ask which folders the caller works in."""
        from kuniumi.core import questions  # noqa: PLC0415 - most functions never ask

        question = questions.Roots(key=key)
        return questions.read_roots(await questions.put(self._caller, question))

    # ---- the end of the call -------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """Whether the caller went away, asked to stop, or ran out of time. Poll it in a loop."""
        return self._cancelled

    def cancel(self) -> None:
        """Mark the call as no longer wanted. Surfaces call this, functions read `cancelled`."""
        self._cancelled = True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
