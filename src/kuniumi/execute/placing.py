"""Where an operation's calls run, and how they wait for each other: decided when it is registered.

In: an operation as it was defined. Out: the operation that the surfaces see. What runs elsewhere
becomes a coroutine that takes raw arguments and gives an encoded answer, so that no surface and no
call of another function has anything to do with it.
"""

from __future__ import annotations

from functools import partial, update_wrapper
from threading import get_ident
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kuniumi.core.context import Context
from kuniumi.core.fault import Faulted, Kind, crowded
from kuniumi.core.result import join_items
from kuniumi.errors import KuniumiError
from kuniumi.execute.executor import Work
from kuniumi.execute.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from kuniumi.core.call import Envelope
    from kuniumi.core.operation import Operation
    from kuniumi.core.service import Service
    from kuniumi.execute.executor import Executor

    Function = Callable[..., Any]


def place(operation: Operation, service: Service, processes: int) -> Operation:
    """Make of an operation what its policy asks for."""
    policy = operation.policy
    if policy.processes:
        operation = elsewhere(operation, _processes_of(service, processes))
    turns = None
    if policy.concurrency is not None:
        queue = policy.concurrency if policy.queue is None else policy.queue
        turns = Turns(operation.name, policy.concurrency, queue)
    surround = partial(_surround, turns)
    return replace(surround(operation), surround=surround)


def _surround(turns: Turns | None, operation: Operation) -> Operation:
    if operation.policy.retries:
        operation = _with_retries(operation, operation.policy.retries)
    return operation if turns is None else _in_turn(operation, turns)


def _processes_of(service: Service, size: int) -> Executor:
    if not service.executors:
        from kuniumi.execute.processes import Processes  # noqa: PLC0415 - only for who wants them

        service.executors.append(Processes(service, size))
    executor: Executor = service.executors[0]
    return executor


# ---- elsewhere -----------------------------------------------------------------------------------


def elsewhere(operation: Operation, executor: Executor) -> Operation:
    """Give an operation whose calls an executor runs."""
    executor.add(operation)

    async def run(arguments: bytes, context: Any) -> Envelope:
        envelope = await executor.run(Work(operation, arguments, context))
        if envelope.fault is not None:
            raise Faulted(envelope.fault)
        return envelope

    async def stream(arguments: bytes, context: Any) -> AsyncIterator[bytes]:
        items = executor.stream(Work(operation, arguments, context))
        try:
            async for item in items:
                yield item
        finally:
            await items.aclose()

    result = operation.result
    if result.layout == "stream":
        result = replace(result, encode=join_items, encode_item=_as_it_is)
    else:
        content = None if result.content is None else _content_of
        result = replace(result, encode=_body_of, content=content)
    function: Function = stream if result.layout == "stream" else run
    return replace(
        operation,
        run=update_wrapper(function, operation.function),
        beneath=operation,
        needs_loop=True,
        decode=_as_it_is,
        bind=_bind_raw,
        result=result,
        is_async=True,
    )


def _as_it_is(raw: bytes) -> bytes:
    return raw


def _bind_raw(arguments: bytes, context: Any) -> tuple[tuple[Any, ...], None]:
    return (arguments, context), None


def _body_of(envelope: Envelope) -> bytes:
    return envelope.body


def _content_of(envelope: Envelope) -> tuple[bytes, bytes]:
    return envelope.content, envelope.meta


# ---- once more -----------------------------------------------------------------------------------


def _with_retries(operation: Operation, retries: int) -> Operation:
    """Give an operation that is begun anew where it failed in a way nobody expected."""
    function = operation.run

    async def again_later(*args: Any, **kwargs: Any) -> Any:
        for _ in range(retries):
            try:
                return await _value_of(function(*args, **kwargs))
            except Exception as error:
                if not (_is_unexpected(error) and _is_wanted(args, kwargs)):
                    raise
        return await _value_of(function(*args, **kwargs))

    def again(*args: Any, **kwargs: Any) -> Any:
        for _ in range(retries):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not (_is_unexpected(error) and _is_wanted(args, kwargs)):
                    raise
        return function(*args, **kwargs)

    retrying = again_later if operation.is_async else again
    return replace(operation, run=update_wrapper(retrying, function))


def _is_unexpected(error: Exception) -> bool:
    if isinstance(error, Faulted):
        return error.fault.kind is Kind.CRASHED
    return not isinstance(error, KuniumiError)


def _is_wanted(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether anybody still waits, as far as the function was given a context to learn of it."""
    given = (*args, *kwargs.values())
    return not any(isinstance(each, Context) and each.cancelled for each in given)


async def _value_of(given: Any) -> Any:
    return await given if hasattr(given, "__await__") else given


# ---- one after another ---------------------------------------------------------------------------


def _in_turn(operation: Operation, turns: Turns) -> Operation:
    """Give an operation of which only so many calls run at once."""
    if not operation.is_async:
        return replace(operation, turns=turns)  # threads take it into account
    function = operation.run

    async def run(*args: Any, **kwargs: Any) -> Any:
        async with _Turn(turns):
            return await _value_of(function(*args, **kwargs))

    async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        from kuniumi.execute.loop import aclose  # noqa: PLC0415 - it loads asyncio

        async with _Turn(turns):
            items = await _value_of(function(*args, **kwargs))
            try:
                if hasattr(items, "__aiter__"):
                    async for item in items:
                        yield item
                else:
                    for item in items:
                        yield item
            finally:
                await aclose(items)

    waiting: Function = stream if operation.result.layout == "stream" else run
    return replace(operation, run=update_wrapper(waiting, function))


class _Turn:
    """One coroutine's turn."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns

    async def __aenter__(self) -> None:
        import asyncio  # noqa: PLC0415 - this is being run by it

        loop = asyncio.get_running_loop()
        thread = get_ident()
        came: asyncio.Future[None] = loop.create_future()

        def begin() -> None:
            if get_ident() == thread:
                _set(came)
                return
            try:
                loop.call_soon_threadsafe(_set, came)
            except RuntimeError:  # that loop is closed, and its call with it
                self.turns.leave(begin)

        self.begin = begin
        if not self.turns.enter(begin):
            raise Faulted(crowded(self.turns.name))
        try:
            await came
        except BaseException:
            self.turns.leave(begin)
            raise

    async def __aexit__(self, *_: object) -> None:
        self.turns.leave(self.begin)


def _set(came: Any) -> None:
    if not came.done():
        came.set_result(None)
