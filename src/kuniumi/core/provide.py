"""What functions depend on: providers that are asked for each call, and cleaned up after it.

In: an operation whose parameters are annotated with `Provide(…)`. Out: the same operation, whose
`run` asks the providers first, each once, and ends them when the function has ended, however it
does. A plain function's providers run in the thread that it runs in; those of an `async def` run on
its event loop. It must not know which loop that is: a plain function's async providers are handed
to the `Bridge` at hand.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from kuniumi.core.signature import Provide, kind_of, read
from kuniumi.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from kuniumi.core.context import Context
    from kuniumi.core.operation import Operation
    from kuniumi.core.signature import Kind, Parameter

    Instead = Mapping[Callable[..., Any], Callable[..., Any]]
    Fill = Callable[[tuple[Any, ...], Any, list[Any]], tuple[list[Any], dict[str, Any]]]
    Leave = Callable[..., object]

_CONTEXT = -1
_NOBODY: Instead = {}


class Bridge(Protocol):
    """The way from a thread to an event loop, for a plain function with async providers."""

    def wait(self, awaited: Awaitable[Any]) -> Any:
        """Give what the awaitable gives on the loop."""
        ...

    def enter(self, manager: Any) -> tuple[Any, Leave]:
        """Enter an async context manager on the loop; give its value, and what leaves it."""
        ...


bridge_at_hand: ContextVar[Bridge] = ContextVar("bridge_at_hand")


class Source(Struct, frozen=True):
    """Where one argument of a provider comes from: an earlier step, or the context."""

    name: str
    step: int


class Step(Struct, frozen=True):
    """One provider, and where its arguments come from."""

    provider: Callable[..., Any]
    kind: Kind
    sources: tuple[Source, ...]

    def make(self, given: list[Any], context: Any) -> Any:
        """Call the provider."""
        return self.provider(
            **{
                source.name: context if source.step == _CONTEXT else given[source.step]
                for source in self.sources
            }
        )


class Plan(Struct, frozen=True):
    """The providers of one function, in an order in which each finds what it needs."""

    steps: tuple[Step, ...]
    of: Mapping[str, int]  # which step gives a parameter of the function
    wants_context: bool

    @property
    def needs_loop(self) -> bool:
        """Whether any of them awaits."""
        return any(step.kind in {"coroutine", "async generator"} for step in self.steps)


def provided(operation: Operation, instead: Instead = _NOBODY) -> Operation:
    """Give the operation with its providers around it; `instead` has others take their places."""
    plan = _Planner(operation.name, instead).plan(operation.signature.parameters)
    if operation.policy.inline and plan.needs_loop and not operation.is_async:
        step = next(step for step in plan.steps if step.kind in {"coroutine", "async generator"})
        msg = (
            f"function {operation.name!r}: inline=True runs it on the event loop itself, where it "
            f"can't wait for its async provider {_name_of(step.provider)!r}: leave inline=True out, "
            f"or make the function an async def"
        )
        raise DefinitionError(msg)
    astuple = msgspec.structs.astuple
    run = _runner(operation, plan)
    return msgspec.structs.replace(
        operation,
        bind=lambda arguments, context: ((astuple(arguments), context), None),
        run=run,
        wants_context=plan.wants_context
        or any(part.injected and part.provided is None for part in operation.signature.parameters),
        needs_loop=operation.is_async or plan.needs_loop,
    )


def replaced(operation: Operation, instead: Instead) -> Operation:
    """Give the operation with other providers in the places of some, if it has any."""
    if not any(parameter.provided is not None for parameter in operation.signature.parameters):
        return operation
    again = provided(operation.beneath or operation, instead)  # other processes know none of these
    surrounded: Operation = again if operation.surround is None else operation.surround(again)
    return surrounded


# ---- planning ----------------------------------------------------------------------------------------


class _Planner:
    """Finds what a function needs, and what that needs."""

    def __init__(self, owner: str, instead: Instead) -> None:
        self._owner = owner
        self._instead = instead
        self._steps: list[Step] = []
        self._under_way: list[Callable[..., Any]] = []  # from the function down to here
        self._wants_context = False

    def plan(self, parameters: tuple[Parameter, ...]) -> Plan:
        of = {}
        for parameter in parameters:
            if parameter.provided is not None:
                where = f"parameter {parameter.name!r} of function {self._owner!r}"
                of[parameter.name] = self._step(parameter.provided, where)
        return Plan(tuple(self._steps), of, self._wants_context)

    def _step(self, provide: Provide, where: str) -> int:
        provider = provide.provider
        if not callable(provider):
            msg = f"{where}: Provide({provider!r}) has nothing to call: write Provide(get_it)"
            raise DefinitionError(msg)
        provider = self._instead.get(provider, provider)
        for number, step in enumerate(self._steps):
            if step.provider == provider:
                return number
        if provider in self._under_way:
            circle = [*self._under_way[self._under_way.index(provider) :], provider]
            shown = " → ".join(map(_name_of, circle))
            msg = f"{where}: its providers depend on each other ({shown}): take one of them out"
            raise DefinitionError(msg)
        self._under_way.append(provider)
        sources = tuple(self._sources(provider, where))
        self._under_way.pop()
        self._steps.append(Step(provider, kind_of(provider), sources))
        return len(self._steps) - 1

    def _sources(self, provider: Callable[..., Any], where: str) -> Iterator[Source]:
        name = _name_of(provider)
        for parameter in _parameters_of(provider, where):
            if parameter.provided is not None:
                inner = f"{where}: parameter {parameter.name!r} of its provider {name!r}"
                step = self._step(parameter.provided, inner)
            elif parameter.injected:
                self._wants_context = True
                step = _CONTEXT
            elif parameter.required:
                msg = (
                    f"{where}: nobody gives its provider {name!r} the argument "
                    f"{parameter.name!r}: give it a default, or annotate it as Context or as "
                    f"Annotated[…, Provide(…)]"
                )
                raise DefinitionError(msg)
            else:
                continue
            yield Source(parameter.name, step)


def _parameters_of(provider: Callable[..., Any], where: str) -> tuple[Parameter, ...]:
    target: Any = provider
    if isinstance(provider, type):
        target = getattr(provider, "__init__", None)
        if not hasattr(target, "__code__"):  # it is that of `object`, or written in C
            return ()
    try:
        parameters = read(target, _name_of(provider)).parameters
    except DefinitionError as error:
        said = str(error).replace("function ", "provider ", 1)
        msg = f"{where}: {said}"
        raise DefinitionError(msg) from error
    return parameters[1:] if isinstance(provider, type) else parameters


def _name_of(provider: Any) -> str:
    return str(getattr(provider, "__name__", None) or type(provider).__name__)


# ---- running -----------------------------------------------------------------------------------------


def _runner(operation: Operation, plan: Plan) -> Callable[..., Any]:
    """Give what is called in the function's place: of the same kind, as executors go by that."""
    fill = _filler(operation.signature.parameters, plan)
    streams = operation.result.layout == "stream"
    run: Callable[..., Any]
    if operation.is_async:
        run = _run_async_stream if streams else _run_async
    else:
        run = _run_stream if streams else _run_plain
    return partial(run, operation.function, plan, fill)


