"""What an app opens once in each process, before its first call, and closes after its last.

In: the function that the author marked as the app's lifespan. Out: a `Life`, which knows whether it
is open and what it gave. How it is opened and closed, with or without an event loop, is the affair of
`execute`.
"""

from __future__ import annotations

from _thread import allocate_lock  # `threading` is a good deal more to load
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kuniumi.core.signature import count_positional, kind_of
from kuniumi.errors import DefinitionError, StartError

if TYPE_CHECKING:
    from collections.abc import Callable


class Lifespan(Struct, frozen=True):
    """A function that opens something, yields it, and closes it."""

    name: str
    function: Callable[..., Any]
    is_async: bool
    takes_environment: bool

    def manager(self, environment: Any) -> Any:
        """Give the context manager, plain or async, that opens and closes."""
        made = self.function(environment) if self.takes_environment else self.function()
        if self.is_async:
            return made if hasattr(made, "__aenter__") else asynccontextmanager(lambda: made)()
        return made if hasattr(made, "__enter__") else contextmanager(lambda: made)()


def read_lifespan(function: Callable[..., Any]) -> Lifespan:
    """Read a lifespan: a generator function, or what `contextmanager` made of one."""
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    kind = kind_of(function) if callable(function) else "plain"
    if kind not in {"generator", "async generator"}:
        msg = (
            f"lifespan {name!r} yields nothing: write `yield state` where the calls are made, and "
            f"what closes it below, in a def or an async def"
        )
        raise DefinitionError(msg)
    count = count_positional(function)
    if count is not None and count > 1:
        msg = (
            f"lifespan {name!r} takes {count} parameters: it takes none, or one, for the "
            f"environment: def {name}(env)"
        )
        raise DefinitionError(msg)
    return Lifespan(name, function, kind == "async generator", bool(count))


class Life:
    """One lifespan in one process: closed, or open."""

    def __init__(self, lifespan: Lifespan) -> None:
        self.lifespan = lifespan
        self.state: Any = None
        self.loop: Any = None  # the event loop that an async one lives on
        self.close: Any = None  # closes it, if it is open
        self.close_awaits = False  # whether that has to be awaited
        self.opening: Any = None  # the task that opens it, if one does
        self.lock = allocate_lock()

    @property
    def is_open(self) -> bool:
        """Whether calls can be made. What lived on a loop that is closed has ended with it."""
        return self.close is not None and not (self.loop is not None and self.loop.is_closed())

    def opened(self, state: Any, close: Any, loop: Any = None, *, awaits: bool = False) -> None:
        """Note what was opened, and how it is closed."""
        self.state, self.loop, self.close, self.close_awaits = state, loop, close, awaits

    def ended(self) -> None:
        """Note that it is closed."""
        self.opened(None, None)

    def closing(self) -> Any:
        """Give what closes it, once; nothing if it is not open."""
        close = self.close if self.is_open else None
        self.ended()
        return close

    def failed(self, error: BaseException) -> StartError:
        """Say that it could not be opened, and why."""
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        failure = StartError(f"lifespan {self.lifespan.name!r} failed to start: {said}")
        failure.__cause__ = error
        return failure
