"""Hooks around calls: what an app does before and after each of them, whatever surface they come by.

In: hooks, which are generators, and one call. Out: the call's one answer. A hook says `yield` where
the call goes on, and gets its answer there; or it yields an answer of its own. A `Passage` walks the
hooks inwards, then outwards. It runs plain hooks itself; the steps of async ones it hands to whoever
drives it, so that the driver of CGI needs no event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.core.call import Call, Envelope, Outcome
from kuniumi.core.fault import Fault
from kuniumi.core.invoke import accept, settle
from kuniumi.core.signature import count_positional, kind_of
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kuniumi.core.context import Context
    from kuniumi.core.operation import Operation

Around = Generator[Envelope | None, Envelope, None]
"""What a plain hook is annotated to give."""

AsyncAround = AsyncGenerator[Envelope | None, Envelope]
"""What an async hook is annotated to give."""


class Calling:
    """One call on its way, as the hooks around it see it."""

    __slots__ = ("_arguments", "_call", "operation")

    def __init__(self, operation: Operation, call: Call) -> None:
        self.operation = operation
        self._call = call
        self._arguments: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.operation.name

    @property
    def context(self) -> Context:
        """What the function may ask about the call: `state`, `env`, `log`, `meta`."""
        context = self._call.context
        if context is None:
            msg = "a call with hooks has a context"
            raise RuntimeError(msg)
        return context

    @property
    def raw(self) -> bytes:
        """The arguments as they came."""
        return self._call.arguments

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments by name, as the function gets them, with its defaults; a copy of them.

        A call whose arguments are not accepted is refused here, as it would be without the hook.
        """
        if self._arguments is None:
            accepted = accept(self.operation, self._call.arguments)
            if isinstance(accepted, Fault):
                raise _Refused(accepted)
            self._arguments = accepted
        return self._arguments

    def answer(self, value: Any) -> Envelope:
        """Make the answer that the function would give with this value; a hook may yield it."""
        return settle(self.operation, Outcome(value))


class _Refused(Exception):  # noqa: N818 - no mistake: it carries a fault out of a hook
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Hook(Struct, frozen=True):
    """One hook around every call."""

    name: str
    function: Callable[[Calling], Any]
    is_async: bool


def read_hook(function: Callable[..., Any]) -> Hook:
    """Read a hook: a generator function of one parameter, plain or async."""
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    kind = kind_of(function) if callable(function) else "plain"
    if kind not in {"generator", "async generator"}:
        msg = (
            f"hook {name!r}: it does not say where the call goes on: write `answer = yield` there, "
            f"in a def or an async def"
        )
        raise DefinitionError(msg)
    count = count_positional(function)
    if count is not None and count != 1:
        msg = f"hook {name!r} takes {count} parameters: it takes one, the call: def {name}(call)"
        raise DefinitionError(msg)
    return Hook(name, function, kind == "async generator")


Steps = Generator["Awaitable[Any]", Outcome, Any]
"""What awaits nothing itself: it gives out awaitables, and takes in how they ended."""


class _Over(Struct, frozen=True):
    """A hook has come to its end."""


_OVER = _Over()


class Passage:
    """One call's way through the hooks around it."""

    def __init__(
        self, hooks: Sequence[Hook], calling: Calling, tell: Callable[[Envelope], object]
    ) -> None:
        self._hooks = hooks
        self._calling = calling
        self._tell = tell  # is told of the failures of hooks
        self._open: list[tuple[Hook, Any]] = []  # those that wait for an answer, outermost first

    def begin(self) -> Steps:
        """Walk inwards; give the answer if a hook has one already, or refuses."""
        for hook in self._hooks:
            try:
                running = hook.function(self._calling)
            except Exception as error:  # noqa: BLE001 - a decorator's, perhaps
                return self._failed(error)
            outcome = yield from self._resume(hook, running, None)
            said = outcome.value
            if outcome.error is not None:
                return self._failed(outcome.error)
            if said is _OVER:
                return self._failed(_misuse(hook, "ended without a yield: the call was not made"))
            if said is None:
                self._open.append((hook, running))
            elif isinstance(said, Envelope):
                self._open.append((hook, running))  # as if it had come from within
                return said
            else:
                yield from self._close(hook, running)
                return self._failed(_misuse(hook, f"{_NO_ANSWER}, not {type(said).__name__}"))
        return None

    def end(self, envelope: Envelope) -> Steps:
        """Walk outwards with an answer; give what has become of it."""
        while self._open:
            hook, running = self._open.pop()
            envelope = yield from self._finish(hook, running, envelope)
        return envelope

    def leave(self) -> Steps:
        """Close the hooks that will get no answer, since the call was broken off."""
        while self._open:
            yield from self._close(*self._open.pop())

    def _finish(self, hook: Hook, running: Any, envelope: Envelope) -> Steps:
        outcome = yield from self._resume(hook, running, envelope)
        if isinstance(outcome.value, Envelope):
            envelope = outcome.value
            outcome = yield from self._resume(hook, running, envelope)
        if outcome.error is not None:
            return self._failed(outcome.error)
        if outcome.value is _OVER:
            return envelope
        yield from self._close(hook, running)
        return self._failed(_misuse(hook, "yielded once more: a call is made, and answered, once"))

    def _failed(self, error: BaseException | Fault) -> Envelope:
        if isinstance(error, _Refused):
            error = error.fault
        envelope = settle(self._calling.operation, Outcome(error=error))
        self._tell(envelope)
        return envelope

    @staticmethod
    def _resume(hook: Hook, running: Any, envelope: Envelope | None) -> Steps:
        """Have a hook run up to its next yield; how that went is an outcome."""
        if hook.is_async:
            outcome = yield running.asend(envelope)
            return Outcome(_OVER) if isinstance(outcome.error, StopAsyncIteration) else outcome
        try:
            return Outcome(running.send(envelope))
        except StopIteration:
            return Outcome(_OVER)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is this call's alone
            return Outcome(error=error)

    @staticmethod
    def _close(hook: Hook, running: Any) -> Steps:
        if hook.is_async:
            yield running.aclose()
        else:
            with suppress(Exception):
                running.close()


_NO_ANSWER = "has to yield nothing, or an answer, as call.answer(…) makes it"


def _misuse(hook: Hook, what: str) -> RuntimeError:
    return RuntimeError(f"hook {hook.name!r} {what}")


def walk(steps: Steps) -> Any:
    """Drive steps among which there is nothing to await."""
    try:
        awaited = next(steps)
    except StopIteration as end:
        return end.value
    msg = f"{awaited!r} needs an event loop"
    raise RuntimeError(msg)