def _filler(parameters: tuple[Parameter, ...], plan: Plan) -> Fill:
    def fill(
        values: tuple[Any, ...], context: Any, given: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        exposed = iter(values)
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in parameters:
            if parameter.provided is not None:
                value = given[plan.of[parameter.name]]
            else:
                value = context if parameter.injected else next(exposed)
            if parameter.keyword_only:
                keywords[parameter.name] = value
            else:
                positional.append(value)
        return positional, keywords

    return fill


def _run_plain(
    function: Callable[..., Any], plan: Plan, fill: Fill, values: tuple[Any, ...], context: Context
) -> Any:
    with ExitStack() as stack:
        args, kwargs = fill(values, context, _given(plan, context, stack))
        return function(*args, **kwargs)


def _run_stream(
    function: Callable[..., Any], plan: Plan, fill: Fill, values: tuple[Any, ...], context: Context
) -> Iterator[Any]:
    with ExitStack() as stack:
        args, kwargs = fill(values, context, _given(plan, context, stack))
        yield from function(*args, **kwargs)


async def _run_async(
    function: Callable[..., Any], plan: Plan, fill: Fill, values: tuple[Any, ...], context: Context
) -> Any:
    async with AsyncExitStack() as stack:
        args, kwargs = fill(values, context, await _given_async(plan, context, stack))
        value = function(*args, **kwargs)
        return await value if hasattr(value, "__await__") else value


async def _run_async_stream(
    function: Callable[..., Any], plan: Plan, fill: Fill, values: tuple[Any, ...], context: Context
) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        args, kwargs = fill(values, context, await _given_async(plan, context, stack))
        items = function(*args, **kwargs)
        if hasattr(items, "__await__"):
            items = await items
        if not hasattr(items, "__aiter__"):
            for item in items:
                yield item
            return
        if hasattr(items, "aclose"):  # after this function's end, before its providers'
            stack.push_async_callback(items.aclose)
        async for item in items:
            yield item


def _given(plan: Plan, context: Any, stack: ExitStack) -> list[Any]:
    """Ask all providers from this thread; what is to be ended is left to the stack."""
    given: list[Any] = []
    for step in plan.steps:
        made = step.make(given, context)
        if step.kind == "coroutine":
            made = bridge_at_hand.get().wait(made)
        elif step.kind == "generator":
            made = _entered(made, stack)
        elif step.kind == "async generator":
            made, leave = bridge_at_hand.get().enter(_as_async_manager(made))
            stack.push(_firm(leave))
        given.append(made)
    return given


async def _given_async(plan: Plan, context: Any, stack: AsyncExitStack) -> list[Any]:
    """Ask all providers on this loop; what is to be ended is left to the stack."""
    given: list[Any] = []
    for step in plan.steps:
        made = step.make(given, context)
        if step.kind == "coroutine":
            made = await made
        elif step.kind == "generator":
            made = _entered(made, stack)
        elif step.kind == "async generator":
            manager = _as_async_manager(made)
            made = await manager.__aenter__()
            stack.push_async_exit(_firm_async(manager.__aexit__))
        given.append(made)
    return given


def _entered(made: Any, stack: ExitStack | AsyncExitStack) -> Any:
    manager = made if hasattr(made, "__enter__") else contextmanager(lambda: made)()
    value = manager.__enter__()
    stack.push(_firm(manager.__exit__))
    return value


def _as_async_manager(made: Any) -> Any:
    return made if hasattr(made, "__aenter__") else asynccontextmanager(lambda: made)()


def _firm(leave: Leave) -> Callable[..., bool]:
    """Have an exit told of an error that it can change, but not swallow: there is no value then."""

    def left(*raised: Any) -> bool:
        leave(*raised)
        return False

    return left


def _firm_async(leave: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[bool]]:
    async def left(*raised: Any) -> bool:
        await leave(*raised)
        return False

    return left
